"""Pictures: dendrogram, disk, heat map, curves, tanglegram and animation, drawn as the tree and its numbers say."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import nullcontext
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree, as_similarity, decode, embed, encode, geometry, plot
from hyphc._runtime import palette
from hyphc._runtime.palette import MOST_CLASSES
from hyphc.plot import animation
from hyphc.plot.common import ordinal
from hyphc.plot.dendrogram import layout
from hyphc.plot.disk import arcs, klein_nodes, poincare
from hyphc.plot.heatmap import block_means
from hyphc.similarity import Features
from hyphc.tree import cut_scores
from hyphc.tree.ordering import untangle
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

import oracles
from strategies import balanced, chain, random_tree, tree_and_similarity, trees

DOCS = Path(__file__).resolve().parents[2] / "docs"
X = np.random.default_rng(0).normal(size=(30, 4)) + np.repeat(np.eye(4)[:3] * 5, 10, axis=0)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model() -> HypHC:
    return HypHC(n_clusters=3, max_iter=50, random_state=0).fit(X)


def disk_points(rng: np.random.Generator, n: int, radius: float) -> np.ndarray:
    z = rng.normal(size=(n, 2))
    return np.tanh(rng.uniform(0.1, radius, size=(n, 1)) / 2) * z / np.linalg.norm(z, axis=1, keepdims=True)


def line_collections(ax) -> list[LineCollection]:
    return [artist for artist in ax.collections if isinstance(artist, LineCollection)]


def legend_texts(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_without_matplotlib_the_error_names_the_remedy():
    code = "import sys; sys.modules['matplotlib'] = None\ntry:\n    import hyphc.plot\nexcept ImportError as e:\n    print(e)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install hyphc[plot]" in shown


def test_every_picture_is_drawn_into_the_axes_given_and_returns_them(model):
    similarity, tree = as_similarity(X, "cosine"), model.tree_
    draws = [
        lambda ax: plot.disk(model, ax=ax),
        lambda ax: plot.dendrogram(model, ax=ax),
        lambda ax: plot.condensed_tree(model, ax=ax),
        lambda ax: plot.cluster_scores(model, ax=ax),
        lambda ax: plot.training_curve(model, ax=ax),
        lambda ax: plot.heatmap(similarity, tree, ax=ax),
        lambda ax: plot.tanglegram(tree, tree, ax=ax),
    ]
    for draw in draws:
        _, ax = plt.subplots()
        assert draw(ax) is ax
        assert ax.has_data() or ax.collections
        fresh = draw(None)
        assert fresh.figure is not ax.figure
        fresh.figure.canvas.draw()


@pytest.mark.parametrize("preset", [None, "one-column"])
def test_every_picture_is_drawn_into_axes_of_a_subfigure_which_keeps_its_size(model, preset):
    recorder = plot.Recorder(3)
    result = embed(np.ones((4, 4)), max_iter=3, callback=recorder, random_state=0)
    draws = [
        lambda ax: plot.disk(model, ax=ax),
        lambda ax: plot.dendrogram(model, ax=ax),
        lambda ax: plot.dendrogram(model, orientation="left", labels=np.linspace(0.0, 1.0, 30), ax=ax),
        lambda ax: plot.condensed_tree(model, ax=ax),
        lambda ax: plot.clustermap(X, model, annotations={"site": list("abc") * 10}, ax=ax),
        lambda ax: plot.cluster_scores(model, ax=ax),
        lambda ax: plot.training_curve(result, ax=ax),
        lambda ax: plot.heatmap(as_similarity(X, "cosine"), model, ax=ax),
        lambda ax: plot.tanglegram(model, model, ax=ax),
        lambda ax: (
            plot.animate(recorder, ax=ax)._init_draw() or ax
        ),  # a film that was never drawn warns when it is deleted
    ]
    with plot.figure_style(preset) if preset else nullcontext():
        for draw in draws:
            figure = plt.figure(figsize=(8.0, 4.0), layout="constrained")
            left, right = figure.subfigures(1, 2)
            ax = right.subplots()
            assert draw(ax) is ax
            figure.canvas.draw()
            assert figure.get_size_inches().tolist() == [8.0, 4.0]
            assert left.axes == []


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_trees_can_be_drawn(n, tmp_path):
    tree, W = chain(n) if n > 1 else Tree(np.empty((0, 2))), np.ones((n, n))
    for ax in (
        plot.disk(tree, names=[f"name {i}" for i in range(n)]),
        plot.dendrogram(tree),
        plot.condensed_tree(tree),
        plot.heatmap(W, tree),
        plot.tanglegram(tree, tree),
        plot.training_curve(embed(W, random_state=0)),
    ):
        ax.figure.canvas.draw()
    plot.animate(W, tmp_path / "small.gif", max_iter=3, random_state=0)
    assert (tmp_path / "small.gif").stat().st_size > 0


# the disk


@given(trees(min_leaves=2, max_leaves=20), st.integers(0, 2**31), st.floats(0.2, 8))
def test_merges_stand_at_the_hyperbolic_lca_of_their_children(tree, seed, radius):
    n = tree.n_leaves
    points = disk_points(np.random.default_rng(seed), n, radius)
    nodes = poincare(klein_nodes(tree, points))
    assert_allclose(nodes[:n], points, atol=1e-8)
    for v, (a, b) in enumerate(tree.children, start=n):
        inside = 1 - 1e-12
        assert_allclose(nodes[v], geometry.lca_point(inside * nodes[a], inside * nodes[b]), atol=1e-6)


@given(trees(min_leaves=2, max_leaves=8), st.integers(0, 2**31))
def test_branches_are_geodesics_from_parent_to_child(tree, seed):
    nodes = klein_nodes(tree, disk_points(np.random.default_rng(seed), tree.n_leaves, 4.0))
    ends = poincare(nodes)
    for line, child in zip(arcs(tree, nodes), tree.children.ravel(), strict=True):
        parent = tree.parents[child]
        assert_allclose(line[[0, -1]], ends[[parent, child]], atol=1e-12)
        whole = geometry.distance(ends[parent], ends[child])
        if len(line) > 2:
            assert_allclose(geometry.distance(line[0], line) + geometry.distance(line, line[-1]), whole, atol=1e-6)
        else:
            assert np.linalg.norm(line[1] - line[0]) <= 0.03


def test_the_disk_has_one_collection_of_branches_and_all_leaves_at_their_places(model):
    ax = plot.disk(model)
    (branches,) = line_collections(ax)
    assert len(branches.get_paths()) == 2 * 30 - 2
    leaves = np.vstack([a.get_offsets() for a in ax.collections if a is not branches])
    assert_array_equal(np.sort(leaves, axis=0), np.sort(model.embedding_, axis=0))


def test_a_given_embedding_is_drawn_and_a_wrong_one_is_an_error(model):
    points = encode(model.tree_, radius=2.0)
    ax = plot.disk(model, embedding=points)
    leaves = np.vstack([a.get_offsets() for a in ax.collections if not isinstance(a, LineCollection)])
    assert_allclose(np.linalg.norm(leaves, axis=1), np.tanh(1.0))
    with pytest.raises(ValueError, match=r"shape \(29, 2\); pass one of shape \(30, 2\)"):
        plot.disk(model, embedding=points[:-1])
    with pytest.raises(ValueError, match="norm below 1"):
        plot.disk(model, embedding=10 * points)


def test_names_around_the_disk_do_not_touch():
    ax = plot.disk(random_tree(80, 0), names=[f"leaf number {i}" for i in range(80)])
    ax.figure.canvas.draw()
    texts = [text for text in ax.texts if text.get_text()]
    assert len(texts) > 10
    # the anchors of texts of one font, turned outwards, keep a line's height of distance
    anchors = ax.transData.transform([text.get_position() for text in texts])
    height = texts[0].get_fontsize() * ax.figure.dpi / 72
    assert min(np.hypot(*(p - q)) for p, q in combinations(anchors, 2)) > height


def test_twenty_thousand_leaves_in_the_disk_take_seconds():
    tree = random_tree(20_000, 0)
    begin = time.process_time()
    plot.disk(tree).figure.canvas.draw()
    assert time.process_time() - begin < 20


# labels and colours


@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([2, 10, -1], ["2", "10", "missing"]),
        ([True, False, True], ["False", "True"]),
        ([0.5, 1.5, 0.5], ["0.5", "1.5"]),
        (["x", None, "y"], ["x", "y", "missing"]),
        ([1.0, np.nan, 2.0], ["1.0", "2.0", "missing"]),
        (["x", float("nan"), ""], ["x", "missing"]),
        (np.array([-1, 3, 4], dtype=np.int8), ["3", "4", "missing"]),
    ],
)
def test_labels_of_any_kind_make_a_legend(labels, texts):
    for ax in (plot.disk(chain(3), labels=labels), plot.dendrogram(chain(3), labels=labels)):
        assert legend_texts(ax) == texts


def test_rare_classes_of_very_many_share_an_entry():
    labels = np.concatenate([np.repeat(np.arange(MOST_CLASSES), 2), np.arange(100, 110)])
    texts = legend_texts(plot.disk(chain(len(labels)), labels=labels))
    assert texts == [*map(str, range(MOST_CLASSES)), "10 others"]


def test_without_labels_colours_are_the_models_clusters_or_an_automatic_cut(model):
    assert legend_texts(plot.disk(model)) == ["0", "1", "2"]
    tree = Tree([[0, 1], [2, 3], [4, 5]], heights=[1.0, 1.0, 9.0])
    assert legend_texts(plot.disk(tree)) == ["0", "1"]


def test_wrong_numbers_of_labels_and_names_are_errors(model):
    with pytest.raises(ValueError, match="one label for each leaf"):
        plot.disk(model, labels=[1, 2])
    with pytest.raises(ValueError, match="2 names for 30 leaves"):
        plot.dendrogram(model, names=["a", "b"])
    with pytest.raises(ValueError, match="HypHC is not fitted"):
        plot.disk(HypHC())


def test_a_branch_has_the_colour_that_its_leaves_share():
    ax = plot.dendrogram(Tree([[0, 1], [2, 3], [4, 5]]), labels=["a", "a", "a", "b"])
    colors = line_collections(ax)[0].get_colors()[:, :3]
    (a, b), grey = palette.class_colors(0, 2), (0.45, 0.45, 0.45)
    # the root's two, then depth first
    assert_allclose(colors, [a, grey, a, a, a, b])


def linear_rgb(color) -> np.ndarray:
    c = np.array(matplotlib.colors.to_rgb(color))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("colors", [palette.cluster_colors(MOST_CLASSES), palette.class_colors(0, 14)])
def test_colours_of_clusters_and_labels_read_on_white_and_lightened_on_dark(colors):
    for seen, ground in ((colors, 1.0), (palette.on_dark(colors), 0.008)):
        luminance = np.array([linear_rgb(color) @ [0.2126, 0.7152, 0.0722] for color in seen])
        contrast = np.maximum(luminance + 0.05, ground + 0.05) / np.minimum(luminance + 0.05, ground + 0.05)
        assert contrast.min() > 1.9


# Red-blind and green-blind vision in linear RGB (Machado, Oliveira, Fernandes 2009).
VISION = {
    "normal": np.eye(3),
    "protan": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deutan": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
}


def as_seen(colors, vision) -> np.ndarray:
    """Colours in CIELAB, (m, 3), where a difference of 2.3 is just noticeable."""
    linear = np.array([linear_rgb(color) for color in colors])
    seen = np.clip(linear @ np.array(VISION[vision]).T, 0, 1)
    xyz = seen @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.column_stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])])


def least_difference(colors, others, vision) -> float:
    apart = np.linalg.norm(as_seen(colors, vision)[:, None] - as_seen(others, vision)[None], axis=2)
    return float(apart[apart > 0].min())


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colors", [palette.CLUSTERS, *palette.COLUMNS])
def test_colour_blind_readers_tell_the_colours_of_a_palette_apart(colors, vision):
    assert least_difference(colors.base, colors.base, vision) > 7


@pytest.mark.parametrize("vision", VISION)
def test_no_colour_means_two_things_in_neighbouring_strips(vision):
    palettes = [palette.CLUSTERS.base, *(column.base for column in palette.COLUMNS)]
    greys = np.array([[palette.OTHERS] * 3, [palette.MISSING] * 3])
    for one, other in combinations([*palettes, greys], 2):
        assert least_difference(one, other, vision) > 4.5


@pytest.mark.parametrize("column", range(8))
@pytest.mark.parametrize("dark", [False, True])
def test_the_scale_of_a_column_of_numbers_only_ever_gets_lighter_or_darker(column, dark):
    luminance = np.array([linear_rgb(color) @ [0.2126, 0.7152, 0.0722] for color in palette.ramp(column, dark)])
    steps = np.diff(luminance) * (1 if dark else -1)
    assert (steps > 0).all()


# dendrograms


@given(trees(max_leaves=20), st.one_of(st.none(), st.integers(1, 25)), st.one_of(st.none(), st.integers(0, 5)))
def test_the_shown_part_holds_every_leaf_once_and_obeys_both_limits(tree, max_leaves, max_depth):
    part, sets, n = layout(tree, max_leaves, max_depth), oracles.leaf_sets(tree), tree.n_leaves
    order = tree.leaf_order().tolist()
    held = [order.index(leaf) for v in part.tips for leaf in sorted(sets[v], key=order.index)]
    assert held == list(range(n))
    assert len(part.tips) <= (max_leaves or n)
    if max_depth is None:
        assert len(part.tips) == min(n, max_leaves or n)
    for v in part.tips:
        depth = sum(sets[v] < other for other in sets)
        assert max_depth is None or depth <= max_depth
        if max_leaves is None and max_depth is not None and v >= n:
            assert depth == max_depth


@given(trees(min_leaves=2, max_leaves=20))
def test_branches_run_from_the_height_of_the_parent_to_that_of_the_child(tree):
    part, n = layout(tree, share=0.0), tree.n_leaves
    heights = np.concatenate([np.zeros(n), tree.heights])
    slot = {int(v): float(line[2, 0]) for v, line in zip(part.ends, part.lines, strict=True)}
    assert [slot[leaf] for leaf in tree.leaf_order()] == list(range(n))
    for child, line in zip(part.ends, part.lines, strict=True):
        parent = tree.parents[child]
        assert_array_equal(line[:, 1], heights[[parent, parent, child]])
        assert line[1, 0] == line[2, 0]
        assert line[0, 0] == np.mean([slot[int(c)] for c in tree.children[parent - n]])


def drawn_merges(ax, tree) -> dict[int, float]:
    """Where each merge of a dendrogram of all leaves is drawn, in shares of the axis."""
    part = layout(tree)
    lines = [path.vertices for path in line_collections(ax)[0].get_paths()]
    top = ax.get_ylim()[1]
    return {int(tree.parents[end]): line[0, 1] / top for end, line in zip(part.ends, lines, strict=True)}


@pytest.mark.parametrize("n", [30, 200])
def test_distinct_points_never_look_like_duplicates_and_duplicates_do(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)) + 6 * np.eye(6)[rng.integers(0, 3, n)]
    X[: n // 10] = X[n // 2 : n // 2 + n // 10]
    tree = HypHC(random_state=0).fit(X).tree_
    assert (tree.heights < 0.01 * tree.heights[-1]).mean() > 0.2  # else the test would see nothing
    ax = plot.dendrogram(tree, max_leaves=None)
    rows = tree.leaf_order()
    for v, share in drawn_merges(ax, tree).items():
        leaves = rows[tree._first[v] : tree._first[v] + tree.sizes[v]]
        equal = len(np.unique(X[leaves], axis=0)) == 1
        assert share == 0 if equal else share > 0.02
    assert ax.get_ylabel() == f"height (drawn at least {0.025 * tree.heights[-1]:.2g} unless 0)"


def test_of_a_graph_height_0_is_the_strongest_edge_and_is_drawn_above_the_leaves():
    X = np.random.default_rng(0).normal(size=(30, 4))
    tree = HypHC(metric="euclidean", n_neighbors=5, random_state=0).fit(X).tree_
    assert (tree.heights == 0).sum() > 3
    ax = plot.dendrogram(tree)
    assert min(drawn_merges(ax, tree).values()) > 0.02
    assert ax.get_ylabel().endswith(f"(drawn at least {0.025 * tree.heights[-1]:.2g})")


def test_heights_that_show_are_drawn_to_scale_under_a_plain_axis():
    tree = balanced(8)
    ax = plot.dendrogram(tree)
    assert ax.get_ylabel() == "height"
    heights = sorted({line[0, 1] for line in (path.vertices for path in line_collections(ax)[0].get_paths())})
    assert_allclose(heights, np.unique(tree.heights))


@pytest.mark.parametrize(
    ("k", "text"), [(2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd"), (113, "113th")]
)
def test_thinned_names_are_counted_in_words(k, text):
    assert ordinal(k) == text


@pytest.mark.parametrize(("orientation", "axis"), [("top", "x"), ("left", "y"), ("right", "y")])
def test_a_dendrogram_says_when_only_every_kth_name_is_written(orientation, axis):
    ax = plot.dendrogram(random_tree(300, 1), max_leaves=None, orientation=orientation)
    said = ax.get_xlabel() if axis == "x" else ax.get_ylabel()
    step = -(-300 // len((ax.xaxis if axis == "x" else ax.yaxis).get_ticklabels()))
    assert said == f"every {ordinal(step)} name is shown"
    few = plot.dendrogram(random_tree(10, 1), orientation=orientation)
    assert (few.get_xlabel() if axis == "x" else few.get_ylabel()) == ""


def test_a_disk_says_how_many_names_had_room():
    names = [f"name {i}" for i in range(300)]
    texts = [text.get_text() for text in plot.disk(random_tree(300, 1), names=names).texts]
    shown = sum(text.startswith("name ") for text in texts)
    assert f"{shown} of 300 names are shown" in texts
    assert not any("names are shown" in t.get_text() for t in plot.disk(balanced(8), names=names[:8]).texts)


def test_a_tanglegram_without_room_for_names_says_so():
    texts = [text.get_text() for text in plot.tanglegram(random_tree(300, 1), random_tree(300, 2)).texts]
    assert any(text.startswith("names need a figure") for text in texts)


@pytest.mark.parametrize("orientation", ["top", "bottom", "left", "right"])
@pytest.mark.parametrize("n", [2, 40, 300])
def test_leaf_labels_do_not_collide(orientation, n):
    names = [f"{'a rather long name ' * (i % 4)}{i}" for i in range(n)]
    ax = plot.dendrogram(random_tree(n, 1), names=names, max_leaves=None, orientation=orientation)
    ax.figure.canvas.draw()
    upright = orientation in ("top", "bottom")
    labels = (ax.xaxis if upright else ax.yaxis).get_ticklabels()
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) >= min(n, 25)
    for one, two in pairwise(boxes):
        assert not one.overlaps(two)
    legend = ax.get_legend().get_window_extent()
    assert not any(box.overlaps(legend) for box in boxes)


@pytest.mark.parametrize(
    ("orientation", "x", "y"), [("top", 0, 1), ("bottom", 0, -1), ("left", -1, 0), ("right", 1, 0)]
)
def test_the_root_is_where_the_orientation_says(orientation, x, y):
    ax = plot.dendrogram(balanced(8), orientation=orientation)
    lines = [ax.transData.transform(path.vertices) for path in line_collections(ax)[0].get_paths()]
    root, leaf = lines[0][0], lines[-1][-1]  # the first branch begins at the root, the last one ends at a leaf
    assert np.sign((root - leaf) @ [x, y]) == 1
    assert (root - leaf) @ [x, y] > 0.5 * (ax.bbox.width if x else ax.bbox.height)


def test_a_cluster_that_is_not_shown_inside_has_its_size_for_a_name():
    ax = plot.dendrogram(chain(10), max_leaves=3)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["(8)", "8", "9"]


def test_wrong_limits_and_orientations_are_errors():
    with pytest.raises(ValueError, match="max_leaves=0 shows nothing"):
        plot.dendrogram(chain(3), max_leaves=0)
    with pytest.raises(ValueError, match="orientation='up' is unknown"):
        plot.dendrogram(chain(3), orientation="up")


def test_dendrograms_of_a_hundred_thousand_leaves_and_of_a_chain_of_a_million_take_seconds():
    begin = time.process_time()
    plot.dendrogram(balanced(100_000)).figure.canvas.draw()
    plot.dendrogram(chain(1_000_000), max_leaves=50).figure.canvas.draw()
    plot.dendrogram(chain(1_000_000), max_leaves=None, max_depth=10).figure.canvas.draw()
    assert time.process_time() - begin < 40


# heat maps


@given(tree_and_similarity(), st.integers(1, 12))
def test_pixels_are_mean_similarities_of_blocks(pair, n_blocks):
    tree, similarity = pair
    n, order, W = tree.n_leaves, tree.leaf_order(), similarity.to_dense()
    n_blocks = min(n, n_blocks)
    blocks = [order[k * n // n_blocks : (k + 1) * n // n_blocks] for k in range(n_blocks)]
    means = block_means(similarity, order, n_blocks)
    for p, q in np.ndindex(n_blocks, n_blocks):
        pairs = [W[i, j] for i in blocks[p] for j in blocks[q] if i != j]
        assert_allclose(means[p, q], np.mean(pairs) if pairs else np.nan, atol=1e-9)


def test_blocks_of_weighted_leaves_are_means_over_points():
    sizes, sums = np.array([2.0, 1.0, 3.0]), np.array([[1.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    means = block_means(Features(sums, offset=0.0, scale=1.0, sizes=sizes), np.arange(3), 3)
    assert_allclose(means[0, 2], 3.0 / 6.0)
    assert np.isnan(np.diag(means)).all()


def test_the_picture_is_the_matrix_in_leaf_order():
    W = np.random.default_rng(0).random((6, 6))
    W += W.T
    tree = random_tree(6, 3)
    picture = plot.heatmap(W, tree, order="tree").images[0].get_array()
    order = tree.leaf_order()
    wanted = W[np.ix_(order, order)]
    off = ~np.eye(6, dtype=bool)
    assert_allclose(np.ma.filled(picture, np.nan)[off], wanted[off])


def test_a_heat_map_of_many_points_makes_no_matrix_of_them():
    n = 100_000
    rng = np.random.default_rng(0)
    i, j = rng.integers(n, size=(2, 300_000))
    graph = sp.coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
    for similarity in (as_similarity(rng.normal(size=(n, 3)), "cosine"), graph + graph.T):
        picture = plot.heatmap(similarity, balanced(n), max_blocks=200).images[0].get_array()
        assert picture.shape == (200, 200)


def test_a_tree_of_other_leaves_is_an_error():
    with pytest.raises(ValueError, match="3 leaves and the similarity 2 points"):
        plot.heatmap(np.ones((2, 2)), chain(3))


# tanglegrams


@pytest.mark.parametrize("seed", range(5))
def test_lines_of_a_tanglegram_join_equal_leaves_of_the_untangled_trees(seed):
    tree, other = random_tree(12, seed), random_tree(12, seed + 100)
    one, two, n_crossings = untangle(tree, other)
    ax = plot.tanglegram(tree, other)
    joins = np.array([path.vertices for path in line_collections(ax)[-1].get_paths()])
    assert_array_equal(joins[one.leaf_order(), 0, 1], np.arange(12))
    assert_array_equal(joins[two.leaf_order(), 1, 1], np.arange(12))
    crossed = sum((p[0, 1] < q[0, 1]) != (p[1, 1] < q[1, 1]) for p, q in combinations(joins, 2))
    assert crossed == n_crossings
    assert f"{crossed} crossings" in [text.get_text() for text in ax.texts]


def test_leaves_are_matched_by_name_when_both_trees_have_names():
    tree = Tree([[0, 1], [2, 3], [4, 5]], names=["a", "b", "c", "d"])
    other = Tree([[0, 1], [2, 3], [4, 5]], names=["d", "c", "a", "b"])
    assert "0 crossings" in [text.get_text() for text in plot.tanglegram(tree, other).texts]
    with pytest.raises(ValueError, match="do not match one to one"):
        plot.tanglegram(tree, Tree(other.children, names=["d", "c", "a", "z"]))
    with pytest.raises(ValueError, match="4 and 3 leaves"):
        plot.tanglegram(tree, chain(3))


# training


def test_the_training_curve_shows_the_losses_and_the_cost(model):
    ax = plot.training_curve(model)
    assert_array_equal(ax.lines[0].get_ydata(), model.loss_curve_)
    assert ax.lines[1].get_ydata()[0] == model.cost_
    with pytest.raises(ValueError, match="got Tree"):
        plot.training_curve(model.tree_)


@pytest.mark.parametrize("criterion", ["modularity", "ncut", "height"])
def test_cluster_scores_are_those_of_the_best_cuts_with_the_number_of_clusters_marked(model, criterion):
    ax = plot.cluster_scores(model, criterion=criterion, k_max=12)
    curve, chosen = ax.lines[:2]
    assert_array_equal(curve.get_xdata(), np.arange(1, 13))
    assert_array_equal(curve.get_ydata(), cut_scores(model.tree_, criterion, 12))
    assert chosen.get_xdata() == [model.n_clusters_]
    assert chosen.get_ydata() == [cut_scores(model.tree_, criterion, 12)[model.n_clusters_ - 1]]


def test_cluster_scores_by_cost_are_shares_of_the_most_and_the_default_for_models_without_a_score(model):
    assert model.criterion == "condensed"  # no score: the cost is shown
    scores = cut_scores(model.tree_, "dasgupta", 30)
    assert_array_equal(plot.cluster_scores(model).lines[0].get_ydata(), scores / scores.max())
    assert_array_equal(
        plot.cluster_scores(model.tree_, criterion="dasgupta").lines[0].get_ydata(), scores / scores.max()
    )


def test_cluster_scores_mark_the_numbers_that_came_next():
    points = np.random.default_rng(0).normal(size=(200, 5)) + 4.0 * np.repeat(np.eye(5)[:4], 50, axis=0)
    found = HypHC(random_state=0).fit(points)
    _, chosen, others = plot.cluster_scores(found).lines
    assert chosen.get_xdata() == [found.cluster_number_.n_clusters]
    assert list(others.get_xdata()) == [k for k, _ in found.cluster_number_.runners_up]
    assert len(plot.cluster_scores(found, n_clusters=7).lines) == 2


def test_cluster_scores_reach_the_number_of_clusters_and_end_where_no_cut_is_left():
    tree = Tree([[0, 1], [2, 3], [4, 5]], split_weights=[3.0, 3.0, 1.0])
    assert len(plot.cluster_scores(tree).lines[0].get_xdata()) == 4
    assert len(plot.cluster_scores(tree, min_size=2).lines[0].get_xdata()) == 2
    assert len(plot.cluster_scores(tree, k_max=2, n_clusters=3).lines[0].get_xdata()) == 3
    assert plot.cluster_scores(tree, criterion=lambda tree: np.zeros(7)).get_ylabel() == "score of the cut"


def test_a_recorder_keeps_the_first_and_the_last_iteration_and_forgets_an_earlier_run():
    recorder = plot.Recorder(n_frames=7)
    embed(as_similarity(X, "cosine"), max_iter=40, n_init=2, random_state=0, callback=recorder)
    iterations = [frame.iteration for frame in recorder.frames]
    assert len(iterations) == 7
    assert iterations[0] == 0
    assert iterations[-1] == 39
    assert iterations == sorted(set(iterations))


def test_an_animation_has_a_frame_for_each_that_was_recorded(tmp_path):
    recorder = plot.Recorder(n_frames=5)
    HypHC(max_iter=20, random_state=0, callback=recorder).fit(X)
    path = tmp_path / "run.gif"
    plot.animate(recorder, path, labels=np.repeat(["a", "b", "c"], 10))
    with Image.open(path) as gif:
        assert gif.format == "GIF"
        assert gif.n_frames == 5
    assert list(tmp_path.iterdir()) == [path]


def test_frames_show_the_tree_that_their_leaves_decode_to(monkeypatch):
    shown = []
    monkeypatch.setattr(animation.Artists, "update", lambda self, tree, points: shown.append((tree, points)))
    played = plot.animate(as_similarity(X, "cosine"), max_iter=10, random_state=0)
    played.to_jshtml()
    assert len(shown) >= 10
    assert all(decode(points) == tree for tree, points in shown)


def test_what_cannot_be_animated_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="recorder is empty"):
        plot.animate(plot.Recorder())
    with pytest.raises(ValueError, match="3 coordinates"):
        plot.animate(as_similarity(X, "cosine"), tmp_path / "run.gif", n_components=3, max_iter=2)
    with pytest.raises(ValueError, match="options of embed"):
        plot.animate(plot.Recorder(), max_iter=3)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_gallery_draws_every_picture_of_its_page(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    from make_gallery import draw_gallery

    saved = draw_gallery(tmp_path)
    assert len(saved) == 11
    assert all(0 < path.stat().st_size < (1_000_000 if path.suffix == ".gif" else 400_000) for path in saved)
