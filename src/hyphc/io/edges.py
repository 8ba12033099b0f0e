"""Readers of graphs: edge lists, two nodes a line and an optional weight, and GraphML, GEXF and GML through networkx."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..similarity.symmetrize import DIRECTED
from .columns import ColumnSelection, ColumnsError, find_column, join_names
from .points import LARGEST, Points, explain_damage
from .sources import FORMAT_NAMES, InputFile, decode, require_package
from .text_cells import delimiter_in

_COMMENTS = ("#", "%")
_DIGITS = 100  # what is longer is a name: Python refuses to make numbers of thousands of digits
_HEADER_WORDS = {"source", "target", "from", "to", "src", "dst", "i", "j", "u", "v"}
_HEADER_WORDS |= {"node1", "node2", "node_1", "node_2"}
_NO_EDGE = "lists no edge; give lines like 'a,b' or 'a,b,0.5'"
Edge = tuple[int, str, str, float]  # line, 0 where there is none, both nodes, and weight


def read_edges(source: InputFile, directed: str | None = None) -> Points:
    """Read an edge list; lines that begin with # or % are comments.

    A list of which no edge occurs in both directions is one of undirected edges. A list of which some do is directed: all must
    occur in both, with the same weight, unless ``directed`` says how ``as_similarity`` makes the two one. An edge listed again in
    one direction adds to its weight; loops are left out.
    """
    try:
        edges, note = decode(source, lambda file: list(_parse(source, _cells(source, file))))
    except csv.Error as error:
        raise ValueError(f"{source.label} is not a list of edges ({error}); save it as CSV with UTF-8.") from None
    graph = _assemble(source, edges, directed)
    return replace(graph, notes=note + graph.notes)


def read_network(source: InputFile, found: str, wanted: ColumnSelection, directed: str | None = None) -> Points:
    """Read a graph in GraphML, GEXF or GML; the edge attribute ``weight`` is the weight, 1 where there is none.

    The two weights of a pair of nodes in a directed graph must agree, unless ``directed`` says how ``as_similarity`` makes one
    of them. Parallel edges are summed. Names are the attribute ``label`` or ``name`` of the nodes, if all have
    it, else what they are called in the file. Labels, and what is known of nodes, are attributes of the nodes.
    """
    for argument in ("features", "categories", "names"):
        if getattr(wanted, argument) is not None:
            what = f"{source.label} is a graph, whose nodes are clustered by their edges"
            raise ColumnsError(f"{what}; leave the choice out.", argument)
    graph = _read_graph(source, found)
    if graph.number_of_edges() == 0:
        raise ValueError(f"{source.label} has no edge; give a graph with some.")
    names = _node_names(graph)
    edges = [
        (0, names[a], names[b], _weight(f"{source.label}, edge {a}–{b}", data.get("weight", 1.0)))
        for a, b, data in graph.edges(data=True)
    ]
    # loops, which are left out: nodes without edges, too, are nodes
    edges += [(0, name, name, 0.0) for node, name in names.items() if graph.degree(node) == 0]
    points = _assemble(source, edges, directed, graph.is_directed())
    return _with_attributes(points, {name: graph.nodes[node] for node, name in names.items()}, wanted)


def _read_graph(source: InputFile, found: str) -> Any:
    require_package(source.label, f"a {FORMAT_NAMES[found]} file", "networkx", "io")
    import networkx

    with explain_damage(source, found), source.open() as file:
        if found == "gml":  # networkx's own reader of files refuses all but ASCII
            return networkx.parse_gml(file.read().decode("utf-8-sig").splitlines(), label=None)
        return (networkx.read_gexf if found == "gexf" else networkx.read_graphml)(file)


def _with_attributes(points: Points, attributes: dict[str, dict[str, Any]], wanted: ColumnSelection) -> Points:
    """Return the points with labels, and what is known of them, from attributes of nodes; ``attributes`` are by name."""
    header = list(dict.fromkeys(key for data in attributes.values() for key, value in data.items() if _is_plain(value)))
    nodes = points.names or tuple(map(str, range(points.n)))

    def read(column: str) -> tuple[str, ...]:
        key = header[find_column(f"{points.source} (attributes of nodes)", header, column)]
        return tuple(str(attributes[node].get(key, "")) for node in nodes)

    for column in wanted.exclude or ():
        find_column(f"{points.source} (attributes of nodes)", header, column)
    labels = None if wanted.labels is None else read(wanted.labels)
    note = [f"attributes: {join_names(header)} (of nodes, not used for clustering)"] if header else []
    known = {what: read(column) for what, column in wanted.known.items()}
    return replace(points, labels=labels, known=known).with_notes(*note)


def _is_plain(value: Any) -> bool:
    """Return whether an attribute is a number or text, and not a structure such as a position for drawing."""
    return isinstance(value, str | int | float)


def _node_names(graph: Any) -> dict[Any, str]:
    for key in ("label", "name"):
        called = {node: str(data[key]) for node, data in graph.nodes(data=True) if key in data}
        if len(called) == len(graph) == len(set(called.values())):
            return called
    return {node: str(node) for node in graph}


def _cells(source: InputFile, file: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and cells, split at the file's delimiter or at blanks."""
    numbered = [(number, line) for number, line in enumerate(file, start=1) if line.strip()]
    numbered = [(number, line) for number, line in numbered if not line.lstrip().startswith(_COMMENTS)]
    if not numbered:
        raise ValueError(f"{source.label} {_NO_EDGE}.")
    delimiter = delimiter_in(numbered[0][1])
    by_blanks = delimiter not in numbered[0][1]
    for number, line in numbered:
        cells = line.split() if by_blanks else next(csv.reader([line], delimiter=delimiter))
        yield number, [cell.strip() for cell in cells]


def _parse(source: InputFile, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Edge]:
    for position, (line, cells) in enumerate(rows):
        if position == 0 and _is_header(cells):
            continue
        if len(cells) not in (2, 3) or not all(cells[:2]):
            what = f"{' '.join(cells)!r} is not an edge; write two nodes and perhaps a weight"
            raise ValueError(f"{source.label}, line {line}: {what}.")
        yield line, cells[0], cells[1], _weight(f"{source.label}, line {line}", cells[2]) if len(cells) == 3 else 1.0


def _is_header(cells: Sequence[str]) -> bool:
    words = [cell.lower() for cell in cells[:2]]
    return all(word in _HEADER_WORDS for word in words) or (len(cells) == 3 and cells[2].lower() in ("weight", "w"))


def _weight(place: str, given: Any) -> float:
    try:
        weight = float(given)
    except (TypeError, ValueError):
        raise ValueError(f"{place}: weight {given!r} is not a number; correct it.") from None
    if weight < 0:
        raise ValueError(f"{place}: weight {given} is negative; weights are similarities and at least 0.")
    if not weight <= LARGEST:  # also for NaN
        raise ValueError(f"{place}: weight {given} is missing or too large; correct it.")
    return weight


def _assemble(
    source: InputFile, edges: list[Edge], directed: str | None = None, is_directed: bool | None = None
) -> Points:
    """Return the graph of edges; ``is_directed`` None is unknown. Names are None when nodes are 0 … n − 1."""
    if not edges:
        raise ValueError(f"{source.label} {_NO_EDGE}.")
    names, number = _number_nodes([node for _, a, b, _ in edges for node in (a, b)])
    total: dict[tuple[int, int], float] = {}
    first_line: dict[tuple[int, int], int] = {}
    between = [(line, (number[a], number[b]), weight) for line, a, b, weight in edges if a != b]
    for line, pair, weight in between:
        total[pair] = total.get(pair, 0.0) + weight
        first_line.setdefault(pair, line)
    n_repeated = len(between) - len(total)
    n_loops = sum(a == b and weight > 0 for _, a, b, weight in edges)  # those of weight 0 stand for nodes without edges
    if is_directed is None:
        is_directed = directed is not None or any((j, i) in total for i, j in total)
    if is_directed and directed is None:
        _require_symmetric(source, total, first_line, list(number))
    if not is_directed and directed is not None:
        message = f"{source.label} is an undirected graph, with one weight for each edge; leave it out."
        raise ColumnsError(message, "directed")
    n_edges = len({(min(pair), max(pair)) for pair in total})
    notes = [f"graph: {len(number)} nodes and {_count_edges(n_edges)}"]
    notes += [f"left out: {_count_edges(n_loops)} from a node to itself"] * bool(n_loops)
    notes += [f"added up: {_count_edges(n_repeated)} listed again"] * bool(n_repeated)
    ends: npt.NDArray[np.int64] = np.array(list(total), dtype=np.int64).reshape(-1, 2)
    weights = np.array(list(total.values()), dtype=np.float64)
    matrix = sp.csr_array((weights, (ends[:, 0], ends[:, 1])), shape=(len(number), len(number)))
    matrix = matrix if is_directed else sp.csr_array(matrix + matrix.T)
    return Points(source.label, matrix, "graph", names, notes=tuple(notes))


def _number_nodes(nodes: list[str]) -> tuple[tuple[str, ...] | None, dict[str, int]]:
    """Return node numbers: integers from 0 are kept, other nodes are numbered in order and keep their names."""
    found = list(dict.fromkeys(nodes))
    if all(node.isdecimal() and len(node) <= _DIGITS for node in found):
        found.sort(key=int)
        if found == [str(i) for i in range(len(found))]:
            return None, {node: int(node) for node in found}
    return tuple(found), {node: i for i, node in enumerate(found)}


def _require_symmetric(
    source: InputFile, total: dict[tuple[int, int], float], line: dict[tuple[int, int], int], nodes: Sequence[str]
) -> None:
    for (i, j), weight in total.items():
        back = total.get((j, i), 0.0)
        if back != weight:
            numbers = [str(line[pair]) for pair in ((i, j), (j, i)) if line.get(pair)]
            where = f", line{'s' * (len(numbers) > 1)} {' and '.join(numbers)}" if numbers else ""
            a, b = nodes[i], nodes[j]
            shown = f"edge {a} → {b} has weight {weight:g} and {b} → {a} {back:g}: the graph is directed"
            remedy = f"Say how the two become one: {', '.join(DIRECTED)}"
            raise ColumnsError(f"{source.label}{where}: {shown}. {remedy}.", "directed")


def _count_edges(count: int) -> str:
    return f"{count} edge{'s' * (count != 1)}"
