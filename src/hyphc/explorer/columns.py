"""Data of the leaves for the page: labels, annotations, features, and the features that distinguish clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._runtime import palette
from .._runtime.arrays import Ints
from .._runtime.table_columns import label_classes, parse_columns
from .._runtime.validation import as_floats
from ..baselines.linkage import correlation_linkage
from ..scores.differences import Compare, differences
from ..tree import Tree
from .groups import PageTree
from .packing import Fields, encode_array

# Values of features in a page: 20 MB, a third more when written as text.
MAX_VALUES = 5_000_000
# Number of distinctive columns listed for each cluster, and for the two sides of each split.
TOP_COLUMNS: dict[Compare, int] = {"rest": 6, "parts": 4}


def label_fields(labels: npt.ArrayLike, name: str | None, n: int, groups: PageTree) -> Fields:
    """Return classes of any type with codes, −1 where missing, and the colours of the first column."""
    values = np.asarray(labels)
    if values.shape != (n,):
        raise ValueError(f"labels has shape {values.shape}; pass ({n},), one for each leaf.")
    codes, classes = label_classes(values)
    return _class_fields(name or str(getattr(labels, "name", None) or "label"), codes, classes, 0, groups)


def annotation_fields(annotations: Any, n: int, groups: PageTree, first: int) -> list[Fields]:
    """Return a record for each column: classes with codes (−1 missing), or numbers (NaN missing), and its colours.

    ``first`` is the number of the first column: 1 after labels, which are column 0.
    """
    fields: list[Fields] = []
    given = [] if annotations is None else parse_columns(annotations, n, "annotations")
    for number, column in enumerate(given, first):
        if column.numbers is not None:
            values = groups.means(column.numbers[:, None])[:, 0]
            colours = palette.themed(palette.ramp(number), palette.ramp(number, dark=True))
            fields.append({"name": column.name, "values": encode_array(values, "<f4"), "colours": colours})
        else:
            codes: Any = column.codes
            fields.append(_class_fields(column.name, codes, column.classes, number, groups))
    return fields


def _class_fields(name: str, codes: Ints, classes: tuple[str, ...], number: int, groups: PageTree) -> Fields:
    slots = palette.slots(np.bincount(codes[codes >= 0], minlength=len(classes)))
    own = palette.class_colors(number, int(slots.max(initial=-1)) + 1)
    light = np.vstack([own, np.full(3, palette.OTHERS), np.full(3, palette.MISSING)])[slots]
    shown = groups.most_frequent(codes)
    return {"name": name, "names": classes, "codes": encode_array(shown, "<i4"), "colours": palette.themed(light)}


def palette_fields() -> Fields:
    """Return the colours of clusters, of features and of missing values."""
    greys = np.array([[palette.OTHERS], [palette.MISSING]]).repeat(3, axis=1)
    dark = np.array([[palette.OTHERS_ON_DARK], [palette.MISSING_ON_DARK]]).repeat(3, axis=1)
    return {
        "clusters": palette.themed(palette.cluster_colors(palette.MOST_CLASSES)),
        "features": palette.themed(palette.ramp(0), palette.ramp(0, dark=True)),
        "greys": palette.themed(greys, dark),
        "diverging": palette.themed(palette.diverging(), palette.diverging(dark=True)),
    }


def feature_values(features: Any, n: int) -> tuple[list[str], npt.NDArray[Any]]:
    """Return the names of the columns, and the numbers, (n, d)."""
    columns = [str(name) for name in features.columns] if hasattr(features, "columns") else None
    values = as_floats(features, "features")
    if values.ndim != 2 or len(values) != n or values.shape[1] == 0:
        raise ValueError(f"features has shape {values.shape}; pass ({n}, d), a row for each leaf.")
    return columns or [f"feature {j}" for j in range(values.shape[1])], values


def feature_fields(names: list[str], values: npt.NDArray[Any], groups: PageTree) -> Fields:
    """Return the table, and the order of columns in its heat map: correlated ones side by side."""
    shown = groups.means(values)
    if shown.size > MAX_VALUES:
        most = MAX_VALUES // len(shown)
        raise ValueError(f"features has {shown.shape[1]} columns for {len(shown)} leaves; pass at most {most}.")
    return {
        "names": names,
        "values": encode_array(shown, "<f4"),
        "order": encode_array(order_by_correlation(shown), "<i4"),
    }


def order_by_correlation(values: npt.NDArray[Any]) -> Ints:
    """Return an order of columns with correlated ones side by side; the given order for few or very many."""
    tree = correlation_linkage(values)
    return np.arange(values.shape[1]) if tree is None else tree.leaf_order()


def difference_fields(tree: Tree, values: Any, shown: int) -> Fields:
    """Return for each merge on the page the columns that differ most from the rest, and between its children."""
    fields: Fields = {}
    for compare, top in TOP_COLUMNS.items():
        found = differences(tree, values, compare=compare, top=top)
        first = tree.n_leaves - shown
        fields[compare] = {
            "top": top,
            "tests": found.n_tests,
            "columns": encode_array(found.columns[first:], "<i4"),
            "effects": encode_array(found.effects[first:], "<f4"),
            "sure": encode_array(found.sure[first:], "<u1"),
        }
    return fields
