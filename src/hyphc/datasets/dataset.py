"""Container of a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..tree import Tree


@dataclass(frozen=True, eq=False)
class Dataset:
    """Points to cluster, with labels and a known tree where there is one.

    Attributes
    ----------
    name : str
    data : array (n, d), or csr_array (n, n)
        Features, or the adjacency matrix of a graph.
    labels : array (n,) or None
        The known group of each point, as its source writes it: numbers or words.
    names : tuple of n str, or None
        What each row is called; not always unique (zoo has two frogs).
    feature_names : tuple of d str, or None
    class_names : tuple of str, or None
        A name for each group, in the order of ``np.unique(labels)``.
    tree : Tree or None
        The hierarchy the points were drawn from, where there is one.
    description, citation : str
    """

    name: str
    data: Any
    labels: npt.NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    tree: Tree | None = None
    description: str = ""
    citation: str = ""


def class_names_from(labels: npt.NDArray[Any]) -> tuple[str, ...]:
    """Return the distinct labels in order, as text."""
    return tuple(str(label) for label in np.unique(labels))
