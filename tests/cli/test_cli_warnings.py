"""Commands run from Python leave the warnings machinery of the process alone: other threads and later code are not affected."""

from __future__ import annotations

import ast
import threading
import warnings
from pathlib import Path

import hyphc
import numpy as np
import pytest
from hyphc import HypHC
from hyphc._runtime.user_warnings import collect_warnings, warn
from hyphc.cli import main

pytestmark = pytest.mark.usefixtures("quick_certificate")

SOURCES = Path(hyphc.__file__).parent
# What belongs to the process and not to a call.
MACHINERY = ("showwarning", "formatwarning", "_showwarnmsg_impl", "_showwarnmsg", "filters")


def machinery() -> dict[str, object]:
    found = {name: getattr(warnings, name) for name in MACHINERY}
    return found | {"filters": list(warnings.filters)}


@pytest.fixture
def wide(tmp_path, monkeypatch):
    """A table of which one column has nearly all the variance: a warning of the library."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(12, 3)) * [1000, 1, 1]
    np.save("wide.npy", X)
    return tmp_path


def test_no_module_but_one_touches_the_warnings_machinery():
    """By the syntax tree: a new ``warnings.catch_warnings`` or ``warnings.warn`` anywhere in the package fails here."""
    found = []
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            found += [path.relative_to(SOURCES).as_posix()] * ("warnings" in names)
    assert found == ["_runtime/user_warnings.py"]


def test_a_warning_of_another_thread_is_not_taken_for_the_commands(wide, monkeypatch, capsys):
    fit = HypHC.fit

    def beside(model, X):
        thread = threading.Thread(target=warn, args=("of somebody else",))
        thread.start()
        thread.join()
        return fit(model, X)

    monkeypatch.setattr(HypHC, "fit", beside)
    with pytest.warns(UserWarning, match="of somebody else"):
        assert main(["fit", "wide.npy", "--output", "out"]) == 0
    assert "somebody" not in capsys.readouterr().err


def test_commands_in_two_threads_that_end_out_of_order_leave_the_machinery_alone():
    """Each collects its own: the first to begin is the first to end, which catch_warnings does not survive."""
    before, told, begun, ended = machinery(), {"a": [], "b": []}, threading.Event(), threading.Event()

    def first() -> None:
        with collect_warnings(told["a"].append):
            begun.wait()
            warn("of a")
        ended.set()

    def second() -> None:
        with collect_warnings(told["b"].append):
            begun.set()
            ended.wait()
            warn("of b")

    threads = [threading.Thread(target=target) for target in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == {"a": ["of a"], "b": ["of b"]}
    assert machinery() == before


def test_a_warning_points_to_the_line_that_caused_it():
    with pytest.warns(UserWarning, match="here") as caught:
        warn("here")
    assert caught[0].filename == __file__
