"""Which tests pytest collects: none of this folder unless it is asked for, and the same with and without a browser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def collected(*arguments: str, **environment: str) -> str:
    """Return what ``pytest --collect-only`` prints with these arguments."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_in(printed: str) -> set[str]:
    return {line.partition("::")[0] for line in printed.splitlines() if "::" in line}


def test_the_test_command_leaves_out_this_folder_and_nothing_else():
    assert files_in(collected()) == {f"tests/{path.name}" for path in HERE.parent.glob("test_*.py")}


def test_this_folder_is_collected_when_it_is_named():
    assert files_in(collected("tests/system")) == {f"tests/system/{path.name}" for path in HERE.glob("test_*.py")}


def test_a_browser_that_comes_or_goes_changes_nothing_that_is_collected():
    pytest.importorskip("selenium")
    printed = collected(str(HERE / "test_policy_browser.py"), PATH="")
    assert "::test_without_the_policy_the_same_tries_succeed" in printed
