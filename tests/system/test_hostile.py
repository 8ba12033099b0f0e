"""Names, labels, columns and titles that are made to do something: in every output they are text and nothing else."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hyphc import Tree, plot
from hyphc._runtime.sanitize import cell, visible
from hyphc.cli import main
from hyphc.cli.outputs import format_csv
from hyphc.io import read_tree, write_tree

pytestmark = pytest.mark.usefixtures("quick_certificate")

TEXTS = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "+1+2",
    "-2+3",
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe",
    "../../etc/passwd",
    "$\\frac{1}{$",
    "it's; (odd), [name]:1",
    "line\nbreak",
    "| a | b |\n\n# heading",
    "\x00nul",
    "`code` **bold** ![x](http://example.org/x.png)",
    "{{script}}",
)
# what a terminal obeys: no output for people may hold it, but for the ends of lines
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def tree() -> Tree:
    n = len(TEXTS)
    chain = np.column_stack([np.r_[0, np.arange(n, 2 * n - 2)], np.arange(1, n)])
    return Tree(chain, names=TEXTS)


@pytest.mark.parametrize("suffix", [".nwk", ".json", ".npz"])
def test_trees_bring_every_name_back_as_it_was(tree, suffix, tmp_path):
    write_tree(tree, tmp_path / f"tree{suffix}")
    back = read_tree(tmp_path / f"tree{suffix}")
    assert sorted(back.names) == sorted(TEXTS)


def test_newick_of_hostile_names_has_no_more_brackets_outside_of_quotes_than_the_tree(tree):
    outside = re.sub(r"'(?:[^']|'')*'", "x", tree.to_newick())
    assert re.fullmatch(r"[(),:;x0-9.+\-/a-z]+", outside)
    assert outside.count("(") == tree.n_leaves - 1


def test_no_cell_of_a_csv_file_begins_as_a_formula_does():
    n = len(TEXTS)
    rows = list(csv.reader(io.StringIO(format_csv(np.zeros(n, dtype=np.int64), TEXTS, TEXTS[::-1]))))
    for row in rows[1:]:
        for text in row:
            assert not text.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert [row[1].removeprefix("'") for row in rows[1:]] == list(TEXTS)


@pytest.mark.parametrize("number", ["-1", "+5", "-1e-3", "-inf", "- 1"])
def test_numbers_of_either_sign_stay_numbers_in_a_csv_file(number):
    assert cell(number) == (number if number != "- 1" else "'- 1")


@pytest.mark.parametrize(
    "picture", [plot.dendrogram, plot.disk, lambda tree, **options: plot.tanglegram(tree, tree, **options)]
)
def test_pictures_of_hostile_names_are_drawn_and_are_well_formed_svg_without_script(tree, picture):
    axes = picture(tree, names=TEXTS, **({} if picture is not plot.disk else {"labels": TEXTS}))
    file = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(plt.rcParams, "svg.fonttype", "none")  # text as text, which is what could be markup
        axes.figure.savefig(file, format="svg")
    plt.close(axes.figure)
    names = {element.tag.rsplit("}", 1)[-1] for element in ElementTree.fromstring(file.getvalue()).iter()}
    assert not names & {"script", "img", "foreignObject", "a"}


def hostile_table(folder: Path) -> Path:
    """Two columns of numbers with hostile names, names and labels."""
    path = folder / "x\x1b[31m<b>\u202e.csv"
    rng = np.random.default_rng(0)
    texts = [text.replace("\x00", "") for text in TEXTS]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "=1+1\x1b[31m", "<script>alert(1)</script>", "label"])
        writer.writerows([text, *rng.normal(size=2), texts[k % 4]] for k, text in enumerate(texts))
    return path


def test_a_fit_of_a_hostile_table_prints_and_writes_nothing_that_acts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = hostile_table(tmp_path)
    assert main(["fit", path.name, "--labels", "label", "--output", "out"]) == 0
    printed = capsys.readouterr()
    assert not OBEYED.search(printed.out)
    assert not OBEYED.search(printed.err)
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert not OBEYED.search(report)
    above, _, _ = report.partition("Made by:")  # what follows is a block of code
    assert not re.search(r"(?<!\\)<", above)
    page = (tmp_path / "out" / "explorer.html").read_text(encoding="utf-8")
    assert page.count("<script") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", path.name]
    names = json.loads((tmp_path / "out" / "tree.json").read_text())["names"]
    assert names[2] == TEXTS[2]


@pytest.mark.parametrize("text", ["\x1b[31mred", "\u202eback", "\x9b31m", "a\rb"])
def test_errors_show_what_a_terminal_would_obey(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text(f"a,{text},{text}\n1,2,3\n4,5,6\n", encoding="utf-8")
    for arguments in (["fit", "x.csv", "--features", text], ["fit", f"{text}.csv"], ["cut", f"{text}.nwk"]):
        assert main(arguments) == 1
        told = capsys.readouterr().err
        assert not OBEYED.search(told)
        assert told.count("\n") == 1


def test_what_is_visible_already_stays_as_it_is():
    text = "Ζεύς · naïve 北京 👩‍🔬 a\u00a0b"
    assert visible(text) == text


LONG = 10_000_000


def test_a_name_of_ten_megabytes_is_read_and_drawn_as_any_other_and_told_in_short(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    long = "x" * LONG
    tree = Tree([[0, 1], [2, 3]], names=[long, "b", "c"])
    assert sorted(Tree.from_newick(tree.to_newick()).names) == sorted(tree.names)
    plt.close(plot.dendrogram(tree).figure)
    Path("long.nwk").write_text(f"('{long} x',b,c)")
    assert main(["explore", "long.nwk", "--output", "long.html"]) == 0
    Path("bad.nwk").write_text(f"({long} {long},b);")
    assert main(["cut", "bad.nwk"]) == 1
    assert len(capsys.readouterr().err) < 3_000


def test_a_label_of_a_megabyte_is_no_group_and_fills_no_memory(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 7},{k % 5},b\n" for k in range(10_000))
    Path("x.csv").write_text(f"x,y,label\n1,2,{'a' * 100_000}\n{rows}")
    assert main(["fit", "x.csv", "--labels", "label"]) == 1
    assert "characters" in capsys.readouterr().err
