"""Columns shown beside the tree but not clustered: ``--annotate``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..io import read_points
from .common import read_settings


def read_annotations(arguments: argparse.Namespace, path: str) -> dict[str, Any]:
    """Return the selected columns by name: numeric where all values are numbers, else text. Each is read like labels."""
    wanted: Sequence[str] = arguments.annotate or ()
    if wanted and path == "-":
        raise ValueError("--annotate reads the file once more, and standard input is gone; give the name of a file.")
    found = {}
    for column in wanted:
        points = read_points(path, **read_settings(arguments), labels=column)
        if points.labels is None:
            raise ValueError(f"{points.source} has no column {column!r} to annotate with.")
        found[column_label(column)] = _values(points.labels)
    return found


def column_label(column: str) -> str:
    """Return the legend title of a column chosen by name, or by its number."""
    return f"column {column}" if column.isdecimal() else column


def _values(texts: Sequence[str]) -> Any:
    """Return numbers, NaN where missing, if every other cell is one; else texts, None where missing."""
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return as_classes(texts)


def as_classes(labels: Sequence[str]) -> npt.NDArray[np.object_]:
    """Return labels for a picture: None where one is missing, which is drawn in grey and is no class."""
    return np.array([label or None for label in labels], dtype=object)
