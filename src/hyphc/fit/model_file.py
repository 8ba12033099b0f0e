"""Files of fitted models: all parameters and fitted attributes, without pickle, for ``HypHC.save`` and ``HypHC.load``."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._runtime.value_archive import Codec, Codecs, PathLike, dataclass_codec, read_values, write_values
from ..continuous.paper_presets import Protocol, Setting
from ..continuous.solver import EmbedSettings
from ..scores.cluster_number import ClusterNumber
from ..similarity import Similarity
from ..similarity.background import Background
from ..similarity.blend import Blend
from ..similarity.dense import Dense
from ..similarity.features import Features
from ..similarity.graph import Graph
from ..similarity.inputs.mixed_types import MixedTable
from ..similarity.local_density import LocalDensity
from ..similarity.metrics import METRICS, Custom
from ..similarity.neighbor_metrics import MaskedNeighbors, Neighbors, ScaledRows
from ..similarity.scaling import ColumnScaling
from ..tree import Tree
from ..tree.condense import FlatClusters
from ..tree.multifurcating import MultiTree
from ..tree.storage import fields_of
from .constraints import Constraints
from .plan import FitPlan

FORMAT, VERSION = "hyphc model", 1
NOT_STORED = ("callback",)  # parameters of a single run, functions as a rule
DERIVED = (
    "linkage_",
    "children_",
    "distances_",
    "n_leaves_",
    "_assigner_",
)  # fitted attributes that follow from others
_REQUIRED = {"tree_": Tree, "similarity_": Similarity, "_clusters_": FlatClusters, "labels_": np.ndarray}
_PER_POINT = ("labels_", "probabilities_", "outlier_scores_")
_ATTRIBUTE = re.compile(r"_?[a-z][a-z0-9_]*_")
_ASSIGNED = (
    "metric",
    "source",
    "recall_",
    "local_density",
)  # attributes of a similarity that are set after it is built


def _similarity_codec(kind: type[Similarity]) -> Codec:
    """Return the codec of a kind of similarity: arguments of its constructor, which checks them, and what is set later."""
    parameters = list(inspect.signature(kind).parameters)

    def to_fields(similarity: Any) -> dict[str, Any]:
        fields = {name: getattr(similarity, name) for name in parameters if hasattr(similarity, name)}
        if isinstance(similarity, Graph):
            fields["adjacency"] = similarity.to_csr()
        return fields | {name: vars(similarity)[name] for name in _ASSIGNED if name in vars(similarity)}

    def from_fields(**fields: Any) -> Similarity:
        similarity = kind(**{name: value for name, value in fields.items() if name in parameters})
        for name in fields.keys() - set(parameters):
            if name not in _ASSIGNED:
                raise ValueError(f"a similarity has no {name!r}")
            setattr(similarity, name, fields[name])
        return similarity

    return Codec(to_fields, from_fields)


def _multitree_fields(tree: MultiTree) -> dict[str, Any]:
    return {name: getattr(tree, name) for name in inspect.signature(MultiTree).parameters}


def _restore_random_state(**state: Any) -> np.random.RandomState:
    random_state = np.random.RandomState()
    random_state.set_state(state)
    return random_state


KINDS = (Features, Dense, Graph, Blend, Background)
_RECORDS: list[type] = [ColumnScaling, LocalDensity, MixedTable, ScaledRows, ClusterNumber, FlatClusters, Constraints]
_RECORDS += [EmbedSettings, Protocol, Setting, FitPlan, *METRICS.values(), Custom, Neighbors, MaskedNeighbors]
CODECS: Codecs = {
    **{kind: _similarity_codec(kind) for kind in KINDS},
    **{kind: dataclass_codec(kind) for kind in _RECORDS},
    Tree: Codec(fields_of, Tree),
    MultiTree: Codec(_multitree_fields, MultiTree),
    np.random.RandomState: Codec(lambda state: state.get_state(legacy=False), _restore_random_state),
}


def save_model(path: PathLike, parameters: Mapping[str, Any], attributes: Mapping[str, Any], package: str) -> None:
    """Write parameters and fitted attributes of an estimator to one file; ``package`` is the version that writes it."""
    kept = {name: value for name, value in parameters.items() if name not in NOT_STORED}
    fitted = {name: value for name, value in attributes.items() if name.endswith("_") and name not in DERIVED}
    header = {"format": FORMAT, "version": VERSION, "package": package}
    try:
        write_values(path, {**header, "parameters": kept, "attributes": fitted}, CODECS)
    except ValueError as error:
        what = re.sub(r"^\.(parameters|attributes)\.", "", str(error))
        raise ValueError(f"{what}; keep such a model with joblib.dump, and load only files that you trust.") from None


def load_model(path: PathLike) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the fitted attributes of a file that ``save_model`` wrote, checked against each other."""
    try:
        read = read_values(path, CODECS)
        if not isinstance(read, dict) or read.get("format") != FORMAT:
            raise ValueError("it has another content")
        if read["version"] != VERSION:
            raise ValueError(f"hyphc {read['package']} wrote it in a later format; update hyphc")
        _check_attributes(read["attributes"])
        return read["parameters"], read["attributes"]
    except (ValueError, KeyError, TypeError) as error:
        reason = str(error).removesuffix(".")
        raise ValueError(f"{os.fspath(path)!r} is not a saved model ({reason}); write one with HypHC.save.") from None


def _check_attributes(attributes: Any) -> None:
    """Raise unless fitted attributes have plain names, and describe the same points: compiled code relies on it."""
    for name in attributes:
        if not _ATTRIBUTE.fullmatch(name):
            raise ValueError(f"{name!r} is no fitted attribute")
    for name, kind in _REQUIRED.items():
        if not isinstance(attributes.get(name), kind):
            raise ValueError(f"its {name} is no {kind.__name__}")
    tree, clusters = attributes["tree_"], attributes["_clusters_"]
    n, k = tree.n_leaves, len(clusters.nodes)
    lengths = {name: np.shape(attributes[name]) for name in _PER_POINT if attributes.get(name) is not None}
    lengths |= {"clusters": clusters.labels.shape, "joined": clusters.joined.shape}
    lengths |= {"similarity": (attributes["similarity_"].n,)}
    for name, shape in lengths.items():
        if shape != (n,):
            raise ValueError(f"its {name} has shape {shape}, and its tree {n} leaves")
    for numbers, least, most in (
        (clusters.labels, 0, k),
        (attributes["labels_"], -1, k),
        (clusters.nodes, 0, 2 * n - 1),
    ):
        if numbers.dtype != np.int64 or numbers.min(initial=least) < least or numbers.max(initial=least) >= most:
            raise ValueError("its clusters are not numbered as those of a tree")
