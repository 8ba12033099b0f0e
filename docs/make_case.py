"""Runs case_pbmc.md, checks what it prints and draws its pictures: ``python docs/make_case.py``; needs scanpy and selenium."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from photograph import photograph

HERE = Path(__file__).resolve().parent
PAGE, IMAGES = HERE / "case_pbmc.md", HERE / "images"
SELECTED = 5  # of the cut into six, the cluster that is selected in the picture of the explorer


def draw(picture: str, names: dict[str, Any]) -> None:
    """Save what the last block left in ``ax``, or the page that it wrote."""
    path = IMAGES / Path(picture).name
    if path.name == "case_explorer.png":
        tree = names["tree"]
        photograph(Path("cells.html").resolve(), path, f"explorer.select({tree.clusters(6)[SELECTED]})")
    else:
        names["ax"].figure.savefig(path, dpi=110)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE / "_ext"))
    complaints = list(import_module("snippets").broken_promises(PAGE.read_text(encoding="utf-8"), str(PAGE), draw))
    print(*complaints, sep="\n\n")
    sys.exit(len(complaints))
