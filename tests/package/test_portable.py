"""What differs between systems: memory, locks, permissions, encodings. Each system is played here by what it would answer."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from hyphc import HypHC
from hyphc._runtime import memory
from hyphc._runtime.atomic_write import atomic_write
from hyphc._runtime.folder_lock import FolderLock
from hyphc._runtime.validation import require_memory

SOURCES = sorted((Path(__file__).resolve().parents[2] / "src" / "hyphc").rglob("*.py"))


@pytest.fixture
def system(monkeypatch):
    """A function that plays a system with so many bytes free, or with an error, and control groups that leave so many."""

    def play(free, groups=np.inf):
        def virtual_memory():
            if isinstance(free, Exception):
                raise free
            return SimpleNamespace(available=free)

        monkeypatch.setattr(psutil, "virtual_memory", virtual_memory)
        monkeypatch.setattr(memory, "cgroup_memory", lambda: groups)

    return play


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_free_memory_and_not_what_is_built_in_counts_on_every_system(system, monkeypatch, platform):
    system(5 << 30)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "sysconf", lambda name: pytest.fail("built in"), raising=False)
    assert memory.available_memory() == 5 << 30


def test_the_lesser_of_free_memory_and_the_limit_of_control_groups_counts(system):
    system(5 << 30, groups=1 << 30)
    assert memory.available_memory() == 1 << 30
    system(1 << 29, groups=1 << 30)
    assert memory.available_memory() == 1 << 29


@pytest.mark.parametrize(
    "answer", [0, OSError("no /proc"), NotImplementedError(), RuntimeError("host_statistics failed")]
)
def test_where_nothing_is_known_a_default_fit_runs(system, answer):
    system(answer)
    assert memory.available_memory() == np.inf
    require_memory(1e30, "A matrix", "use a subset")
    X = np.random.default_rng(0).normal(size=(12, 3))
    assert HypHC(2, random_state=0).fit(X).n_leaves_ == 12


def test_memory_that_is_known_still_limits(system):
    system(64 << 30, groups=1 << 20)
    with pytest.raises(MemoryError, match=r"needs 1\.0 GB and 0\.0 GB are available; use a subset"):
        require_memory(1e9, "A matrix", "use a subset")


# --- control groups, in a file system of their own ------------------------------------------------------------------------


V2 = "30 23 0:26 {outside} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = "35 31 0:32 {outside} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
HYBRID = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"


def machine(root: Path, mounts: str, groups: str) -> Path:
    """A file system with these mounts, and a process in these groups."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "self" / "mountinfo").write_text(mounts, encoding="ascii")
    (root / "proc" / "self" / "cgroup").write_text(groups, encoding="ascii")
    return root


def group(folder: Path, limit: int | str, used: int, reclaimable: int, version: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    for name, value in zip(names, (limit, used), strict=True):
        (folder / name).write_text(f"{value}\n", encoding="ascii")
    cached = (
        f"inactive_file {reclaimable}\n" if version == 2 else f"inactive_file 1\ntotal_inactive_file {reclaimable}\n"
    )
    (folder / "memory.stat").write_text(f"anon 77\n{cached}", encoding="ascii")


@pytest.mark.parametrize(
    ("inner", "outer", "left"),
    [
        ((1000, 400, 0), ("max", 900, 0), 600),
        ((1000, 400, 150), ("max", 900, 0), 750),  # cache that can be dropped
        (("max", 400, 0), (1000, 900, 0), 100),  # a neighbour in the outer group uses the rest
        ((1000, 400, 0), (2000, 1900, 30), 130),
        ((1000, 1400, 0), ("max", 900, 0), 0),
        (("max", 400, 0), ("max", 900, 0), np.inf),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_the_least_that_any_group_up_the_hierarchy_leaves_counts(tmp_path, inner, outer, left, version):
    unlimited = 2**63 - 4096  # how the first version writes "max"
    if version == 2:
        root = machine(tmp_path, V2.format(outside="/"), "0::/pod/worker\n")
        pod = root / "sys/fs/cgroup/pod"  # the outermost group has no limit of its own
    else:
        root = machine(tmp_path, HYBRID + V1.format(outside="/"), "5:cpu:/other\n4:memory:/pod/worker\n0::/\n")
        pod = root / "sys/fs/cgroup/memory/pod"
        group(pod.parent, unlimited, 5000, 0, version)
        inner, outer = ((unlimited if one[0] == "max" else one[0], *one[1:]) for one in (inner, outer))
    group(pod / "worker", *inner, version)
    group(pod, *outer, version)
    found = memory.cgroup_memory(root)
    assert found == left or (left == np.inf and found > 2**62)


@pytest.mark.parametrize(
    ("outside", "path"), [("/", "/"), ("/docker/abc", "/docker/abc"), ("/docker/abc", "/"), ("/", "/../other")]
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_container_that_sees_its_own_group_alone_is_limited_by_it(tmp_path, outside, path, version):
    mount, where, line = (V2, "", f"0::{path}\n") if version == 2 else (V1, "memory", f"4:cpu,memory:{path}\n")
    root = machine(tmp_path, mount.format(outside=outside), line)
    group(root / "sys/fs/cgroup" / where, 1000, 400, 50, version)
    assert memory.cgroup_memory(root) == 650


def test_without_control_groups_there_is_no_limit_of_theirs(tmp_path):
    assert memory.cgroup_memory(tmp_path) == np.inf
    assert memory.cgroup_memory(machine(tmp_path, "22 1 8:1 / / rw shared:1 - ext4 /dev/sda rw\n", "")) == np.inf


# --- locks ----------------------------------------------------------------------------------------------------------------


LOCKED = """
import os, sys, tempfile
sys.modules["fcntl"] = None
from hyphc._runtime.folder_lock import FolderLock
with tempfile.TemporaryDirectory() as folder:
    first = FolderLock.acquire(folder)
    print(FolderLock.acquire(folder, wait=0.05) is None, end=" ")
    first.release()
    print(os.listdir(folder), FolderLock.acquire(folder) is None)
"""


def test_a_folder_is_locked_on_systems_without_fcntl_too():
    done = subprocess.run([sys.executable, "-c", LOCKED], capture_output=True, text=True, check=True)
    assert done.stdout == "True [] False\n"


def test_a_lock_leaves_no_file_and_is_free_when_its_process_was_killed(tmp_path):
    take = f"from hyphc._runtime.folder_lock import FolderLock; x = FolderLock.acquire({str(tmp_path)!r})"
    hold = f"{take}; print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=-1, stdout=-1) as other:
        assert other.stdout.readline() == b"held\n"
        assert FolderLock.acquire(tmp_path) is None
        other.kill()
        other.wait()
    lock = FolderLock.acquire(tmp_path)
    assert lock is not None
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_can_be_released_by_another_thread(tmp_path):
    lock = FolderLock.acquire(tmp_path)
    thread = Thread(target=lock.release)
    thread.start()
    thread.join()
    with FolderLock.acquire(tmp_path) as again:
        assert again is not None


def test_a_folder_that_is_not_there_is_not_locked_but_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no folder"):
        FolderLock.acquire(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []


def test_a_written_file_has_the_permissions_of_any_new_file(tmp_path):
    with atomic_write(tmp_path / "tree.json") as file:
        file.write(b"{}")
    (tmp_path / "usual").touch()
    assert (tmp_path / "tree.json").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert (tmp_path / "tree.json").read_bytes() == b"{}"


def write_half(path: Path) -> None:
    with atomic_write(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt("half way")


def test_a_file_that_could_not_be_finished_leaves_the_old_one_and_nothing_else(tmp_path):
    target = tmp_path / "tree.json"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt, match="half way"):
        write_half(target)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"tree.json": b"old"}


def opened_as_text(source: str) -> list[int]:
    """Lines that open text without an encoding: on Windows it would not be UTF-8."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            modes = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            text = name in ("read_text", "write_text", "TextIOWrapper") or (
                name == "open" and isinstance(node.func, ast.Name) and not any("b" in mode for mode in modes[1:])
            )
            if text and "encoding" not in {keyword.arg for keyword in node.keywords}:
                found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    "line", ["open('x')", "open(path, 'w')", "path.read_text()", "p.write_text('x')", "io.TextIOWrapper(f)"]
)
def test_text_without_an_encoding_is_found(line):
    assert opened_as_text(line) == [1]


def test_text_is_read_and_written_with_an_encoding():
    found = {path.name: opened_as_text(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert len(found) > 50
    assert {name: lines for name, lines in found.items() if lines} == {}
