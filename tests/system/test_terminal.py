"""The command line in terminals that know few characters."""

from __future__ import annotations

import os
import subprocess
import sys


def test_the_command_line_prints_to_a_terminal_that_knows_few_characters(tmp_path):
    """Windows pipes text in cp1252, some terminals of Linux in ASCII; help and results must arrive there too."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for words in (["plot", "--help"], ["explore", "--help"], ["datasets", "--write", "iris", "iris.csv"]):
        command = [sys.executable, "-m", "hyphc", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
