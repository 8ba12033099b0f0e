"""All triplets of a block from its (m, m) depths: value and slopes in one pass over chunks of rows.

With e = exp(d/τ), S = e_ij + e_ik + e_jk, and v, u = e and e·w with zero diagonals, row i needs one (m, m) matrix R
= 1/S, and

    T_ij = Σ_k v_ik R_jk        the share of the triplets ijk that the pair ik gets; T_ij + T_ji = Σ_k (1 − p_ij^k)
    Q_ij = Σ_k v_ik R²_jk       M_ij = Σ_k u_ik R²_jk

    loss = Σ_{i<j} w_ij (T_ij + T_ji)       ∂loss/∂d_ij = −(e_ij/τ) [w_ij (Q_ij + Q_ji) − (M_ij + M_ji)]

Infinite entries on the diagonal of e (in S alone) leave out the triplets that repeat a point.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# Depths over τ are centred, and those of a call may span this much: then S² and 1/S² fit the dtype's exponents.
MAX_SPAN = {torch.float32: 80.0, torch.float64: 600.0}
# Shares below e^−40 are below the rounding of their sum; as exact zeros they keep products out of the slow subnormal
# numbers.
MIN_LOGIT = -40.0
# Entries of the largest temporary: a few of them stay in a core's cache.
CHUNK = 1 << 18


@torch.library.custom_op("hyphc::block_terms", mutates_args=())
def _block_terms(depths: Tensor, weights: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    d, w = 0.5 * (depths + depths.mT), 0.5 * (weights + weights.mT)
    diagonal = torch.eye(d.shape[-1], dtype=torch.bool, device=d.device)
    w = w.masked_fill(diagonal, 0.0)
    low = d.masked_fill(diagonal, float("inf")).amin()
    high = d.masked_fill(diagonal, float("-inf")).amax()
    span = float(high - low) / temperature
    if span > MAX_SPAN[d.dtype] and span <= MAX_SPAN[torch.float64] and d.device.type != "mps":  # which has no float64
        d, w = d.double(), w.double()
    if span <= MAX_SPAN[d.dtype]:
        paid, slopes = _rows(d, w, temperature, 0.5 * (low + high).to(d.dtype), diagonal)
    else:
        paid, slopes = _rows_in_logs(d, w, temperature, diagonal)
    # each unordered pair stands in the matrices twice
    values = 0.5 * (w * paid).sum((-2, -1))
    return values.to(depths.dtype), 0.5 * slopes.to(depths.dtype), 0.5 * paid.to(weights.dtype)


def block_terms(depths: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """Return the loss Σ_{i<j<k} (…) of each block, (b,), from depths and weights (b, m, m); their two triangles are averaged."""
    value: Tensor = _block_terms(depths, weights, temperature)[0]
    return value


def _rows(d: Tensor, w: Tensor, tau: float, centre: Tensor, diagonal: Tensor) -> tuple[Tensor, Tensor]:
    """Return Σ_k (1 − p_ij^k) and ∂loss/∂d_ij, symmetric (b, m, m), by the formulas above."""
    v = torch.exp((d - centre) / tau).masked_fill(diagonal, 0.0)
    u, e = v * w, v.masked_fill(diagonal, float("inf"))
    t, q, m = torch.empty_like(d), torch.empty_like(d), torch.empty_like(d)
    for block, rows in _chunks(d):
        own, e_block = e[block, rows], e[block]
        r = e_block[:, None] + own[..., None]  # (b, rows, j, k)
        r.add_(own[..., None, :]).reciprocal_()
        # R is symmetric, and a product from the left is several times as fast
        t[block, rows] = torch.matmul(v[block, rows, None], r)[..., 0, :]
        both = torch.stack([v[block, rows], u[block, rows]], dim=-2)
        q[block, rows], m[block, rows] = torch.matmul(both, r.square_()).unbind(-2)
    slopes = -v / tau * (w * (q + q.mT) - (m + m.mT))
    return t + t.mT, slopes


def _rows_in_logs(d: Tensor, w: Tensor, tau: float, diagonal: Tensor) -> tuple[Tensor, Tensor]:
    """Return `_rows` for any span of d/τ, by exponentials relative to each triplet's own maximum."""
    # a finite number below all others: the difference of two infinite ones would be NaN
    logits = (d / tau).masked_fill(diagonal, 0.25 * torch.finfo(d.dtype).min)
    t, q = torch.empty_like(d), torch.empty_like(d)
    for block, rows in _chunks(d):
        ij, ik, jk = logits[block, rows, :, None], logits[block, rows, None, :], logits[block, None]
        top = torch.maximum(torch.maximum(ij, ik), jk)
        a = _share(ij - top).masked_fill_(diagonal[rows][..., None], 0.0)
        b = _share(ik - top).masked_fill_(diagonal, 0.0)  # k = j is no triplet
        r = 1.0 / (a + b + _share(jk - top))
        b = b * r
        t[block, rows] = b.sum(-1)
        difference = w[block, rows, :, None] - w[block, rows, None, :]
        q[block, rows] = (a * r * b * difference).sum(-1)
    t = t.masked_fill(diagonal, 0.0)
    return t + t.mT, -(q + q.mT) / tau


def _share(logit: Tensor) -> Tensor:
    return torch.nn.functional.threshold(logit, MIN_LOGIT, float("-inf"), inplace=True).exp_()


def _chunks(d: Tensor) -> list[tuple[slice, slice]]:
    """Return the blocks and rows to take at a time, so that temporaries have about `CHUNK` entries."""
    b, m = d.shape[:2]
    rows = min(m, max(1, CHUNK // (m * m)))
    blocks = min(b, max(1, CHUNK // (rows * m * m)))
    return [
        (slice(first, first + blocks), slice(row, row + rows))
        for first in range(0, b, blocks)
        for row in range(0, m, rows)
    ]


@_block_terms.register_fake
def _(depths: Tensor, weights: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    return depths.new_empty(depths.shape[0]), torch.empty_like(depths), torch.empty_like(weights)


def _keep_slopes(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1], output[2])


def _backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor, Tensor, None]:
    slopes, paid = ctx.saved_tensors
    return grad[:, None, None] * slopes, grad[:, None, None] * paid, None


_block_terms.register_autograd(_backward, setup_context=_keep_slopes)
