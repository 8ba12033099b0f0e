"""The explorer page: what it holds, that it loads nothing and runs nothing else, and its data for every panel."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import io
import json
import re
from importlib import resources

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd
import pytest
from hyphc import HypHC, Tree, as_similarity, baselines, dasgupta_cost, describe, encode, plot
from hyphc.explorer import columns, page
from hyphc.explorer.cuts import cut_fields
from hyphc.explorer.groups import collapse
from hyphc.explorer.sprite import MAX_SIDE, shrink, sprite
from hyphc.scores.heights import with_split_weights
from hyphc.similarity import Dense
from hypothesis import given
from hypothesis import strategies as st

import strategies

HOSTILE = "</script><script>alert(1)</script>"


class Page(html.parser.HTMLParser):
    """The scripts, style and policy of a page as a browser's parser would find them."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.style, self.policy, self.inside, self.outside = [], "", "", None, ""
        self.feed(text)
        self.close()
        (self.data,) = [json.loads(body) for kind, body in self.scripts if kind == "application/json"]

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.inside = tag
        if tag == "script":
            self.scripts.append((attributes.get("type"), ""))
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        assert not {"src", "href"} & attributes.keys()

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, text):
        if self.inside == "script":
            kind, body = self.scripts[-1]
            self.scripts[-1] = (kind, body + text)
        elif self.inside == "style":
            self.style += text
        else:
            self.outside += text


def written(tmp_path, tree, **options):
    path = page.explore(tree, tmp_path / "page.html", **options)
    assert path == tmp_path / "page.html"
    return Page(path.read_text(encoding="utf-8"))


def array(text, dtype):
    return np.frombuffer(base64.b64decode(text), dtype=dtype)


@pytest.fixture
def tree():
    return baselines.average_linkage(np.corrcoef(np.random.default_rng(0).normal(size=(30, 4))) + 1)


def test_the_page_holds_the_tree_exactly(tree, tmp_path):
    data = written(tmp_path, tree).data
    assert data["n"] == data["points"] == 30
    np.testing.assert_array_equal(array(data["children"], "<i4").reshape(-1, 2), tree.children)
    np.testing.assert_array_equal(array(data["heights"], "<f8"), tree.heights)
    assert data["names"] is data["labels"] is data["sprite"] is data["features"] is data["depths"] is None


def test_a_linkage_matrix_is_a_tree(tree, tmp_path):
    assert written(tmp_path, tree.to_linkage()).data["n"] == 30


def test_nothing_is_loaded_from_elsewhere_and_only_the_pages_own_script_may_run(tree, tmp_path):
    text = page.explore(tree, tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|@import|url\(", text)
    parsed = Page(text)
    (script,) = [body for kind, body in parsed.scripts if kind is None]
    rules = dict(rule.strip().split(" ", 1) for rule in parsed.policy.split(";"))
    for name, content in {"script-src": script, "style-src": parsed.style}.items():
        assert rules[name] == f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"


def test_hostile_text_is_data_and_never_markup(tree, tmp_path):
    texts = [HOSTILE, "<img src=x onerror=alert(1)>", "<!--", "{{script}}", '"', "\u2028", "\udcff"] + ["x"] * 23
    features = pd.DataFrame(np.ones((30, 1)), columns=[HOSTILE])
    page = written(tmp_path, tree, labels=texts, names=texts, features=features, title=HOSTILE + "{{data}}")
    assert len(page.scripts) == 2
    assert page.data["names"] == texts
    assert sorted(set(texts)) == page.data["labels"]["names"]
    assert page.data["features"]["names"] == [HOSTILE]
    assert page.data["title"] == HOSTILE + "{{data}}"
    assert HOSTILE + "{{data}}" in page.outside  # unescaped by the parser: text


@pytest.mark.parametrize(
    ("labels", "names", "codes"),
    [
        ([2, 10, 2], ["2", "10"], [0, 1, 0]),
        ([1.5, np.nan, 1.5], ["1.5"], [0, -1, 0]),
        (["b", None, "a"], ["a", "b"], [1, -1, 0]),
        ([True, False, True], ["False", "True"], [1, 0, 1]),
        (pd.Series(["y", "x", "y"], dtype="category"), ["x", "y"], [1, 0, 1]),
        (np.array([3, "a", None], dtype=object), ["3", "a"], [0, 1, -1]),
        (np.array([np.float64(2), np.nan, pd.NA], dtype=object), ["2.0"], [0, -1, -1]),
    ],
)
def test_labels_of_any_type_become_named_classes(labels, names, codes, tmp_path):
    field = written(tmp_path, Tree([[0, 1], [3, 2]]), labels=labels).data["labels"]
    assert field["names"] == names
    assert array(field["codes"], "<i4").tolist() == codes


def test_names_come_from_the_tree_unless_given(tmp_path):
    named = Tree([[0, 1]], names=["a", "b"])
    assert written(tmp_path, named).data["names"] == ["a", "b"]
    assert written(tmp_path, named, names=["c", "d"]).data["names"] == ["c", "d"]


@given(strategies.trees(min_leaves=1, max_leaves=12))
def test_every_cluster_is_an_arc_of_the_angles(tree):
    fields = page._embedding_fields(collapse(tree, tree.n_leaves), None)
    angles = array(fields["angles"], "<f8")
    order = np.argsort(angles)
    assert np.ptp(angles) < 2 * np.pi
    place = np.argsort(order)
    for node in range(tree.n_leaves, 2 * tree.n_leaves - 1):
        members = place[[i for i in range(tree.n_leaves) if tree.lca(i, node) == node]]
        assert np.ptp(members) == len(members) - 1


def test_an_embedding_of_one_radius_keeps_its_angles_and_others_their_depths_too(tree, tmp_path):
    points = encode(tree)
    data = written(tmp_path, tree, embedding=points).data
    turns = array(data["angles"], "<f8")
    np.testing.assert_allclose(np.column_stack([np.cos(turns), np.sin(turns)]), points / np.tanh(5), atol=1e-14)
    assert data["depths"] is None
    radii = np.linspace(0.1, 0.9, 30)[:, None]
    depths = array(written(tmp_path, tree, embedding=points * radii).data["depths"], "<f4")
    np.testing.assert_allclose(depths, 2 * np.arctanh(np.tanh(5) * radii[:, 0]), rtol=1e-6)


def test_similarity_adds_the_cost_and_the_mean_across_each_split(tree, tmp_path):
    w = np.random.default_rng(1).random((30, 30))
    w = w + w.T
    data = written(tmp_path, tree, similarity=w).data
    assert data["cost"] == pytest.approx(dasgupta_cost(tree, w))
    members = [np.array([i for i in range(30) if tree.lca(i, v) == v]) for v in range(59)]
    wanted = [w[np.ix_(members[a], members[b])].mean() for a, b in tree.children]
    np.testing.assert_allclose(array(data["across"], "<f4"), wanted, rtol=1e-6)


def test_a_tree_that_carries_its_weights_needs_no_similarity(tree, tmp_path):
    w = np.random.default_rng(1).random((30, 30))
    w = w + w.T
    told, own = (written(tmp_path, t, similarity=s).data for t, s in ((tree, w), (with_split_weights(tree, w), None)))
    assert own["cost"] == told["cost"] == pytest.approx(dasgupta_cost(tree, w))
    assert own["across"] == told["across"]
    assert written(tmp_path, tree).data["cost"] is None


@pytest.mark.parametrize("kind", strategies.KINDS)
def test_a_fitted_tree_shows_the_cost_of_the_fit_wherever_it_has_been(kind, tmp_path):
    """The weights that a tree of a blend carries are its graph's alone: their sum is not the cost."""
    model = HypHC(effort=0.01).fit(strategies.similarity_of_kind(kind, 30, seed=0))
    model.tree_.save(tmp_path / "tree.npz")
    model.tree_.save(tmp_path / "mapped", mapped=True)
    stored = [Tree.load(tmp_path / "tree.npz"), Tree.load(tmp_path / "mapped"), Tree.from_json(model.tree_.to_json())]
    pages = [written(tmp_path, tree).data for tree in (model.tree_.with_names(map(str, range(30))), *stored)]
    assert {page["cost"] for page in pages} == {model.cost_}
    pages += [written(tmp_path, model.tree_, similarity=model.similarity_).data]
    assert pages[-1]["cost"] == pytest.approx(model.cost_, rel=1e-12)
    assert {page["edgesAlone"] for page in pages} == {kind == "blend"}
    assert written(tmp_path, model.tree_.subtree(57)).data["cost"] is None  # not that of the whole


def test_the_cost_is_none_where_only_weights_are_known(tree, tmp_path):
    """Those of a blend's graph would make a wrong one."""
    data = written(tmp_path, Tree(tree.children, tree.heights, split_weights=np.ones(29))).data
    assert data["cost"] is None
    assert data["across"] is not None


def test_leaves_that_stand_for_several_points_count_as_so_many_in_the_cost(tmp_path):
    w = Dense([[0, 6, 2], [6, 0, 3], [2, 3, 0]], sizes=[2, 3, 1])
    tree = Tree([[0, 1], [3, 2]])
    for data in (written(tmp_path, tree, similarity=w).data, written(tmp_path, with_split_weights(tree, w)).data):
        assert data["cost"] == dasgupta_cost(tree, w) == 5 * 6 + 6 * 5
        np.testing.assert_allclose(array(data["across"], "<f4"), [1.0, 1.0])


def test_features_keep_their_names_and_values(tree, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["length", "width"])
    field = written(tmp_path, tree, features=frame).data["features"]
    assert field["names"] == ["length", "width"]
    np.testing.assert_array_equal(array(field["values"], "<f4").reshape(30, 2), frame.to_numpy(np.float32))
    assert written(tmp_path, tree, features=np.ones((30, 2))).data["features"]["names"] == ["feature 0", "feature 1"]


@pytest.mark.parametrize("shape", [(7, 5, 9), (7, 5, 9, 3)])
def test_the_sprite_is_a_png_with_every_image_in_its_place(shape):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(60, 200, shape, dtype=np.uint8)  # corners that are not background
    packed = sprite(pixels, 7)
    assert not packed["ink"]
    picture = np.asarray(image.open(io.BytesIO(base64.b64decode(packed["uri"].split(",")[1]))))
    for i in range(7):
        row, column = divmod(i, packed["columns"])
        np.testing.assert_array_equal(picture[row * 5 : row * 5 + 5, column * 9 : column * 9 + 9], pixels[i])


@pytest.mark.parametrize("inverted", [False, True])
def test_drawings_on_a_plain_ground_become_ink(inverted):
    image = pytest.importorskip("PIL.Image")
    drawing = np.zeros((1, 4, 4))
    drawing[0, 1:3, 1:3] = [[0.2, 1.0], [0.6, 0.4]]
    packed = sprite(1 - drawing if inverted else drawing, 1)
    assert packed["ink"]
    picture = image.open(io.BytesIO(base64.b64decode(packed["uri"].split(",")[1])))
    np.testing.assert_allclose(np.asarray(picture)[..., 1], 255 * drawing[0], atol=0.5)


@given(st.integers(1, 130), st.integers(1, 130))
def test_large_images_shrink_to_means_of_blocks(height, width):
    pixels = np.random.default_rng(height * 131 + width).integers(0, 256, (2, height, width, 1), dtype=np.uint8)
    shrunk = shrink(pixels)
    h, w = shrunk.shape[1:3]
    assert max(h, w) <= MAX_SIDE
    rows, columns = np.arange(h + 1) * height // h, np.arange(w + 1) * width // w
    i, j = h - 1, w // 2
    block = pixels[1, rows[i] : rows[i + 1], columns[j] : columns[j + 1], 0]
    assert abs(float(shrunk[1, i, j, 0]) - block.mean()) <= 0.5 + 1e-9


def test_pixels_are_stretched_from_their_range_to_bytes():
    image = pytest.importorskip("PIL.Image")
    values = np.array([[[5.0, 10.0], [15.0, 5.0]]])  # as scikit-learn's digits, which run from 0 to 16
    packed = sprite(values, 1)
    picture = np.asarray(image.open(io.BytesIO(base64.b64decode(packed["uri"].split(",")[1]))))
    np.testing.assert_array_equal(picture, [[0, 128], [255, 0]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["a"]}, r"labels has shape \(1,\); pass \(3,\), one for each leaf\."),
        ({"names": ["a"]}, r"Got 1 names for 3 leaves; give one for each\."),
        ({"images": np.zeros((2, 4, 4))}, r"images has shape \(2, 4, 4\); pass \(3, h, w\) grey"),
        ({"images": np.full((3, 4, 4), np.nan)}, "images holds NaN or infinite pixels; replace them first"),
        ({"images": np.full((3, 4, 4), "a")}, "images must hold numbers"),
        ({"features": np.ones((2, 2))}, r"features has shape \(2, 2\); pass \(3, d\), a row for each leaf"),
        ({"features": [["a"], ["b"], ["c"]]}, "features must hold numbers"),
        ({"embedding": np.ones((3, 2))}, "is not a finite point of norm below 1"),
        ({"embedding": np.ones((3, 3))}, r"embedding has shape \(3, 3\); pass \(3, 2\), a point for each leaf"),
    ],
)
def test_mistakes_name_the_value_and_the_remedy_and_leave_the_old_file_alone(options, message, tmp_path):
    (tmp_path / "page.html").write_text("old")
    with pytest.raises(ValueError, match=message):
        page.explore(Tree([[0, 1], [3, 2]]), tmp_path / "page.html", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "old"


def test_too_many_features_are_refused_with_the_number_that_fits(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "MAX_VALUES", 100)
    with pytest.raises(ValueError, match="features has 5 columns for 30 leaves; pass at most 3"):
        page.explore(tree, tmp_path / "page.html", features=np.ones((30, 5)))


def test_the_callers_arrays_stay_as_they_are(tree, tmp_path):
    given_arrays = {
        "labels": np.arange(30),
        "images": np.random.default_rng(0).random((30, 60, 60)),
        "features": np.random.default_rng(0).normal(size=(30, 3)),
        "embedding": np.array(encode(tree)),
    }
    before = {name: value.copy() for name, value in given_arrays.items()}
    written(tmp_path, tree, **given_arrays)
    for name, value in given_arrays.items():
        np.testing.assert_array_equal(value, before[name])


@given(strategies.trees(min_leaves=2, max_leaves=20), st.data())
def test_groups_are_the_clusters_of_a_cut_joined_as_the_tree_joins_them(tree, data):
    n = tree.n_leaves
    k = data.draw(st.integers(1, n))
    groups = collapse(tree, k)
    np.testing.assert_array_equal(groups.of, tree.cut(k, criterion="height"))
    np.testing.assert_array_equal(groups.sizes, np.bincount(groups.of))
    np.testing.assert_array_equal(groups.of[groups.first], np.arange(k))
    for finer in range(1, k + 1):
        coarser = groups.tree.cut(finer, criterion="height")
        np.testing.assert_array_equal(coarser[groups.of], tree.cut(finer, criterion="height"))


def test_leaves_that_stand_for_points_are_counted_as_so_many(tmp_path, monkeypatch):
    tree = Tree([[0, 1], [2, 3], [4, 5]], leaf_sizes=[5.0, 2.0, 1.0, 4.0])
    data = written(tmp_path, tree).data
    assert (data["n"], data["points"], data["title"]) == (4, 12, "Tree of 12 points")
    assert array(data["weights"], "<f8").tolist() == [5.0, 2.0, 1.0, 4.0]
    monkeypatch.setattr(page, "MAX_LEAVES", 3)
    data = written(tmp_path, tree).data
    assert (data["n"], data["points"]) == (3, 12)
    assert array(data["weights"], "<f8").tolist() == [7.0, 1.0, 4.0]


def test_a_tree_too_large_shows_its_top_and_says_how_many_points_a_leaf_stands_for(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "MAX_LEAVES", 8)
    labels = np.random.default_rng(0).integers(0, 3, 30)
    values = np.random.default_rng(1).normal(size=(30, 2))
    images = np.random.default_rng(2).integers(0, 256, (30, 4, 4), dtype=np.uint8)
    data = written(tmp_path, tree, labels=labels, features=values, images=images, embedding=encode(tree)).data
    cut = tree.cut(8, criterion="height")
    assert (data["n"], data["points"]) == (8, 30)
    assert array(data["weights"], "<f8").tolist() == np.bincount(cut).tolist()
    means = array(data["features"]["values"], "<f4").reshape(8, 2)
    codes = array(data["labels"]["codes"], "<i4")
    for i in range(8):
        members = np.flatnonzero(cut == i)
        more = f" and {len(members) - 1} more" if len(members) > 1 else ""
        assert data["names"][i] == f"{members[0]}{more}"
        counts = np.bincount(labels[members], minlength=3)
        own = labels[members[0]]
        assert codes[i] == (own if counts[own] == counts.max() else counts.argmax())
        np.testing.assert_allclose(means[i], values[members].mean(axis=0), rtol=1e-6)


@given(strategies.trees(min_leaves=2, max_leaves=20), st.data())
def test_a_page_holds_the_best_cuts_and_opens_with_the_trees_own_number(tree, data):
    n = tree.n_leaves
    weights = data.draw(st.lists(st.integers(0, 9), min_size=n - 1, max_size=n - 1))
    tree = Tree(tree.children, tree.heights, split_weights=weights).with_n_clusters(data.draw(st.integers(1, n)))
    fields = cut_fields(tree, collapse(tree, tree.n_leaves), "dasgupta", 1)
    assert fields["opening"] == tree.n_clusters
    assert sorted(fields["cuts"]) == list(range(1, n + 1))
    for k, nodes in fields["cuts"].items():
        assert sorted(array(nodes, "<i4")) == sorted(tree.clusters(k, criterion="dasgupta"))


@given(strategies.trees(min_leaves=3, max_leaves=20), st.data())
def test_a_page_of_groups_holds_the_cuts_that_divide_none_of_them(tree, data):
    n = tree.n_leaves
    weights = data.draw(st.lists(st.integers(0, 9), min_size=n - 1, max_size=n - 1))
    tree = Tree(tree.children, tree.heights, split_weights=weights)
    groups = collapse(tree, data.draw(st.integers(1, n - 1)))
    held = cut_fields(tree, groups, "dasgupta", 1)["cuts"]
    for k in range(1, len(groups.sizes) + 1):
        clusters = tree.cut(k, criterion="dasgupta")
        divided = any(len(set(clusters[groups.of == g])) > 1 for g in range(len(groups.sizes)))
        assert divided == (k not in held)
        if not divided:
            parts = [set(leaves_below(groups.tree, v)) for v in array(held[k], "<i4").tolist()]
            assert sorted(map(sorted, parts)) == sorted(sorted(set(groups.of[clusters == c])) for c in range(k))


def leaves_below(tree, v):
    if v < tree.n_leaves:
        return [v]
    return [leaf for child in tree.children[v - tree.n_leaves].tolist() for leaf in leaves_below(tree, child)]


def test_cuts_by_height_need_nothing_in_the_page_and_many_clusters_only_the_opening_cut(tmp_path):
    plain = baselines.random_tree(np.ones((200, 200)), random_state=0)
    assert written(tmp_path, plain).data["cuts"] == {}
    carrying = with_split_weights(plain, np.ones((200, 200))).with_n_clusters(120)
    data = written(tmp_path, carrying, criterion="dasgupta").data
    assert data["opening"] == 120
    assert sorted(map(int, data["cuts"])) == [*range(1, 51), 120]
    assert written(tmp_path, carrying, criterion="height").data["cuts"] == {}
    assert written(tmp_path, carrying, criterion="dasgupta", min_size=30).data["opening"] <= 6
    assert written(tmp_path, carrying).data["opening"] == 120
    with pytest.raises(ValueError, match="min_size=300 is more than the 200 points"):
        written(tmp_path, carrying, min_size=300)


def test_the_mean_of_a_group_leaves_out_what_is_missing():
    groups = collapse(Tree([[0, 1], [2, 3], [4, 5]]), 2)
    values = np.array([[1.0, np.nan, 5.0], [3.0, np.nan, np.nan], [1.0, 2.0, 3.0], [2.0, np.nan, 4.0]])
    np.testing.assert_array_equal(groups.means(values), [[2.0, np.nan, 5.0], [1.5, 2.0, 3.5]])


def test_a_million_leaves_make_a_page_of_groups(tmp_path):
    n = 1_000_000
    rng = np.random.default_rng(0)
    heights = np.sort(rng.random(n - 1))
    chain = np.column_stack([np.r_[0, np.arange(n, 2 * n - 2)], np.arange(1, n)])
    data = written(tmp_path, Tree(chain, heights)).data
    assert data["n"] == page.MAX_LEAVES
    assert array(data["weights"], "<f8").sum() == data["points"] == n


def hexes(colors) -> list[str]:
    return [matplotlib.colors.to_hex(color) for color in colors]


def colours_by_class(strip_axes, values, order) -> dict:
    """The colour that each value has in a strip of a clustermap; a value has one."""
    shown = hexes(strip_axes.images[0].get_array()[:, 0])
    found = dict(zip(values[order].tolist(), shown, strict=True))
    assert all(found[value] == colour for value, colour in zip(values[order].tolist(), shown, strict=True))
    return found


@pytest.mark.parametrize("k", [3, 30])
def test_clusters_labels_and_annotations_have_the_same_colours_in_plots_and_page(k, tmp_path):
    n = 120
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) + 9 * rng.normal(size=(k, 4))[np.arange(n) % k]
    tree = baselines.average_linkage(as_similarity(X, "cosine")).with_n_clusters(k)
    clusters, kind, batch = tree.cut(k), np.array(list("abcd"))[np.arange(n) % 4], np.arange(n) % 3
    data = written(tmp_path, tree, labels=kind, annotations={"batch": batch}).data
    ax = plot.clustermap(X, tree, annotations={"kind": kind, "batch": batch})
    order, strips = tree.leaf_order(), ax.child_axes[:3]
    palettes = [field["colours"]["light"] for field in (data["labels"], *data["annotations"])]
    for strip, values, colours in zip(strips[1:], (kind, batch), palettes, strict=True):
        assert list(dict(sorted(colours_by_class(strip, values, order).items())).values()) == colours
    labelled = plot.disk(tree, labels=kind)
    assert hexes(line.get_color() for line in labelled.get_legend().legend_handles) == palettes[0]
    in_plot = colours_by_class(strips[0], clusters, order)
    own, (others, _) = data["colours"]["clusters"]["light"], data["colours"]["greys"]["light"]
    assert len(set(own)) == len(own) == 21
    counts = np.bincount(clusters)
    coloured = sorted(np.argsort(-counts, kind="stable")[:21].tolist())
    assert in_plot == {c: own[coloured.index(c)] if c in coloured else others for c in range(k)}


def test_the_scripts_hold_no_colours_of_their_own():
    for script in (resources.files("hyphc.explorer") / "assets").iterdir():
        if script.name.endswith(".js"):
            assert re.findall(r"#[0-9a-fA-F]{6}\b|\boklch\(|\bhsl\(|\brgb\(", script.read_text(encoding="utf-8")) == []


def test_the_page_knows_whether_height_0_is_equality(tmp_path):
    tree = baselines.average_linkage(as_similarity(np.eye(4), "cosine"))
    assert written(tmp_path, tree).data["zeroIsEqual"] is True
    graph = HypHC(metric="precomputed", random_state=0).fit(np.ones((4, 4)))
    assert written(tmp_path, graph.tree_).data["zeroIsEqual"] is False


def test_groups_have_the_names_that_describe_finds(tmp_path):
    tree = strategies.random_tree(70, 2)
    found = describe(tree, columns={"a": np.arange(70.0), "b": np.arange(70.0) % 7})
    data = written(tmp_path, tree, names=found).data
    assert data["nodeNames"] == list(found.names[70:])
    assert data["names"] is None  # of leaves there are none
    assert written(tmp_path, tree).data["nodeNames"] is None


def test_names_of_another_tree_are_refused(tmp_path):
    found = describe(strategies.random_tree(9, 1), columns={"a": np.arange(9.0)})
    with pytest.raises(
        ValueError, match=r"names describe another tree than this one of 9 leaves; pass describe\(tree, …\)"
    ):
        written(tmp_path, strategies.random_tree(9, 2), names=found)


def test_groups_of_a_collapsed_page_keep_their_names(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "MAX_LEAVES", 20)
    tree = strategies.random_tree(70, 2)
    found = describe(tree, columns={"a": np.arange(70.0)})
    data = written(tmp_path, tree, names=found).data
    assert data["nodeNames"] == list(found.names[-19:])


def test_texts_of_leaves_are_in_the_page_and_long_ones_end_in_an_ellipsis_where_they_are_too_many(
    tmp_path, monkeypatch
):
    tree, texts = Tree([[0, 1], [3, 2]]), ["a grey owl", None, "a very long text on owls and their wings"]
    found = describe(tree, texts=texts)
    assert written(tmp_path, tree, names=found).data["texts"] == ["a grey owl", "", texts[2]]
    monkeypatch.setattr(page, "MAX_LETTERS", 36)
    assert written(tmp_path, tree, names=found).data["texts"] == ["a grey owl", "", "a very long…"]
    assert written(tmp_path, tree, names=describe(tree, columns=np.arange(3.0)[:, None])).data["texts"] is None


def test_a_page_holds_the_evidence_for_the_number_of_clusters(tmp_path):
    X = np.repeat(9 * np.eye(3), 40, axis=0) + np.random.default_rng(0).normal(size=(120, 3))
    model = HypHC(random_state=0).fit(X)
    path = model.explore(tmp_path / "page.html")
    found = written(tmp_path, model.tree_, cluster_number=model.cluster_number_)
    assert found.data["why"] == model.cluster_number_.why
    values = array(found.data["pValues"], "<f4")
    np.testing.assert_array_equal(values, model.cluster_number_.p_values.astype("<f4"))
    assert found.data["pValues"] in path.read_text(encoding="utf-8")  # the model passes it on
    with pytest.raises(ValueError, match="p-values of 119 merges; pass that of this tree of 9 leaves"):
        written(tmp_path, strategies.random_tree(9, 1), cluster_number=model.cluster_number_)
    with pytest.raises(ValueError, match="outliers"):
        written(tmp_path, model.tree_, outliers="drop")
