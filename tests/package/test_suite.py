"""The tests themselves: what is collected depends on no machine, and files can be run in any order."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import in_file_order

TESTS = Path(__file__).parents[1]
ITEMS = [SimpleNamespace(path=Path(f"test_{file}.py"), name=k) for file in "abcdefgh" for k in range(3)]


@pytest.mark.parametrize("order", ["reverse", "random:1"])
def test_files_are_reordered_alike_in_every_process_and_their_tests_stay_together(order):
    found = in_file_order(ITEMS, order)
    assert found == in_file_order(ITEMS, order) != ITEMS
    assert sorted(found, key=lambda item: item.path) == ITEMS
    assert len(list(dict.fromkeys(item.path for item in found))) == 8
    assert [item.name for item in found] == [0, 1, 2] * 8


def test_another_seed_is_another_order():
    assert in_file_order(ITEMS, "random:1") != in_file_order(ITEMS, "random:2")


@pytest.mark.parametrize("order", ["backwards", "random", "reverse:1"])
def test_an_unknown_order_is_refused(order):
    with pytest.raises(pytest.UsageError, match=f"--file-order={order} is unknown; use 'reverse' or 'random:SEED'"):
        in_file_order(ITEMS, order)


def test_no_file_is_left_out_for_what_the_machine_lacks():
    """Workers of xdist that collect at different moments would not agree; tests are skipped when they run."""
    for path in TESTS.rglob("test_*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        assert not [call for call in calls if "allow_module_level" in {keyword.arg for keyword in call.keywords}], path


def test_commands_see_a_terminal_of_80_columns_wherever_the_tests_run():
    assert (os.environ["COLUMNS"], os.environ["MPLBACKEND"]) == ("80", "agg")
