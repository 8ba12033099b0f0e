"""Helpers of the tests of the command line: its commands, their help, and command lines run in one folder."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from hyphc.cli import main

COMMANDS = [
    "fit",
    "predict",
    "score",
    "verify",
    "compare",
    "cut",
    "plot",
    "explore",
    "convert",
    "datasets",
    "demo",
    "compile",
    "clear-cache",
]


class Run:
    """Runs command lines as a shell would, in one folder, each distinct one once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outputs: dict[str, str] = {}

    def __call__(self, line: str) -> str:
        if line not in self.outputs:
            words = shlex.split(line)
            stdin = None
            if "<" in words:
                stdin = (self.folder / words[-1]).read_bytes()
                words = words[:-2]
            assert words.pop(0) == "hyphc"
            self.outputs[line] = self.call(words, stdin)
        return self.outputs[line]

    def call(self, words: list[str], stdin: bytes | None = None) -> str:
        before, standard_input, text = Path.cwd(), sys.stdin, io.StringIO()
        os.chdir(self.folder)
        try:
            sys.stdin = io.TextIOWrapper(io.BytesIO(stdin or b""))
            with contextlib.redirect_stdout(text):
                assert main(words) == 0
        finally:
            os.chdir(before)
            sys.stdin = standard_input
        return text.getvalue()


def help_of(*command: str) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    assert end.value.code == 0
    return text.getvalue()


def data_of(page: Path) -> dict[str, Any]:
    """What an explorer page holds, apart from its scripts."""
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found, page
    return json.loads(found[1])
