"""Storage of trees, with all that they carry, as JSON, npz archives and folders of arrays, without pickle."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._runtime.atomic_write import atomic_write
from .._runtime.numpy_files import damage_as_value_error, first_sentence, require_plausible
from .._runtime.storage import Storage, as_storage_folder

if TYPE_CHECKING:
    from .core import Tree

PathLike = str | os.PathLike[str]
Fields = dict[str, Any]  # arguments of Tree

_MAPPED = "tree.json"
# errors that text in another format may cause; brackets a thousand deep exceed Python's recursion
_NOT_OURS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
# left out where a tree has none: older files are read alike
_OF_LEAVES = ("degrees", "leaf_sizes", "leaf_weights")
_OF_MERGES = ("split_weights", "split_squares", "support", "forced_splits", "found_splits")
CARRIED = (*_OF_MERGES, *_OF_LEAVES)
_NUMBERS = ("n_clusters", "cost")


def carried_fields(tree: Tree) -> Fields:
    """Split weights, degrees, leaf sizes and the like, as far as the tree has them."""
    return {name: kept for name in (*CARRIED, *_NUMBERS) if (kept := getattr(tree, f"_{name}")) is not None}


def fields_of(tree: Tree) -> Fields:
    """Return the arguments of ``Tree`` for the same tree, with all that it carries."""
    return {"children": tree._children, "heights": tree._heights, "names": tree.names, **carried_fields(tree)}


def to_json(tree: Tree) -> str:
    """Return the text of ``Tree.to_json``."""
    fields = {
        "n_leaves": tree.n_leaves,
        "children": tree.children.tolist(),
        "heights": tree.heights.tolist(),
        "names": tree.names,
        **{name: _plain(kept) for name, kept in carried_fields(tree).items()},
    }
    return json.dumps(fields)


def _plain(values: npt.NDArray[Any] | float) -> list[float | None] | float:
    """Return numbers for JSON, None for NaN."""
    if not isinstance(values, np.ndarray):
        return values
    return [None if number != number else number for number in values.tolist()]


def from_json(text: str) -> Fields:
    """Return the arguments of ``Tree`` from the text that ``to_json`` wrote."""
    try:
        read = json.loads(text)
        carried = {name: read.get(name) for name in CARRIED}
        return {
            "children": _floats(read["children"]).reshape(-1, 2),
            "heights": _floats(read["heights"]),
            "names": _texts(read.get("names")),
            **{name: None if values is None else _floats(values) for name, values in carried.items()},
            **_numbers(read),
        }
    except _NOT_OURS as error:
        raise ValueError(
            f"Not a tree in JSON ({first_sentence(error)}); expected the text that Tree.to_json writes."
        ) from None


def _floats(values: Any) -> npt.NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def _texts(names: Any) -> list[str] | None:
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise TypeError("its names are no list of texts")
    return names


def _numbers(read: Mapping[str, Any]) -> Fields:
    """Return the single numbers, None for those that are missing."""
    number, cost = (read.get(name) for name in _NUMBERS)
    return {
        "n_clusters": None if number is None else operator.index(number),
        "cost": None if cost is None else float(cost),
    }


def save(tree: Tree, path: PathLike) -> None:
    """Write the archive; a file already there is replaced in one step."""
    names = np.frombuffer(json.dumps(tree.names).encode(), dtype=np.uint8)
    with atomic_write(path) as file:
        arrays = {"children": tree.children, "heights": tree.heights, "names": names, **carried_fields(tree)}
        np.savez_compressed(file, **arrays)


def arrays_of(tree: Tree) -> dict[str, npt.NDArray[Any]]:
    """Return the merges and heights of a tree of an unfinished fit."""
    return {"children": tree.children, "heights": tree.heights}


def tree_from(arrays: Mapping[str, npt.NDArray[Any]], names: tuple[str, ...] | None = None) -> Tree:
    """Return the tree of ``arrays_of``."""
    from .core import Tree

    return Tree(arrays["children"], arrays["heights"], names)


def save_mapped(folder: Storage, fields: Fields) -> None:
    """Write arrays, in order of height, to a folder, ``tree.json`` last: ``load`` opens them without reading them."""
    target = as_storage_folder(folder)
    target.prepare()
    arrays = {name: values for name, values in fields.items() if isinstance(values, np.ndarray)}
    for name, values in arrays.items():
        with target.replaced(f"{name}.npy") as file:
            np.save(file, values, allow_pickle=False)
    others = {name: values for name, values in fields.items() if name not in arrays}
    with target.replaced(_MAPPED) as file:
        file.write(json.dumps({"format": 1, "arrays": sorted(arrays), **others}).encode())


def load_mapped(folder: Storage) -> Fields:
    """Return what ``save_mapped`` wrote, memory-mapped."""
    place = as_storage_folder(folder)
    try:
        with damage_as_value_error():
            header = json.loads(place.read(_MAPPED))
            if header["format"] != 1:
                raise ValueError("it was written by a later version")
            if not {"children", "heights"} <= set(header["arrays"]) <= {"children", "heights", *CARRIED}:
                raise ValueError(f"its arrays are {header['arrays']}")
            arrays = {name: _mapped(place.file(f"{name}.npy")) for name in header["arrays"]}
            _require_lengths(arrays)
            return {**arrays, "names": _texts(header.get("names")), **_numbers(header)}
    except ValueError as error:
        raise ValueError(f"{str(place)!r} is no folder of a saved tree ({error}).") from None


def _mapped(path: Path) -> npt.NDArray[Any]:
    # copied where it is written to: read-only arrays would be another kind to compile kernels for
    return np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))


def _require_lengths(arrays: Fields) -> None:
    """Raise an error unless the types and shapes of the arrays, which are not read, are those of a tree."""
    merges = len(arrays["children"])
    for name, array in arrays.items():
        kind = np.int64 if name in ("children", "forced_splits", "found_splits") else np.float64
        length = merges + (name in _OF_LEAVES)
        if array.dtype != kind or array.shape != ((length, 2) if name == "children" else (length,)):
            raise ValueError(f"{name} are {array.dtype} of shape {array.shape}")


def load(path: PathLike) -> Fields:
    """Return the arguments of ``Tree`` from the file that ``save`` wrote."""
    try:
        # opened here: NumPy would leave a damaged file open
        with Path(path).open("rb") as file, damage_as_value_error(), np.load(file, allow_pickle=False) as archive:
            require_plausible(archive, Path(path).stat().st_size)
            fields: Fields = {name: archive[name] for name in ("children", "heights")}
            fields["names"] = _texts(json.loads(archive["names"].tobytes()))
            fields |= _numbers({name: archive[name].item() for name in _NUMBERS if name in archive.files})
            return {**fields, **{name: archive[name] for name in CARRIED if name in archive.files}}
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)!r} is not a saved tree ({error}); write one with Tree.save.") from None
