"""Unimodal data in which a rule for the number of clusters should find one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Null = Callable[[np.random.Generator, int], Floats]


def gaussian(ratio: float, d: int) -> Null:
    """Return a Gaussian in d dimensions, randomly rotated, one axis ``ratio`` times as long as the others."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
        axes = np.append(ratio, np.ones(d - 1))
        return np.asarray((rng.standard_normal((n, d)) * axes) @ rotation)

    return draw


def one_factor(d: int) -> Null:
    """Return a table x_ij = a_i + e_ij, as genes of cells of many sizes have."""
    return lambda rng, n: rng.standard_normal((n, 1)) + rng.standard_normal((n, d))


def cube(d: int) -> Null:
    """Return uniform points in a cube."""
    return lambda rng, n: rng.random((n, d))


def student(d: int) -> Null:
    """Return independent columns with Student's t distribution of 5 degrees of freedom."""
    return lambda rng, n: rng.standard_t(5, (n, d))


def exponential(d: int) -> Null:
    """Return independent exponential columns."""
    return lambda rng, n: rng.exponential(size=(n, d))


def arc(radius: float, width: float, angle: float) -> Null:
    """Return points along a part of a circle, with Gaussian noise across it."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        turn, away = rng.uniform(0, angle, n), radius + width * rng.standard_normal(n)
        return np.column_stack([away * np.cos(turn), away * np.sin(turn)])

    return draw


def spiral(turns: float, noise: float) -> Null:
    """Return points along an Archimedean spiral, uniform in arc length, with Gaussian noise."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        turn = 2 * np.pi * turns * np.sqrt(rng.random(n))
        curve = np.column_stack([(0.5 + turn) * np.cos(turn), (0.5 + turn) * np.sin(turn)])
        return np.asarray(curve + noise * rng.standard_normal((n, 2)))

    return draw


def swiss_roll(rng: np.random.Generator, n: int) -> Floats:
    """Return points on a rolled-up sheet in three dimensions."""
    turn = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([turn * np.cos(turn), 21 * rng.random(n), turn * np.sin(turn)])


NULLS: dict[str, Null] = {
    **{
        f"Gaussian, ratio {ratio}, {d} columns": gaussian(ratio, d)
        for d in (2, 5, 10, 20, 50)
        for ratio in (1, 3, 6, 12)
    },
    **{f"one factor, {d} columns": one_factor(d) for d in (5, 20, 100)},
    **{f"cube, {d} columns": cube(d) for d in (2, 5, 10, 30)},
    **{f"Student's t, {d} columns": student(d) for d in (2, 5, 10, 20)},
    **{f"exponential, {d} columns": exponential(d) for d in (1, 2, 5, 10, 20)},
    "ring": arc(5, 0.3, 2 * np.pi),
    "arc": arc(5, 0.2, np.pi),
    "spiral": spiral(2, 0.15),
    "swiss roll": swiss_roll,
}
