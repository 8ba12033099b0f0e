"""Constraints from columns of the file and from a constraint tree."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .._runtime.sanitize import is_blank
from ..fit.constraints import Constraints, groups_of
from ..io import Points
from ..io.trees import find_rows, read_multifurcating
from .common import leaf_names, name_options

# Options that name a column.
COLUMNS = ("must_link", "cannot_link", "classes", "order")


def constraint_columns(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the columns that hold constraints, by the options that name them."""
    given = {name.replace("_", "-"): getattr(arguments, name, None) for name in COLUMNS}
    return {option: column for option, column in given.items() if column is not None}


def build_constraints(arguments: argparse.Namespace, points: Points) -> Constraints | None:
    """Return the checked constraints that the options describe, with errors that name rows as the file does; None without any."""
    tree = arguments.constraint_tree
    known = {option: _cells(values) for option, values in points.known.items() if option != "texts"}
    if not known and tree is None:
        return None
    with name_options():
        required = [] if tree is None else _read_required(tree, points)
    constraints = Constraints(
        must_link=_groups(known.get("must-link", [])),
        cannot_link=[group for group in _groups(known.get("cannot-link", [])) if len(group) > 1],
        clusters=required,
        classes=known.get("classes"),
        order=_order(points, known["order"]) if "order" in known else None,
    )
    names = points.names
    try:
        found = constraints.resolve(
            points.n, lambda i: f"row {i + 1}" if names is None else f"{names[i]!r} (row {i + 1})"
        )
        if arguments.n_clusters is not None:
            found.require_possible(arguments.n_clusters)
    except ValueError as error:
        raise ValueError(f"{points.source}: {str(error).replace('n_clusters=', '--n-clusters ')}") from None
    return constraints


def constraint_note(constraints: Constraints, n: int) -> str:
    """Return one line on the constraints of the tree and its clusters."""
    known = constraints.resolve(n)
    n_classes, n_known = len(np.unique(known.classes[known.classes >= 0])), int((known.classes >= 0).sum())
    n_required = known.constraint_tree.n_inner - 1
    together = [group for group in known.together if len(group) > 1]
    parts = [
        f"{_many(len(together), 'group')} of rows that stay together" if together else "",
        f"{_many(len(known.apart), 'group')} of rows that are kept apart" if known.apart else "",
        f"{_many(n_known, 'row')} of {_many(n_classes, 'class')} that never mix" if n_known else "",
        _many(n_required, "required cluster") if n_required > 0 else "",
        "an order of the rows that all clusters keep" if known.order is not None else "",
    ]
    return f"known: {'; '.join(filter(None, parts)) or 'nothing, the cells are empty'}"


def _many(count: int, thing: str) -> str:
    plural = f"{thing}es" if thing.endswith("s") else f"{thing}s"
    return f"{count} {thing if count == 1 else plural}"


def _cells(values: Sequence[str]) -> list[str]:
    """Return the cells without surrounding blanks; "" where nothing is known."""
    return ["" if is_blank(value) else value.strip() for value in values]


def _groups(values: list[str]) -> list[list[int]]:
    """Return groups of rows with the same cell, in order of their first rows; empty cells are in no group."""
    groups: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        if value:
            groups.setdefault(value, []).append(row)
    return list(groups.values())


def _order(points: Points, values: list[str]) -> npt.NDArray[np.generic]:
    """Return numbers or dates."""
    empty = next((row for row, value in enumerate(values) if not value), None)
    if empty is not None:
        raise ValueError(f"{points.source}, row {empty + 1}: the cell of --order is empty; each row needs a place.")
    for kind in (np.float64, "datetime64[ns]"):
        try:
            return np.array(values).astype(kind)
        except ValueError:
            continue
    needed = "--order needs a column of numbers or of dates such as 2024-05-31"
    raise ValueError(f"{points.source}: {needed}; got {values[0]!r}.")


def _read_required(path: str, points: Points) -> list[list[int]]:
    """Return the clusters of a tree file as sets of rows. Rows that the tree does not name are in none of them."""
    family = read_multifurcating(path)
    rows = list(range(points.n)) if family.names is None else _rows_named(path, points, family.names)
    if family.names is None and family.n_leaves != points.n:
        counts = f"{family.n_leaves} leaves without names and {points.source} {points.n} rows"
        raise ValueError(f"{path} has {counts}; they must be as many.")
    return [[rows[leaf] for leaf in group] for group in groups_of(family)]


def _rows_named(path: str, points: Points, leaves: Sequence[str]) -> list[int]:
    rows = find_rows(path, leaves, leaf_names(points))
    if len(set(leaves)) < len(leaves):
        twice = next(leaf for k, leaf in enumerate(leaves) if leaf in leaves[:k])
        raise ValueError(f"{path} has two leaves called {twice!r}; each row can be in it once.")
    return rows
