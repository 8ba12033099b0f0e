"""Groups of many shapes and sizes in two and more columns, well apart, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Group = Callable[[np.random.Generator], Floats]
Shape = Callable[[np.random.Generator], tuple[Floats, npt.NDArray[np.int64]]]


def blob(n: int, centre: Sequence[float], width: float = 1.0) -> Group:
    """Return a round Gaussian group."""
    return lambda rng: np.asarray(centre) + width * rng.standard_normal((n, len(centre)))


def arc(
    n: int, centre: Sequence[float], radius: float, width: float, begin: float = 0.0, end: float = 2 * np.pi
) -> Group:
    """Return points along a part of a circle, by default all of it, with Gaussian noise across it."""

    def draw(rng: np.random.Generator) -> Floats:
        turn, away = rng.uniform(begin, end, n), radius + width * rng.standard_normal(n)
        return np.asarray(centre) + np.column_stack([away * np.cos(turn), away * np.sin(turn)])

    return draw


def rectangle(n: int, left: float, bottom: float, width: float, height: float) -> Group:
    """Return uniform points in a rectangle."""
    return lambda rng: np.column_stack([left + width * rng.random(n), bottom + height * rng.random(n)])


def frame(n: int, side: float, thickness: float) -> Group:
    """Return uniform points in a square frame around the origin."""

    def draw(rng: np.random.Generator) -> Floats:
        along, across = rng.uniform(-side / 2, side / 2, n), side / 2 + rng.uniform(0, thickness, n)
        edge = rng.integers(4, size=n)
        turned = np.where(edge % 2 == 0, along, across), np.where(edge % 2 == 0, across, along)
        return np.column_stack(turned) * np.where(edge < 2, 1.0, -1.0)[:, None]

    return draw


def spiral_arm(n: int, begin: float, noise: float, is_even: bool) -> Group:
    """Return one and a half turns of a spiral, with points at even or at random places along it."""

    def draw(rng: np.random.Generator) -> Floats:
        places = (np.arange(n) + 0.5) / n if is_even else np.sort(rng.random(n))
        radius = np.sqrt(1 + 80 * places)  # even in arc length, nearly
        turn = begin + 3 * np.pi * (radius - 1) / 8
        return radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)]) + noise * rng.standard_normal((n, 2))

    return draw


def of(*groups: Group) -> Shape:
    """Return a set of groups, in random order, with the group of each point."""

    def draw(rng: np.random.Generator) -> tuple[Floats, npt.NDArray[np.int64]]:
        parts = [group(rng) for group in groups]
        order = rng.permutation(sum(map(len, parts)))
        return np.concatenate(parts)[order], np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]

    return draw


def _far_blobs(d: int, n_apart: int) -> Shape:
    """Return groups of d columns whose centres differ in the first columns."""
    centres = np.zeros((7, d))
    centres[:, :n_apart] = 20 * np.random.default_rng(7).permuted(np.tile(np.arange(7)[:, None], n_apart), axis=0)
    return of(*(blob(n, centre) for n, centre in zip((10, 30, 100, 300, 1_000, 2_000, 5_000), centres, strict=True)))


def _spirals(is_even: bool) -> Shape:
    return of(*(spiral_arm(100, 2 * np.pi * i / 3, 0.1, is_even) for i in range(3)))


SHAPES: dict[str, Shape] = {
    "unbalanced": of(
        *(blob(2_000, centre) for centre in ((0, 0), (30, 0), (15, 26))),
        *(blob(100, centre) for centre in ((100, 0), (112, 10), (124, 20), (136, 0), (148, 10))),
    ),
    "face": of(
        arc(800, (0, 0), 10, 0.25),
        blob(150, (-4, 4), 0.5),
        blob(150, (4, 4), 0.5),
        blob(80, (0, 0), 0.4),
        arc(250, (0, 0), 5.5, 0.2, 1.2 * np.pi, 1.8 * np.pi),
    ),
    "windows": of(
        frame(1_200, 14, 0.8),
        *(rectangle(n, x, y, 4, 4) for n, x, y in ((400, -5, -5), (300, 1, -5), (200, -5, 1), (100, 1, 1))),
    ),
    "three rings": of(*(arc(n, (0, 0), r, 0.12) for n, r in ((150, 1.5), (300, 3.0), (450, 4.5)))),
    "four rings": of(*(arc(n, (0, 0), r, 0.15) for n, r in ((150, 2.0), (300, 4.0), (450, 6.0), (600, 8.0)))),
    "ring, ball, outlying groups": of(
        arc(500, (0, 0), 5, 0.3),
        blob(300, (0, 0), 0.8),
        *(blob(40, centre, 0.4) for centre in ((12, 12), (-12, 12), (0, -14))),
    ),
    "two rings around a ball": of(arc(400, (0, 0), 4, 0.2), arc(800, (0, 0), 8, 0.2), blob(200, (0, 0), 0.6)),
    "three spirals, even": _spirals(is_even=True),
    "three spirals, random": _spirals(is_even=False),
    "two interleaved arcs": of(arc(250, (0, 0), 1, 0.07, 0, np.pi), arc(250, (1, 0.4), 1, 0.07, np.pi, 2 * np.pi)),
    "four interleaved arcs": of(
        *(arc(200, (1.25 * i, 0.4 * (i % 2)), 1, 0.06, np.pi * (i % 2), np.pi * (1 + i % 2)) for i in range(4))
    ),
    "two stripes": of(rectangle(400, 0, 0, 10, 0.6), rectangle(400, 0, 1.4, 10, 0.6)),
    "five stripes": of(*(rectangle(300, 0.5 * i, 1.5 * i, 12, 0.7) for i in range(5))),
    "far blobs of 10 to 5 000, 2 columns": _far_blobs(2, 2),
    "far blobs of 10 to 5 000, 10 columns": _far_blobs(10, 10),
    "far blobs of 10 to 5 000, apart in 2 of 10 columns": _far_blobs(10, 2),
}
