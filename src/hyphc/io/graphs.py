"""Reader of GraphML, through networkx."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from .arrays import explain_damage
from .delimited import LARGEST
from .edges import EdgeList, assemble
from .sources import InputFile


def read_graphml(source: InputFile, directed: str | None = None) -> EdgeList:
    """Read a graph; the edge attribute ``weight`` is the weight, 1 where there is none.

    The two weights of a pair of nodes in a directed graph must agree, unless ``directed`` says how ``as_similarity`` makes one
    of them. Parallel edges are summed. Names are the attribute ``label`` or ``name`` of the nodes, if all have
    it, else what they are called in the file.
    """
    if find_spec("networkx") is None:
        raise ValueError(f"{source.label} is a GraphML file, which needs networkx; run: pip install 'hyphc[io]'.")
    import networkx

    with explain_damage(source, "graphml"), source.open() as file:
        graph = networkx.read_graphml(file)
    if graph.number_of_edges() == 0:
        raise ValueError(f"{source.label} has no edge; give a graph with some.")
    names = _names(graph)
    edges = [(0, names[a], names[b], _weight(source, a, b, data)) for a, b, data in graph.edges(data=True)]
    alone = [
        (0, names[node], names[node], 0.0) for node in networkx.isolates(graph)
    ]  # a loop, left out with its weight
    return assemble(source, edges + alone, directed, graph.is_directed())


def _names(graph: Any) -> dict[Any, str]:
    for key in ("label", "name"):
        called = {node: str(data[key]) for node, data in graph.nodes(data=True) if key in data}
        if len(called) == len(graph) == len(set(called.values())):
            return called
    return {node: str(node) for node in graph}


def _weight(source: InputFile, a: Any, b: Any, data: dict[str, Any]) -> float:
    try:
        weight = float(data.get("weight", 1.0))
    except (TypeError, ValueError):
        raise ValueError(
            f"{source.label}, edge {a}–{b}: weight {data['weight']!r} is not a number; correct it."
        ) from None
    if not 0 <= weight <= LARGEST:  # False for NaN
        raise ValueError(f"{source.label}, edge {a}–{b}: weight {weight:g} is not from 0 to {LARGEST:g}; correct it.")
    return weight
