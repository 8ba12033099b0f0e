"""What tells one fit from another: its data and all parameters that decide the tree, as facts that JSON can hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..similarity import Similarity
from ..similarity.mixed import Table
from ..tree import Tree
from .checkpoint import Facts
from .constraints import Constraints

# Parameters of ``HypHC`` that leave the tree as it is: who listens, threads, and where the tree is cut.
_WITHOUT_EFFECT = {"n_clusters", "distance_threshold", "criterion", "min_size"}
_WITHOUT_EFFECT |= {"n_jobs", "verbose", "callback", "memory_limit", "checkpoint"}
# What similarities are made of.
_ATTRIBUTES = ("sizes", "X", "offset", "scale", "squares", "slope", "level", "W", "indptr", "indices", "data")


def facts_of(parameters: dict[str, Any], X: Any, sample_weight: Any) -> Facts:
    """Data and parameters of a fit; arrays by their checksums. O(size of the data).

    Examples
    --------
    >>> facts = facts_of({"effort": 1.0, "n_jobs": 2, "init": np.eye(2)}, np.eye(3), None)
    >>> sorted(facts), facts["effort"], len(facts["init"])
    (['data', 'effort', 'init', 'sample_weight'], 1.0, 64)
    """
    told = {name: _told(value) for name, value in parameters.items() if name not in _WITHOUT_EFFECT}
    return {"data": checksum(X), "sample_weight": _told(sample_weight), **told}


def _told(value: Any) -> Any:
    """Numbers and words as they are, arrays and the like by their checksum, generators not at all: a seed is drawn from them."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if isinstance(value, np.random.RandomState):
        return None
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    return checksum(value)


def checksum(value: Any) -> str:
    """SHA-256 of the numbers that arrays, sparse matrices, similarities, trees, constraints or sequences of these hold."""
    digest = hashlib.sha256()
    for part in _parts(value):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield type(one).__name__.encode()
        if isinstance(one, Similarity):
            parts = getattr(one, "parts", ())
            waiting += [*parts, *(getattr(one, name) for name in _ATTRIBUTES if hasattr(one, name))]
        elif isinstance(one, Table):
            waiting += [one.values, one.categories]
        elif isinstance(one, Tree):
            waiting += [one.children, one.heights]
        elif isinstance(one, Constraints):
            waiting += [one.must_link, one.cannot_link, one.clusters, one.classes]
        elif sp.issparse(one):
            matrix: Any = one
            rows = matrix.tocsr()
            waiting += [rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data, np.array(rows.shape)]
        elif isinstance(one, np.ndarray) and one.dtype != object:
            yield f"{one.dtype.str} {one.shape} ".encode()
            yield np.ascontiguousarray(one).reshape(-1).view(np.uint8).data
        elif isinstance(one, list | tuple | np.ndarray):
            waiting += list(one)
        else:
            yield f"{one!r} ".encode()
