"""Files for other programs: graphs in GEXF, GML and GraphML, read and written, nested JSON of d3, and iTOL's annotations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hyphc import HypHC, Tree
from hyphc.cli import main
from hyphc.io import read_points

networkx = pytest.importorskip("networkx")
pytestmark = pytest.mark.usefixtures("quick_certificate")

GRAPH = networkx.connected_caveman_graph(4, 8)
for node in GRAPH:
    GRAPH.nodes[node].update(label=f"Knoten {node} ü", cave="abcd"[node // 8], age=float(node))
GRAPH.edges[1, 2]["weight"] = 2.5
WRITERS = {
    ".gexf": networkx.write_gexf,
    ".gml": lambda graph, path: networkx.write_gml(graph, path, stringizer=str),
    ".graphml": networkx.write_graphml,
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("suffix", WRITERS)
def test_graphs_are_read_with_weights_names_and_attributes(suffix):
    graph = GRAPH if suffix != ".gml" else networkx.relabel_nodes(GRAPH, {n: f"Knoten {n} ü" for n in GRAPH})
    WRITERS[suffix](graph, f"g{suffix}")
    points = read_points(f"g{suffix}", labels="cave", known={"years": "age"})
    assert points.kind == "graph"
    first, second = points.names.index("Knoten 1 ü"), points.names.index("Knoten 2 ü")
    assert points.data[first, second] == points.data[second, first] == 2.5
    groups = dict(zip(points.names, points.labels, strict=True))
    assert groups == {f"Knoten {n} ü": "abcd"[n // 8] for n in GRAPH}
    assert float(points.known["years"][first]) == 1.0
    with pytest.raises(ValueError, match=r"attributes of nodes\) has no column 'cage' \(did you mean 'age'"):
        read_points(f"g{suffix}", labels="cage")
    with pytest.raises(ValueError, match="clustered by their edges"):
        read_points(f"g{suffix}", features=["age"])


@pytest.mark.parametrize("suffix", [".gexf", ".gml"])
def test_damaged_graphs_are_refused(suffix, folder):
    (folder / f"g{suffix}").write_text("<gexf><graph>" if suffix == ".gexf" else "graph [ node [ id")
    with pytest.raises(ValueError, match=f"cannot be read as {suffix[1:].upper()}"):
        read_points(f"g{suffix}")


def test_nodes_without_edges_are_nodes_and_no_loops(folder, capsys):
    graph = networkx.Graph([("x", "y")])
    graph.add_node("z")
    networkx.write_gexf(graph, "g.gexf")
    assert main(["fit", "g.gexf", "--output", "out"]) == 0
    told = capsys.readouterr().out
    assert "3 nodes and 1 edge\n" in told
    assert "to itself" not in told
    assert len(networkx.read_gexf("out/graph.gexf")) == 3


def test_a_fit_writes_communities_that_networkx_reads_back():
    networkx.write_gexf(GRAPH, "g.gexf")
    assert main(["fit", "g.gexf", "--labels", "cave", "--annotate", "age", "--n-clusters", "4", "--output", "out"]) == 0
    clusters = pd.read_csv("out/clusters.csv").set_index("name")["cluster"]
    assert clusters.nunique() == 4
    for read in (networkx.read_gexf("out/graph.gexf"), networkx.read_gml("out/graph.gml", label=None)):
        assert read.number_of_nodes() == 32
        assert read.number_of_edges() == GRAPH.number_of_edges()
        assert sum(data["weight"] for *_, data in read.edges(data=True)) == GRAPH.number_of_edges() + 1.5
        nodes = pd.DataFrame.from_dict(dict(read.nodes(data=True)), orient="index").set_index("label")
        assert (nodes["cluster"] == clusters[nodes.index]).all()
        assert sorted(nodes["position"]) == list(range(32))
        assert [nodes[f"level{k}"].nunique() for k in (1, 2, 3)] == [2, 4, 8]
        assert (nodes.groupby("level2")["level1"].nunique() == 1).all()  # levels are nested
        assert (nodes.groupby("level2")["cluster"].nunique() == 1).all()


def test_neighbour_graphs_have_communities_and_matrices_have_none():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    graph = HypHC(2, random_state=0).fit(rows).to_networkx()
    assert graph.number_of_nodes() == 30
    assert graph.nodes[0]["label"] == "0"
    with pytest.raises(ValueError, match="no graph; choose the default metric"):
        HypHC(metric="cosine", random_state=0).fit(rows).to_networkx()


def test_d3_and_itol_files_have_the_leaves_and_their_clusters():
    networkx.write_gexf(GRAPH, "g.gexf")
    assert main(["fit", "g.gexf", "--n-clusters", "4", "--output", "out"]) == 0
    clusters = pd.read_csv("out/clusters.csv").set_index("name")["cluster"]
    stack, leaves = [json.loads(Path("out/tree.d3.json").read_text(encoding="utf-8"))], []
    assert stack[0]["size"] == 32
    while stack:
        node = stack.pop()
        if "children" in node:
            assert node["size"] == sum(child["size"] for child in node["children"])
            stack += node["children"]
        else:
            leaves.append(node["name"])
    assert sorted(leaves) == sorted(clusters.index)
    head, _, data = Path("out/itol_clusters.txt").read_text(encoding="utf-8").partition("DATA\n")
    assert head.splitlines()[:2] == ["DATASET_COLORSTRIP", "SEPARATOR TAB"]
    rows = [line.split("\t") for line in data.splitlines()]
    assert {name: group for name, _, group in rows} == {name: f"cluster {k}" for name, k in clusters.items()}
    assert len({colour for _, colour, _ in rows}) == 4
    assert all(len(colour) == 7 and colour.startswith("#") for _, colour, _ in rows)


def test_a_chain_of_many_leaves_is_written_for_d3():
    n = 20_000
    text = Tree(np.column_stack([[0, *range(n, 2 * n - 2)], range(1, n)])).to_d3()
    assert text.count('"children"') == n - 1
