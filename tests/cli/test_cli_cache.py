"""``hyphc compile`` and ``hyphc clear-cache``: compiled kernels of the package come and go, all else stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hyphc
import pytest
from hyphc.cli import cache, main


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two folders of compiled kernels, one of which also holds other files."""
    made = [tmp_path / "search" / "__pycache__", tmp_path / "tree" / "__pycache__"]
    for folder in made:
        folder.mkdir(parents=True)
        (folder / "sums.total-1.py311.nbi").write_bytes(b"x" * 10)
        (folder / "sums.total-1.py311.1.nbc").write_bytes(b"x" * 990)
    (made[0] / "sums.cpython-311.pyc").write_bytes(b"kept")
    monkeypatch.setattr(cache, "cache_folders", lambda: iter([*made, made[0], tmp_path / "missing"]))
    return made


def test_compiled_kernels_are_removed_and_counted(folders, tmp_path, capsys):
    assert main(["clear-cache"]) == 0
    assert capsys.readouterr().out == f"removed 4 files (2.0 kB) from {tmp_path}\n"
    assert [path.name for folder in folders for path in folder.iterdir()] == ["sums.cpython-311.pyc"]
    assert main(["clear-cache"]) == 0
    assert capsys.readouterr().out == f"no compiled kernels in {tmp_path}\n"


def test_a_file_that_may_not_be_removed_is_named(folders, monkeypatch, capsys):
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    assert main(["clear-cache"]) != 0
    assert str(folders[0]) in capsys.readouterr().err


def test_numba_writes_where_the_command_looks(tmp_path):
    script = (
        "from hyphc.cli.cache import cache_folders; from hyphc._kernels.tree.passes import subtree_sums;"
        "import numpy as np; subtree_sums(np.array([[0, 1]]), np.ones(2)); print(*set(cache_folders()), sep='\\n')"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(hyphc.__file__).parents[1])}
    printed = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    written = {path.parent for path in tmp_path.rglob("*.nbc")}
    assert written
    assert written <= {Path(line) for line in printed.stdout.splitlines()}


def test_compile_runs_every_kind_of_input_and_says_how_long_it_took(monkeypatch, capsys):
    calls = []
    kinds_of_input = dict.fromkeys(cache.kinds_of_input(), lambda: calls.append(1))
    monkeypatch.setattr(cache, "kinds_of_input", lambda: kinds_of_input)
    assert main(["compile"]) == 0
    *kinds, total = capsys.readouterr().out.splitlines()
    assert len(calls) == len(kinds) == len(kinds_of_input)
    assert [line[:44].strip() for line in kinds] == list(kinds_of_input)
    assert all(line.endswith(" s") for line in kinds)
    assert total.startswith("compiled in ")


@pytest.mark.slow
def test_after_compile_common_fits_compile_nothing(tmp_path):
    """In an empty cache: fits of other sizes and settings than those of the command find all kernels compiled."""
    check = """
import numpy as np, numba.core.event as event
from hyphc import HypHC
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        if (event.data["dispatcher"].py_func.__module__ or "").startswith("hyphc."):
            compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
event.register("numba:compile", Listener())
rng = np.random.default_rng(0)
for X in (rng.normal(size=(400, 5)), rng.normal(size=(21_000, 8)).astype(np.float32)):
    for metric in ("auto", "cosine"):
        model = HypHC(metric=metric, random_state=0, effort=0.1).fit(X)
        model.predict(X[:2])
print(sorted(set(compiled)))
"""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(hyphc.__file__).parents[1])}
    for words in (["-m", "hyphc", "compile"], ["-c", check]):
        done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
