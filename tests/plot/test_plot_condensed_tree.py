"""Pictures of condensed trees: widths are numbers of points, colours those of the clusters."""

from __future__ import annotations

import re
import time
from contextlib import nullcontext

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hyphc import HypHC, Tree, plot
from hyphc._runtime.palette import MIXED, cluster_colors
from hyphc.tree.condense import condense
from hyphc.tree.icicle_layout import MOST_STEPS, cluster_cores, icicles, merges_between, visible_condensed
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from strategies import balanced, chain, random_tree, trees

X = np.random.default_rng(0).normal(size=(90, 4)) + np.repeat(np.eye(4)[:3] * 9, [60, 20, 10], axis=0)
# two groups of three at height 5, and a single leaf that joins them last
OUTLIER = Tree([[0, 1], [3, 4], [7, 2], [8, 5], [9, 10], [11, 6]], heights=[1.0, 1.0, 2.0, 2.0, 5.0, 9.0])


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model() -> HypHC:
    return HypHC(n_clusters=3, random_state=0).fit(X)


@st.composite
def sized_trees(draw: st.DrawFn) -> Tree:
    tree = draw(trees(max_leaves=12))
    sizes = draw(st.none() | st.lists(st.integers(1, 4), min_size=tree.n_leaves, max_size=tree.n_leaves))
    return Tree(tree.children, tree.heights, leaf_sizes=sizes)


def polygons(ax) -> PolyCollection:
    (found,) = [artist for artist in ax.collections if isinstance(artist, PolyCollection)]
    return found


def area(corners: np.ndarray) -> float:
    x, y = corners.T
    return abs(float(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))) / 2


def width_at(corners: np.ndarray, height: float) -> float:
    """Where the outline crosses a height at which it has no corner: right minus left."""
    a, b = corners, np.roll(corners, -1, axis=0)
    crossed = a[(a[:, 1] - height) * (b[:, 1] - height) < 0, 0]
    return float(crossed.max() - crossed.min()) if len(crossed) else 0.0


def dashed(ax) -> list:
    return [line for line in ax.lines if line.get_linestyle() == "--"]


def written(ax) -> set[str]:
    return {text.get_text() for text in ax.texts}


# where icicles stand


@given(sized_trees(), st.integers(1, 4))
def test_the_width_at_each_height_is_the_number_of_points_still_in_the_group(tree, min_size):
    condensed = condense(tree, min_size)
    found = icicles(condensed)
    n, sets = tree.n_leaves, oracles.leaf_sets(tree)
    sizes = np.ones(n) if tree.leaf_sizes is None else tree.leaf_sizes
    levels = np.unique(np.concatenate([[0.0], tree.heights, found.tops]))
    for k, v in enumerate(found.nodes.tolist()):
        members = sorted(sets[v])
        for height in (levels[1:] + levels[:-1]) / 2:
            # a leaf that is a group of its own stays in it; others stay until they leave it
            own = condensed.cluster[members] == v
            stays = np.where(np.array(members) == v, 0.0, condensed.leaving_height[members]) < height
            there = stays | ~own if found.ends[k] < height < found.tops[k] else np.zeros(len(members), dtype=bool)
            assert_allclose(width_at(found.corners[k], height), sizes[members][there].sum(), atol=1e-9)


@given(sized_trees(), st.integers(1, 4))
def test_the_area_of_all_icicles_is_the_time_that_points_spend_in_them(tree, min_size):
    condensed = condense(tree, min_size)
    n, top = tree.n_leaves, tree.heights[-1] if tree.n_leaves > 1 else 0.0
    sizes = np.ones(n) if tree.leaf_sizes is None else tree.leaf_sizes
    alone = condensed.cluster[:n] == np.arange(n)
    spent = sizes * (top - np.where(alone, 0.0, condensed.leaving_height))
    assert_allclose(sum(map(area, icicles(condensed).corners)), spent.sum() if n > 1 else 0.0, atol=1e-9)


@given(sized_trees(), st.integers(1, 4))
def test_icicles_stand_apart_in_leaf_order_inside_the_picture(tree, min_size):
    found = icicles(condense(tree, min_size))
    left, right = found.middles - found.points / 2, found.middles + found.points / 2
    assert left.min() >= -1e-9
    assert right.max() <= found.width + 1e-9
    order = tree.leaf_order().tolist()
    sets = oracles.leaf_sets(tree)
    for j, v in enumerate(found.nodes.tolist()):
        for k, w in enumerate(found.nodes.tolist()):
            if max(map(order.index, sets[v])) < min(map(order.index, sets[w])):
                assert right[j] < left[k]


@given(sized_trees(), st.integers(1, 4))
def test_groups_hang_from_the_split_at_which_their_parent_ends(tree, min_size):
    found = icicles(condense(tree, min_size))
    for k, parent in enumerate(found.parents.tolist()):
        assert parent < k
        if k:
            assert found.tops[k] == found.ends[parent]
        assert (found.corners[k][:, 1] <= found.tops[k]).all()
        assert (found.corners[k][:, 1] >= found.ends[k]).all()


@given(sized_trees(), st.integers(1, 12))
def test_the_merges_between_clusters_are_those_that_a_cut_undoes(tree, k):
    k = min(k, tree.n_leaves)
    nodes = tree.clusters(k)
    undone = merges_between(tree, nodes)
    assert undone.sum() == k - 1
    found = visible_condensed(tree, 3, undone)
    assert set(np.flatnonzero(undone)) <= set(found.splits)
    assert set(nodes) <= set(icicles(found).nodes)


@given(sized_trees(), st.integers(1, 12))
def test_the_cores_of_prunings_are_their_nodes(tree, k):
    k = min(k, tree.n_leaves)
    nodes = tree.clusters(k, criterion="height")
    assert_array_equal(cluster_cores(tree, tree.cut(k, criterion="height")), nodes)


@given(sized_trees(), st.integers(1, 12))
def test_a_core_is_a_largest_node_whose_leaves_have_one_label(tree, k):
    labels, sets = tree.cut(min(k, tree.n_leaves)), oracles.leaf_sets(tree)
    sizes = np.ones(tree.n_leaves) if tree.leaf_sizes is None else tree.leaf_sizes
    cores = cluster_cores(tree, labels).tolist()
    for label in range(len(cores)):
        points = {
            v: sizes[sorted(leaves)].sum() for v, leaves in enumerate(sets) if {*labels[sorted(leaves)]} == {label}
        }
        assert points[cores[label]] == max(points.values())


def test_splits_below_a_small_group_are_kept():
    """Two groups of 2 inside one of 4, below the least size of 5: the group goes on until they split."""
    tree = Tree([[0, 1], [2, 3], [8, 9], [10, 4], [11, 5], [12, 6], [13, 7]])
    undone = np.arange(7) == 2
    found = icicles(visible_condensed(tree, 5, undone))
    assert found.nodes.tolist() == [14, 8, 9]
    assert found.ends.tolist() == [3.0, 1.0, 2.0]


def test_groups_too_narrow_to_see_fall_out():
    tree = balanced(2**14)
    found = icicles(visible_condensed(tree, 1, np.zeros(2**14 - 1, dtype=bool)))
    assert found.points.min() == 2**14 / 1024
    assert sum(map(len, found.corners)) < 10 * MOST_STEPS + 8 * len(found.nodes)


def test_rounded_steps_change_widths_by_less_than_a_level():
    tree = random_tree(5000, 0)
    condensed = condense(tree, 50)
    n, found = 5000, icicles(condensed)
    for k in range(len(found.nodes)):
        own = condensed.leaving_height[condensed.cluster[:n] == found.nodes[k]]
        exact = (found.points[k] - len(own)) * (found.tops[k] - found.ends[k]) + (found.tops[k] - own).sum()
        assert abs(area(found.corners[k]) - exact) <= len(own) * tree.heights[-1] / MOST_STEPS + 1e-6


# the picture


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_groups_have_the_colours_that_the_dendrogram_gives_their_clusters(model, k):
    fills = polygons(plot.condensed_tree(model.tree_, n_clusters=k)).get_facecolors()[:, :3]
    condensed = visible_condensed(model.tree_, None, merges_between(model.tree_, model.tree_.clusters(k)))
    labels, sets = model.tree_.cut(k), oracles.leaf_sets(model.tree_)
    colors = cluster_colors(k)
    shared = [set(labels[sorted(sets[v])].tolist()) for v in icicles(condensed).nodes.tolist()]
    expected = [colors[min(held)] if len(held) == 1 else (MIXED,) * 3 for held in shared]
    assert_allclose(fills, expected)
    drawn = plot.dendrogram(model.tree_.with_n_clusters(k), max_leaves=None)
    lines = next(artist for artist in drawn.collections if isinstance(artist, LineCollection))
    assert {tuple(color) for color in colors} <= {tuple(color[:3]) for color in lines.get_colors()}


def test_the_clusters_are_those_of_the_model_unless_others_are_asked_for(model):
    def colours(ax):
        return {tuple(color) for color in polygons(ax).get_facecolors()[:, :3]} - {(MIXED,) * 3}

    assert colours(plot.condensed_tree(model)) == {tuple(color) for color in cluster_colors(3)}
    assert colours(plot.condensed_tree(model, n_clusters=5)) == {tuple(color) for color in cluster_colors(5)}
    legend = plot.condensed_tree(model).get_legend()
    shown = [to_rgb(entry.get_color()) for entry in legend.legend_handles]
    assert_allclose(shown, cluster_colors(3))


def test_models_trees_linkage_matrices_and_condensed_trees_are_drawn_alike(model):
    tree = model.tree_
    pictures = [
        plot.condensed_tree(source, min_size=5, n_clusters=3)
        for source in (model, tree, tree.to_linkage(), tree.condense(5))
    ]
    first = polygons(pictures[0])
    for picture in pictures[1:]:
        assert len(polygons(picture).get_paths()) == len(first.get_paths())
        assert_allclose(
            np.sort([area(path.vertices) for path in polygons(picture).get_paths()]),
            np.sort([area(path.vertices) for path in first.get_paths()]),
            atol=1e-9,
        )


def test_a_condensed_tree_keeps_its_size(model):
    large, small = (plot.condensed_tree(model.tree_.condense(size)) for size in (30, 3))
    assert len(polygons(large).get_paths()) < len(polygons(small).get_paths())


def test_the_axis_of_heights_points_as_in_the_dendrogram(model):
    ax, other = plot.condensed_tree(model), plot.dendrogram(model)
    assert ax.get_ylabel() == "height"
    for low, high in (ax.get_ylim(), other.get_ylim()):
        assert low < model.tree_.heights[-1] < high
    tops = [path.vertices[:, 1].max() for path in polygons(ax).get_paths()]
    assert max(tops) == model.tree_.heights[-1]


def test_a_cut_below_the_highest_splits_is_a_dashed_line_between_them_and_the_next():
    tree = balanced(32)  # merges have heights 1 … 31, those of groups of 4 are 17 … 24, of 8 are 25 … 28
    ax = plot.condensed_tree(tree, min_size=4, n_clusters=3)
    (line,) = dashed(ax)
    assert_allclose(line.get_ydata(), 29.5)
    assert "3 clusters" in written(ax)
    assert not dashed(plot.condensed_tree(tree, n_clusters=1))


def test_a_cut_of_all_splits_lies_below_them():
    (line,) = dashed(plot.condensed_tree(OUTLIER, min_size=3, n_clusters=2))
    assert 2.0 < line.get_ydata()[0] < 5.0


def test_clusters_that_no_height_separates_have_no_line():
    tree = balanced(32)
    turns = np.zeros(31, dtype=int)
    turns[[30, 29, 27]] = 1, 2, 3  # the split of height 29, on the other side, is kept
    assert not dashed(plot.condensed_tree(tree.with_found_splits(turns)))
    tied = Tree(tree.children, [1.0] * 16 + [2.0] * 15)
    assert not dashed(plot.condensed_tree(tied, min_size=2, n_clusters=3))


def test_forced_splits_are_drawn_whatever_their_size():
    tree = OUTLIER.with_forced_splits([0, 0, 0, 0, 0, 1])
    ax = plot.condensed_tree(tree, min_size=3, n_clusters=2)
    widths = sorted(np.ptp(path.vertices[:, 0]) for path in polygons(ax).get_paths())
    assert_allclose(widths, [1.0, 3.0, 3.0, 6.0, 7.0])
    assert len({tuple(color) for color in polygons(ax).get_facecolors()}) == 3


def test_leaves_count_by_their_sizes():
    tree = Tree([[0, 1], [2, 3], [4, 5]], leaf_sizes=[5.0, 7.0, 2.5, 0.5])
    ax = plot.condensed_tree(tree, min_size=3, n_clusters=2)
    widths = sorted(np.ptp(path.vertices[:, 0]) for path in polygons(ax).get_paths())
    assert_allclose(widths, [3.0, 5.0, 7.0, 12.0, 15.0])
    assert {"3", "12"} <= written(ax)


@pytest.mark.parametrize("criterion", ["dasgupta", "height"])
def test_clusters_of_every_criterion_are_groups_of_their_own(criterion):
    model = HypHC(n_clusters=4, criterion=criterion, random_state=0).fit(X)
    ax = plot.condensed_tree(model)
    sizes = np.bincount(model.labels_)
    fills = polygons(ax).get_facecolors()[:, :3]
    for k, color in enumerate(cluster_colors(4)):
        same = [path for path, fill in zip(polygons(ax).get_paths(), fills, strict=True) if np.allclose(fill, color)]
        assert_allclose(max(np.ptp(path.vertices[:, 0]) for path in same), sizes[k])


@pytest.mark.parametrize("tree", [Tree(np.empty((0, 2))), chain(2), chain(3), chain(40), Tree([[0, 1]], heights=[0.0])])
@pytest.mark.parametrize("min_size", [None, 1])
def test_the_smallest_trees_and_those_without_a_split_can_be_drawn(tree, min_size):
    for n_clusters in (None, 1, tree.n_leaves):
        ax = plot.condensed_tree(tree, min_size=min_size, n_clusters=n_clusters)
        ax.figure.canvas.draw()
        low, high = ax.get_ylim()
        assert low < high
    assert len(polygons(plot.condensed_tree(tree, n_clusters=1)).get_paths()) >= 1


def test_sizes_are_written_only_where_they_fit_and_can_be_left_out():
    tree = balanced(1024)
    assert written(plot.condensed_tree(tree, n_clusters=4, min_size=16)) == {"256", "4 clusters"}
    assert written(plot.condensed_tree(tree, n_clusters=4, min_size=16, sizes=False)) == {"4 clusters"}
    assert "4" not in written(plot.condensed_tree(tree, n_clusters=256, min_size=4))


@pytest.mark.parametrize("shape", [balanced, chain])
def test_a_large_tree_takes_few_artists_and_little_time(shape):
    tree = shape(100_000)
    plot.condensed_tree(tree, n_clusters=3)  # compiled
    start = time.process_time()
    for min_size in (None, 1):
        ax = plot.condensed_tree(tree, min_size=min_size, n_clusters=3)
        assert len(ax.collections) == 2
        assert len(ax.get_children()) < 40
        assert len(polygons(ax).get_paths()) < 5000
    assert time.process_time() - start < 8.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_size": 0}, "min_size=0 is no size of a cluster"),
        ({"min_size": 99}, "min_size=99 is more than the 7 points"),
        ({"n_clusters": 0}, "n_clusters=0 is not between 1 and the 7 leaves"),
        ({"n_clusters": 3, "min_size": 3}, "n_clusters=3 is too many for min_size=3"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(options, message):
    with pytest.raises(ValueError, match=message):
        plot.condensed_tree(OUTLIER, **options)
    with pytest.raises(ValueError, match="call fit before"):
        plot.condensed_tree(HypHC())


@pytest.mark.parametrize("preset", [None, "one-column"])
def test_the_size_of_every_cluster_is_written_or_said_to_be_left_out(preset):
    rng = np.random.default_rng(0)
    sizes = np.array([400, 200, 100, 50, 40, 30, 20, 15, 12, 10, 8, 5, 4])
    points = 9 * rng.normal(size=(len(sizes), 6))[np.repeat(np.arange(len(sizes)), sizes)]
    model = HypHC(n_clusters=len(sizes), random_state=0).fit(points + rng.normal(size=points.shape))
    with plot.figure_style(preset) if preset else nullcontext():
        ax = plot.condensed_tree(model)
    ax.figure.draw_without_rendering()
    numbers = [text for text in ax.texts if text.get_text().isdecimal()]
    said = re.search(r"no room for the sizes of (\d+) of 13 clusters", ax.get_xlabel().replace("\n", " "))
    assert said is not None
    assert len(numbers) + int(said[1]) == 13
    assert preset is None or {text.get_rotation() for text in numbers} == {0.0, 90.0}  # upright in narrow groups
    label = ax.xaxis.label.get_window_extent()
    assert ax.figure.bbox.x0 <= label.x0
    assert label.x1 <= ax.figure.bbox.x1
