"""The nearest points in chosen cells: products of blocks in single precision, each seen from the centre of its cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._runtime.arrays import Floats, Ints
from ..._runtime.jit import kernel, part
from .ivf_cells import nearness, partition_lowest, products, shift_rows

Rows = npt.NDArray[Any]
Order = npt.NDArray[np.int32]
Singles = npt.NDArray[np.float32]

_FINE = {"reassoc", "contract"}


@kernel
def fill_panel(X: Rows, centre: Floats, panel: Singles, squares: Singles) -> None:
    """A cell's points as columns and half their squares, both from its centre; the rest of the block is as if at infinity."""
    d = X.shape[1]
    column = np.empty(d, np.float32)
    panel[:] = 0.0
    squares[:] = np.inf
    for j in range(X.shape[0]):
        squares[j] = shift_rows(X[j], centre, column)
        for c in range(d):
            panel[c, j] = column[c]


@part(fastmath=_FINE)
def _n_nearer(found: Singles, squares: Singles, worst: float) -> int:
    """How many points are nearer than the worst kept; half squares and products give distances."""
    nearer = np.int32(0)
    for j in range(squares.shape[0]):
        nearer += np.int32(squares[j] - found[j] < worst)
    return nearer  # type: ignore[return-value]


@part
def _insert_sorted(ids: Order, far: Singles, point: int, value: float) -> None:
    """Insert a point into the sorted list, dropping the last."""
    t = ids.shape[0] - 1
    while t > 0 and far[t - 1] > value:
        far[t], ids[t] = far[t - 1], ids[t - 1]
        t -= 1
    far[t], ids[t] = value, point


@part
def _scan(found: Singles, squares: Singles, own: float, first: int, self: int, ids: Order, far: Singles) -> None:
    """Offer a cell's points, ``first`` and following, to the list of one query; ``own`` is half its squared length."""
    last = far.shape[0] - 1
    start = worst = far[last] - own
    left = _n_nearer(found, squares, start)
    for j in range(found.shape[0]):
        if left == 0:
            break
        value = squares[j] - found[j]
        if value < start:
            left -= 1
            if value < worst and first + j != self:
                _insert_sorted(ids, far, first + j, value + own)
                worst = far[last] - own


@kernel
def search_cells(
    queries: Rows,
    selves: Order,
    cells: Order,
    probed: npt.NDArray[np.bool_],
    starts: Ints,
    lanes: Ints,
    centres: Floats,
    panels: Singles,
    squares: Singles,
    ids: Order,
    far: Singles,
) -> None:
    """The nearest points of each query among those in its cells: probed[j, i] says whether query i looks into cells[j].

    ``ids`` and ``far`` (q, k) take their places and half squared distances, nearest first; they come filled with −1 and inf. A
    query's own place is in ``selves``. Cell c has the places starts[c] … starts[c + 1] − 1, and the columns from lanes[c] on in
    the panels.
    """
    q, d = queries.shape
    wide, widest = d + -d % 4, 0
    who, own, x = np.empty(q, np.int64), np.empty(q, np.float32), np.zeros((q + -q % 4, wide), np.float32)
    for j in range(cells.shape[0]):
        widest = max(widest, lanes[cells[j] + 1] - lanes[cells[j]])
    flat = np.empty(x.shape[0] * widest, np.float32)
    for j in range(cells.shape[0]):
        b, e = lanes[cells[j]], lanes[cells[j] + 1]
        m, some = e - b, 0
        for i in range(q):
            if probed[j, i]:
                who[some], own[some] = i, shift_rows(queries[i], centres[cells[j]], x[some])
                some += 1
        if some == 0 or m == 0:
            continue
        rows = some + -some % 4  # those beyond ``some`` are left from another cell, and not read
        found = flat[: rows * m].reshape((rows, m))
        products(x[:rows], panels[b * wide : e * wide].reshape((wide, m)), found)
        for s in range(some):
            i = who[s]
            _scan(found[s], squares[b:e], own[s], starts[cells[j]], selves[i], ids[i], far[i])


@part(fastmath=_FINE)
def _half_square(x: Rows, y: Rows) -> float:
    """‖x − y‖² / 2 in single precision."""
    total = np.float32(0.0)
    for c in range(x.shape[0]):
        step = np.float32(x[c] - y[c])
        total += step * step
    return total * np.float32(0.5)  # type: ignore[return-value]


@kernel
def reverse_neighbors(places: Order, back: Order) -> None:
    """Write to back[j] the points whose lists contain j, as many as fit, by the rank of j in them.

    ``back`` comes filled with −1.
    """
    count = np.zeros(places.shape[0], np.int32)
    for t in range(places.shape[1]):
        for i in range(places.shape[0]):
            j = places[i, t]
            if j >= 0 and count[j] < back.shape[1]:
                back[j, count[j]] = i
                count[j] += 1


@part
def _test_candidates(points: Rows, i: int, others: Order, seen: Order, near: Order, nearer: Singles) -> None:
    """Test candidates that were not yet tested for point i, and insert the nearer ones into its list."""
    for other in others:
        if other < 0:
            break
        if seen[other] != i + 1:
            seen[other] = i + 1
            value = _half_square(points[i], points[other])
            if value < nearer[-1]:
                _insert_sorted(near, nearer, other, value)


@kernel
def nn_descent_step(
    points: Rows,
    places: Order,
    far: Singles,
    back: Order,
    begin: int,
    end: int,
    seen: Order,
    near: Order,
    nearer: Singles,
) -> None:
    """Run an NN-descent step for the points begin ≤ i < end: test neighbours of neighbours and of reverse neighbours.

    The neighbours of i are places[i], the reverse ones back[i]. Tested are the lists of the first of places[i], as many as
    ``back`` is wide, and of all of back[i].
    ``seen`` (n,) comes with zeros: seen[j] is 1 + the last point that j was tested for.
    """
    for i in range(begin, end):
        seen[i] = i + 1
        for t in range(places.shape[1]):
            near[i, t], nearer[i, t] = places[i, t], far[i, t]
            if places[i, t] >= 0:
                seen[places[i, t]] = i + 1
        _test_candidates(points, i, back[i], seen, near[i], nearer[i])
        for asked in (places[i, : back.shape[1]], back[i]):
            for j in asked:
                if j < 0:
                    break
                _test_candidates(points, i, places[j], seen, near[i], nearer[i])
                _test_candidates(points, i, back[j], seen, near[i], nearer[i])


@kernel
def choose_probes(queries: Rows, cell: int, near: Order, centres: Floats, n_probes: int) -> npt.NDArray[np.bool_]:
    """The ``n_probes`` of the cells ``near`` whose centres are nearest to each query of a cell: (near, queries)."""
    q, m = queries.shape[0], near.shape[0]
    rows, found = np.empty(q, np.int32), np.zeros((m, q), np.bool_)
    for i in range(q):
        rows[i] = i
    scores, places = nearness(queries, rows, centres[cell], near, centres), np.empty(m, np.int32)
    for i in range(q):
        for j in range(m):
            places[j] = j
        if n_probes < m:
            partition_lowest(scores[i], places, n_probes)
        for j in range(min(n_probes, m)):
            found[places[j], i] = True
    return found


@part(fastmath={"reassoc", "contract"})
def _distance(x: Rows, y: Rows) -> float:
    """‖x − y‖ from differences: exactly 0 for equal rows."""
    total = 0.0
    for c in range(x.shape[0]):
        step = x[c] - y[c]
        total += step * step
    return np.sqrt(total)  # type: ignore[no-any-return]


@kernel
def rank(queries: Rows, points: Rows, order: Order, ids: Order, numbers: Ints, found: Floats) -> None:
    """The nearest of the places ``ids``, as numbers order[place], and their distances: nearest first, equals by number.

    Distances are computed again. Where there are too few places, the last number is −1 and its distance inf.
    """
    k = numbers.shape[1]
    for i in range(ids.shape[0]):
        for t in range(k):
            numbers[i, t], found[i, t] = -1, np.inf
        for place in ids[i]:
            if place < 0:
                break
            distance, number = _distance(queries[i], points[place]), np.int64(order[place])
            t = k
            while t > 0 and (
                distance < found[i, t - 1] or (distance == found[i, t - 1] and number < numbers[i, t - 1])
            ):
                t -= 1
                if t + 1 < k:
                    found[i, t + 1], numbers[i, t + 1] = found[i, t], numbers[i, t]
            if t < k:
                found[i, t], numbers[i, t] = distance, number
