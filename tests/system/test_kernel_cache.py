"""Compilation in new processes: without a writable cache, by two processes at once, and with one message to the user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hyphc

SOURCES = Path(hyphc.__file__).parent
SUMS = "from hyphc._kernels.tree.passes import subtree_sums as s; import numpy as np; print(s(np.array([[0, 1]]), np.ones(2)))"
LARGEST = "from hyphc._kernels.tree.passes import largest_below as m; print(m(np.array([[0, 1]]), np.ones(2)))"


def run(code: str, **environment: str) -> subprocess.Popen[str]:
    known = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES.parent), **environment}
    return subprocess.Popen([sys.executable, "-c", code], env=known, stdout=-1, stderr=-1, text=True)


def test_without_a_place_to_keep_kernels_each_process_compiles_for_itself():
    # numba looks for a directory when a function is decorated; there is none below a file
    out, errors = run(SUMS, NUMBA_CACHE_DIR="/dev/null/cache").communicate()
    assert out == "[1. 1. 2.]\n", errors


def test_two_processes_that_start_at_once_both_compile_and_a_third_finds_the_result(tmp_path):
    two = [run(SUMS, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert [process.communicate()[0] for process in two] == ["[1. 1. 2.]\n"] * 2
    third = f"{SUMS}; from hyphc._kernels.tree.passes import _add_up; print(sum(_add_up.stats.cache_hits.values()))"
    assert run(third, NUMBA_CACHE_DIR=str(tmp_path)).communicate()[0] == "[1. 1. 2.]\n1\n"


def test_the_user_is_told_once_what_takes_so_long(tmp_path):
    two = f"import hyphc._runtime.jit as c; c.WARN_AFTER = 0.0; {SUMS}; {LARGEST}"
    _, errors = run(two, NUMBA_CACHE_DIR=str(tmp_path)).communicate()
    assert errors.count("compiling kernels, once for each kind of input") == 1
    _, errors = run(two, NUMBA_CACHE_DIR=str(tmp_path)).communicate()
    assert errors == ""
