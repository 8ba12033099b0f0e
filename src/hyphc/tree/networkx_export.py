"""Export of trees to networkx, and of clustered graphs with communities as attributes of their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx
import numpy as np

from .._runtime.arrays import Ints
from .._runtime.sanitize import visible
from ..similarity.graph import Graph
from .prunings import CONDENSED, nearest_possible

if TYPE_CHECKING:
    from .core import Tree


def digraph(tree: Tree) -> networkx.DiGraph:
    """Return a graph with edges from parent to child and their ``length``."""
    graph, n = networkx.DiGraph(), tree.n_leaves
    heights = np.concatenate([np.zeros(n), tree.heights]).tolist()
    graph.add_nodes_from(
        (node, {"height": height, "size": size})
        for node, (height, size) in enumerate(zip(heights, tree.sizes.tolist(), strict=True))
    )
    for parent, pair in enumerate(tree.children.tolist(), start=n):
        graph.add_edges_from((parent, child, {"length": heights[parent] - heights[child]}) for child in pair)
    for leaf, name in enumerate(tree.names or ()):
        graph.nodes[leaf]["name"] = name
    return graph


MOST_LEVELS = 8  # levels of communities: cuts into 2, 4, 8, … clusters


def community_graph(similarity: Graph, tree: Tree, clusters: Ints) -> networkx.Graph:
    """Return the clustered graph: edges with their ``weight``, nodes with their ``cluster`` and communities of several levels.

    Nodes are 0, 1, …, with their name as ``label``. The attribute ``level1`` is the community of a node in the cut into 2
    clusters, ``level2`` into 4, ``level3`` into 8, and so on while communities have at least two nodes on average; the levels
    are nested. ``position`` is the place of a node in the leaf order. All are whole numbers, as Gephi's filters and colours
    need them.
    """
    graph, n = networkx.Graph(), tree.n_leaves
    columns = {"cluster": clusters, "position": np.argsort(tree.leaf_order())}
    for level in range(1, MOST_LEVELS + 1):
        if 2 ** (level + 1) > n:
            break
        columns[f"level{level}"] = tree.cut(nearest_possible(tree, 2**level, CONDENSED, None))
    names = tree.names or tuple(str(node) for node in range(n))
    numbers = {title: values.tolist() for title, values in columns.items()}
    for node, name in enumerate(names):
        graph.add_node(node, label=visible(name), **{title: values[node] for title, values in numbers.items()})
    i, j, weights = (part.tolist() for part in similarity.edges())
    graph.add_weighted_edges_from(zip(i, j, weights, strict=True))
    return graph
