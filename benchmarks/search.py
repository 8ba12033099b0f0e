"""The default fit, search included: ``python benchmarks/search.py [quality|scale ...]``; each part takes some ten minutes.

``quality`` needs the UCI files in HYPHC_DATA. Costs are in the paper's units (ordered pairs), for graphs per unit weight.
"""

from __future__ import annotations

import sys
import time
from functools import partial

from _measure import in_own_process, peak_bytes
from continuous import quality
from hyphc import HypHC, as_similarity, baselines, dasgupta_cost, datasets


def scale() -> None:
    print(f"{'n x 32':>9} {'bisecting s':>11} {'fit s':>8} {'cost / bisecting':>16} {'peak GB':>8}")
    for n in (100_000, 1_000_000):
        start, fit, ratio, peak = in_own_process(_scale, n)
        print(f"{n:>9} {start:>11.1f} {fit:>8.1f} {ratio:>16.6f} {peak / 1e9:>8.2f}", flush=True)


def _scale(n: int) -> tuple[float, float, float, int]:
    X = datasets.planted(n, 32, random_state=0).data
    HypHC(random_state=0).fit(X[:1_000])  # compiles
    similarity = as_similarity(X)
    begin = time.perf_counter()
    start = baselines.bisecting_kmeans(similarity)
    bisecting = time.perf_counter() - begin
    begin = time.perf_counter()
    model = HypHC(random_state=0).fit(X)
    fit = time.perf_counter() - begin
    return bisecting, fit, model.cost_ / dasgupta_cost(start, similarity), peak_bytes()


PARTS = {"quality": partial(quality, refine=True), "scale": scale}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"\n## {part}")
        PARTS[part]()
