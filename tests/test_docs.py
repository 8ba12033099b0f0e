"""The pages' code runs as it stands, prints what the page says, and what the pages name is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- snippet: skip because (?P<reason>[^>]+) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)


def blocks(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


def promised(code: str) -> str:
    """The comment at the end of a block: what it prints."""
    lines = code.rstrip().splitlines()
    last = next((k for k, line in enumerate(reversed(lines)) if not line.startswith("# ")), len(lines))
    return "\n".join(line[2:] for line in lines[len(lines) - last :])


WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    if page.name == "nn.md":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks(page):
        if block["reason"]:
            continue
        capsys.readouterr()
        exec(compile(block["code"], str(page), "exec"), names)
        if promised(block["code"]):
            assert capsys.readouterr().out.strip() == promised(block["code"])
        pyplot.close("all")


def test_few_blocks_are_skipped_and_each_says_why():
    skipped = [block["reason"] for page in PAGES for block in blocks(page) if block["reason"]]
    assert len(skipped) <= 3


def test_the_comment_at_the_end_of_a_block_is_a_promise():
    assert promised("# a comment\nprint(1)\n# 1\n# 2\n") == "1\n2"
    assert promised("x = 1  # one\n") == ""


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_modules_and_files_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    for path in re.findall(r"\b((?:src|benchmarks|docs|examples|tests)/[\w/]+\.py)\b", text):
        assert (ROOT / path).is_file(), path
    for dotted in set(re.findall(r"`(hyphc(?:\.\w+)+)", text)):
        assert is_there(dotted), dotted


def is_there(dotted: str) -> bool:
    """Whether the name leads to a module, or to something in one."""
    parts = dotted.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for name in parts[k:]:
            found = getattr(found, name, None)
        return found is not None
    return False


def test_a_module_that_is_gone_is_found():
    assert is_there("hyphc.tree.Tree.cut")
    assert not is_there("hyphc.trees")
