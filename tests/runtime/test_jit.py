"""Kernels: what Python may call, compilation that fails or collects garbage, fields of records."""

from __future__ import annotations

import ast
import gc
from pathlib import Path
from typing import ClassVar

import hyphc
import numpy as np
import pytest
from hyphc._runtime import jit
from hyphc._runtime.arrays import record_dtype, zero_record
from numba import njit
from numba.core import event
from numba.core.errors import TypingError

SOURCES = Path(hyphc.__file__).parent


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
    listener = jit._Compilation()
    with event.install_listener("numba:compile", listener), pytest.raises(TypingError):
        njit(wrong)(3)
    assert listener.started == []
    assert listener.seconds > 0


def test_a_field_that_plain_python_could_not_read_is_refused():
    assert zero_record(record_dtype(("n_leaves", np.int64))).n_leaves == 0
    with pytest.raises(ValueError, match="'size' is an attribute"):
        record_dtype(("size", np.int64))
