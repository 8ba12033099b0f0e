"""The continuous cost of HypHC in PyTorch: explicit triplets, and all triplets of blocks.

    mean over triplets of  w_ij + w_ik + w_jk − ⟨(w_ij, w_ik, w_jk), softmax(d_ij/τ, d_ik/τ, d_jk/τ)⟩

with d the depths of lowest common ancestors. `hyphc.continuous.objective` is the NumPy reference, and has the sum instead of
the mean.
"""

from __future__ import annotations

from math import comb
from typing import Any

import torch
from torch import Tensor, nn

from .blocks import block_terms
from .geometry import in_working_dtype, lca_depth_of_checked, require_in_ball


class HypHCLoss(nn.Module):
    """The clustering loss, on triplets or on blocks.

    Parameters
    ----------
    temperature : float
        τ > 0 of the softmax over depths. As τ → 0 the loss becomes Dasgupta's cost of the decoded tree, and its
        gradients vanish; 0.5 with radii up to 10 and 0.05 with radii up to 6 train well.

    Notes
    -----
    Points of norm 1 or more are not clamped: on the CPU they raise a ValueError with the index and the norm of the first; on
    other devices, and under ``torch.compile``, the loss is NaN if one of them takes part.

    Examples
    --------
    >>> z = torch.tensor([[0.5, 0.0], [0.5, 0.1], [-0.5, 0.0]], requires_grad=True)
    >>> loss = HypHCLoss(temperature=0.1)
    >>> value = loss(z, torch.tensor([[0, 1, 2]]), torch.tensor([[0.9, 0.1, 0.1]]))
    >>> round(value.item(), 3)  # 0 and 1 are together, as they should be: only 0.1 + 0.1 is paid
    0.2
    >>> torch.allclose(value, loss.block(z, torch.tensor([[0, 0.9, 0.1], [0.9, 0, 0.1], [0.1, 0.1, 0]])))
    True
    """

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = require_positive_temperature(temperature)

    def forward(self, z: Tensor, triplets: Tensor, similarities: Tensor) -> Tensor:
        """Return `triplet_loss` at this temperature: z (n, dim), triplets (T, 3), similarities (T, 3) → scalar."""
        return triplet_loss(z, triplets, similarities, self.temperature)

    def block(self, z: Tensor, weights: Tensor) -> Tensor:
        """Return `block_loss` at this temperature: z (..., m, dim), weights (..., m, m) → scalar."""
        return block_loss(z, weights, self.temperature)

    def extra_repr(self) -> str:
        return f"temperature={self.temperature:g}"


def triplet_loss(z: Tensor, triplets: Tensor, similarities: Tensor, temperature: float) -> Tensor:
    """Return the mean loss of explicit triplets.

    Parameters
    ----------
    z : tensor (n, dim)
        Points of the open unit ball.
    triplets : integer tensor (T, 3), T ≥ 1
        Rows (i, j, k) of three different points.
    similarities : tensor (T, 3)
        w_ij, w_ik, w_jk.
    temperature : float

    Returns
    -------
    tensor ()
        Differentiable in z (once) and in the similarities.
    """
    _check_triplets(z, triplets, similarities)
    tau = require_positive_temperature(temperature)
    require_in_ball("z", z)
    # a point at each end of 3 T pairs: one call of the depth for all
    first, second = triplets[:, [0, 0, 1]], triplets[:, [1, 2, 2]]
    depths = lca_depth_of_checked(z[first], z[second])  # (T, 3)
    share = torch.softmax(depths / tau, dim=1)
    # w_ij (p_ik + p_jk) + …: a sum of what is paid, where Σ w − ⟨w, p⟩ would cancel
    paid = share[:, [1, 0, 0]] + share[:, [2, 2, 1]]
    return (similarities.to(share.dtype) * paid).sum(dim=1).mean()


def block_loss(z: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """Return the mean loss of all triplets of one block, or of each of several blocks.

    A pair costs one exponential, a triplet a few additions and multiplications; no tensor has m³ entries, and none
    is kept for the backward pass. A uniformly random block gives an unbiased estimate of the mean over all triplets.

    Parameters
    ----------
    z : tensor (..., m, dim)
        Points of the open unit ball, m ≥ 3.
    weights : tensor (..., m, m)
        Similarities, symmetric; the diagonal is not read.
    temperature : float

    Returns
    -------
    tensor ()
        Differentiable in z and in the weights, once.

    Notes
    -----
    O(m³) time and O(m²) memory a block.
    """
    tau = require_positive_temperature(temperature)
    m = z.shape[-2] if z.ndim >= 2 else 0
    if m < 3 or weights.shape != (*z.shape[:-1], m):
        raise ValueError(
            f"z {tuple(z.shape)} and weights {tuple(weights.shape)} must be (..., m, dim) and (..., m, m) with m >= 3."
        )
    require_in_ball("z", z)
    points = in_working_dtype(z).reshape(-1, m, z.shape[-1])
    depths = lca_depth_of_checked(points[:, :, None], points[:, None, :])  # (b, m, m)
    values = block_terms(depths, weights.to(depths.dtype).reshape(-1, m, m), tau)
    return values.mean() / comb(m, 3)


def require_positive_temperature(temperature: Any) -> float:
    """Return the temperature as a positive float."""
    tau = float(temperature)
    if not 0.0 < tau < float("inf"):
        raise ValueError(f"temperature={temperature} must be a positive finite number.")
    return tau


def _check_triplets(z: Tensor, triplets: Tensor, similarities: Tensor) -> None:
    if z.ndim != 2:
        raise ValueError(f"z has shape {tuple(z.shape)}; pass points (n, dim).")
    if triplets.ndim != 2 or triplets.shape[1] != 3 or len(triplets) == 0:
        raise ValueError(f"triplets has shape {tuple(triplets.shape)}; pass (T, 3) with T >= 1.")
    if triplets.is_floating_point() or triplets.dtype == torch.bool:
        raise TypeError(f"triplets are {triplets.dtype}; pass indices of points as an integer tensor.")
    if similarities.shape != triplets.shape:
        raise ValueError(f"similarities {tuple(similarities.shape)} and triplets {tuple(triplets.shape)} must agree.")
