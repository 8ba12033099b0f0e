"""Pages of docs/notebooks: run when the site is built, shown with what they print and draw, and offered as notebooks."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snippets import blocks, inside

FIGURE = re.compile(r"\n<!-- figure: (?P<alt>[^>]+) -->\n")
# Tables of pandas look like those of the site.
PANDAS_TABLE, SITE_TABLE = '<table border="1" class="dataframe">', '<table class="docutils dataframe">'


@dataclass
class Cell:
    """Text, or code with what it printed, the HTML of its last line, and the picture that it drew."""

    text: str
    is_code: bool = False
    printed: str = ""
    html: str = ""
    png: bytes = b""
    alt: str = ""


def cells_of(page: str) -> list[Cell]:
    """Split a page into text and code; a comment ``<!-- figure: words -->`` below code describes its picture."""
    cells, end = [], 0
    for block in blocks(page):
        cells += [Cell(page[end : block.start()].strip()), Cell(block["code"].rstrip(), is_code=True)]
        end = block.end()
        if figure := FIGURE.match(page, end + 1):
            cells[-1].alt, end = figure["alt"], figure.end()
    return [cell for cell in [*cells, Cell(page[end:].strip())] if cell.text]


def run(cells: list[Cell], where: str) -> None:
    """Run the code from top to bottom in a folder of its own, and keep its outputs."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, inside(folder):
        for cell in cells:
            if cell.is_code:
                _run_cell(cell, where, names)
        names.clear()


def _run_cell(cell: Cell, where: str, names: dict[str, Any]) -> None:
    import matplotlib.pyplot as plt

    tree, printed = ast.parse(cell.text, where), io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec"), names)
        value = eval(compile(ast.Expression(last.value), where, "eval"), names) if isinstance(last, ast.Expr) else None
        if plt.get_fignums():
            picture = io.BytesIO()
            plt.gcf().savefig(picture, dpi=110, bbox_inches="tight")
            cell.png = picture.getvalue()
            plt.close("all")
        elif hasattr(value, "_repr_html_"):
            cell.html = value._repr_html_()
        elif value is not None:
            print(value)
    cell.printed = printed.getvalue().rstrip()
    if bool(cell.png) != bool(cell.alt):
        raise ValueError(f"Code and comment disagree about a figure: give <!-- figure: words --> below\n{cell.text}")


def markdown(cells: list[Cell], name: str, folder: Path) -> str:
    """Return the page with its outputs; pictures are written into the folder."""
    parts = []
    for number, cell in enumerate(cells):
        parts.append(f"```python\n{cell.text}\n```" if cell.is_code else cell.text)
        if cell.printed:
            parts.append(f"```text\n{cell.printed}\n```")
        if cell.html:
            html = cell.html.replace(PANDAS_TABLE, SITE_TABLE)
            parts.append(f"```{{raw}} html\n{html}\n```")
        if cell.png:
            picture = folder / f"{name}_{number}.png"
            picture.write_bytes(cell.png)
            parts.append(f"![{cell.alt}]({folder.name}/{picture.name})")
    return "\n\n".join(parts) + "\n"


def notebook(cells: list[Cell]) -> str:
    """Return the page as a Jupyter notebook, with its outputs."""
    shared = {"metadata": {}}
    listed = [
        {"cell_type": "code", "id": f"cell-{number}", "source": cell.text, "outputs": _outputs(cell), **shared}
        | {"execution_count": None}
        if cell.is_code
        else {"cell_type": "markdown", "id": f"cell-{number}", "source": cell.text, **shared}
        for number, cell in enumerate(cells)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": listed}, indent=1) + "\n"


def _outputs(cell: Cell) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if cell.printed:
        found.append({"output_type": "stream", "name": "stdout", "text": cell.printed + "\n"})
    data = {"text/html": cell.html} if cell.html else {}
    if cell.png:
        data |= {"image/png": base64.b64encode(cell.png).decode(), "text/plain": cell.alt}
    if data:
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    return found
