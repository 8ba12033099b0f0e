"""The tutorial's commands are run as they stand, and print what the page says."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
snippets = importlib.import_module("snippets")
sys.path.pop(0)
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"(?P<install><!-- tutorial: install -->\n)?```sh\n(?P<commands>.*?)```(?:\n\n```text\n(?P<printed>.*?)```)?",
    re.DOTALL,
)
MARK = "--- step {} ---"

pytestmark = pytest.mark.skipif(
    os.name == "nt" or not shutil.which("bash"), reason="the tutorial's commands are for a POSIX shell"
)


class Step(NamedTuple):
    commands: str
    printed: str
    installs: bool


STEPS = [Step(found["commands"], found["printed"] or "", bool(found["install"])) for found in STEP.finditer(PAGE)]


def printed_by(steps: list[Step], folder: Path, **variables: str) -> list[str]:
    """What each step prints, all of them run by one shell that stops at the first error."""
    script = "\n".join(f"echo '{MARK.format(k)}'\n{step.commands}" for k, step in enumerate(steps))
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return re.split(r"^--- step \d+ ---\n", done.stdout, flags=re.MULTILINE)[1:]


def keeps(promise: str, printed: str) -> bool:
    """Whether the lines agree, where … in a promise is any text, and a line of it any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + "\n" for line in promise.splitlines()
    )
    return re.fullmatch(pattern, printed) is not None


def check(steps: list[Step], printed: list[str]) -> None:
    assert len(printed) == len(steps)
    for step, told in zip(steps, printed, strict=True):
        assert not step.printed or keeps(step.printed, told), (
            f"{step.commands}\npromises\n{step.printed}\nand prints\n{told}"
        )


def test_the_commands_print_what_the_page_says(tmp_path):
    steps = [step for step in STEPS if not step.installs]
    here = os.path.dirname(sys.executable)
    check(steps, printed_by(steps, tmp_path, PATH=here + os.pathsep + os.environ["PATH"]))


@pytest.mark.slow
def test_a_newcomer_can_walk_the_whole_way_in_a_new_environment(tmp_path):
    checkout = tmp_path / "hyphc"
    kept = shutil.ignore_patterns(".git", ".venv*", "site", "reference", "__pycache__", ".*_cache", "results")
    shutil.copytree(ROOT, checkout, ignore=kept)
    check(STEPS, printed_by(STEPS, checkout, PYTHONPATH="", VIRTUAL_ENV=""))
    (code,) = (block["code"] for block in snippets.blocks((ROOT / "README.md").read_text(encoding="utf-8")))
    python = checkout / ".venv" / "bin" / "python"
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True
    )
    assert done.stdout.strip() == snippets.promised(code), done.stderr


def test_the_way_has_all_its_stations():
    assert [step.installs for step in STEPS].index(True) == 0
    assert sum(step.installs for step in STEPS) == 1
    assert len(STEPS) >= 8
    words = " ".join(step.commands for step in STEPS)
    for station in ("pip install", "iris.csv", "hyphc fit", "hyphc cut", "--support", "hyphc compare", "--labels"):
        assert station in words


def test_a_promise_that_is_not_kept_is_found():
    assert keeps("a … c\n…\nz\n", "a b c\nd\ne\nz\n")
    assert not keeps("a … c\n", "a b d\n")
    assert not keeps("a\n", "a\nb\n")
