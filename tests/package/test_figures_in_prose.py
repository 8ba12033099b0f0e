"""Figures in prose: a constant has one value in the code, in docstrings and in all pages."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from hyphc import HypHC, as_similarity
from hyphc.cli import DONE, INTERRUPTED, MISTAKE, READER_GONE, TERMINATED, main
from hyphc.cli.parsers import build_parser
from hyphc.scores.certificate import DEFAULT_K, DEFAULT_SUBSETS, LARGEST_K
from hyphc.scores.exact_tree import MAX_LEAVES
from hyphc.similarity.metrics import METRICS
from hyphc.similarity.neighbor_metrics import BACKGROUND

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "src" / "hyphc").rglob("*.py"))
}
WORDS = {"two dozen": 24, "a dozen": 12, "sixteen": 16, "twenty": 20}
COUNT = r"(\d+|two dozen|a dozen|sixteen|twenty)"


def number(text: str) -> float:
    return WORDS.get(text) or float(text.replace(" ", ""))


def stated(pattern: str, texts: dict[str, str]) -> list[tuple[str, float]]:
    """The values that texts state, each with the file; the pattern's last group is the value."""
    found = []
    for name, text in texts.items():
        plain = " ".join(text.split())
        found += [(name, number(match[match.re.groups])) for match in re.finditer(pattern, plain)]
    return found


# A quantity: what the code has, and how prose states it.
QUANTITIES = {
    "leaves of exact_tree": (MAX_LEAVES, rf"`?`?exact_tree`?`?(?:\([a-z]*\))?[^.;]{{0,60}}? up to {COUNT} leaves"),
    "leaves of which the gap is exact": (LARGEST_K, r"[Uu]p to (\d+), `optimality_gap` does so by itself"),
    "leaves of a subset": (DEFAULT_K, r"[Ss]ubsets of (\d+), seed 0"),
    "strength of the background": (
        BACKGROUND,
        r"(?:β = |`--background`, |strength β of the background, by default )([\d.]*\d)",
    ),
    "subsets": (DEFAULT_SUBSETS, r"Random subsets to draw, ([\d ]+) by default"),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_prose_states_the_value_of_the_code(name):
    value, pattern = QUANTITIES[name]
    found = stated(pattern, {**TEXTS, **SOURCES})
    assert found, f"no text states {name}; correct the pattern"
    assert [one for one in found if one[1] != value] == []


def test_a_page_that_states_another_value_is_noticed():
    value, pattern = QUANTITIES["leaves of exact_tree"]
    pages = {
        "a.md": "`exact_tree` finds the best tree of up to 16 leaves.",
        "b.md": "exact_tree is for up to\ntwo dozen leaves.",
    }
    assert stated(pattern, pages) == [("a.md", 16), ("b.md", 24)]
    assert value == 24


def test_the_default_number_of_threads_is_stated_as_it_is():
    default = inspect.signature(HypHC).parameters["n_jobs"].default
    pattern = r"`?`?n_jobs`?`? ?(?:=|\(|, by default|is|, default:?) ?`?`?(-?−?\d+)`?`?(?: by default|, the default|\))"
    found = [(name, match) for name, text in TEXTS.items() for match in re.findall(pattern, text)]
    assert [one for one in found if int(one[1].replace("−", "-")) != default] == []
    about = str(inspect.getdoc(HypHC))
    stated_there = re.search(r"^n_jobs : (.*)$", about, re.MULTILINE)
    assert stated_there
    block = about[stated_there.end() : stated_there.end() + 300]
    assert default == -1
    assert re.search(r"all|−1|-1", block.split("\n\n")[0]), block


CODES = {DONE, MISTAKE, 2, INTERRUPTED, READER_GONE, TERMINATED}


def test_all_lists_of_exit_codes_agree_with_the_command_line():
    rows = re.findall(r"^\| (\d+) \|", TEXTS["docs/cli.md"].partition("## Exit codes")[2], re.MULTILINE)
    assert {int(code) for code in rows} == CODES
    described = re.search(r"Exit codes: (.*?)\.", " ".join(str(build_parser().description).split()))
    assert {int(code) for code in re.findall(r"(\d+) ", described[1])} <= CODES
    assert {int(code) for code in re.findall(r"\b(\d+):", str(main.__doc__))} == CODES
    table = TEXTS["docs/reliability.md"].partition("| exit code |")[2].partition("\n\n")[0]
    cells = [line.rsplit("|", 2)[1] for line in table.splitlines() if line.count("|") == 4]
    assert {int(code) for cell in cells for code in re.findall(r"\d+", cell)} <= CODES


NAMED = re.compile(r'metric=`?"([a-z_]+)"|--metric ([a-z_]+)')


def test_every_metric_that_prose_names_exists():
    for name, text in TEXTS.items():
        named = {one for match in NAMED.finditer(text) for one in match.groups() if one}
        assert named <= METRICS.keys(), name


def test_every_metric_is_listed_on_the_page_and_in_the_docstring():
    for where, text in (
        ("docs/similarities.md", TEXTS["docs/similarities.md"]),
        ("docstring", str(as_similarity.__doc__)),
    ):
        assert [name for name in METRICS if f'"{name}"' not in text] == [], where
    of_rows = [name for name, metric in METRICS.items() if metric.takes_rows and name != "auto"]
    assert [name for name in of_rows if f"`{name}`" not in TEXTS["docs/cli.md"]] == []
