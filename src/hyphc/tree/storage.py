"""A tree as JSON, as an npz archive and as a folder of arrays: all that it carries, without pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._shared.files import replaced_atomically

if TYPE_CHECKING:
    from .core import Tree

PathLike = str | os.PathLike[str]
Fields = dict[str, Any]  # arguments of Tree

_MAPPED = "tree.json"
# left out where a tree has none: older files are read alike
CARRIED = ("split_weights", "degrees", "leaf_sizes", "leaf_weights", "split_squares", "support", "forced_splits")


def carried_fields(tree: Tree) -> Fields:
    """Split weights, degrees and leaf sizes, as far as the tree has them."""
    return {name: values for name in CARRIED if (values := getattr(tree, name)) is not None}


def _number(tree: Tree) -> Fields:
    return {} if tree._n_clusters is None else {"n_clusters": tree._n_clusters}


def to_json(tree: Tree) -> str:
    """The text of ``Tree.to_json``."""
    fields = {
        "n_leaves": tree.n_leaves,
        "children": tree.children.tolist(),
        "heights": tree.heights.tolist(),
        "names": tree.names,
        **{name: _plain(values) for name, values in carried_fields(tree).items()},
        **_number(tree),
    }
    return json.dumps(fields)


def _plain(values: npt.NDArray[Any]) -> list[float | None]:
    """Numbers as JSON has them: NaN is null."""
    return [None if number != number else number for number in values.tolist()]


def from_json(text: str) -> Fields:
    """What ``to_json`` wrote."""
    try:
        read = json.loads(text)
        fields = {"children": read["children"], "heights": read["heights"], "names": read.get("names")}
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"Not a tree in JSON ({error}); expected the text that Tree.to_json writes.") from None
    fields["children"] = np.asarray(fields["children"], dtype=np.float64).reshape(-1, 2)
    return {**fields, **{name: read.get(name) for name in CARRIED}, "n_clusters": read.get("n_clusters")}


def save(tree: Tree, path: PathLike) -> None:
    """Write the archive; a file already there is replaced in one step."""
    names = np.frombuffer(json.dumps(tree.names).encode(), dtype=np.uint8)
    with replaced_atomically(path) as file:
        arrays = {"children": tree.children, "heights": tree.heights, "names": names, **carried_fields(tree)}
        np.savez_compressed(file, **arrays, **_number(tree))


def arrays_of(tree: Tree) -> dict[str, npt.NDArray[Any]]:
    """Merges and heights: all that a tree under way has."""
    return {"children": tree.children, "heights": tree.heights}


def tree_from(arrays: Mapping[str, npt.NDArray[Any]], names: tuple[str, ...] | None = None) -> Tree:
    """The tree of ``arrays_of``."""
    from .core import Tree

    return Tree(arrays["children"], arrays["heights"], names)


def save_mapped(folder: PathLike, fields: Fields) -> None:
    """Write arrays, in order of height, to a folder, ``tree.json`` last: ``load`` opens them without reading them."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    arrays = {name: values for name, values in fields.items() if isinstance(values, np.ndarray)}
    for name, values in arrays.items():
        with replaced_atomically(target / f"{name}.npy") as file:
            np.save(file, values, allow_pickle=False)
    others = {name: values for name, values in fields.items() if name not in arrays}
    with replaced_atomically(target / _MAPPED) as file:
        file.write(json.dumps({"format": 1, "arrays": sorted(arrays), **others}).encode())


def load_mapped(folder: PathLike) -> Fields:
    """What ``save_mapped`` wrote, memory-mapped."""
    try:
        told = json.loads((Path(folder) / _MAPPED).read_text(encoding="utf-8"))
        if told.pop("format") != 1:
            raise ValueError("it was written by a later version")
        names = told.pop("arrays")
        # copied where it is written to: read-only arrays would be another kind to compile kernels for
        return {**told, **{name: np.asarray(np.load(Path(folder) / f"{name}.npy", mmap_mode="c")) for name in names}}
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise ValueError(f"{os.fspath(folder)!r} is no folder of a saved tree ({error}).") from None


def load(path: PathLike) -> Fields:
    """What ``save`` wrote."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            fields = {name: archive[name] for name in ("children", "heights")}
            fields["names"] = json.loads(archive["names"].tobytes())
            if "n_clusters" in archive.files:
                fields["n_clusters"] = int(archive["n_clusters"])
            return {**fields, **{name: archive[name] for name in CARRIED if name in archive.files}}
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{os.fspath(path)!r} is not a saved tree ({error}); write one with Tree.save.") from None
