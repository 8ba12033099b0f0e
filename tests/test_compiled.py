"""Kernels: what Python may call, and compilation where nothing can be written, by two at once, with a word to the user."""

from __future__ import annotations

import ast
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import hyphc
import pytest
from hyphc._shared import compiled
from numba import njit
from numba.core import event
from numba.core.errors import TypingError

SOURCES = Path(hyphc.__file__).parent
SUMS = "from hyphc._kernels.tree.passes import subtree_sums as s; import numpy as np; print(s(np.array([[0, 1]]), np.ones(2)))"


def decorated(tree: ast.Module, name: str) -> set[str]:
    """Functions of a module with the decorator of that name."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    named = [(f.name, ast.unparse(d).split("(")[0]) for f in functions for d in f.decorator_list]
    return {function for function, decorator in named if decorator == name}


def called_from_python(tree: ast.Module) -> set[str]:
    """Names used in functions that are not compiled, and at the top of a module."""
    functions = decorated(tree, "part") | decorated(tree, "kernel")
    used: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (
            node.name in functions or "of" in map(_attribute, node.decorator_list)
        ):
            continue
        used |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return used


def _attribute(decorator: ast.expr) -> str:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    return call.attr if isinstance(call, ast.Attribute) else ""


@pytest.mark.parametrize("module", sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py")))
def test_parts_of_kernels_are_called_by_kernels_only(module):
    tree = ast.parse((SOURCES / module).read_text())
    assert not decorated(tree, "part") & called_from_python(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and not module.startswith("_kernels/"):
            source = SOURCES.joinpath(*Path(module).parent.parts[: len(Path(module).parts) - node.level])
            path = source.joinpath(*(node.module or "").split(".")).with_suffix(".py")
            parts = decorated(ast.parse(path.read_text()), "part") if path.is_file() else set()
            assert not parts & {alias.name for alias in node.names}, (
                "a part has no wrapper: a call from Python would crash"
            )


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
    longer = (
        f"import hyphc._shared.compiled as c; c.PATIENCE = 0.0; {SUMS}; import hyphc; hyphc.exact_tree(np.ones((4, 4)))"
    )
    _, errors = run(longer, NUMBA_CACHE_DIR=str(tmp_path)).communicate()
    assert errors.count("compiling kernels, once per installation") == 1
    _, errors = run(longer, NUMBA_CACHE_DIR=str(tmp_path)).communicate()
    assert errors == ""


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("module", [None, "theirs", "hyphc.ours"])
def test_the_garbage_collector_stays_as_it_is_while_kernels_are_compiled(enabled, module):
    class Watch(event.Listener):
        states: ClassVar[list[bool]] = []

        def on_start(self, event):
            self.states.append(gc.isenabled())

        on_end = on_start

    def twice(x):
        return 2 * x

    twice.__module__ = module  # functions made by ``exec`` have none
    (gc.enable if enabled else gc.disable)()
    try:
        with event.install_listener("numba:compile", Watch()):
            assert njit(twice)(3) == 6
        assert gc.isenabled() is enabled
    finally:
        gc.enable()
    assert Watch.states == [enabled, enabled]


def test_a_kernel_that_fails_to_compile_leaves_the_count_of_compilations_as_it_was(caplog):
    def wrong(x):
        return x.missing

    wrong.__module__ = "hyphc.ours"
    listener = compiled._Compilation()
    with event.install_listener("numba:compile", listener), pytest.raises(TypingError):
        njit(wrong)(3)
    assert listener.started == []
    assert listener.seconds > 0


# What numba's reference manual documents, and the events of its developer manual.
DOCUMENTED = {"numba", "numba.extending", "numba.core.event"}


@pytest.mark.parametrize("module", sorted(path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py")))
def test_only_documented_modules_of_numba_are_imported(module):
    imported: set[str] = set()
    for node in ast.walk(ast.parse((SOURCES / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= submodules if node.module == "numba.core" else {node.module}
    assert {name for name in imported if name.split(".")[0] in ("numba", "llvmlite")} <= DOCUMENTED
