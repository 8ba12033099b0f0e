"""Pages are run when the site is built, and a picture stands beside the code that draws it."""

from __future__ import annotations

import re
from pathlib import Path

import notebooks
from docutils import nodes
from snippets import blocks, broken_promises, missing
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

NOTEBOOKS = "notebooks/"  # below docs/: pages that are shown with their outputs
OUTPUTS = "_outputs"  # below it: written again by each build, not kept in git
BROKEN_NUMBER = re.compile(r"(?<=\d) (?=\d{3}(?!\d)|%)")  # the space of 70 000 or of 5 %
LONGEST_WORD = 40  # characters of code that fit into a line of a telephone


def run_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Run the code of a page that Sphinx reads; a page that did not change is not read, and not run, again."""
    text = source[0]
    if not blocks(text):
        return
    packages, wanted = missing(text), app.config.run_examples
    if wanted and packages:
        logger.info("%s: not run, needs %s", docname, ", ".join(packages))
    try:
        if docname.startswith(NOTEBOOKS):
            source[0] = notebook_page(app, docname, text, packages)
        elif wanted and not packages:
            for complaint in broken_promises(text, docname):
                logger.warning(complaint, location=docname)
    except Exception as error:
        logger.warning("its code ends with %r", error, location=docname)


def notebook_page(app: Sphinx, docname: str, text: str, packages: list[str]) -> str:
    """Return a page with its outputs, or with a note on the packages that it lacks, and a link to it as a notebook."""
    name = docname.removeprefix(NOTEBOOKS)
    folder = Path(app.srcdir) / NOTEBOOKS / OUTPUTS
    folder.mkdir(exist_ok=True)
    cells = notebooks.cells_of(text)
    if app.config.run_examples and not packages:
        notebooks.run(cells, docname)
    (folder / f"{name}.ipynb").write_text(notebooks.notebook(cells), encoding="utf-8")
    shown = notebooks.markdown(cells, name, folder)
    if packages:
        note = f"*This page was built without {' and '.join(packages)}, so its outputs are not shown.*"
        shown = shown.replace("\n\n", f"\n\n{note}\n\n", 1)  # below the title
    return f"{shown}\n{{download}}`Download this page as a notebook <{OUTPUTS}/{name}.ipynb>`\n"


def put_beside(app: Sphinx, doctree: nodes.document) -> None:
    """A block that draws into ``ax`` and the picture right below it go into one box, which the style sheet lays out."""
    for block in list(doctree.findall(nodes.literal_block)):
        below = block.next_node(descend=False, siblings=True)
        if "ax = " not in block.astext() or not isinstance(below, nodes.paragraph):
            continue
        if len(below) == 1 and isinstance(below[0], nodes.image) and block.parent is below.parent:
            parent = block.parent
            box = nodes.container(classes=["beside"])
            parent.insert(parent.index(block), box)
            for part in (block, below):
                parent.remove(part)
                box += part


def keep_words(app: Sphinx, doctree: nodes.document) -> None:
    """Mark code in sentences whose words fit into a short line: the style sheet does not break them at hyphens."""
    for code in doctree.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) <= LONGEST_WORD:
            code["classes"].append("whole")


def keep_numbers(app: Sphinx, doctree: nodes.document) -> None:
    """Put no-break spaces into numbers such as 70 000 and before per cent signs, outside of code."""
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, (nodes.literal, nodes.FixedTextElement)):
            continue
        kept = BROKEN_NUMBER.sub("\N{NO-BREAK SPACE}", text)
        if kept != text:
            text.parent.replace(text, nodes.Text(kept))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("run_examples", True, "", bool)
    app.connect("source-read", run_page)
    app.connect("doctree-read", put_beside)
    app.connect("doctree-read", keep_words)
    app.connect("doctree-read", keep_numbers)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
