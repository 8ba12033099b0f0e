"""The pages' code runs as it stands, prints what the page says, and what the pages name is there."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from pathlib import Path

import pytest
from hyphc.cli.parsers import build_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md"))]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
snippets = importlib.import_module("snippets")
sys.path.pop(0)
promised = snippets.promised
INLINE = re.compile(r"(?<!`)`((?:hyphc|python -m hyphc|python -m benchmarks) [^`\n]+)`(?!`)")
STATEMENT = re.compile(r"\b((?:Lemma|Theorem|Definition|Proposition|Algorithm) [A-D0-9]+(?:\.\d+)?)")


def blocks(page: Path) -> list[re.Match[str]]:
    return list(snippets.blocks(page.read_text(encoding="utf-8")))


def test_pages_for_users_are_short():
    """Derivations, experiments and long tables belong to docs/notes."""
    folders = (ROOT, ROOT / "docs", ROOT / "docs" / "howto", ROOT / "docs" / "notebooks")
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in PAGES if page.parent in folders}
    assert {page.name: count for page, count in words.items() if count > 1_500} == {}
    assert sum(words.values()) <= 25_000


WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_from_top_to_bottom(page):
    pytest.importorskip("matplotlib.pyplot")
    text = page.read_text(encoding="utf-8")
    if packages := snippets.missing(text):
        pytest.skip(f"the page needs {', '.join(packages)}")
    assert list(snippets.broken_promises(text, str(page))) == []


def test_the_readme_has_five_lines_of_code_and_their_output():
    (block,) = blocks(ROOT / "README.md")
    lines = [line for line in block["code"].splitlines() if line and not line.startswith("#")]
    assert len(lines) == 5
    assert promised(block["code"])
    assert not block["reason"]


def test_few_blocks_are_skipped_and_each_says_why():
    skipped = [block["reason"] for page in PAGES for block in blocks(page) if block["reason"]]
    assert len(skipped) <= 3
    marks = sum(page.read_text(encoding="utf-8").count("<!-- snippet:") for page in PAGES)
    assert marks == len(skipped)  # a mark with a slip in it would skip nothing


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_a_page_names_exist(page):
    """``hyphc COMMAND --option`` and ``python -m benchmarks SUITE`` in backticks."""
    for code in INLINE.findall(page.read_text(encoding="utf-8")):
        assert unknown_words(code) == [], code


def unknown_words(code: str) -> list[str]:
    """Words of a command line that name no command, option or suite."""
    program, _, rest = code.removeprefix("python -m ").partition(" ")
    command, *words = rest.split()
    if program == "benchmarks":
        known = {"report", "stale", *(path.stem for path in (ROOT / "benchmarks" / "suites").glob("[!_]*.py"))}
        return [] if command in known or command.startswith("-") else [command]
    parsers = subparsers(build_parser())
    if command.startswith("-") or command == "COMMAND":
        return []
    if command not in parsers:
        return [command]
    options = {option for action in parsers[command]._actions for option in action.option_strings}
    return [word for word in words if word.startswith("--") and word.partition("=")[0] not in options]


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (action,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(action.choices)


def test_a_command_that_is_gone_is_found():
    assert unknown_words("hyphc fit data.csv --annotate batch --seed=3") == []
    assert unknown_words("hyphc fit data.csv --colour red") == ["--colour"]
    assert unknown_words("hyphc cluster data.csv") == ["cluster"]
    assert unknown_words("python -m benchmarks tables") == []
    assert unknown_words("python -m benchmarks speeds") == ["speeds"]


def test_the_page_on_the_paper_has_every_statement_and_every_public_name_of_the_theory():
    path = ROOT / "docs" / "notes" / "from_paper_to_code.md"
    page = path.read_text(encoding="utf-8")
    theory = importlib.import_module("hyphc.theory")
    cited = {found for name in theory.__all__ for found in STATEMENT.findall(getattr(theory, name).__doc__ or "")}
    assert len(cited) > 10
    assert sorted(statement for statement in cited if statement not in page) == []
    for link in set(re.findall(r"\]\(([\w./]+\.md)", page)):
        assert (path.parent / link).is_file(), link
