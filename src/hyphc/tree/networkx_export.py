"""Export of trees to networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx
import numpy as np

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
