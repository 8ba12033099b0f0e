"""Animation of embeddings and decoded trees during a run."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib.pyplot as plt
import numpy.typing as npt
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes

from .._runtime.arrays import Floats
from .._runtime.atomic_write import atomic_write
from .._runtime.progress import Progress
from ..continuous.solver import embed
from ..hyperbolic.decode import decode
from ..similarity import SimilarityLike
from .common import apply_layout, axes_or_new, groups_of
from .disk import Artists
from .figure_style import font

# Points move most at first: frames are taken at iterations that grow like a power of the frame's number.
EARLY = 1.5


class Recorder:
    """Callback of ``embed`` and ``HypHC`` that records what ``animate`` needs: the leaves at about ``n_frames`` iterations.

    Parameters
    ----------
    n_frames : int
        Frames are denser at the beginning of a run, where points move most. A restart (``n_init``) replaces the recording.

    Attributes
    ----------
    frames : list of Progress

    Examples
    --------
    >>> from hyphc import embed
    >>> recorder = Recorder(n_frames=5)
    >>> result = embed([[0, 9, 1], [9, 0, 1], [1, 1, 0]], max_iter=50, callback=recorder, random_state=0)
    >>> [frame.iteration for frame in recorder.frames]
    [0, 6, 17, 31, 49]
    """

    def __init__(self, n_frames: int = 60) -> None:
        if n_frames < 1:
            raise ValueError(f"n_frames={n_frames} records nothing; choose n_frames >= 1.")
        self.n_frames = n_frames
        self.frames: list[Progress] = []

    def __call__(self, progress: Progress) -> None:
        """Record a frame of the continuous stage; progress of the search, which has no leaves, is ignored."""
        if progress.iteration is None or progress.max_iter is None:
            return
        if progress.iteration == 0:
            self.frames.clear()
        if progress.iteration >= self._due(progress.max_iter - 1):
            self.frames.append(progress)

    def _due(self, last: int) -> int:
        """Return the iteration of the next frame; the last one of the run is always recorded."""
        share = len(self.frames) / max(1, self.n_frames - 1)
        return min(last, int(last * share**EARLY))


def animate(
    run: Recorder | SimilarityLike,
    path: str | os.PathLike[str] | None = None,
    *,
    labels: npt.ArrayLike | None = None,
    fps: int = 12,
    dpi: int = 80,
    ax: Axes | None = None,
    **options: Any,
) -> FuncAnimation:
    """Animate leaves in the Poincaré disk and the tree decoded from them while the continuous cost is minimised.

    Parameters
    ----------
    run : Recorder, or Similarity, dense matrix or sparse matrix
        A recorder that was the ``callback`` of a run in two dimensions; or a similarity, which is embedded here and now.
    path : path, optional
        Save as a GIF, through Pillow. Without it, keep the result and call its ``save`` (an MP4 needs ffmpeg) or
        ``to_jshtml``.
    labels : array (n,), optional
        Colours, as in ``disk``. Default: clusters of the last frame's tree.
    fps, dpi : int
        Frames a second; dots an inch of the GIF.
    ax : Axes, optional
    **options
        For ``embed``, when ``run`` is a similarity: ``random_state``, ``max_iter``, ``radius``, …

    Returns
    -------
    matplotlib.animation.FuncAnimation
        Its figure is closed in pyplot when a path is given and no axes are.
    """
    frames = _frames(run, options)
    last = decode(_leaves(frames[-1]))
    groups = groups_of(last, last, labels)
    own_figure = ax is None
    ax = axes_or_new(ax, (5.0, 4.4))
    artists, caption = Artists(ax, groups), ax.set_title("\n", fontsize=font(9.0))

    def show(frame: Progress) -> list[Any]:
        leaves = _leaves(frame)
        artists.update(decode(leaves), leaves)
        caption.set_text(f"iteration {(frame.iteration or 0) + 1}\ncost of the tree {frame.decoded_cost:.3e}")
        return []

    figure: Any = ax.figure
    show(frames[-1])
    apply_layout(ax)
    if own_figure:
        figure.set_layout_engine("none")  # laying out every frame again would take most of the time
    animation = FuncAnimation(figure.figure, show, frames=frames, interval=1000 / fps, cache_frame_data=False)
    if path is not None:
        with TemporaryDirectory() as folder, atomic_write(path) as file:
            written = Path(folder) / "animation.gif"
            animation.save(written, writer=PillowWriter(fps=fps), dpi=dpi)
            file.write(written.read_bytes())
        if own_figure:
            plt.close(figure.figure)
    return animation


def _frames(run: Any, options: dict[str, Any]) -> list[Progress]:
    recorder = run if isinstance(run, Recorder) else Recorder()
    frames = recorder.frames
    if recorder is not run:
        result = embed(run, callback=recorder, **options)
        if not frames:  # a run without iterations, as for two points
            still: Any = {"decoded_cost": result.cost, "embedding": result.embedding}
            frames = [Progress("embedding", result.cost, 0.0, lambda: result.tree, **still)]
    elif options:
        raise ValueError(f"{sorted(options)} are options of embed; pass a similarity to run it here.")
    if not frames:
        raise ValueError("The recorder is empty; pass it as the callback of embed or HypHC, with max_iter >= 1.")
    n_components = _leaves(frames[0]).shape[1]
    if n_components != 2:
        raise ValueError(f"The leaves have {n_components} coordinates; animate needs n_components=2.")
    return frames


def _leaves(frame: Progress) -> Floats:
    assert frame.embedding is not None  # frames are of the continuous stage
    return frame.embedding
