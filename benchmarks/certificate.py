"""How far from the optimum the product's own trees can be, and what it takes to know: ``python benchmarks/certificate.py``.

Needs the UCI files in HYPHC_DATA. The ratio is of the certificate's time to that of the default fit of the same data.
"""

from __future__ import annotations

import time

from continuous import GRAPHS, SETS
from hyphc import HypHC, Tree, as_similarity, baselines, datasets, optimality_gap
from hyphc.similarity import Similarity

ROW = "{:<18} {:>9} {:>12} {:>8} {:>8} {:>8}"


def report(name: str, tree: Tree, similarity: Similarity, fit: float) -> None:
    begin = time.perf_counter()
    found = optimality_gap(tree, similarity, k=12, random_state=0, n_jobs=-1)
    seconds = time.perf_counter() - begin
    limit = found.confidence_interval[1]
    print(
        ROW.format(name, f"{found.gap:.2%}", f"{limit:.2%}", f"{seconds:.2f}", f"{fit:.2f}", f"{seconds / fit:.2f}"),
        flush=True,
    )


def main() -> None:
    few = as_similarity(datasets.planted(100, 8, random_state=0).data)
    optimality_gap(HypHC(random_state=0).fit(few).tree_, few)  # compiles
    print(ROW.format("set", "estimate", "99 % limit", "s", "fit s", "ratio"))
    for name in (*SETS, *GRAPHS):
        similarity = datasets.paper_similarity(name)
        begin = time.perf_counter()
        tree = HypHC(random_state=0).fit(similarity).tree_
        report(name, tree, similarity, time.perf_counter() - begin)
    similarity = as_similarity(datasets.planted(1_000_000, 32, random_state=0).data)
    begin = time.perf_counter()
    tree = baselines.bisecting_kmeans(similarity)
    report("planted 1 000 000", tree, similarity, time.perf_counter() - begin)


if __name__ == "__main__":
    main()
