"""What the search asks of a similarity. Each kind answers in a file of its own: features, dense, graph, blend.

``aim`` prepares what one subtree A needs, ``weight`` answers w(A, v) = Σ w_ij, i below A and j below v, for any v beside A, and
``release`` tidies up. ``floor_below`` bounds what A costs below a node (see ``best_regraft``). ``recut``, ``settle`` and
``finish_move`` keep the account of a tree that changes.
"""

from __future__ import annotations

from ..._runtime.arrays import Records
from ..._runtime.jit import by_kind
from .state import Scratch, State


@by_kind
def aim(state: State, scratch: Scratch, A: int, ceiling: int) -> tuple[float, float]:
    """Prepare ``weight`` for subtree A in its region; an upper bound on w(A, l) / |l| over leaves l, and A's reach.

    The reach r is such that Σ_l (w(A, l) − |l|·w(A, v)/|v|)²/|l| ≤ r²·scatter(v); infinite where no scatter is known. In a
    blend the bound is the graph's, the reach the background's.
    """


@by_kind
def weight(state: State, work: Records, A: int, v: int) -> float:
    """w(A, v), after ``aim`` at A."""


@by_kind
def release(state: State, scratch: Scratch) -> None:
    """Forget the subtree aimed at."""


@by_kind
def floor_below(state: State, work: Records, v: int, a: float, acc: float, w: float, cap: float, reach: float) -> float:
    """A lower bound on f over all places strictly below v, where a = |A|, w = w(A, v) and acc(v) are known; inf for leaves."""


@by_kind
def recut(state: State, work: Records, A: int, u: int, v: int, keep: float, sign: float) -> None:
    """Let the cut of u be ``keep`` of what it was and ``sign`` times w(A, v); kinds that ``settle`` computes anew do nothing."""


@by_kind
def settle(state: State, u: int) -> None:
    """Recompute the sums of u from its children's, so that no rounding accumulates over moves."""


@by_kind
def position(state: State, v: int) -> int:
    """Where the leaves below v begin, for kinds that lay them out; else 0."""


@by_kind
def finish_move(state: State, work: Records, top: int, begin: int, ceiling: int) -> None:
    """After a move below ``top``, whose leaves begin at ``begin``: renumber them, or tell the nodes above of looser splits."""


@by_kind
def append_leaf(state: State, A: int) -> None:
    """Let the loose leaf A stand behind all leaves of the tree, so that ``aim`` finds it."""
