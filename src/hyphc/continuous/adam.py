"""Riemannian Adam and the optimisation loop, independent of the objective."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from .._kernels.continuous.adam import BETA1, BETA2, REST
from .._runtime.arrays import Floats
from .._runtime.checkpointing import Snapshot


class Manifold(Protocol):
    """The operations of a manifold that Riemannian Adam needs; see ``manifolds`` for the three at hand."""

    def gradient(self, params: Floats, grad: Floats) -> Floats: ...
    def square(self, params: Floats, tangent: Floats) -> Floats: ...
    def transport(self, params: Floats, target: Floats, tangent: Floats) -> Floats: ...
    def move(self, params: Floats, step: Floats) -> Floats: ...


class RiemannianAdam:
    """Adam on a product of manifolds, one factor a leaf (Bécigneul and Ganea 2019).

    First moments are tangent vectors, carried along with their leaf; second moments are one number a leaf, the running mean
    of the squared Riemannian length of its gradient. A step has the length lr·|m|/√v, whatever the scale of the loss. On the
    circle a leaf has one coordinate and the metric is constant: this is then Adam on angles, to the letter.
    """

    def __init__(self, manifold: Manifold, params: Floats) -> None:
        self._manifold = manifold
        self._first = np.zeros_like(params)
        self._second = np.zeros_like(manifold.square(params, params))
        self._n_steps = 0

    def step(self, params: Floats, grad: Floats, learning_rate: float) -> Floats:
        """Return the parameters after a step against the Euclidean gradient ``grad``."""
        self._n_steps += 1
        tangent = self._manifold.gradient(params, grad)
        self._first = BETA1 * self._first + (1 - BETA1) * tangent
        self._second = BETA2 * self._second + (1 - BETA2) * self._manifold.square(params, tangent)
        second = self._second / (1 - BETA2**self._n_steps)
        floor = REST * float(second.max(initial=0.0)) + np.finfo(np.float64).tiny
        direction = self._first / (1 - BETA1**self._n_steps) / np.sqrt(np.maximum(second, floor))
        target = self._manifold.move(params, -learning_rate * direction)
        self._first = self._manifold.transport(params, target, self._first)
        return target

    def moments(self) -> dict[str, Floats | int]:
        """Return the moments, for a checkpoint."""
        return {"first": self._first, "second": self._second, "n_steps": self._n_steps}

    def restore(self, found: Snapshot) -> None:
        """Restore the saved moments."""
        self._first, self._second, self._n_steps = found["first"], found["second"], int(found["n_steps"])


def minimize(update: Callable[[int], None], n_iter: int, after: Callable[[int], bool], first: int = 0) -> None:
    """Call ``update(t)`` and ``after(t)`` for t = first … n_iter − 1, until ``after`` returns True."""
    for t in range(first, n_iter):
        update(t)
        if after(t):
            return
