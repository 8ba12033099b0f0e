"""The explorer page in a notebook, embedded in an iframe without a server or a file."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path

from .._runtime.atomic_write import atomic_write

HEIGHT = 720  # pixels


@dataclass(frozen=True)
class Page:
    """A page of the explorer, displayed inline by Jupyter, VS Code and Colab; ``save`` writes it to a file.

    The frame is sandboxed: the page runs its own script and saves files, and reaches nothing of the notebook.
    """

    title: str
    content: bytes
    height: int = HEIGHT

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page atomically."""
        with atomic_write(path) as file:
            file.write(self.content)
        return Path(path)

    def _repr_html_(self) -> str:
        text = html.escape(self.content.decode("utf-8"), quote=True)
        return (
            f'<iframe srcdoc="{text}" title="{html.escape(self.title, quote=True)}" '
            f'sandbox="allow-scripts allow-downloads" style="width:100%;height:{self.height}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Page({self.title!r}, {len(self.content) / 1e6:.1f} MB; save(path) writes it)"
