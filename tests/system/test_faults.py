"""Whatever happens to a fit, old files are whole, nothing half is left, one sentence is said, and the exit code is right."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from hyphc import HypHC, Tree
from hyphc._runtime.folder_lock import FolderLock
from hyphc._runtime.run_control import Clock
from hyphc.cli import fit_files, main, outputs
from hyphc.fit import resume
from tests.system.faults import child, disks, files

X = np.random.default_rng(0).normal(size=files.SHAPE).round(3)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@pytest.fixture
def scene(tmp_path, monkeypatch):
    """A table, and a folder with the files of an earlier fit. No certificate is made: it takes most of a small fit's time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hyphc.cli.fit.assess", lambda fitted, similarity: fit_files.assess_cost(fitted))
    np.save("data.npy", X)
    files.write_old(tmp_path / "out")
    return tmp_path / "out"


def fit(*words: str) -> int:
    return main(["fit", "data.npy", "--output", "out", *words])


def forked(work: Callable[[], int], said: Path | None = None) -> int:
    """The process id of a copy of this process that does some work."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that pytest may have
        process = os.fork()
    if process:
        return process
    code = 99
    try:
        if said is not None:
            sys.stderr = said.open("w")
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def exit_code(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@needs_fork
@pytest.mark.parametrize("metric", ["auto", "rbf"])
def test_a_fit_killed_at_random_moments_ends_with_the_same_tree(metric, tmp_path, monkeypatch):
    monkeypatch.setattr(resume, "INTERVAL", 0.0)
    monkeypatch.setattr(resume, "TIME_SHARE", np.inf)
    begin = time.monotonic()
    alone = HypHC(3, metric=metric, random_state=0, n_jobs=1).fit(X)
    seconds, rng, kills = time.monotonic() - begin, np.random.default_rng(0), 0
    result = tmp_path / "merges.npy"

    def work() -> int:
        model = HypHC(3, metric=metric, random_state=0, n_jobs=1, checkpoint=tmp_path / "kept").fit(X)
        np.save(tmp_path / "half.npy", model.children_)
        os.replace(tmp_path / "half.npy", result)
        return 0

    while not result.exists():
        process = forked(work)
        if kills < 5:
            time.sleep(rng.uniform(0.0, seconds))
            os.kill(process, signal.SIGKILL)
            kills += 1
        assert exit_code(process) in (0, -signal.SIGKILL)
    np.testing.assert_array_equal(np.load(result), alone.children_)
    assert not [path for path in (tmp_path / "kept").rglob("*") if path.name.startswith(".")]


@pytest.fixture(scope="module")
def all_loaded(tmp_path_factory):
    """Kernels and modules are loaded: the compiler's own library ends the process when it finds no memory."""
    home = tmp_path_factory.mktemp("loaded")
    np.save(home / "data.npy", X)
    assert main(["fit", str(home / "data.npy"), "--output", str(home / "out")]) == 0


@needs_fork
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("stage", child.STAGES)
def test_where_memory_ends_nothing_half_is_left(stage, scene, tmp_path, all_loaded, monkeypatch):
    if stage == "certificate":
        monkeypatch.setattr("hyphc.cli.fit.assess", fit_files.assess)

    def work() -> int:
        child.inject(stage, lambda: child.limit_memory(""))
        return fit()

    code, said = exit_code(forked(work, tmp_path / "said")), (tmp_path / "said").read_text()
    assert code in (0, 1), said
    assert said.count("\n") == code, said
    has_tree = code == 0 or "the tree was written" in said
    assert files.find_complaints(scene, new=has_tree) == []
    assert has_tree or stage not in ("certificate", "files")


@pytest.mark.parametrize(("stage", "error"), [("certificate", MemoryError), ("files", MemoryError)])
def test_memory_that_ends_after_the_fit_does_not_cost_the_tree(stage, error, scene, monkeypatch, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(child.STAGES[stage].replace(":", "."), fail)
    assert fit() == 1
    assert "the tree was written to out, without its gap and its pictures" in capsys.readouterr().err
    assert files.find_complaints(scene, new=True) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_the_certificate_does_not_cost_the_tree(number, code, scene, monkeypatch, capsys):
    def press(*_, **__):
        os.kill(os.getpid(), number)
        time.sleep(5)

    monkeypatch.setattr("hyphc.cli.fit.assess", press)
    with default_interrupts():
        assert fit() == code
    said = "hyphc: interrupted; the tree was written to out, without its gap and its pictures.\n"
    assert capsys.readouterr().err == said
    assert files.find_complaints(scene, new=True) == []


class default_interrupts:
    """Ctrl-C as in a program: pytest has a handler of its own."""

    def __enter__(self) -> None:
        self.before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self.before)


def pressed_during_the_fit(monkeypatch, *numbers: int) -> None:
    asked: list[bool] = []
    should_stop = Clock.should_stop

    def press(clock: Clock) -> bool:
        if threading.current_thread() is not threading.main_thread():  # where signals are handled at once
            return should_stop(clock)
        asked.append(True)
        if 5 <= len(asked) < 5 + len(numbers):
            os.kill(os.getpid(), numbers[len(asked) - 5])
        return should_stop(clock)

    monkeypatch.setattr(Clock, "should_stop", press)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_ended_fit_writes_its_tree_and_makes_no_certificate(number, code, scene, monkeypatch, capsys):
    pressed_during_the_fit(monkeypatch, number)
    monkeypatch.setattr("hyphc.cli.report.score", None)
    with default_interrupts():
        assert fit() == code
    assert "the best tree found until then was written" in capsys.readouterr().err
    assert files.find_complaints(scene, new=True) == []
    assert "left out" in (scene / "report.md").read_text()


def test_an_ended_fit_writes_its_tree_before_its_pictures(scene, monkeypatch):
    pressed_during_the_fit(monkeypatch, signal.SIGINT)

    def late(*_, **__):
        assert not files.is_old(scene, "tree.npz")
        raise KeyboardInterrupt

    monkeypatch.setattr("hyphc.cli.fit_files.draw", late)
    with default_interrupts():
        assert fit() == 130
    assert files.find_complaints(scene, new=True) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_twice_a_fit_ends_at_once_and_leaves_the_old_files(number, code, scene, monkeypatch, capsys):
    pressed_during_the_fit(monkeypatch, number, number)
    with default_interrupts():
        assert fit() == code
    assert capsys.readouterr().err.splitlines()[-1] == "hyphc: interrupted; nothing was written."
    assert files.find_complaints(scene, new=False) == []


def test_the_handler_of_others_is_left_alone_and_ours_goes_with_the_command(scene):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert main(["datasets"]) == 0
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert main(["datasets"]) == 0
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGTERM, before)


def test_a_full_disk_leaves_the_old_files(scene, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "out/tree.png")

    monkeypatch.setattr("hyphc.cli.fit_files.draw", full)
    assert fit() == 1
    assert capsys.readouterr().err == "hyphc: out/tree.png: No space left on device.\n"
    assert files.find_complaints(scene, new=False) == []


@contextmanager
def full_disk(folder: Path, n_bytes: int) -> Iterator[None]:
    """A disk of a few pages, if this process may mount one."""
    try:
        with disks.small_disk(folder, n_bytes):
            yield
    except disks.CannotMountError as error:
        pytest.skip(f"cannot mount a small disk: {error}")


def test_a_real_disk_that_is_full_keeps_the_old_files(scene, tmp_path, capsys):
    with full_disk(scene, disks.FOR_FILES):
        files.write_old(scene)
        assert fit() == 1
        assert files.find_complaints(scene, new=False) == []
    said = capsys.readouterr().err
    assert "No space left on device" in said
    assert said.count("\n") == 1


def test_a_checkpoint_on_a_real_disk_that_is_full_is_told_and_the_fit_goes_on(scene, tmp_path, capsys):
    with full_disk(tmp_path / "kept", disks.FOR_STATES):
        assert fit("--checkpoint", "kept") == 0
        assert not [path.name for path in (tmp_path / "kept").rglob(".*")]
    said = (
        "hyphc: The checkpoint 'kept' failed: No space left on device; the fit continues, and earlier files are kept.\n"
    )
    assert capsys.readouterr().err == said
    assert files.find_complaints(scene, new=True) == []


def test_a_folder_that_is_removed_during_the_fit_is_made_again(scene, monkeypatch):
    child_remove = HypHC.fit

    def removing(model: HypHC, *args: object) -> HypHC:
        child.remove(str(scene))
        return child_remove(model, *args)

    monkeypatch.setattr(HypHC, "fit", removing)
    assert fit() == 0
    assert files.find_complaints(scene, new=True) == []


def test_a_clock_that_is_set_back_changes_nothing(scene, monkeypatch):
    day = [time.time()]
    monkeypatch.setattr(time, "time", lambda: day.append(day[-1] - 3600.0) or day[-1])
    assert fit("--checkpoint", "kept", "--time-budget", "1") == 0
    assert files.find_complaints(scene, new=True) == []


def test_a_checkpoint_goes_on_from_the_command_line(scene, monkeypatch, capsys):
    assert fit("--checkpoint", "kept") == 0
    tree = Tree.load(scene / "tree.npz")
    monkeypatch.setattr("hyphc.fit.run.run_plan", None)
    assert fit("--checkpoint", "kept") == 0
    assert Tree.load(scene / "tree.npz") == tree
    capsys.readouterr()
    assert fit("--checkpoint", "kept", "--effort", "2") == 1
    assert capsys.readouterr().err == (
        "hyphc: 'kept' holds a fit with effort=1.0, not 2.0; choose another folder, or remove it to start again.\n"
    )


def test_a_checkpoint_that_cannot_be_written_is_told_in_one_sentence(scene, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hyphc._runtime.shard_store.ShardStore._write_array", full)
    assert fit("--checkpoint", "kept") == 0
    said = (
        "hyphc: The checkpoint 'kept' failed: No space left on device; the fit continues, and earlier files are kept.\n"
    )
    assert capsys.readouterr().err == said


# --- files that move together -------------------------------------------------------------------------------------------


def test_what_fails_leaves_no_folder(tmp_path):
    with suppress(ZeroDivisionError), outputs.staging_folder(tmp_path / "new" / "folder") as stage:
        (stage / "half").write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_files_wait_inside_the_folder_so_that_its_parent_need_not_be_writable(tmp_path):
    with outputs.staging_folder(tmp_path / "out") as stage:
        assert stage.parent == tmp_path / "out"


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not(tmp_path):
    for name in (".new.dead", ".new.alive"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tree.npz").write_bytes(b"half")
    alive = FolderLock.acquire(tmp_path / ".new.alive")
    assert alive is not None
    with outputs.staging_folder(tmp_path) as stage:
        (stage / "tree.npz").write_bytes(b"whole")
    alive.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".new.alive", "tree.npz"]


def test_two_that_write_to_one_folder_do_not_mix(tmp_path):
    with outputs.staging_folder(tmp_path) as one, outputs.staging_folder(tmp_path) as two:
        for stage, text in ((one, "one"), (two, "two")):
            for name in ("a", "b"):
                (stage / name).write_text(text)
    assert {(tmp_path / name).read_text() for name in ("a", "b")} == {"one"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_trial_that_goes_wrong_is_told(tmp_path):
    files.write_old(tmp_path / "out")
    (tmp_path / "out" / ".new.x").mkdir()
    (tmp_path / "out" / "tree.npz").write_bytes(b"half")
    assert files.find_complaints(tmp_path / "out", new=False) == ["left behind .new.x", "tree.npz was replaced"]
    assert "tree.nwk was not written" in files.find_complaints(tmp_path / "out", new=True)


def test_every_case_of_a_fault_is_in_the_table(tmp_path):
    from benchmarks.harness.store import Store
    from tests.system.faults import suite as faults

    store = Store(tmp_path)
    for task in faults.tasks():
        trials = [{"seed": 0, "survived": True, "lost": "nothing"}, {"seed": 3, "survived": False, "lost": "a tree"}]
        store.save(task, {"records": trials, "commit": "abc"})
    written = faults.fault_table(store)
    assert written.count("| 2 | 1 | a tree | 0 to 3 | abc |") == sum(
        len(group.CASES) for group in faults.GROUPS.values()
    )
