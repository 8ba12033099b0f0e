"""Pages of docs/notebooks: shown with what their code prints and draws, and offered as valid notebooks."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
notebooks = importlib.import_module("notebooks")
sys.path.pop(0)

PAGE = """# Title

```python
class Page:
    def _repr_html_(self):
        return "<b>bold</b>"
print(1)
2
```

Words.

```python
import matplotlib.pyplot as plt
ax = plt.figure().subplots()
```

<!-- figure: an empty square -->

```python
Page()
```
"""


def test_outputs_stand_below_the_code_that_makes_them(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    cells = notebooks.cells_of(PAGE)
    notebooks.run(cells, "here")
    assert [cell.is_code for cell in cells] == [False, True, False, True, True]
    assert (cells[1].printed, cells[4].html) == ("1\n2", "<b>bold</b>")
    shown = notebooks.markdown(cells, "page", tmp_path)
    order = [
        "# Title",
        "print(1)",
        "```text\n1\n2\n```",
        "Words.",
        "ax =",
        "![an empty square]",
        "Page()",
        "{raw} html\n<b>bold",
    ]
    assert [shown.index(part) for part in order] == sorted(shown.index(part) for part in order)
    assert (tmp_path / "page_3.png").read_bytes().startswith(b"\x89PNG")
    outputs = [cell.get("outputs") for cell in json.loads(notebooks.notebook(cells))["cells"]]
    assert outputs[1] == [{"output_type": "stream", "name": "stdout", "text": "1\n2\n"}]
    assert outputs[3][0]["data"]["text/plain"] == "an empty square"
    assert outputs[4][0]["data"] == {"text/html": "<b>bold</b>"}


@pytest.mark.parametrize("change", [("<!-- figure: an empty square -->\n", ""), ("plt.figure().subplots()", "3")])
def test_a_figure_without_words_and_words_without_a_figure_are_errors(change):
    pytest.importorskip("matplotlib").use("Agg")
    cells = notebooks.cells_of(PAGE.replace(*change))
    with pytest.raises(ValueError, match="disagree about a figure"):
        notebooks.run(cells, "here")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_a_valid_notebook_with_all_its_code(page):
    nbformat = pytest.importorskip("nbformat")
    text = page.read_text(encoding="utf-8")
    found = nbformat.reads(notebooks.notebook(notebooks.cells_of(text)), as_version=4)
    nbformat.validate(found)
    code = [cell.source for cell in found.cells if cell.cell_type == "code"]
    assert len(code) == text.count("```python\n")
    assert all(source in text for source in code)
    assert "<!-- figure" not in "".join(cell.source for cell in found.cells)
