"""One rule for similarities in two directions: a named choice, or a refusal that says which pair and what to choose."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, as_similarity, dasgupta_cost
from hyphc.cli import main
from hyphc.fit.fingerprint import compute_fingerprint
from hyphc.io import read_points
from hyphc.similarity import Dense, Graph
from hyphc.similarity.symmetrize import DIRECTED
from numpy.testing import assert_array_equal

networkx = pytest.importorskip("networkx")

pytestmark = pytest.mark.usefixtures("quick_certificate")

EDGES = [("a", "b", 3.0), ("b", "a", 1.0), ("b", "c", 2.0), ("c", "d", 4.0)]
W = np.array([[0, 3, 0, 0], [1, 0, 2, 0], [0, 0, 0, 4], [0, 0, 0, 0.0]])
COMBINED = {"sum": W + W.T, "max": np.maximum(W, W.T), "mean": (W + W.T) / 2}


def digraph(kind=None):
    graph = (kind or networkx.DiGraph)()
    graph.add_weighted_edges_from(EDGES)
    return graph


def multigraph():
    """The same weights, of which one is the sum of parallel edges, and a loop."""
    graph = networkx.MultiDiGraph()
    graph.add_weighted_edges_from([("a", "b", 1.0), ("a", "b", 2.0), *EDGES[1:], ("a", "a", 9.0)])
    return graph


INPUTS = {
    "DiGraph": digraph,
    "MultiDiGraph": multigraph,
    "dense": lambda: W,
    "single precision": lambda: W.astype(np.float32),
    "sparse array": lambda: sp.coo_array(W),
    "sparse matrix": lambda: sp.csc_matrix(W),
}


def test_every_rule_is_tested():
    assert set(COMBINED) == set(DIRECTED)


@pytest.mark.parametrize("directed", COMBINED)
@pytest.mark.parametrize("kind", INPUTS)
def test_a_named_choice_makes_one_weight_of_two(kind, directed):
    given = INPUTS[kind]()
    metric = "auto" if "Graph" in kind else "precomputed"
    assert_array_equal(as_similarity(given, metric, directed=directed).to_dense(), COMBINED[directed])
    model = HypHC(metric=metric, directed=directed, random_state=0).fit(given)
    assert_array_equal(model.similarity_.to_dense(), COMBINED[directed])
    assert model.cost_ == pytest.approx(dasgupta_cost(model.tree_, COMBINED[directed]))


@pytest.mark.parametrize("kind", INPUTS)
def test_without_a_choice_two_weights_are_refused_with_an_edge_and_the_remedy(kind):
    given = INPUTS[kind]()
    c, d = ("'c'", "'d'") if "Graph" in kind else ("2", "3")
    told = rf"w\[{c}, {d}\] = 4 but w\[{d}, {c}\] = 0.* choose directed= one of 'sum', 'max', 'mean'"
    metric = "auto" if "Graph" in kind else "precomputed"
    for fit in (lambda: as_similarity(given, metric), lambda: HypHC(metric=metric).fit(given)):
        with pytest.raises(ValueError, match=told):
            fit()


@pytest.mark.parametrize("kind", [Dense, Graph])
def test_functions_of_matrices_refuse_them_alike(kind):
    given = sp.csr_array(W) if kind is Graph else W
    tree = HypHC(metric="precomputed", directed="max").fit(given).tree_
    with pytest.raises(ValueError, match="choose directed="):
        dasgupta_cost(tree, given)
    assert_array_equal(kind(given, directed="mean").to_dense(), COMBINED["mean"])


def test_a_directed_graph_with_the_same_weights_both_ways_is_an_undirected_one():
    graph = networkx.DiGraph([("a", "b", {"weight": 2.0}), ("b", "a", {"weight": 2.0}), ("c", "c")])
    assert_array_equal(as_similarity(graph).to_dense(), [[0, 2, 0], [2, 0, 0], [0, 0, 0]])


def test_parallel_edges_are_summed():
    graph = networkx.MultiGraph()
    graph.add_weighted_edges_from([("a", "b", 1.0), ("b", "a", 2.0), ("b", "c", 4.0)])
    assert_array_equal(as_similarity(graph).to_dense(), [[0, 3, 0], [3, 0, 4], [0, 4, 0]])


def test_the_choice_is_never_ignored():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(ValueError, match="directed='sum' is about similarities in two directions, and metric='auto'"):
        HypHC(directed="sum").fit(X)
    with pytest.raises(ValueError, match="metric='precomputed_distances' compares rows; leave it out"):
        as_similarity(np.zeros((3, 3)), "precomputed_distances", directed="sum")
    with pytest.raises(ValueError, match=r"The graph is undirected, .*leave out directed='sum'"):
        as_similarity(networkx.path_graph(3), directed="sum")
    with pytest.raises(ValueError, match="directed='minimum' is unknown; choose one of 'sum', 'max', 'mean'"):
        HypHC(metric="precomputed", directed="minimum").fit(W)


def test_negative_weights_are_not_hidden_by_the_other_direction():
    for given in (W - 0.5 * (W == 1) * 4, sp.csr_array(W - 0.5 * (W == 1) * 4)):
        with pytest.raises(ValueError, match=r"-1\b"):
            as_similarity(given, "precomputed", directed="sum")


def test_edges_of_networkx_without_a_usable_weight_are_named():
    for weight in ("heavy", -1.0, float("nan")):
        with pytest.raises(ValueError, match=r"Edge \('a', 'b'\) has weight"):
            as_similarity(networkx.Graph([("a", "b", {"weight": weight})]))


def test_the_choice_is_part_of_what_tells_one_fit_from_another(tmp_path):
    given = [compute_fingerprint(HypHC(directed=directed).get_params(), W, None) for directed in (None, *DIRECTED)]
    assert len({str(facts) for facts in given}) == 1 + len(DIRECTED)
    HypHC(metric="precomputed", directed="sum", random_state=0, checkpoint=tmp_path / "ck").fit(W)
    with pytest.raises(ValueError, match="directed"):
        HypHC(metric="precomputed", directed="max", random_state=0, checkpoint=tmp_path / "ck").fit(W)


def test_fits_from_disk_refuse_the_choice(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(5000, 4)))
    for limit in (20_000_000, None):
        with pytest.raises(ValueError, match="directed='sum'"):
            HypHC(directed="sum", memory_limit=limit).fit(tmp_path / "x.npy")


def test_a_grown_graph_is_made_one_in_the_same_way():
    model = HypHC(metric="precomputed", directed="mean", random_state=0).fit(W[:3, :3])
    assert_array_equal(model.partial_fit(W).similarity_.to_dense(), COMBINED["mean"])


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["edges", "graphml", "mtx", "csv"])
def directed_file(request, tmp_path):
    """The directed graph as a file, and the options that say what it is."""
    if request.param == "edges":
        (tmp_path / "g.edges").write_text("".join(f"{a},{b},{w:g}\n" for a, b, w in EDGES))
        return tmp_path / "g.edges", ["--graph"]
    if request.param == "graphml":
        networkx.write_graphml(digraph(), tmp_path / "g.graphml")
        return tmp_path / "g.graphml", []
    if request.param == "mtx":
        from scipy.io import mmwrite

        mmwrite(tmp_path / "g.mtx", sp.coo_array(W))
        return tmp_path / "g.mtx", []
    np.savetxt(tmp_path / "g.csv", W, delimiter=",")
    return tmp_path / "g.csv", ["--precomputed"]


def test_the_command_line_has_the_same_rule(directed_file, tmp_path, capsys):
    path, options = directed_file
    fit = ["fit", str(path), *options, "--output", str(tmp_path / "out")]
    assert main(fit) == 1
    assert "--directed" in capsys.readouterr().err
    costs = {}
    for directed, matrix in COMBINED.items():
        assert main([*fit, "--directed", directed]) == 0
        told = capsys.readouterr().out
        assert f"the {directed} of both directions" in told
        costs[directed] = float(next(line for line in told.splitlines() if line.startswith("cost ")).split()[1])
        tree = HypHC(random_state=0).fit(as_similarity(matrix, "precomputed")).tree_
        assert costs[directed] == pytest.approx(dasgupta_cost(tree, matrix))
    assert costs["sum"] == pytest.approx(2 * costs["mean"])


def test_a_list_of_undirected_edges_needs_no_choice(tmp_path):
    (tmp_path / "g.edges").write_text("a,b,3\nb,c,2\nc,d,4\n")
    assert_array_equal(read_points(tmp_path / "g.edges", graph=True).data.toarray(), np.triu(W) + np.triu(W).T)


def test_a_list_with_some_edges_both_ways_is_directed(tmp_path):
    (tmp_path / "g.edges").write_text("a,b\nb,a\nb,c\n")
    with pytest.raises(
        ValueError, match=r"line 3: edge b → c has weight 1 and c → b 0: the graph is directed.*sum, max, mean"
    ):
        read_points(tmp_path / "g.edges", graph=True)


def test_files_without_directions_refuse_the_choice(tmp_path, capsys):
    np.savetxt(tmp_path / "x.csv", np.random.default_rng(0).normal(size=(9, 3)), delimiter=",")
    assert main(["fit", str(tmp_path / "x.csv"), "--directed", "sum", "--output", str(tmp_path / "out")]) == 1
    assert "holds features, and --directed is about edges" in capsys.readouterr().err
    networkx.write_graphml(networkx.path_graph(4), tmp_path / "g.graphml")
    assert main(["fit", str(tmp_path / "g.graphml"), "--directed", "sum", "--output", str(tmp_path / "out")]) == 1
    assert "undirected graph, with one weight for each edge; leave it out (--directed)" in capsys.readouterr().err
