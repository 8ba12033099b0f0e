"""Data sets by name: against the counts of their documentation, bad and missing files, and planted hierarchies."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Tree, as_similarity, dasgupta_cost, datasets, dendrogram_purity
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

LETTER_COUNTS = (
    "789 766 736 805 768 775 773 734 755 747 739 761 792 783 753 803 783 758 748 796 813 764 752 787 786 734"
)
LETTERS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", map(int, LETTER_COUNTS.split()), strict=True))
# features, distinct feature rows, and how often each class occurs, as the documentation of the files says
DOCUMENTED: dict[str, tuple[int, int, dict[Any, int]]] = {
    "zoo": (16, 59, {1: 41, 2: 20, 3: 5, 4: 13, 5: 4, 6: 8, 7: 10}),
    "iris": (4, 147, {"Iris-setosa": 50, "Iris-versicolor": 50, "Iris-virginica": 50}),
    "glass": (9, 213, {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29}),
    "segmentation": (
        19,
        2086,
        dict.fromkeys(["BRICKFACE", "CEMENT", "FOLIAGE", "GRASS", "PATH", "SKY", "WINDOW"], 330),
    ),
    "spambase": (57, 4207, {0: 2788, 1: 1813}),
    "letter": (16, 18668, LETTERS),
    "ecoli": (7, 336, {"cp": 143, "im": 77, "imL": 2, "imS": 2, "imU": 35, "om": 20, "omL": 5, "pp": 52}),
    "vehicle": (18, 846, {"bus": 218, "opel": 212, "saab": 217, "van": 199}),
}
EDGES = {"polblogs": (1222, 16714), "citeseer": (2110, 3668), "cora_ml": (2810, 7981)}


@pytest.fixture
def needs_data() -> None:
    if not os.environ.get("HYPHC_DATA"):
        pytest.skip("needs the UCI files: set HYPHC_DATA to the directory that holds them")


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """No files, and no network."""

    def refuse(**options: Any) -> None:
        raise URLError("no network")

    monkeypatch.delenv("HYPHC_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)


def write_zoo(home: Path, **changes: str) -> Path:
    """A file in the format of zoo.data; ``changes`` are lines to replace, as line_5="..."."""
    lines = [f"animal{i},{','.join(str((i >> b) & 1) for b in range(16))},{i % 7 + 1}" for i in range(101)]
    for key, line in changes.items():
        lines[int(key.removeprefix("line_")) - 1] = line
    path = home / "zoo" / "zoo.data"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n\n")
    return path


@pytest.mark.usefixtures("needs_data")
@pytest.mark.parametrize("name", DOCUMENTED)
def test_uci_sets_have_the_documented_rows_features_and_classes(name: str) -> None:
    n_features, n_distinct, counts = DOCUMENTED[name]
    dataset = datasets.load(name)
    assert dataset.labels is not None
    assert dataset.data.dtype == np.float64
    assert dataset.data.shape == (sum(counts.values()), n_features)
    found, numbers = np.unique(dataset.labels, return_counts=True)
    assert dict(zip(found.tolist(), numbers.tolist(), strict=True)) == counts
    assert len(dataset.feature_names or ()) == len(set(dataset.feature_names or ())) == n_features
    assert len(dataset.class_names or ()) == len(counts)
    assert "UCI Machine Learning Repository" in dataset.citation
    if name != "ecoli" and name != "vehicle":  # their documentation does not say
        assert len(np.unique(dataset.data, axis=0)) == n_distinct


@pytest.mark.usefixtures("needs_data")
def test_yeast_has_its_documented_shape_and_ten_classes() -> None:
    yeast = datasets.load("yeast")
    assert yeast.data.shape == (1484, 8)
    assert len(yeast.class_names or ()) == 10
    assert yeast.names is not None
    assert yeast.names[0] == "ADT1_YEAST"


@pytest.mark.usefixtures("needs_data")
def test_identifiers_are_names_and_never_features() -> None:
    zoo, glass = datasets.load("zoo"), datasets.load("glass")
    assert zoo.names is not None
    assert zoo.names[:2] == ("aardvark", "antelope")
    assert zoo.names.count("frog") == 2
    assert glass.names == tuple(str(i) for i in range(1, 215))
    assert glass.data[0, 0] == 1.52101
    assert set(np.unique(np.delete(zoo.data, 12, axis=1))) == {0.0, 1.0}
    assert zoo.class_names is not None
    assert zoo.class_names[zoo.labels[zoo.names.index("slug")] - 1] == "other invertebrate"
    assert zoo.feature_names is not None
    assert zoo.data[zoo.names.index("ostrich"), zoo.feature_names.index("legs")] == 2


@pytest.mark.usefixtures("needs_data")
def test_segmentation_is_the_data_file_then_the_test_file() -> None:
    segmentation = datasets.load("segmentation")
    assert segmentation.labels is not None
    assert segmentation.labels[0] == "BRICKFACE"
    assert_array_equal(np.unique(segmentation.labels[:210], return_counts=True)[1], 30)
    assert np.ptp(segmentation.data[:, 2]) == 0


@pytest.mark.usefixtures("needs_data")
@pytest.mark.parametrize("name", EDGES)
def test_graphs_have_the_documented_nodes_and_edges(name: str) -> None:
    dataset = datasets.load(name)
    n, n_edges = EDGES[name]
    assert isinstance(dataset.data, sp.csr_array)
    assert dataset.data.shape == (n, n)
    assert dataset.data.nnz == 2 * n_edges
    assert dataset.data.dtype == np.float64
    assert (dataset.data.data == 1).all()
    assert not dataset.data.diagonal().any()
    assert dataset.labels is None
    assert sp.csgraph.connected_components(dataset.data)[0] == 1
    similarity = datasets.paper_similarity(name)
    assert similarity.total() == n_edges


@pytest.mark.usefixtures("needs_data")
def test_iris_without_files_is_iris_from_the_uci_file(monkeypatch: pytest.MonkeyPatch) -> None:
    from_file = datasets.load("iris")
    monkeypatch.delenv("HYPHC_DATA")
    without = datasets.load("iris")
    assert "restored" in without.description
    assert "restored" not in from_file.description
    assert_array_equal(without.data, from_file.data)
    assert_array_equal(without.labels, from_file.labels)
    assert without.feature_names == from_file.feature_names
    assert without.class_names == from_file.class_names


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [("digits", (1797, 64), 10), ("wine", (178, 13), 3), ("breast_cancer", (569, 30), 2)],
)
def test_sets_of_scikit_learn_need_no_files(no_data: None, name: str, shape: tuple[int, int], n_classes: int) -> None:
    dataset = datasets.load(name)
    assert dataset.data.shape == shape
    assert dataset.data.dtype == np.float64
    assert len(dataset.class_names or ()) == len(np.unique(dataset.labels)) == n_classes
    assert len(dataset.feature_names or ()) == shape[1]


def test_every_name_is_listed_once() -> None:
    assert set(datasets.names()) == {*DOCUMENTED, "yeast", "digits", "wine", "breast_cancer", *EDGES}
    assert len(set(datasets.names())) == len(datasets.names())


@pytest.mark.usefixtures("needs_data")
@pytest.mark.parametrize("name", ["zoo", "segmentation", "wine"])
def test_paper_similarity_is_one_plus_the_cosine_of_z_scores_halved(name: str) -> None:
    X = datasets.load(name).data
    X = X[:, X.std(axis=0) > 0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    i, j = np.random.default_rng(0).integers(len(X), size=(2, 5000))
    i, j = i[i != j], j[i != j]
    expected = (1 + (Z[i] * Z[j]).sum(axis=1)) / 2
    assert_allclose(datasets.paper_similarity(name).pairs(i, j), expected, atol=1e-12)


def test_files_are_found_in_data_home_first_then_in_the_variable(
    no_data: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_zoo(tmp_path / "variable", line_1=f"from variable,{'1,' * 16}1")
    monkeypatch.setenv("HYPHC_DATA", str(tmp_path / "variable"))
    assert datasets.load("zoo").names[0] == "from variable"  # type: ignore[index]
    assert datasets.load("zoo", data_home=tmp_path / "elsewhere").names[0] == "from variable"  # type: ignore[index]
    write_zoo(tmp_path / "argument", line_1=f"from argument,{'1,' * 16}1")
    dataset = datasets.load("zoo", data_home=str(tmp_path / "argument"))
    assert dataset.names is not None
    assert dataset.names[0] == "from argument"
    assert_array_equal(dataset.data[5], [1, 0, 1] + [0] * 13)
    assert_array_equal(dataset.labels, np.append(1, np.arange(1, 101) % 7 + 1))
    assert datasets.paper_similarity("zoo", data_home=tmp_path / "argument").n == 101


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ant,1,0,1", "line 3: 4 columns where 18 are due"),
        (f"ant,{'1,' * 15}x,3", "line 3, column 17: 'x' is no number"),
        (f"ant,{'1,' * 15},3", "line 3, column 17: '' is no number"),
        (f"ant,nan,{'1,' * 15}3", "line 3, column 2: 'nan' is no number"),
        ("", "100 rows where zoo has 101"),
    ],
)
def test_a_broken_line_is_named_with_its_file(no_data: None, tmp_path: Path, line: str, message: str) -> None:
    path = write_zoo(tmp_path, line_3=line)
    with pytest.raises(ValueError, match=message) as error:
        datasets.load("zoo", data_home=tmp_path)
    assert str(path) in str(error.value)


def test_a_file_that_is_no_text_is_named(no_data: None, tmp_path: Path) -> None:
    path = write_zoo(tmp_path)
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ValueError, match=r"zoo\.data is not a text file"):
        datasets.load("zoo", data_home=tmp_path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"zoo\.data: 0 rows where zoo has 101"):
        datasets.load("zoo", data_home=tmp_path)


@pytest.mark.parametrize("name", ["zoo", "segmentation"])
def test_missing_files_without_network_say_where_was_looked_and_what_to_do(
    no_data: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("HYPHC_DATA", str(tmp_path / "variable"))
    with pytest.raises(FileNotFoundError) as error:
        datasets.load(name, data_home=tmp_path / "argument")
    message = str(error.value)
    for part in ("argument", "variable", f"{name}.data", "OpenML", "no network", "data_home", "HYPHC_DATA"):
        assert part in message


def test_half_of_a_set_in_two_files_is_not_enough(no_data: None, tmp_path: Path) -> None:
    (tmp_path / "segmentation").mkdir()
    (tmp_path / "segmentation" / "segmentation.data").write_text("\n" * 5)
    with pytest.raises(FileNotFoundError, match=r"segmentation\.test"):
        datasets.load("segmentation", data_home=tmp_path)


def test_missing_graphs_say_where_was_looked_and_what_to_do(no_data: None, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"graphs.cora_ml\.npz.*data_home.*HYPHC_DATA"):
        datasets.load("cora_ml", data_home=tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none was given.*data_home.*HYPHC_DATA"):
        datasets.load("cora_ml")


def test_a_bad_graph_file_is_named(no_data: None, tmp_path: Path) -> None:
    path = tmp_path / "graphs" / "cora_ml.npz"
    path.parent.mkdir()
    path.write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"cora_ml\.npz is not a sparse matrix"):
        datasets.load("cora_ml", data_home=tmp_path)
    np.savez(path, something=np.arange(3))
    with pytest.raises(ValueError, match=r"cora_ml\.npz is not a sparse matrix"):
        datasets.load("cora_ml", data_home=tmp_path)
    sp.save_npz(path, sp.eye_array(4, format="csr"))
    with pytest.raises(ValueError, match=r"cora_ml\.npz: shape \(4, 4\) with 4 entries where cora_ml"):
        datasets.load("cora_ml", data_home=tmp_path)


@pytest.mark.parametrize(("name", "close"), [("Zoo", "zoo"), ("cora-ml", "cora_ml"), ("segment", "segmentation")])
def test_unknown_names_list_the_known_and_suggest_the_closest(name: str, close: str) -> None:
    with pytest.raises(ValueError, match=f"did you mean '{close}'.*zoo, iris, glass.*polblogs"):
        datasets.load(name)
    with pytest.raises(ValueError, match="'qqq' is unknown; choose one of zoo"):
        datasets.load("qqq")


def test_tables_come_from_openml_when_there_are_no_files(no_data: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    values = np.random.default_rng(0).integers(0, 2, size=(101, 17)).astype(float)

    def fetch(**options: Any) -> SimpleNamespace:
        asked.append(options)
        features = ["animal", *[f"f{i}" for i in range(16)]]
        return SimpleNamespace(
            data=values, feature_names=features, target=np.array(["bird", "fish"])[np.arange(101) % 2]
        )

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    zoo = datasets.load("zoo")
    assert asked[0]["data_id"] == 62
    assert_array_equal(zoo.data, values[:, 1:])  # without the animals' names
    assert zoo.class_names == ("bird", "fish")
    assert zoo.names is None
    with pytest.raises(ValueError, match=r"OpenML's data set 41 has shape \(101, 16\) where glass has \(214, 9\)"):
        datasets.load("glass")


def test_labels_of_a_planted_set_are_the_top_clusters_of_its_tree() -> None:
    for seed, n_classes in enumerate([1, 2, 3, 10, 57]):
        example = datasets.planted(300, 4, n_classes=n_classes, random_state=seed)
        assert example.tree is not None
        assert adjusted_rand_score(example.labels, example.tree.cut(n_classes, criterion="height")) == 1.0
        assert_array_equal(np.unique(example.labels), np.arange(n_classes))


def test_planted_classes_split_the_largest_group_first() -> None:
    example = datasets.planted(500, 2, n_classes=8, random_state=3)
    assert example.tree is not None
    sizes, roots = example.tree.sizes, {example.tree.n_leaves * 2 - 2}
    while len(roots) < 8:
        largest = max(roots, key=lambda node: sizes[node])
        roots = roots - {largest} | set(example.tree.children[largest - 500].tolist())
    assert sorted(np.bincount(example.labels)) == sorted(sizes[list(roots)])


def test_planted_splits_leave_at_least_a_quarter_on_each_side() -> None:
    tree = datasets.planted(2000, 1, random_state=0).tree
    assert tree is not None
    parts = tree.sizes[tree.children]
    whole = parts.sum(axis=1)
    assert (parts.min(axis=1) >= np.maximum(1, np.floor(whole / 4))).all()
    assert_array_equal(tree.heights, whole)


@pytest.mark.parametrize("seed", range(4))
def test_upper_levels_of_a_planted_tree_are_recovered_by_average_linkage(seed: int) -> None:
    example = datasets.planted(400, random_state=seed)
    assert example.tree is not None
    found = linkage(example.data.astype(float), "average")
    assert adjusted_rand_score(example.tree.cut(n_clusters=2), fcluster(found, 2, "maxclust")) == 1.0
    assert dendrogram_purity(Tree.from_linkage(found), example.labels) > 0.95
    similarity = as_similarity(example.data, "cosine")
    rng = np.random.default_rng(seed)
    shuffled = as_similarity(example.data[rng.permutation(400)], "cosine")
    assert dasgupta_cost(example.tree, similarity) < 0.95 * dasgupta_cost(example.tree, shuffled)


def test_order_of_planted_rows_tells_nothing_of_their_class() -> None:
    labels = datasets.planted(20_000, 1, n_classes=2, random_state=0).labels
    assert labels is not None
    alike = np.mean(labels[1:] == labels[:-1])
    share = labels.mean()
    assert abs(alike - (share**2 + (1 - share) ** 2)) < 0.02


def test_planted_noise_and_decay_are_the_scales_they_say() -> None:
    quiet = datasets.planted(3000, 16, noise=0.0, random_state=1)
    noisy = datasets.planted(3000, 16, noise=50.0, random_state=1)
    assert_allclose(noisy.data.std(axis=0), 50.0, rtol=0.1)
    assert quiet.data.std() < 3
    pairs = datasets.planted(2, 50_000, noise=0.0, n_classes=2, random_state=2)
    assert_allclose(pairs.data.std(axis=1), 1.0, rtol=0.02)  # the first split has scale decay⁰
    four = datasets.planted(4, 50_000, decay=0.1, noise=0.0, n_classes=2, random_state=0)
    assert four.tree is not None
    a, b = four.tree.children[0]
    assert_allclose((four.data[a] - four.data[b]).std(), np.sqrt(2) * 0.1, rtol=0.05)


@pytest.mark.parametrize("make", [datasets.planted, datasets.planted_graph])
def test_same_seed_same_planted_set(make: Callable[..., datasets.Dataset]) -> None:
    one, two, other = (make(500, 5, random_state=seed) for seed in (7, np.random.default_rng(7), 8))
    assert one.tree == two.tree
    assert one.tree != other.tree
    assert_array_equal(one.labels, two.labels)
    if sp.issparse(one.data):
        assert (one.data - two.data).nnz == 0
    else:
        assert_array_equal(one.data, two.data)


@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_tiny_planted_sets_exist(n: int) -> None:
    for dtype in (np.float32, np.float64):
        example = datasets.planted(n, 3, n_classes=1, dtype=dtype, random_state=0)
        assert example.data.shape == (n, 3)
        assert example.data.dtype == dtype
        assert example.tree is not None
        assert example.tree.n_leaves == n
    graph = datasets.planted_graph(n, 2.0, n_classes=1, random_state=0)
    assert graph.data.shape == (n, n)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n=0 leaves no points"),
        ({"n": 5, "n_classes": 6}, "n_classes=6 is not between 1 and the n=5"),
        ({"n": 5, "n_classes": 0}, "n_classes=0 is not between"),
        ({"n": 50, "d": 0}, "d=0 leaves no features"),
        ({"n": 50, "decay": 1.0}, "decay=1.0 must lie between 0 and 1"),
        ({"n": 50, "noise": -1.0}, "noise=-1.0 must be finite"),
        ({"n": 50, "dtype": np.int64}, "dtype=int64 is no float32 or float64"),
    ],
)
def test_a_bad_argument_of_planted_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        datasets.planted(**arguments)


def test_planted_graph_is_simple_undirected_and_about_as_dense_as_asked() -> None:
    example = datasets.planted_graph(5000, 8.0, random_state=0)
    graph = example.data
    assert isinstance(graph, sp.csr_array)
    assert (graph - graph.T).nnz == 0
    assert not graph.diagonal().any()
    assert (graph.data == 1).all()
    assert graph.has_canonical_format
    assert 0.85 * 8 < graph.nnz / 5000 <= 8
    with pytest.raises(ValueError, match="mean_degree=-1"):
        datasets.planted_graph(10, -1)


def test_planted_communities_are_denser_the_smaller_they_are() -> None:
    example = datasets.planted_graph(3000, 10.0, n_classes=10, random_state=1)
    tree = example.tree
    assert tree is not None
    assert adjusted_rand_score(example.labels, tree.cut(n_clusters=10)) == 1.0
    graph = sp.coo_array(example.data)
    density = []
    for n_clusters in (1, 4, 16, 64, 256):
        labels = tree.cut(n_clusters=n_clusters)
        inside = (labels[graph.row] == labels[graph.col]).sum()
        density.append(inside / (np.bincount(labels) ** 2).sum())
    assert (np.diff(density) > 0).all()
    rng = np.random.default_rng(0)
    order = rng.permutation(3000)
    similarity = as_similarity(example.data, metric="precomputed")
    shuffled = as_similarity(example.data[order][:, order], metric="precomputed")
    assert dasgupta_cost(tree, similarity) < 0.7 * dasgupta_cost(tree, shuffled)


def test_planted_memory_grows_with_the_points_not_their_square() -> None:
    datasets.planted(10)
    tracemalloc.start()
    try:
        example = datasets.planted(50_000, 32, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * example.data.nbytes
