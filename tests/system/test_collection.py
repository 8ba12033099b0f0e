"""Which tests pytest collects: none of this folder unless it is named, and the same with and without a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def collected(folder: Path, *arguments: str, **environment: str) -> list[str]:
    """Return the tests that pytest collects in a folder."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["tests/test_quick.py::test_it"]),
        (["tests"], ["tests/test_quick.py::test_it"]),
        (["tests/system"], ["tests/system/test_long.py::test_it"]),
        (["tests/system/test_long.py"], ["tests/system/test_long.py::test_it"]),
    ],
    ids=" ".join,
)
def test_tests_of_the_system_are_collected_when_they_are_named(arguments, expected, tmp_path):
    """With the settings of this project, on two files that import nothing."""
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    (tmp_path / "tests" / "system").mkdir(parents=True)
    for name in ("test_quick.py", "system/test_long.py"):
        (tmp_path / "tests" / name).write_text("def test_it(): pass\n")
    assert collected(tmp_path, *arguments) == expected


def test_no_file_has_the_name_of_another():
    """They are imported by their names alone, unless they are in a package."""
    names = [path.name for path in HERE.parent.rglob("*.py") if not (path.parent / "__init__.py").exists()]
    assert sorted(names) == sorted(set(names))


def test_a_browser_that_comes_or_goes_changes_nothing_that_is_collected():
    pytest.importorskip("selenium")
    found = collected(ROOT, str(HERE / "test_policy_browser.py"), PATH="")
    assert any(test.endswith("::test_without_the_policy_the_same_tries_succeed") for test in found)
