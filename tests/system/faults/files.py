"""The folder of ``hyphc fit``, before and after a fault: old files are intact or replaced by complete new ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hyphc import Tree

OLD = b"old"
TREE_FILES = ("tree.npz", "tree.nwk", "tree.json", "linkage.npy")
ALL_FILES = (
    *TREE_FILES,
    "clusters.csv",
    "model.npz",
    "tree.d3.json",
    "itol_clusters.txt",
    "differences.csv",
    "tree.png",
    "disk.png",
    "clustermap.png",
    "explorer.html",
    "report.md",
)
SHAPE = 400, 4


def write_data(home: Path, seed: int) -> Path:
    """Write a table to fit; return its path."""
    path = home / "data.npy"
    np.save(path, np.random.default_rng(seed).normal(size=SHAPE).round(3))
    return path


def write_old(folder: Path) -> None:
    """Write files that stand for those of an earlier fit."""
    folder.mkdir(exist_ok=True)
    for name in ALL_FILES:
        (folder / name).write_bytes(OLD)


def is_old(folder: Path, name: str) -> bool:
    return (folder / name).read_bytes() == OLD


def find_complaints(folder: Path, *, new: bool) -> list[str]:
    """Return what is wrong with a folder in which all tree files must be new, or all files old."""
    found = [f"left behind {path.name}" for path in folder.iterdir() if path.name not in ALL_FILES]
    missing = [f"{name} is gone" for name in ALL_FILES if not (folder / name).exists()]
    if missing:
        return found + missing
    if not new:
        return found + [f"{name} was replaced" for name in ALL_FILES if not is_old(folder, name)]
    found += [f"{name} was not written" for name in (*TREE_FILES, "clusters.csv") if is_old(folder, name)]
    return found or _find_incomplete(folder) or _find_foreign(folder)


def _find_incomplete(folder: Path) -> list[str]:
    """Return new files that are incomplete."""
    ends: dict[str, Callable[[bytes], bool]] = {
        "tree.nwk": lambda text: text.rstrip().endswith(b";"),
        "clusters.csv": lambda text: text.count(b"\n") == SHAPE[0] + 1,
        "tree.png": lambda text: b"IEND" in text[-16:],
        "explorer.html": lambda text: text.rstrip().endswith(b"</html>"),
        "report.md": lambda text: text.startswith(b"# A tree of"),
    }
    new = [name for name in ends if not is_old(folder, name)]
    return [f"{name} is incomplete" for name in new if not ends[name]((folder / name).read_bytes())]


def _find_foreign(folder: Path) -> list[str]:
    """Return tree files of another fit."""
    tree = Tree.load(folder / "tree.npz")
    others = {
        "linkage.npy": Tree.from_linkage(np.load(folder / "linkage.npy")),
        "tree.json": Tree.from_json((folder / "tree.json").read_text()),
    }
    json.loads((folder / "tree.json").read_text())
    return [f"{name} is of another fit" for name, other in others.items() if other != tree]
