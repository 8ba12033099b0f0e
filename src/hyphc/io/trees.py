"""Readers and writers of trees (NPZ, Newick, JSON, linkage NPY), and matching of their leaves to the data."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from zipfile import is_zipfile

import numpy as np

from .._runtime.arrays import Floats
from .._runtime.atomic_write import atomic_write
from .._runtime.numpy_files import damage_as_value_error
from ..tree import Tree
from ..tree.multifurcating import MultiTree
from .columns import ColumnsError
from .sources import InputFile, PathLike, encoding_error, open_source

T = TypeVar("T")
TREE_SUFFIXES = (".npz", ".nwk", ".newick", ".json", ".npy")
TREE_FILE = "tree.npz"  # in the folder of a fit
_NPZ, _NPY = b"PK\x03\x04", b"\x93NUMPY"


def read_tree(path: PathLike) -> Tree:
    """Read a tree from NPZ, Newick, JSON or a linkage matrix in NPY, detected by content; ``-`` is standard input.

    A folder is one with the ``tree.npz`` that ``hyphc fit`` writes, or of a tree that was saved with ``mapped=True``. Leaves of
    Newick text with names are numbered as they appear there: ``match_leaves`` brings them into the order of the data.
    """
    return _read(path, _parse_newick)


def read_multifurcating(path: PathLike) -> Tree | MultiTree:
    """Read a tree as ``read_tree`` does, but keep nodes of several children in Newick text."""
    return _read(path, MultiTree.from_newick)


def _read(path: PathLike, parse: Callable[[str], T]) -> Tree | T:
    """Read a tree; Newick text is converted by ``parse``."""
    if Path(path).is_dir():
        return _read_folder(Path(path))
    source = open_source(os.fspath(path))
    head = source.head().removeprefix(codecs.BOM_UTF8).lstrip()
    try:
        if head.startswith(_NPZ):
            return _load_npz(source)
        if head.startswith(_NPY):
            return Tree.from_linkage(_load_linkage(source))
        if head[:1] == b"{":
            return Tree.from_json(_text(source))
        if head[:1] in (b"(", b"["):
            return parse(_text(source))
    except ValueError as error:
        raise ValueError(f"{source.label} is not a tree: {error}") from None
    raise ValueError(f"{source.label} is not a tree; expected NPZ, Newick, JSON, or a linkage matrix in NPY.")


def _read_folder(folder: Path) -> Tree:
    file = folder / TREE_FILE
    if file.is_file():
        return Tree.load(file)
    if (folder / "children.npy").is_file():
        return Tree.load(folder)
    raise ValueError(
        f"{folder} is a folder without {TREE_FILE}; give a folder that hyphc fit wrote, or the file of a tree."
    )


def _parse_newick(text: str) -> Tree:
    """Return the tree without names if its leaves are called 1 … n, as ``write_tree`` calls rows without names."""
    tree = Tree.from_newick(text)
    return tree.with_names(None) if tree.names == row_numbers(tree.n_leaves) else tree


def _load_linkage(source: InputFile) -> Floats:
    with source.open() as file, damage_as_value_error():
        array = np.load(file, allow_pickle=False)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"a linkage matrix holds numbers, and this array {array.dtype}.")
    return np.asarray(array, dtype=np.float64)


def _load_npz(source: InputFile) -> Tree:
    if source.plain_path is None:
        raise ValueError("an NPZ archive cannot be compressed or come from standard input; give the name of its file.")
    if not is_zipfile(source.plain_path):  # numpy would leave the file open
        raise ValueError("the archive is damaged; write it again.")
    return Tree.load(source.plain_path)


def row_numbers(n: int) -> tuple[str, ...]:
    """Return the names in files of rows without names: their numbers from 1."""
    return tuple(str(row) for row in range(1, n + 1))


def _text(source: InputFile) -> str:
    with source.open() as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise encoding_error(source) from None


def write_tree(tree: Tree, path: PathLike) -> None:
    """Write a tree in the format of the extension: .npz, .nwk or .newick, .json, .npy (linkage, without names); atomically.

    Newick calls leaves without names by their rows, counted from 1 as in every file that the command line writes.
    """
    suffix = Path(path).suffix.lower()
    require_tree_suffix(path)
    if suffix == ".npz":
        tree.save(path)
        return
    with atomic_write(path) as file:
        if suffix == ".npy":
            np.save(file, tree.to_linkage())
        elif suffix == ".json":
            file.write(tree.to_json().encode() + b"\n")
        else:
            file.write(tree.to_newick(tree.names or row_numbers(tree.n_leaves)).encode() + b"\n")


def require_tree_suffix(path: PathLike) -> None:
    """Raise unless the extension is that of a tree."""
    suffix = Path(path).suffix.lower()
    if suffix not in TREE_SUFFIXES:
        ends = f"{os.fspath(path)} ends in {suffix or 'no extension'}"
        raise ValueError(f"{ends}; end it in one of {', '.join(TREE_SUFFIXES)}.")


def match_leaves(tree: Tree, names: Sequence[str] | None, *, source: str, by_order: bool) -> tuple[Tree, str]:
    """Return the tree with its leaves in the order of the data, and how they were matched: "by name" or "by order".

    Parameters
    ----------
    tree : Tree
    names : sequence of str, or None
        Names of the rows of the data, made unique by ``unique_names``.
    source : str
        The tree's name in messages.
    by_order : bool
        Whether the order of named leaves is that of the rows when the data has no names; for Newick it is not.
    """
    if tree.names is None or (names is None and by_order):
        return tree, "by order"
    rows = find_rows(source, tree.names, names)
    if len(set(tree.names)) != tree.n_leaves or tree.n_leaves != len(names or ()):
        leaves = f"{tree.n_leaves} leaves with {len(set(tree.names))} different names"
        raise ValueError(f"{source} has {leaves} and the data {len(names or ())} rows; each row needs one leaf.")
    return tree.with_leaves_numbered(rows, names), "by name"


def find_rows(source: str, leaves: Sequence[str], names: Sequence[str] | None) -> list[int]:
    """Return the row of each leaf, by its name; ``source`` is what messages call the tree."""
    if names is None:
        what = "calls its leaves by names and the data has none; choose the column that has them as names"
        raise ColumnsError(f"{source} {what}.", "names")
    row = {name: i for i, name in enumerate(names)}
    unknown = next((leaf for leaf in leaves if leaf not in row), None)
    if unknown is not None:
        what = f"has a leaf {unknown!r} that the data does not name; choose another column as names"
        raise ColumnsError(f"{source} {what}.", "names")
    return [row[leaf] for leaf in leaves]


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return unique leaf names: a duplicate name gets a number, an empty one its row number.

    Examples
    --------
    >>> unique_names(["frog", "toad", "frog", ""])
    ('frog', 'toad', 'frog (2)', 'row 4')
    """
    taken, counts, result = set(names), dict[str, int](), []
    for row, name in enumerate(names, start=1):
        called = name or f"row {row}"
        counts[called] = counts.get(called, 0) + 1
        while counts[called] > 1 and (numbered := f"{called} ({counts[called]})") in taken:
            counts[called] += 1
        if counts[called] > 1:
            called = numbered
            taken.add(called)
        result.append(called)
    return tuple(result)
