"""Python in pages: blocks run from top to bottom, and the comment at the end of a block is what it prints."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

BLOCK = re.compile(r"(?:<!-- snippet: skip because (?P<reason>[^>]+) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)
PICTURE = re.compile(r"!\[[^]]*\]\((?P<picture>[^)]+)\)")
NEEDS = re.compile(r"<!-- needs: ([\w, ]+) -->")


def blocks(text: str) -> list[re.Match[str]]:
    return list(BLOCK.finditer(text))


def promised(code: str) -> str:
    """The comment at the end of a block: what it prints."""
    lines = code.rstrip().splitlines()
    last = next((k for k, line in enumerate(reversed(lines)) if not line.startswith("# ")), len(lines))
    return "\n".join(line[2:] for line in lines[len(lines) - last :])


def missing(text: str) -> list[str]:
    """Packages that the page says it needs and that are not installed."""
    named = [name.strip() for found in NEEDS.finditer(text) for name in found[1].split(",")]
    return [name for name in named if find_spec(name) is None]


def broken_promises(text: str, where: str, draw: Callable[[str, dict[str, Any]], None] | None = None) -> Iterator[str]:
    """Run a page in a folder of its own; yield what printed something else than it promises.

    ``draw`` is called for each picture below a block, with its path and the names that the blocks have left so far.
    """
    names: dict[str, Any] = {}
    parts = sorted([*blocks(text), *(PICTURE.finditer(text) if draw else ())], key=lambda part: part.start())
    with tempfile.TemporaryDirectory() as folder, inside(folder):
        for part in parts:
            found = part.groupdict()
            if draw and found.get("picture"):
                draw(found["picture"], names)
            elif not found["reason"]:
                told, words = _printed(found["code"], where, names), promised(found["code"]).strip()
                if words and told != words:
                    yield f"A block promises\n{words}\nand prints\n{told}"
        names.clear()  # files that are mapped into memory are let go before their folder


def _printed(code: str, where: str, names: dict[str, Any]) -> str:
    import matplotlib.pyplot as plt

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, where, "exec"), names)
    plt.close("all")  # who draws has the figure still
    return printed.getvalue().strip()


@contextlib.contextmanager
def inside(folder: str) -> Iterator[None]:
    """Work in a folder."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
