"""Riemannian Adam, independent of the objective."""

from __future__ import annotations

import numpy as np

from .._kernels.continuous.adam import BETA1, BETA2, REST
from .._runtime.arrays import Floats
from .manifolds import Chart


class RiemannianAdam:
    """Adam on a product of manifolds, one factor a leaf (Bécigneul and Ganea 2019).

    First moments are tangent vectors, carried along with their leaf; second moments are one number a leaf, the running mean
    of the squared Riemannian length of its gradient. A step has the length lr·|m|/√v, whatever the scale of the loss. On the
    circle a leaf has one coordinate and the metric is constant: this is then Adam on angles.
    """

    def __init__(self, manifold: Chart, params: Floats) -> None:
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
