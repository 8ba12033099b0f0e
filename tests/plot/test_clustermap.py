"""A table beside its tree: cells, strips, scales, names in any letters."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from itertools import combinations, pairwise

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hyphc import Tree, as_similarity, baselines, plot
from hyphc._runtime import palette
from hyphc._runtime.table_columns import parse_columns
from hyphc.plot.clustermap import run_means
from hyphc.plot.common import Scale, groups_of, ordinal, scale_of
from hyphc.plot.glyphs import BOX, printable
from hypothesis import given
from hypothesis import strategies as st

import oracles
import strategies


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) + 3 * (np.arange(60) // 20)[:, None]
    X[3, 2] = np.nan
    return pd.DataFrame(X, columns=["alpha", "beta", "gamma", "delta", "$x$"])


@pytest.fixture(scope="module")
def tree(table) -> Tree:
    return baselines.average_linkage(as_similarity(np.nan_to_num(table.to_numpy()), "rbf"))


def image(ax) -> np.ndarray:
    return np.ma.filled(ax.images[0].get_array().astype(float), np.nan)


def test_cells_are_the_table_in_leaf_order_with_its_columns_named(table, tree):
    ax = plot.clustermap(table, tree, columns="given", standardize=False)
    np.testing.assert_array_equal(image(ax), table.to_numpy()[tree.leaf_order()])
    assert [label.get_text() for label in ax.get_xticklabels()] == list(table.columns)
    ax = plot.clustermap(table, tree)
    names = [label.get_text() for label in ax.get_xticklabels()]
    z = (table - table.mean()) / table.std(ddof=0)
    np.testing.assert_allclose(image(ax), z[names].to_numpy()[tree.leaf_order()])


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**31))
def test_lines_of_many_rows_are_means_of_runs(n, max_rows, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 2))
    values[rng.random(values.shape) < 0.3] = np.nan
    found = run_means(values, max_rows)
    if n <= max_rows:
        np.testing.assert_array_equal(found, values)
        return
    edges = [k * n // max_rows for k in range(max_rows)] + [n]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = [np.nanmean(values[a:b], axis=0) for a, b in pairwise(edges)]
    np.testing.assert_allclose(found, expected)


def test_every_annotation_is_a_strip_with_a_legend_under_its_own_name(table, tree):
    beside = pd.DataFrame(
        {"site": ["north", "south", None] * 20, "dose": np.linspace(0, 1, 60), "old": [True, False] * 30}
    )
    ax = plot.clustermap(table, tree, annotations=beside, title="a $ b $")
    titles = [axes.get_xticklabels()[0].get_text() for axes in ax.child_axes[:4]]
    assert titles == ["cluster", "site", "dose", "old"]
    strip = ax.child_axes[1].images[0].get_array()[:, 0]
    missing = tree.leaf_order() % 3 == 2
    assert (strip[missing] == strip[missing][0]).all()
    legends = {
        child.get_title().get_text() for child in ax.get_children() if isinstance(child, matplotlib.legend.Legend)
    }
    assert {"site", "old"} <= legends
    assert "dose" in {axes.get_title(loc="left") for axes in ax.child_axes}
    assert ax.get_title() == "a $ b $"
    ax.figure.canvas.draw()


def test_the_table_stays_within_the_axes_that_were_given(table, tree):
    figure, axes = plt.subplots(1, 2, figsize=(14, 6), layout="constrained")
    figure.draw_without_rendering()
    room = axes[1].get_position()
    ax = plot.clustermap(table, tree, ax=axes[1], names=[f"row number {i}" for i in range(60)])
    assert ax is axes[1]
    box = ax.get_position()
    assert room.x0 < box.x0 < box.x1 < room.x1
    assert 15 <= len(ax.get_yticklabels()) <= 60


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_tables_can_be_drawn(n):
    ax = plot.clustermap(np.arange(2.0 * n).reshape(n, 2), strategies.balanced(n), annotations={"a": list("xyz")[:n]})
    ax.figure.canvas.draw()


def test_twenty_thousand_rows_are_drawn_as_a_thousand_lines():
    n = 20_000
    values = np.random.default_rng(0).normal(size=(n, 30))
    ax = plot.clustermap(values, strategies.balanced(n), annotations={"depth": values[:, 0]})
    assert image(ax).shape == (1000, 30)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "random"}, "columns='random' is unknown"),
        ({"max_rows": 0}, "max_rows=0 shows nothing"),
        ({"annotations": {"a": [1]}}, r"annotations: 'a' has shape \(1,\); pass \(4,\)"),
        ({"X": {"t": list("abcd")}}, "X has a column of text, 't'"),
        ({"X": np.ones((4, 0))}, "X has no columns"),
    ],
)
def test_mistakes_name_the_value_and_the_remedy(options, message):
    with pytest.raises(ValueError, match=message):
        plot.clustermap(**{"X": np.ones((4, 2)), "tree": strategies.balanced(4), **options})


@given(strategies.trees(min_leaves=2), st.integers(0, 2**31))
def test_a_branch_on_a_scale_has_the_colour_of_the_mean(tree, seed):
    values = np.random.default_rng(seed).random(tree.n_leaves)
    scale = scale_of("dose", values)
    nodes = np.arange(2 * tree.n_leaves - 1)
    means = np.array([values[list(leaves)].mean() for leaves in oracles.leaf_sets(tree)])
    share = (means - values.min()) / (np.ptp(values) or 1.0)
    steps = np.clip((share * 24).astype(int), 0, 23)
    near = np.abs(share * 24 - np.round(share * 24)) > 1e-6  # not at the edge of a step
    np.testing.assert_array_equal(scale.branch_colors(tree, nodes)[near], scale.colors()[steps][near])


def test_labels_that_measure_something_have_a_scale_under_their_own_name(tree):
    ax = plot.dendrogram(tree, labels=pd.Series(np.linspace(0, 1, 60), name="dose"))
    assert ax.figure.axes[-1].get_ylabel() == "dose"
    assert not isinstance(groups_of(None, tree, np.arange(60)), Scale)
    legend = plot.disk(tree, labels=pd.Series(["a", "b"] * 30, name="site")).get_legend()
    assert legend.get_title().get_text() == "site"


def test_letters_that_no_font_has_are_boxes_and_nothing_is_warned_of(tree):
    names = [f"{chr(0x10FFFD)} $\\frac{i}$" for i in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for draw in (plot.dendrogram, plot.disk):
            ax = draw(tree, names=names, labels=["東京 $a_", "日本", "\ud83d"] * 20)
            ax.figure.canvas.draw()
    assert printable(["a\U0010fffd"])[0] == [f"a{BOX}"]


def test_columns_are_classes_or_numbers_by_what_they_hold():
    table = {
        "few": [1, 2] * 10,
        "count": range(20),
        "share": np.linspace(0, 1, 20),
        "gaps": [1.0, None] * 10,
        "word": ["b", None] * 10,
        "mixed": [1, "x"] * 10,
    }
    found = {column.name: column for column in parse_columns(table, 20, "X")}
    assert found["few"].classes == ("1", "2")
    assert found["count"].numbers.tolist() == list(range(20))
    assert found["share"].numbers is not None
    assert found["gaps"].classes == ("1",)
    assert found["gaps"].codes.tolist() == [0, -1] * 10
    assert found["word"].codes.tolist() == [0, -1] * 10
    assert found["mixed"].classes == ("1", "x")
    polars = pytest.importorskip("polars")
    read = parse_columns(polars.DataFrame({"word": ["a", "b"], "number": [0.5, 1.5]}), 2, "X")
    assert [column.name for column in read] == ["word", "number"]
    assert read[0].classes == ("a", "b")


def test_every_strip_has_colours_of_its_own_and_grey_is_missing(table, tree):
    n = tree.n_leaves
    kind = np.array(["a", "b"], dtype=object)[np.arange(n) % 2]
    kind[:5] = None
    beside = {"type": kind, "batch": np.arange(n) % 3, "dose": np.where(np.arange(n) < 4, np.nan, np.linspace(0, 1, n))}
    ax = plot.clustermap(table, tree, annotations=beside)
    strips = [axes.images[0].get_array()[:, 0] for axes in ax.child_axes[:4]]
    colours = [{tuple(np.round(colour, 6)) for colour in strip} for strip in strips]
    grey = (palette.MISSING,) * 3
    assert [grey in found for found in colours] == [False, True, False, True]
    for one, other in combinations(colours, 2):
        assert not (one - {grey}) & (other - {grey})
    legends = [child for child in ax.get_children() if isinstance(child, matplotlib.legend.Legend)]
    (types,) = [legend for legend in legends if legend.get_title().get_text() == "type"]
    assert [text.get_text() for text in types.get_texts()] == ["a", "b", "missing"]
    assert any(axes.get_xlabel() == "grey: missing" for axes in ax.child_axes)


def test_a_clustermap_says_which_names_it_leaves_out():
    X = np.random.default_rng(0).normal(size=(200, 400))
    ax = plot.clustermap(X, strategies.random_tree(200, 0), names=[f"row {i}" for i in range(200)], columns="given")
    step = -(-400 // len(ax.get_xticklabels()))
    assert ax.get_xlabel() == f"every {ordinal(step)} name is shown"
    assert ax.get_ylabel() == "names are shown of up to 110 rows"
    ax.figure.canvas.draw()
    room = ax.figure.bbox
    for label in (ax.xaxis.label, ax.yaxis.label):
        box = label.get_window_extent()
        assert box.x0 >= room.x0 and box.x1 <= room.x1 and box.y0 >= room.y0  # noqa: PT018


def test_the_tree_beside_a_table_raises_low_merges_and_says_so():
    tree = Tree([[0, 1], [2, 3], [4, 5]], heights=[0.0, 1e-6, 4.0])
    ax = plot.clustermap(np.eye(4), tree)
    (beside,) = [axes for axes in ax.child_axes if axes.get_xlabel().startswith("height")]
    assert beside.get_xlabel().split() == ["height", "(drawn", "at", "least", "0.1", "unless", "0)"]


def test_a_clustermap_of_run_means_says_so():
    X = np.random.default_rng(0).normal(size=(300, 4))
    ax = plot.clustermap(X, strategies.random_tree(300, 0), max_rows=100)
    assert ax.get_ylabel() == "a line is the mean of about 3 rows, a strip shows one of them"
    assert plot.clustermap(X, strategies.random_tree(300, 0)).get_ylabel() == ""


LONG = {
    "Cell type as annotated by the original authors": [
        "Effector memory CD8-positive alpha-beta T lymphocyte",
        "Plasmacytoid dendritic cell of the peripheral blood",
        "Naive thymus-derived CD4-positive alpha-beta T cell",
    ],
    "site": ["Tertiary care university hospital, northern region", "District hospital without an intensive care unit"],
}


@pytest.mark.parametrize("preset", [None, "one-column", "two-columns", "slide"])
@pytest.mark.parametrize("with_names", [False, True])
def test_long_names_are_on_the_sheet_and_those_of_classes_in_full(table, tree, preset, with_names):
    beside = {name: [classes[i % len(classes)] for i in range(60)] for name, classes in LONG.items()}
    beside["dose in milligrams per kilogram of body weight"] = np.linspace(0.0, 1.0, 60)
    wide = table.rename(columns="mean fluorescence intensity of surface marker {}".format)
    names = [f"patient of the northern district, visit number {i}" for i in range(60)] if with_names else None
    title = "A table of proteins of sixty patients, measured three times in two hospitals" if with_names else None
    with plot.figure_style(preset) if preset else nullcontext():
        ax = plot.clustermap(wide, tree, annotations=beside, names=names, title=title)
    ax.figure.draw_without_rendering()
    box, (width, height) = ax.figure.get_tightbbox(), ax.figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.01
    legends = [child for child in ax.get_children() if isinstance(child, matplotlib.legend.Legend)]
    written = {text.get_text().replace("\n", " ") for legend in legends for text in legend.get_texts()}
    titles = {legend.get_title().get_text().replace("\n", " ") for legend in legends}
    if not with_names:  # beside long names of rows there is no room for all letters
        assert {name for classes in LONG.values() for name in classes} <= written
        assert set(LONG) <= titles
    assert "names with … are shortened" in ax.get_xlabel().replace("\n", " ")
    for one, other in combinations([legend.get_window_extent() for legend in legends], 2):
        assert not one.overlaps(other)


def test_short_names_are_not_said_to_be_shortened(table, tree):
    assert plot.clustermap(table, tree, names=[f"row {i}" for i in range(60)]).get_xlabel() == ""
