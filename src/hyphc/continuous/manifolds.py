"""Manifolds of leaves: parameters to points of the ball, gradients back to the parameters, and steps along the manifold.

| chart | parameters | points |
|---|---|---|
| ``Circle`` | angles (n,) | one radius in the disk: compiled depths, decoding in O(n log n) |
| ``Sphere`` | unit vectors (n, dim) | one radius in the ball |
| ``Ball`` | points (n, dim) | themselves: every leaf has its own radius |

Each has the operations of Riemannian Adam: ``gradient`` turns a Euclidean gradient into the Riemannian one, ``square`` is the
squared length of a tangent vector, ``move`` the exponential map or a retraction, ``transport`` moves a tangent vector along.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from .._kernels.continuous import objective as kernels
from .._runtime.arrays import Floats, Ints
from ..hyperbolic import geometry
from ..hyperbolic.decode import decode, decode_angles
from ..tree import Tree
from . import objective
from .objective import Map, in_one_kernel

# Free points stay below this norm (ρ = 14.5): there a float64 step of one unit still moves a point by only 1e-10.
MAX_NORM = 1.0 - 1e-6


class Chart(ABC):
    """Parameters of n leaves, an array whose first axis is the leaf."""

    has_radius = True

    @abstractmethod
    def points(self, params: Floats, radius: float) -> Floats:
        """Return the leaves in the ball, (n, dim)."""

    def pull_back(self, params: Floats, radius: float, grad: Floats) -> tuple[Floats, float]:
        """Return ∂/∂params and ∂/∂radius from the gradient at the points, here of points that are parameters themselves."""
        return grad, 0.0

    def block(
        self,
        params: Floats,
        radius: float,
        weights: Floats,
        tau: float,
        sizes: Floats | None,
        penalty: float,
        mapping: Map,
    ) -> tuple[float, Floats, float]:
        """Return the loss of all triplets of these leaves, ∂/∂params and ∂/∂radius."""
        points = self.points(params, radius)
        value, grad = objective.ball_block_objective(
            points, weights, tau, sizes=sizes, spread_penalty=penalty, mapping=mapping
        )
        return value, *self.pull_back(params, radius, grad)

    def blocks(
        self, params: Floats, radius: float, weights: Floats, tau: float, sizes: Floats, penalty: float
    ) -> tuple[float, Floats, float]:
        """Return the summed loss of blocks of one size, params (b, m, …) and weights (b, m, m), with its derivatives."""
        grad, value, by_radius = np.empty_like(params), 0.0, 0.0
        for b in range(len(params)):
            loss, grad[b], slope = self.block(params[b], radius, weights[b], tau, sizes[b], penalty, map)
            value, by_radius = value + loss, by_radius + slope
        return value, grad, by_radius

    def triplets(
        self, params: Floats, radius: float, ijk: Ints, weights: Floats, tau: float, penalties: Floats, mapping: Map
    ) -> tuple[float, Floats, float]:
        """Return the loss of explicit triplets, ∂/∂params and ∂/∂radius."""
        points = self.points(params, radius)
        value, grad = objective.triplet_objective(points, ijk, weights, tau, spread_penalty=penalties)
        return value, *self.pull_back(params, radius, grad)

    def tree(self, params: Floats, radius: float) -> Tree:
        """Return the decoded tree."""
        return decode(self.points(params, radius))

    def angles(self, params: Floats) -> Floats:
        """Return the angle of each leaf in its first two coordinates: an order in which near leaves tend to be near."""
        return np.arctan2(params[:, 1] if params.shape[1] > 1 else 0.0, params[:, 0])

    def gradient(self, params: Floats, grad: Floats) -> Floats:
        return grad

    def square(self, params: Floats, tangent: Floats) -> Floats:
        return np.asarray(np.sum(tangent * tangent, axis=-1, keepdims=True))

    def noise(self, params: Floats, rng: np.random.Generator) -> Floats:
        """Return random tangent vectors, normal with variance 1 in each direction of the metric."""
        return self.gradient(params, rng.normal(size=params.shape))

    def transport(self, params: Floats, target: Floats, tangent: Floats) -> Floats:
        return self.gradient(target, tangent)

    @abstractmethod
    def move(self, params: Floats, step: Floats) -> Floats:
        """Return the end of the step from each leaf."""


class Circle(Chart):
    """Points of one radius in the disk. The circle is flat and angles are its arc length up to a factor, so that the Riemannian
    gradient is the gradient, the exponential map an addition, and Riemannian Adam just Adam on the angles."""

    def points(self, params: Floats, radius: float) -> Floats:
        return np.asarray(np.tanh(0.5 * radius) * np.column_stack([np.cos(params), np.sin(params)]))

    def block(
        self,
        params: Floats,
        radius: float,
        weights: Floats,
        tau: float,
        sizes: Floats | None,
        penalty: float,
        mapping: Map,
    ) -> tuple[float, Floats, float]:
        return objective.circle_block_objective(
            params, radius, weights, tau, sizes=sizes, spread_penalty=penalty, mapping=mapping
        )

    def blocks(
        self, params: Floats, radius: float, weights: Floats, tau: float, sizes: Floats, penalty: float
    ) -> tuple[float, Floats, float]:
        if not in_one_kernel(radius, tau, penalty):
            return super().blocks(params, radius, weights, tau, sizes, penalty)
        grad = np.empty_like(params)
        value, by_radius = kernels.circle_blocks(params, radius, weights, sizes, tau, grad)
        return value, grad, by_radius

    def triplets(
        self, params: Floats, radius: float, ijk: Ints, weights: Floats, tau: float, penalties: Floats, mapping: Map
    ) -> tuple[float, Floats, float]:
        return objective.circle_triplet_objective(
            params, radius, ijk, weights, tau, spread_penalty=penalties, mapping=mapping
        )

    def tree(self, params: Floats, radius: float) -> Tree:
        return decode_angles(params)

    def angles(self, params: Floats) -> Floats:
        return params

    def square(self, params: Floats, tangent: Floats) -> Floats:
        return tangent * tangent

    def move(self, params: Floats, step: Floats) -> Floats:
        return params + step


class Ball(Chart):
    """Free points; metric 4|dz|²/(1 − |z|²)²."""

    has_radius = False

    def points(self, params: Floats, radius: float) -> Floats:
        return params

    def gradient(self, params: Floats, grad: Floats) -> Floats:
        return grad / _conformal(params) ** 2

    def square(self, params: Floats, tangent: Floats) -> Floats:
        return _conformal(params) ** 2 * super().square(params, tangent)

    def noise(self, params: Floats, rng: np.random.Generator) -> Floats:
        return rng.normal(size=params.shape) / _conformal(params)

    def transport(self, params: Floats, target: Floats, tangent: Floats) -> Floats:
        # keeps the hyperbolic length; the rotation by gyration, of second order in the step, is left out
        return tangent * _conformal(params) / _conformal(target)

    def move(self, params: Floats, step: Floats) -> Floats:
        length = np.linalg.norm(step, axis=1, keepdims=True)
        reach = np.tanh(0.5 * _conformal(params) * length)
        moved = geometry.mobius_add(params, step * (MAX_NORM * reach / np.where(length > 0.0, length, 1.0)))
        norm = np.linalg.norm(moved, axis=1, keepdims=True)
        return np.asarray(moved * np.minimum(1.0, MAX_NORM / np.where(norm > 0.0, norm, 1.0)))


class Sphere(Chart):
    """Unit vectors u standing for the points tanh(ρ/2)·u; steps go along the tangent and back to length 1."""

    def points(self, params: Floats, radius: float) -> Floats:
        return np.asarray(np.tanh(0.5 * radius) * params)

    def pull_back(self, params: Floats, radius: float, grad: Floats) -> tuple[Floats, float]:
        by_norm = float(np.sum(grad * params))
        return self.gradient(params, grad) * np.tanh(0.5 * radius), by_norm * 0.5 / np.cosh(0.5 * radius) ** 2

    def gradient(self, params: Floats, grad: Floats) -> Floats:
        return np.asarray(grad - np.sum(grad * params, axis=1, keepdims=True) * params)

    def move(self, params: Floats, step: Floats) -> Floats:
        moved = params + step
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))


def _conformal(points: Floats) -> Floats:
    """Return λ = 2/(1 − |z|²), (n, 1)."""
    return np.asarray(2.0 / (1.0 - np.sum(points * points, axis=1, keepdims=True)))
