"""The command line's pictures and tables of what is known beside the tree."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from hyphc.cli import main

pytestmark = pytest.mark.usefixtures("quick_certificate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of two groups with a class and a number beside it, whose names are hostile."""
    folder = tmp_path_factory.mktemp("beside")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).round(3) + 8 * (np.arange(40) < 20)[:, None]
    table = pd.DataFrame(X, columns=["a", "b|*", "c"])
    table["site"] = np.where(np.arange(40) % 2, "<b>north</b>", "south")
    table["dose"] = np.arange(40) / 4
    table.to_csv(folder / "x.csv", index=False)
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    assert not main(["fit", "x.csv", "--annotate", "site,dose", "--n-clusters", "2", "--output", "out"])
    yield folder
    patch.undo()


def test_annotations_are_shown_and_not_clustered(folder):
    page = (folder / "out" / "explorer.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert [column["name"] for column in data["annotations"]] == ["site", "dose"]
    assert data["annotations"][0]["names"] == ["<b>north</b>", "south"]
    assert "values" in data["annotations"][1]
    assert data["features"]["names"] == ["a", "b|*", "c"]
    assert (folder / "out" / "clustermap.png").stat().st_size > 10_000


def test_the_report_and_a_table_tell_what_distinguishes_the_clusters(folder):
    report = (folder / "out" / "report.md").read_text(encoding="utf-8")
    assert "| cluster | rows | name | stands out by |" in report
    assert r"b\|\* high" in report
    assert "comparisons is at most 0.05" in report
    text = (folder / "out" / "differences.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert {row["compared"] for row in rows} == {"cluster and rest", "parts of a split"}
    first = next(row for row in rows if row["cluster"] == "0")
    assert (int(first["rows"]), int(first["other_rows"]), first["sure"]) == (20, 20, "True")
    assert float(first["mean"]) - float(first["other_mean"]) == pytest.approx(8, abs=1)


def test_a_clustermap_and_an_explorer_are_drawn_from_a_stored_tree(folder):
    given = ["out/tree.npz", "x.csv", "--annotate", "dose", "--labels", "site"]
    assert not main(["plot", *given, "--kind", "clustermap", "--output", "map.svg"])
    drawn = (folder / "map.svg").read_text(encoding="utf-8")
    assert drawn.count("<svg") == 1
    assert not main(["explore", *given, "--output", "page.html"])
    page = (folder / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert data["labels"]["name"] == "site"
    assert [column["name"] for column in data["annotations"]] == ["dose"]


def test_a_condensed_tree_is_drawn_with_the_clusters_of_the_cut(folder):
    def icicles(*words):
        assert not main(["plot", "out/tree.npz", "--kind", "condensed_tree", "--output", "condensed.svg", *words])
        drawn = (folder / "condensed.svg").read_text(encoding="utf-8")
        assert {"width: points (40 at the top)", "cluster"} < set(re.findall(r"<text[^>]*>(.*?)</text>", drawn))
        shapes = re.search(r'id="PolyCollection_1">(.*?)</g>', drawn, re.DOTALL)[1]
        return re.findall(r"fill: (#\w+);", shapes)

    fine, coarse = icicles("--n-clusters", "3"), icicles("--n-clusters", "2", "--min-size", "15")
    assert len(set(fine)) == 4  # three clusters, and grey above them
    assert len(coarse) == 3 < len(fine)


def test_mistakes_are_one_sentence(folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["plot", "out/tree.npz", "--kind", "clustermap"])
    assert "name that file after the tree" in capsys.readouterr().err
    assert main(["fit", "x.csv", "--annotate", "nowhere", "--output", "no"]) == 1
    assert "no column 'nowhere'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["plot", "out/tree.npz", "--annotate", "dose"])
    assert "--annotate goes with --kind clustermap" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["plot", "out/tree.npz", "x.csv", "--labels", "site", "--kind", "condensed_tree"])
    assert "--kind condensed_tree shows clusters; leave out one" in capsys.readouterr().err


def test_pictures_of_a_plot_have_the_size_and_formats_asked_for(folder, capsys):
    words = ["--width", "85mm", "--height", "60mm", "--font-size", "6", "--format", "pdf,svg", "--output", "paper"]
    assert not main(["plot", "out/tree.npz", "x.csv", "--labels", "site", "--colors", "site:south=#123456", *words])
    assert "wrote paper.pdf, paper.svg" in capsys.readouterr().out
    drawn = (folder / "paper.svg").read_text(encoding="utf-8")
    assert float(re.search(r'<svg[^>]* width="([\d.]+)pt"', drawn)[1]) == pytest.approx(85 / 25.4 * 72, abs=0.01)
    assert "#123456" in drawn
    assert (folder / "paper.pdf").read_bytes().startswith(b"%PDF")


def test_a_fit_draws_one_picture_a_sheet_in_the_formats_asked_for(folder):
    words = ["--preset", "one-column", "--format", "svg", "--palette", "black,#654321", "--n-clusters", "2"]
    assert not main(["fit", "x.csv", "--exclude", "dose", *words, "--output", "svgs"])
    found = {path.name for path in (folder / "svgs").glob("*.svg")}
    assert found == {"tree.svg", "disk.svg", "clustermap.svg"}
    assert not list((folder / "svgs").glob("*.png"))
    assert "#654321" in (folder / "svgs" / "tree.svg").read_text(encoding="utf-8")
    assert "![The tree](tree.svg)" in (folder / "svgs" / "report.md").read_text(encoding="utf-8")


def test_clusters_of_a_table_are_named_by_its_columns(folder):
    rows = list(csv.DictReader((folder / "out" / "clusters.csv").read_text(encoding="utf-8").splitlines()))
    named = {row["cluster"]: row["cluster_name"] for row in rows}
    assert len(set(named.values())) == 2
    assert all(re.search(r"(a|b\|\*|c) (high|low)", name) for name in named.values())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--width", "wide"], "'wide' is no length; give a number with mm, cm, in or pt"),
        (["--format", "gif"], "'gif' is no format of pictures; give some of pdf,svg,png"),
        (["--colors", "teal"], "'teal' names no column or no colour"),
    ],
)
def test_sizes_formats_and_colours_that_cannot_be_read_are_refused(folder, capsys, words, told):
    with pytest.raises(SystemExit, match="2"):
        main(["plot", "out/tree.npz", *words])
    assert told in capsys.readouterr().err


def test_a_palette_that_is_none_is_refused_before_the_fit(folder, capsys):
    assert main(["fit", "x.csv", "--palette", "nowhere", "--output", "never"]) == 1
    assert "palette='nowhere' is no colormap" in capsys.readouterr().err
    assert not (folder / "never").exists()
