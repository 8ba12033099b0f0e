"""Python in pages: blocks run from top to bottom, and the comment at the end of a block is what it prints."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec

BLOCK = re.compile(r"(?:<!-- snippet: skip because (?P<reason>[^>]+) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)
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


def broken_promises(text: str, where: str) -> Iterator[str]:
    """Run a page in a folder of its own; yield what printed something else than it promises."""
    names: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, _inside(folder):
        for block in blocks(text):
            if block["reason"]:
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block["code"], where, "exec"), names)
            words, told = promised(block["code"]).strip(), printed.getvalue().strip()
            if words and told != words:
                yield f"A block promises\n{words}\nand prints\n{told}"
            _close_figures()
        names.clear()  # files that are mapped into memory are let go before their folder


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _close_figures() -> None:
    import matplotlib.pyplot as plt

    plt.close("all")
