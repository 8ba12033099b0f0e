"""Figures for journals: exact sizes, fonts that can be edited, colours of one's own, and names of groups."""

from __future__ import annotations

import re
import shutil
import subprocess
import zlib
from contextlib import nullcontext
from itertools import combinations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hyphc import HypHC, describe, plot
from hyphc._runtime.user_warnings import collect_warnings
from hyphc.plot.clustermap import distinctive_columns
from hyphc.plot.common import groups_of, informative_support
from hyphc.plot.figure_style import millimetres
from matplotlib.colors import to_hex
from matplotlib.legend import Legend

from strategies import random_tree


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)) + 9 * np.eye(3, 4)[np.arange(90) // 30]
    return X, HypHC(3, random_state=0).fit(X)


def side(text: str, name: str) -> float:
    return float(re.search(rf'<svg[^>]*\b{name}="([\d.]+)pt"', text)[1]) / 72 * 25.4


@pytest.mark.parametrize("draw", [plot.dendrogram, plot.disk, plot.condensed_tree])
@pytest.mark.parametrize(("width", "height"), [("85mm", "60mm"), ("7in", "12cm")])
def test_the_sheet_has_the_size_asked_for_in_every_format(tmp_path, blobs, draw, width, height):
    with plot.figure_style(width=width, height=height):
        ax = draw(blobs[1])
    paths = plot.save_figure(ax, tmp_path / "a.b", formats=["pdf", "svg", "png"])
    assert [path.name for path in paths] == ["a.pdf", "a.svg", "a.png"]
    wanted = np.array([millimetres(width), millimetres(height)])
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", paths[0].read_bytes())
    assert np.array(box.groups(), dtype=float) / 72 * 25.4 == pytest.approx(wanted, abs=0.01)
    text = paths[1].read_text(encoding="utf-8")
    assert [side(text, "width"), side(text, "height")] == pytest.approx(wanted, abs=0.01)
    pixels = np.array(plt.imread(paths[2]).shape[1::-1])
    assert np.abs(pixels - wanted / 25.4 * 300).max() <= 1


def test_fonts_of_a_pdf_are_outlines_and_text_of_an_svg_is_text(tmp_path, blobs):
    with plot.figure_style("one-column"):
        ax = plot.dendrogram(blobs[1], names=[f"sample {i}" for i in range(90)], max_leaves=None, orientation="left")
    pdf, svg = plot.save_figure(ax, tmp_path / "tree", formats=["pdf", "svg"])
    raw = pdf.read_bytes()
    for packed in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", raw, re.DOTALL):
        try:
            raw += zlib.decompress(packed)
        except zlib.error:
            continue
    assert b"/Type3" not in raw
    assert b"/FontFile2" in raw
    texts = re.findall(r"<text[^>]*>(.*?)</text>", svg.read_text(encoding="utf-8"))
    assert "height" in " ".join(texts)
    assert any(text.startswith("sample ") for text in texts)


@pytest.mark.skipif(shutil.which("pdffonts") is None, reason="pdffonts (poppler-utils) is not installed")
def test_pdffonts_finds_no_type_3(tmp_path, blobs):
    path = plot.save_figure(plot.disk(blobs[1]), tmp_path / "disk.pdf")[0]
    listed = subprocess.run(["pdffonts", path], capture_output=True, text=True, check=True).stdout
    assert "TrueType" in listed
    assert "Type 3" not in listed


def test_texts_have_the_font_size_asked_for_or_at_least_five_points(blobs):
    with plot.figure_style("one-column", font_size=7):
        ax = plot.dendrogram(blobs[1], max_leaves=20, orientation="left")
    assert ax.xaxis.label.get_fontsize() == 7
    assert {5.0 <= label.get_fontsize() <= 7 for label in ax.get_yticklabels()} == {True}


def test_a_height_that_is_not_given_has_room_for_every_name():
    tree = random_tree(40, 0)
    with plot.figure_style("one-column"):
        ax = plot.dendrogram(tree, max_leaves=None, orientation="left", names=[f"row {i}" for i in range(40)])
    assert len(ax.get_yticklabels()) == 40
    assert ax.get_ylabel() == ""


def test_the_style_ends_with_its_block(blobs):
    before = dict(matplotlib.rcParams)
    with pytest.raises(ZeroDivisionError), plot.figure_style("slide"):
        _ = 1 / 0
    assert dict(matplotlib.rcParams) == before
    assert plot.dendrogram(blobs[1]).figure.get_size_inches().tolist() == [12.0, 4.5]


def test_palettes_and_colours_of_columns_are_used(blobs):
    X, model = blobs
    site = np.where(np.arange(90) % 2, "north", "south")
    with plot.figure_style(palette=["black", "teal", "#ff0000"], colors={"site": {"north": "gold"}, "dose": "viridis"}):
        legend = plot.disk(model).get_legend()
        ax = plot.clustermap(X, model, annotations={"site": site, "dose": np.arange(90.0)})
    assert [to_hex(handle.get_color()) for handle in legend.legend_handles] == ["#000000", to_hex("teal"), "#ff0000"]
    strips = [axes.images[0].get_array() for axes in ax.child_axes if axes.images]
    shown = {to_hex(color) for color in strips[1].reshape(-1, 3)}
    assert shown == {to_hex("gold"), to_hex((0.6,) * 3)}  # a class without a colour is grey
    assert to_hex(strips[2].reshape(-1, 3)[model.tree_.leaf_order().argmin()]) == to_hex(
        matplotlib.colormaps["viridis"](0.0)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "poster"}, "preset='poster' is unknown; choose one of 'one-column'"),
        ({"width": "85 parsec"}, "'85 parsec' is no length; give millimetres"),
        ({"width": 3}, "width=3 is not"),
        ({"font_size": 1}, "font_size=1 is not between 3 and 72 points"),
        (
            {"width": 30, "font_size": 20},
            "A width of 30 mm has no room for text of 20 points; choose a width of at least 106 mm",
        ),
        ({"palette": "no such map"}, "palette='no such map' is no colormap"),
        ({"palette": ["no such colour"]}, "palette: 'no such colour' is no colour; give names or codes"),
        ({"colors": {"site": {"north": "nowhere"}}}, r"colors\['site'\]: 'nowhere' is no colour"),
    ],
)
def test_styles_that_are_not_possible_name_the_value_and_the_remedy(options, message):
    with pytest.raises(ValueError, match=message), plot.figure_style(**options):
        pass


def test_what_lies_outside_the_sheet_is_said(tmp_path, blobs):
    ax = plot.disk(blobs[1])
    said: list[str] = []
    with collect_warnings(said.append):
        plot.save_figure(ax, tmp_path / "in.png")
        assert said == []
        ax.figure.text(0.5, 0.5, "a line that is far too long " * 9)
        plot.save_figure(ax, tmp_path / "out.png")
    assert re.search(r"mm of the picture lie outside its 177.8 mm × 152.4 mm; make it larger", said[0])


def test_collapsed_clusters_and_groups_around_the_disk_have_their_names(blobs):
    X, model = blobs
    names = describe(model, columns={f"gene {c}": X[:, c] for c in range(4)}, n_words=1)
    ax = plot.dendrogram(model, names=names, max_leaves=3)
    nodes = model.tree_.clusters(3)
    wanted = {f"{names.names[node]} ({model.tree_.sizes[node]})" for node in nodes}
    assert {label.get_text() for label in ax.get_xticklabels()} == wanted
    around = {text.get_text() for text in plot.disk(model, names=names).texts}
    assert {names.names[node] for node in nodes} <= around


def test_names_of_another_tree_are_an_error(blobs):
    names = describe(random_tree(90, 5), columns={"a": np.arange(90.0)})
    with pytest.raises(
        ValueError, match="names describe another tree, of 90 leaves, not this one of 90; pass describe"
    ):
        plot.dendrogram(blobs[1], names=names)


def test_up_to_60_leaves_all_have_names_around_the_disk_and_above_none_unless_given():
    for n in (30, 60, 61):
        tree = random_tree(n, 3).with_names([f"leaf {i}" for i in range(n)])
        texts = [text.get_text() for text in plot.disk(tree).texts]
        assert sum(text.startswith("leaf ") for text in texts) == (n if n <= 60 else 0)
        assert ("names are written of up to 60 leaves" in texts) == (n > 60)


def test_names_that_were_moved_apart_do_not_touch():
    ax = plot.disk(random_tree(60, 1), names=[f"leaf {i}" for i in range(60)])
    ax.figure.canvas.draw()
    anchors = ax.transData.transform([text.get_position() for text in ax.texts])
    height = ax.texts[0].get_fontsize() * ax.figure.dpi / 72
    assert min(np.hypot(*(p - q)) for p, q in combinations(anchors, 2)) > height


def test_support_is_marked_where_it_is_high_and_at_groups_but_not_at_the_root(blobs):
    model = blobs[1]
    low = model.tree_.with_support(np.full(89, 0.5))
    groups = groups_of(model, low, None)
    nodes = np.arange(90, 179)
    clusters = set(model.tree_.clusters(3).tolist())
    above = {int(model.tree_._parents[node]) for node in clusters}
    above |= {int(model.tree_._parents[node]) for node in above}
    assert set(nodes[informative_support(low, nodes, groups)].tolist()) == (clusters | above) - {178, -1}
    high = model.tree_.with_support(np.ones(89))
    assert informative_support(high, nodes, groups).sum() == 88


def test_distinctive_columns_are_those_that_set_groups_apart_in_their_order(blobs):
    _, model = blobs
    rng = np.random.default_rng(1)
    values = rng.normal(size=(90, 200))
    for group in range(3):
        values[model.labels_ == group, 10 * group : 10 * group + 5] += 6
    groups = groups_of(model, model.tree_, None)
    chosen = distinctive_columns(model.tree_, values, groups, 15)
    order = list(dict.fromkeys(model.labels_[model.tree_.leaf_order()].tolist()))
    assert [set(chosen[5 * k : 5 * k + 5].tolist()) for k in range(3)] == [
        set(range(10 * g, 10 * g + 5)) for g in order
    ]
    ax = plot.clustermap(values, model)
    assert ax.images[0].get_array().shape == (90, 60)
    assert ax.get_xlabel().replace("\n", " ").startswith("60 of 200 columns: those in which groups differ most")


def test_z_scores_are_by_column_or_by_row(blobs):
    X, model = blobs
    cells = plot.clustermap(X, model, columns="given", standardize="rows").images[0].get_array()
    assert np.allclose(cells.mean(axis=1), 0)
    assert np.allclose(cells.std(axis=1), 1)
    columns = plot.clustermap(X, model, columns="given").images[0].get_array()
    assert np.allclose(columns.mean(axis=0), 0)
    with pytest.raises(ValueError, match="standardize='both' is unknown; choose one of 'rows', 'columns'"):
        plot.clustermap(X, model, standardize="both")


def test_groups_of_a_table_have_white_gaps_between_them(blobs):
    X, model = blobs
    ax = plot.clustermap(X, model)
    ends = np.flatnonzero(np.diff(model.labels_[model.tree_.leaf_order()])) + 0.5
    assert [line.get_ydata()[0] for line in ax.lines if line.get_color() == "white"] == ends.tolist()


def test_columns_of_unlike_kinds_have_no_tree(blobs):
    X, model = blobs
    mixed = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2] > 0}
    trees = [len([axes for axes in plot.clustermap(X_, model).child_axes if not axes.axison]) for X_ in (X, mixed)]
    assert trees == [1, 0]


@pytest.mark.parametrize("preset", ["one-column", "two-columns", "slide"])
@pytest.mark.parametrize("kind", ["disk", "dendrogram", "clustermap"])
def test_a_legend_of_many_classes_leaves_room_for_the_picture_on_the_sheet(tmp_path, blobs, kind, preset):
    X, model = blobs
    classes = np.array([f"class {k % 22}" for k in range(90)])
    warned: list[str] = []
    with plot.figure_style(preset), collect_warnings(warned.append):
        if kind == "clustermap":
            ax = plot.clustermap(X, model, annotations={"kind": classes})
        else:
            ax = getattr(plot, kind)(model, labels=classes)
        plot.save_figure(ax, tmp_path / "figure", formats=["png"])
    figure = ax.figure
    figure.draw_without_rendering()
    assert warned == []
    sheet = figure.bbox.padded(1.0)
    legends = [*figure.legends, *(artist for artist in ax.get_children() if isinstance(artist, Legend))]
    assert legends
    for legend in legends:
        box = legend.get_window_extent()
        assert sheet.contains(box.x0, box.y0)
        assert sheet.contains(box.x1, box.y1)
    assert ax.get_window_extent().height > 0.25 * figure.bbox.height


def test_a_disk_says_once_how_many_names_it_shows(blobs):
    X, model = blobs
    with plot.figure_style("one-column"):
        of_groups = plot.disk(model, names=describe(model, columns=X, min_size=2), labels=np.arange(90) % 9)
        of_leaves = plot.disk(model, names=[f"a long name {i}" for i in range(90)])
    for ax in (of_groups, of_leaves):
        notes = [text.get_text() for text in ax.texts if " of " in text.get_text()]
        shown = sum(text.get_rotation_mode() == "anchor" for text in ax.texts)
        assert len(notes) == 1
        assert str(shown) in notes[0]


@pytest.mark.parametrize("preset", [None, "one-column"])
@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("kind", ["tanglegram", "dendrogram", "scale", "heatmap", "disk"])
def test_labels_of_axes_and_notes_are_on_the_sheet_and_apart(preset, n, kind):
    tree, names = random_tree(n, 0), [f"sample {i} of the study" for i in range(n)]
    draws = {
        "tanglegram": lambda: plot.tanglegram(tree, random_tree(n, 1), titles=("one", "other")),
        "dendrogram": lambda: plot.dendrogram(tree, names=names, orientation="left"),
        "scale": lambda: plot.dendrogram(tree, names=names, labels=np.linspace(0.0, 1.0, n)),
        "heatmap": lambda: plot.heatmap(np.eye(n) + 0.1, tree),
        "disk": lambda: plot.disk(tree, names=names, labels=np.arange(n) % 3),
    }
    with plot.figure_style(preset) if preset else nullcontext():
        ax = draws[kind]()
    ax.figure.draw_without_rendering()
    box, (width, height) = ax.figure.get_tightbbox(), ax.figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.02
    notes = [text for text in ax.texts if text.get_text().endswith("names are shown")]
    for note in notes if preset else ():
        others = [text for text in ax.texts if text is not note]
        assert min(text.get_window_extent().y0 for text in others) > note.get_window_extent().y1 - 2.0


def test_a_narrow_tanglegram_is_as_high_as_its_names_need():
    with plot.figure_style("one-column"):
        ax = plot.tanglegram(random_tree(60, 0), random_tree(60, 1))
    assert {text.get_text() for text in ax.texts} >= set(map(str, range(60)))


def test_columns_of_a_legend_below_are_as_wide_as_their_own_names(blobs):
    with plot.figure_style("one-column"):
        ax = plot.disk(blobs[1], labels=[*(str(k % 24) for k in range(89)), "a longer name"])
    (legend,) = ax.figure.legends
    assert legend._ncols >= 5
