"""Runs the code of gallery.md and saves what each part draws: ``python docs/make_gallery.py [FOLDER]``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.animation import PillowWriter

PAGE = Path(__file__).parent / "gallery.md"
# A block of code, or the picture that shows what the last block left in ``ax`` or ``animation``.
PART = re.compile(r"```python\n(?P<code>.*?)```|!\[[^]]*\]\((?P<picture>[^)]+)\)", re.DOTALL)


def draw_gallery(folder: Path) -> list[Path]:
    """Run the page from top to bottom; the pictures, saved in ``folder`` under the page's names."""
    names: dict[str, Any] = {}
    saved = []
    for part in PART.finditer(PAGE.read_text(encoding="utf-8")):
        if part["code"]:
            exec(compile(part["code"], str(PAGE), "exec"), names)
            continue
        path = folder / Path(part["picture"]).name
        if path.suffix == ".gif":
            names["animation"].save(path, writer=PillowWriter(fps=8), dpi=64)
        else:
            names["ax"].figure.savefig(path, dpi=160)
        plt.close("all")
        saved.append(path)
    return saved


if __name__ == "__main__":
    for picture in draw_gallery(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE.parent / "images"):
        print(f"{picture.stat().st_size / 1000:6.0f} kB  {picture.name}")
