"""What differs between systems: memory, permissions, encodings. Each system is played here by what it would answer."""

from __future__ import annotations

import ast
import ctypes
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hyphc import HypHC
from hyphc._shared import memory
from hyphc._shared.checks import require_memory
from hyphc._shared.files import replaced_atomically

SOURCES = sorted((Path(__file__).resolve().parents[1] / "src" / "hyphc").rglob("*.py"))


@pytest.fixture
def unknown(monkeypatch, tmp_path):
    """A system that answers none of the questions."""
    monkeypatch.setattr(memory, "MEMINFO", str(tmp_path / "missing"))
    monkeypatch.delattr(ctypes, "windll", raising=False)
    monkeypatch.delattr(os, "sysconf", raising=False)
    return monkeypatch


def windows_with(free: int, success: int = 1) -> SimpleNamespace:
    """What ``ctypes.windll`` holds there, as far as it is asked."""

    def status(pointer) -> int:
        record = pointer._obj
        assert record.dwLength == ctypes.sizeof(record) == 64  # the call fails on Windows otherwise
        record.ullTotalPhys, record.ullAvailPhys = 2 * free, free
        return success

    return SimpleNamespace(kernel32=SimpleNamespace(GlobalMemoryStatusEx=status))


def test_linux_tells_what_is_available_and_not_what_is_built_in(unknown, tmp_path):
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:       16000 kB\nMemAvailable:    5000 kB\n", encoding="ascii")
    unknown.setattr(memory, "MEMINFO", str(file))
    assert memory.available_memory() == 5000 * 1024


def test_windows_is_asked_through_its_own_interface(unknown):
    unknown.setattr(ctypes, "windll", windows_with(7 << 30), raising=False)
    assert memory.available_memory() == 7 << 30


def test_macos_tells_what_is_built_in(unknown):
    unknown.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 16384}.__getitem__, raising=False)
    assert memory.available_memory() == 1000 * 16384


@pytest.mark.parametrize("answer", [-1, 0])
def test_an_answer_that_means_unknown_is_taken_as_one(unknown, answer):
    unknown.setattr(os, "sysconf", lambda name: answer, raising=False)
    unknown.setattr(ctypes, "windll", windows_with(7 << 30, success=0), raising=False)
    assert memory.available_memory() == np.inf


def test_where_nothing_is_known_a_default_fit_runs(unknown):
    assert memory.available_memory() == np.inf
    require_memory(1e30, "A matrix", "use a subset")
    X = np.random.default_rng(0).normal(size=(12, 3))
    assert HypHC(2, random_state=0).fit(X).n_leaves_ == 12


def test_memory_that_is_known_still_limits(unknown):
    unknown.setattr(ctypes, "windll", windows_with(1 << 20), raising=False)
    with pytest.raises(MemoryError, match=r"needs 1\.0 GB and 0\.0 GB are at hand; use a subset"):
        require_memory(1e9, "A matrix", "use a subset")


def test_a_written_file_has_the_permissions_of_any_new_file(tmp_path):
    with replaced_atomically(tmp_path / "tree.json") as file:
        file.write(b"{}")
    (tmp_path / "usual").touch()
    assert (tmp_path / "tree.json").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert (tmp_path / "tree.json").read_bytes() == b"{}"


def write_half(path: Path) -> None:
    with replaced_atomically(path) as file:
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


def test_the_command_line_prints_to_a_terminal_that_knows_few_characters(tmp_path):
    """Windows pipes text in cp1252, some terminals of Linux in ASCII; help and results must arrive there too."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for words in (["plot", "--help"], ["explore", "--help"], ["datasets", "--write", "iris", "iris.csv"]):
        command = [sys.executable, "-m", "hyphc", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
