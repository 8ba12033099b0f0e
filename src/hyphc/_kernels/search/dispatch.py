"""Operations of the search that depend on the kind of similarity; bodies are in features, dense, graph and blend.

A kind without a body of its own has the one given here, which does nothing.

``prepare_weights`` prepares one subtree A, ``weight`` returns w(A, v) = Σ w_ij, i below A and j below v, for any v outside
A. ``lower_bound_below`` bounds the cost of A below a node (see ``best_regraft``).
``update_cut``, ``update_sums`` and ``finish_move`` update the tree after a move.
"""

from __future__ import annotations

from ..._runtime.jit import dispatch_on_type
from .state import Scratch, State


@dispatch_on_type
def prepare_weights(state: State, scratch: Scratch, A: int, region_parent: int) -> tuple[float, float]:
    """Prepare ``weight`` for subtree A in its region; return an upper bound on w(A, l) / |l| over leaves l, and A's reach.

    The reach r is such that Σ_l (w(A, l) − |l|·w(A, v)/|v|)²/|l| ≤ r²·scatter(v); infinite where no scatter is known. In a
    blend the bound is the graph's, the reach the background's.
    """


@dispatch_on_type
def weight(state: State, scratch: Scratch, A: int, v: int) -> float:
    """Return w(A, v), after ``prepare_weights`` for A."""


@dispatch_on_type
def lower_bound_below(
    state: State, scratch: Scratch, v: int, a: float, acc: float, w: float, cap: float, reach: float
) -> float:
    """Return a lower bound on f over all positions strictly below v; a = |A|, w = w(A, v), acc = acc(v); inf for leaves."""


@dispatch_on_type
def update_cut(state: State, scratch: Scratch, A: int, u: int, v: int, keep: float, sign: float) -> None:
    """Set the cut of u to ``keep`` times itself plus ``sign`` times w(A, v); nothing where ``update_sums`` recomputes it."""


@dispatch_on_type
def update_sums(state: State, u: int) -> None:
    """Recompute the sums of u from its children's, so that no rounding accumulates over moves."""


@dispatch_on_type
def position(state: State, v: int) -> int:
    """Return the position of the first leaf below v in the leaf order, for kinds that keep one; else 0."""
    return 0


@dispatch_on_type
def finish_move(state: State, scratch: Scratch, A: int, top: int, begin: int, region_parent: int) -> None:
    """After a move of A below ``top``, whose leaves begin at ``begin``: renumber leaves, propagate looser splits upwards."""


@dispatch_on_type
def append_leaf(state: State, A: int) -> None:
    """Append the unconnected leaf A to the leaf order, for ``prepare_weights``."""
