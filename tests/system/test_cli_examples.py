"""Every example of every help text and every command of docs/cli.md runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commands import COMMANDS, Run, help_of

pytestmark = pytest.mark.usefixtures("quick_certificate")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return Run(tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize(
    "command", [(), *((name,) for name in COMMANDS)], ids=lambda command: "".join(command) or "hyphc"
)
def test_every_example_of_every_help_runs(run, command):
    _, _, examples = help_of(*command).partition("examples:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert lines
    assert all(line.startswith("hyphc ") for line in lines)
    for line in lines:
        run(line)
    assert not [path for path in run.folder.iterdir() if path.name.startswith(".")]


def test_every_command_of_the_page_runs(run):
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert len(lines) > 10
    for line in lines:
        run(line.partition("  #")[0].strip())
