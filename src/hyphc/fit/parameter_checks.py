"""Validation of each parameter of the estimators, independent of the data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._runtime.memory import n_bytes
from .._runtime.validation import check_effort, require_choice
from ..continuous.paper_presets import PROTOCOLS
from ..similarity.knn.edge_weights import require_edge_weights
from ..similarity.metrics import METRICS, choices
from ..similarity.scaling import require_scale
from ..similarity.symmetrize import require_directed
from ..tree import Tree
from ..tree.prunings import CRITERIA
from .constraints import Constraints

Check = Callable[[str, Any], object]  # raises for a value that the parameter cannot have
# What becomes of points that fall out above the core of a cluster.
JOIN, LABEL = "join", "label"
OUTLIERS = (JOIN, LABEL)


def check_values(parameters: Mapping[str, Any]) -> None:
    """Raise for the first parameter that is no possible value, whether this fit would use it or not."""
    for name, value in parameters.items():
        CHECKS[name](name, value)


def _require(holds: Callable[[Any], bool], what: str) -> Check:
    def check(name: str, value: Any) -> None:
        if not holds(value):
            raise ValueError(f"{name}={value!r} {what}.")

    return check


def _optional(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_yes_or_no(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_temperature(value: Any) -> bool:
    ends = value if isinstance(value, tuple | list | np.ndarray) and len(value) == 2 else (value,)
    return all(_is_number(one) and 0 < one < np.inf for one in ends)


def _is_start(value: Any) -> bool:
    return isinstance(value, str | list | tuple | Tree) or hasattr(value, "__array__")


def _is_seed(value: Any) -> bool:
    return isinstance(value, np.random.RandomState) or (_is_whole(value) and 0 <= value < 2**32)


def _whole(least: int) -> Check:
    return _require(lambda value: _is_whole(value) and value >= least, f"must be a whole number of at least {least}")


_whole_or_found = _require(
    lambda value: _is_whole(value) or (isinstance(value, str) and value == "auto"),
    "must be a whole number, or None for an automatic cut",
)
_not_negative = _require(
    lambda value: _is_number(value) and 0.0 <= value < np.inf, "must be a finite number of at least 0"
)
_size = _require(
    lambda value: _is_number(value) and 1 <= value < np.inf, "is no size of a cluster; choose a number of at least 1"
)
_threads = _require(
    lambda value: _is_whole(value) and value != 0,
    "leaves no thread to work; choose n_jobs >= 1, or -1 for all cores",
)
_path = _require(lambda value: isinstance(value, str | os.PathLike), "is no path; give the name of a folder")

# Every parameter of ``HypHC`` and ``DaskHypHC``. What hangs on the data, or on two parameters, is checked where it is used.
CHECKS: dict[str, Check] = {
    "n_clusters": _optional(_whole_or_found),
    "distance_threshold": _optional(
        _require(lambda value: _is_number(value) and value >= 0, "must be a number of at least 0, or None")
    ),
    "metric": _require(
        lambda value: callable(value) or (isinstance(value, str) and value in METRICS),
        f"is unknown; choose one of {choices()}",
    ),
    "n_neighbors": _optional(_whole(1)),
    "edge_weights": lambda name, value: require_edge_weights(value),
    "scale": lambda name, value: require_scale(value),
    "background": _optional(_not_negative),
    "directed": lambda name, value: require_directed(value),
    "criterion": lambda name, value: require_choice(name, value, CRITERIA),
    "min_size": _optional(_size),
    "outliers": lambda name, value: require_choice(name, value, OUTLIERS),
    "init": _require(_is_start, "is no start; give a name, an array or a Tree"),
    "n_init": _whole(1),
    "n_components": _whole(1),
    "temperature": _require(_is_temperature, "must be a positive number, or two of them, the first and the last"),
    "max_iter": _optional(_whole(0)),
    "block_size": _whole(3),
    "max_triplets": _optional(_whole(1)),
    "spread_penalty": _not_negative,
    "preset": _optional(lambda name, value: require_choice(name, value, tuple(PROTOCOLS))),
    "constraints": _optional(
        _require(lambda value: isinstance(value, Constraints), "is no hyphc.Constraints; make one of what is known")
    ),
    "refine": _require(_is_yes_or_no, "must be True or False"),
    "effort": lambda name, value: check_effort(value),
    "time_budget": _optional(
        _require(lambda value: _is_number(value) and value > 0, "must be a positive number of seconds")
    ),
    "memory_limit": _optional(lambda name, value: n_bytes(value)),
    "checkpoint": _optional(_path),
    "random_state": _optional(_require(_is_seed, "is no seed; give a whole number of at least 0, or a RandomState")),
    "n_jobs": _optional(_threads),
    "verbose": _require(
        lambda value: _is_yes_or_no(value) or (_is_whole(value) and value >= 0),
        "must be 0 or 1: whether progress is shown",
    ),
    "callback": _optional(_require(callable, "cannot be called; give a function of a hyphc.Progress")),
    "part_size": _whole(1),
    "sample_size": _optional(_whole(1)),
    "storage": _optional(_path),
    "client": lambda name, value: None,  # Dask says what is no client
}
