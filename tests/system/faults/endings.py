"""``hyphc fit`` when the disk is full, memory is short, the folder is gone or a signal ends it: files, message and exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .child import STAGES
from .disks import FOR_FILES, FOR_STATES, small_disk
from .files import find_complaints, write_data, write_old
from .trial import Trial, make_trial

LONG = 3
LIMIT = 3600.0
ROOT = Path(__file__).resolve().parents[3]
UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override")
PAUSE = 1.0  # seconds after a signal: two at once would be one
CASES = {
    "disk-full": "the disk is full when files are written (RLIMIT_FSIZE)",
    "checkpoint-full": "the disk of the checkpoint is full (RLIMIT_FSIZE)",
    "small-disk": "the disk is full when files are written (a tmpfs of 64 kB)",
    "checkpoint-small-disk": "the disk of the checkpoint is full (a tmpfs of 8 kB)",
    "read-only": "the folder may not be written to",
    "removed": "the folder is removed during the fit",
    "two-processes": "two processes write to the same folder",
    "clock-back": "the clock is set back, again and again",
    "interrupt": "Ctrl-C during the search",
    "interrupt-certificate": "Ctrl-C during the certificate",
    "interrupt-twice": "Ctrl-C twice",
    "terminate": "SIGTERM during the search",
    "killed-writing": "SIGKILL while files are written, then another fit",
    **{f"memory-{stage.replace(' ', '-')}": f"memory ends (RLIMIT_AS): {stage}" for stage in STAGES},
}


@dataclass
class Scene:
    """A table, a folder with the files of an earlier fit, and processes that work on them."""

    home: Path
    seed: int
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data, self.folder, self.flag = write_data(self.home, self.seed), self.home / "out", self.home / "flag"
        write_old(self.folder)

    def start(self, *words: str, under: tuple[str, ...] = (), **asked: str) -> subprocess.Popen[str]:
        """Start ``hyphc fit`` with a fault, perhaps under another program."""
        argv = ["fit", str(self.data), "--output", str(self.folder), "--seed", str(self.seed), *words]
        call = [*under, sys.executable, "-m", "tests.system.faults.child", json.dumps({"argv": argv, **asked})]
        return subprocess.Popen(call, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def check_exit(self, process: subprocess.Popen[str], code: int, sentences: int = 1) -> None:
        """Wait, and check the exit code and the messages: so many sentences, no traceback."""
        _, said = process.communicate()
        lines = [line for line in said.splitlines() if line and "compiling kernels" not in line]
        if process.returncode != code:
            self.errors.append(f"exit code {process.returncode} instead of {code}: {said[-300:]}")
        if len(lines) != sentences or not all(line.startswith("hyphc: ") for line in lines):
            self.errors.append(f"it said {said[-300:]!r}")

    def signal_when_begun(self, process: subprocess.Popen[str], *signals: signal.Signals) -> None:
        """Send signals once the stage has begun."""
        while not self.flag.exists() and process.poll() is None:
            os.sched_yield()
        for number in signals:
            process.send_signal(number)
            time.sleep(PAUSE)
        self.flag.unlink(missing_ok=True)

    def check_files(self, *, new: bool) -> None:
        """Check the files."""
        self.errors += find_complaints(self.folder, new=new)


def trials(case: str, count: int) -> Iterator[Trial]:
    """Yield trials of a case, each with other data."""
    for seed in range(count):
        with tempfile.TemporaryDirectory() as home:
            scene = Scene(Path(home), seed)
            stage = case.removeprefix("memory-").replace("-", " ")
            if case.startswith("memory-"):
                _short_of_memory(scene, stage)
            else:
                _FAULTS[case](scene)
            yield make_trial(seed, scene.errors)


def _disk_full(scene: Scene) -> None:
    scene.check_exit(scene.start(at="files", do="limit files", **{"with": "2000"}), 1)
    scene.check_files(new=False)


def _checkpoint_full(scene: Scene) -> None:
    """The disk is full when the last state is written, and the fit continues; then when files are written."""
    process = scene.start("--checkpoint", str(scene.home / "kept"), at="start", do="limit files", **{"with": "2000"})
    scene.check_exit(process, 1, sentences=2)
    scene.check_files(new=False)
    scene.errors += _drafts(scene.home / "kept")


def _drafts(kept: Path) -> list[str]:
    return [f"a draft {path.name}" for path in kept.rglob(".*")]


def _small_disk(scene: Scene) -> None:
    with small_disk(scene.folder, FOR_FILES):
        write_old(scene.folder)
        scene.check_exit(scene.start(), 1)
        scene.check_files(new=False)


def _checkpoint_on_small_disk(scene: Scene) -> None:
    """No state fits on the disk, and the fit ends as without a checkpoint."""
    kept = scene.home / "kept"
    with small_disk(kept, FOR_STATES):
        scene.check_exit(scene.start("--checkpoint", str(kept)), 0)
        scene.check_files(new=True)
        scene.errors += _drafts(kept)


def _read_only(scene: Scene) -> None:
    """Drop the capability that lets root write everywhere."""
    scene.folder.chmod(0o555)
    scene.check_exit(scene.start(under=UNPRIVILEGED if os.getuid() == 0 else ()), 1)
    scene.check_files(new=False)


def _removed(scene: Scene) -> None:
    scene.check_exit(scene.start(at="ratchet", do="remove", **{"with": str(scene.folder)}), 0, sentences=0)
    scene.check_files(new=True)


def _two_processes(scene: Scene) -> None:
    one, two = scene.start(), scene.start("--metric", "cosine")
    scene.check_exit(one, 0, sentences=0)
    scene.check_exit(two, 0, sentences=0)
    scene.check_files(new=True)


def _clock_back(scene: Scene) -> None:
    kept = str(scene.home / "kept")
    process = scene.start("--checkpoint", kept, "--time-budget", "3", at="start", do="set clock back")
    scene.check_exit(process, 0, sentences=0)
    scene.check_files(new=True)


def _send_signals(
    stage: str, signals: tuple[signal.Signals, ...], code: int, new: bool, sentences: int
) -> Callable[[Scene], None]:
    def happen(scene: Scene) -> None:
        process = scene.start(at=stage, do="wait", **{"with": str(scene.flag)})
        scene.signal_when_begun(process, *signals)
        scene.check_exit(process, code, sentences)
        scene.check_files(new=new)

    return happen


def _killed_writing(scene: Scene) -> None:
    """Kill a fit before files are moved; the next fit writes its own, and removes what was left."""
    process = scene.start(at="files", do="wait", **{"with": str(scene.flag)})
    scene.signal_when_begun(process, signal.SIGKILL)
    process.communicate()
    (scene.folder / ".new.killed").mkdir()  # what it leaves if it dies a moment later
    (scene.folder / ".new.killed" / "tree.npz").write_bytes(b"half")
    scene.check_exit(scene.start(), 0, sentences=0)
    scene.check_files(new=True)


def _short_of_memory(scene: Scene, stage: str) -> None:
    """The fit may succeed; if not, it says so, and what it has found by then is written."""
    process = scene.start(at=stage, do="limit memory")
    _, said = process.communicate()
    has_tree = process.returncode == 0 or "the tree was written" in said
    scene.check_files(new=has_tree)
    lines = [line for line in said.splitlines() if line and "compiling kernels" not in line]
    if process.returncode not in (0, 1) or len(lines) != process.returncode:
        scene.errors.append(f"exit code {process.returncode}: {said[-300:]}")
    if stage in ("certificate", "files") and not has_tree:
        scene.errors.append("the tree was lost")


_INT, _TERM = signal.SIGINT, signal.SIGTERM
_FAULTS: dict[str, Callable[[Scene], None]] = {
    "disk-full": _disk_full,
    "checkpoint-full": _checkpoint_full,
    "small-disk": _small_disk,
    "checkpoint-small-disk": _checkpoint_on_small_disk,
    "read-only": _read_only,
    "removed": _removed,
    "two-processes": _two_processes,
    "clock-back": _clock_back,
    "interrupt": _send_signals("ratchet", (_INT,), 130, new=True, sentences=2),
    "interrupt-certificate": _send_signals("certificate", (_INT,), 130, new=True, sentences=1),
    "interrupt-twice": _send_signals("ratchet", (_INT, _INT), 130, new=False, sentences=2),
    "terminate": _send_signals("ratchet", (_TERM,), 143, new=True, sentences=2),
    "killed-writing": _killed_writing,
}
