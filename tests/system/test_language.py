"""Pages, docstrings, comments, messages and help texts use the words of the field: a list of phrases that they do not use."""

from __future__ import annotations

import argparse
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from hyphc.cli import build_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted((ROOT / "src" / "hyphc").rglob("*.py"))
ASSETS = sorted(
    path
    for path in (ROOT / "src" / "hyphc" / "explorer" / "assets").iterdir()
    if path.suffix in {".js", ".html", ".css"}
)

# A phrase, and what to write instead. Each is a regular expression; a blank is any white space, also the end of a line.
BANNED = {
    # private words
    r"acquaintances?": "neighbours of neighbours, NN-descent",
    r"lookalikes?": "suspicious input",
    r"one cloud": "unimodal null",
    r"drawn anew|anew": "resampled, again",
    r"by parts": "out of core",
    r"brought to (one|a) scale|bring to one scale|to one scale": "standardised",
    r"called by (its|their) names?, with": "raises an error that suggests a conversion",
    r"the way out": "remedy",
    r"processor (seconds?|time)": "CPU time",
    r"(selecting|confirming) half": "development half, held-out half",
    r"share support": "bootstrap proportion",
    r"(take|takes|taken|taking|took) up(?! to)": "restore, continue",
    r"doors?": "public function or module",
    r"the house": "the package",
    r"woken": "re-queued",
    r"kicks?|kicked": "perturbation",
    r"swept": "local search",
    r"unheard": "without callbacks",
    r"soonest": "fastest",
    r"no small change": "minimum cluster size",
    r"not to be had": "not available",
    r"nothing lost|nothing let in": "fault tolerance, security",
    r"far parts": "distant groups",
    r"(winds?|wound) around each other": "interleaved",
    r"torn apart": "split",
    r"on a clock": "with a time limit",
    r"whole or not there": "written atomically",
    r"one table in twenty": "family-wise error rate of at most 5 %",
    r"(?<!standard )(?<!absolute )deviations?(?! from)(?! of (each|the sums?))": "standard deviation",
    # stages, points and files are not persons
    r"own opinion|belief": "directed weights, rejection by a test",
    r"tells|told": "returns, describes, prints",
    r"says so|said to be so": "prints, reports, warns",
    r"knows (nothing|what|of)": "does not use, contains",
    r"asks? (nothing|whom|those|what|of|for no)": "needs, requests",
    r"whom": "rows, points, users",
    r"(speaks?|speak for)": "gives",
    r"looks at (those|whom)": "tests",
    r"(leads?|led) into the": "is an alias of",
    r"(goes|go|going) on where": "resumes",
    r"where (it|they) (was|were) stopped": "resumes",
    r"where they stand": "state",
    r"left to chance|support of chance": "deterministic, at random",
    r"is dear|are dear": "is expensive, is slow",
    r"(must|may|can) not come back": "may hang",
    r"what a share of": "normaliser",
    r"how sure (each|every|a|the)": "support of",
    r"in turn, which": "shorter sentence",
}
PATTERNS = {phrase: re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE) for phrase in BANNED}
Lines = list[tuple[int, str]]


def prose_of_python(source: str) -> Lines:
    """Return the strings, docstrings and comments of a module, line by line, each with its number."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in kinds:
            found += [(token.start[0] + k, line) for k, line in enumerate(token.string.splitlines())]
    return [(number, line.strip().strip("#\"'").strip()) for number, line in found]


SCRIPT_PROSE = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*|\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", re.DOTALL)


def prose_of_asset(source: str, suffix: str) -> Lines:
    """Return strings and comments of a script or style sheet, all lines of an HTML page."""
    if suffix == ".html":
        return list(enumerate(source.splitlines(), start=1))
    found = []
    for match in SCRIPT_PROSE.finditer(source):
        first = source.count("\n", 0, match.start()) + 1
        text = re.sub(r"\$\{[^}]*\}", "", match[0])
        found += [(first + k, line.strip().strip("/*\"'`").strip()) for k, line in enumerate(text.split("\n"))]
    return found


def violations(where: str, lines: Lines) -> Iterator[str]:
    """Yield file, line, phrase and what to write instead, for phrases within a line or across two."""
    text, starts = "", []
    for number, line in lines:
        starts.append((len(text), number))
        text += line + " "
    for phrase, pattern in PATTERNS.items():
        for match in pattern.finditer(text):
            line = max((start, number) for start, number in starts if start <= match.start())[1]
            yield f"{where}:{line}: {match[0]!r}; write: {BANNED[phrase]}"


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of hyphc and those of its commands, by the words that call them."""
    main = build_parser()
    (commands,) = (action for action in main._actions if isinstance(action, argparse._SubParsersAction))
    return {"hyphc": main, **{f"hyphc {name}": parser for name, parser in commands.choices.items()}}


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_a_page_uses_the_words_of_the_field(page):
    lines = list(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    assert list(violations(label(page), lines)) == []


def test_docstrings_comments_and_messages_use_the_words_of_the_field():
    found = [
        one for path in SOURCES for one in violations(label(path), prose_of_python(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_the_explorer_uses_the_words_of_the_field():
    assert len(ASSETS) > 10
    found = [
        one
        for path in ASSETS
        for one in violations(label(path), prose_of_asset(path.read_text(encoding="utf-8"), path.suffix))
    ]
    assert found == []


@pytest.mark.parametrize("command", parsers())
def test_help_uses_the_words_of_the_field(command):
    lines = list(enumerate(parsers()[command].format_help().splitlines(), start=1))
    assert len(lines) > 5
    assert list(violations(f"{command} --help", lines)) == []


def test_phrases_are_found_with_their_lines():
    source = '"""Return a tree.\n\n    It is told\n    by name."""\nx = 1  # drawn anew, and whole\n# or not there\n'
    found = list(violations("a.py", prose_of_python(source)))
    assert sorted(one.split(";")[0] for one in found) == [
        "a.py:3: 'told'",
        "a.py:5: 'drawn anew'",
        "a.py:5: 'whole or not there'",
    ]
    script = "const told = 1; // anew\nlabel(`which ${told} is`, 'one cloud');\n"
    assert [one.split(";")[0] for one in violations("a.js", prose_of_asset(script, ".js"))] == [
        "a.js:2: 'one cloud'",
        "a.js:1: 'anew'",
    ]


def test_ordinary_words_are_allowed():
    allowed = ["the share of neighbours", "near points", "one standard deviation", "to tell two clusters apart"]
    assert list(violations("a.md", list(enumerate(allowed, start=1)))) == []
