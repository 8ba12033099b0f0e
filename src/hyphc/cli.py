"""The command ``hyphc``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy.typing as npt

    from .similarity import Similarity
    from .tree import Tree


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except (ValueError, OSError, MemoryError) as error:
        print(f"hyphc: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    from . import __version__

    parser = argparse.ArgumentParser(
        prog="hyphc",
        description="Hierarchical clustering that optimises Dasgupta's cost.",
        epilog="example: hyphc demo --output hyphc-demo",
    )
    parser.add_argument("--version", action="version", version=f"hyphc {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="cluster scikit-learn's digits and compare methods",
        description="Cluster the 1797 digits of scikit-learn with HypHC and with linkages, print what the trees cost, and "
        "save the cheapest.",
        epilog="example: hyphc demo --output hyphc-demo",
    )
    demo.add_argument(
        "--output", type=Path, default=Path("hyphc-demo"), help="folder for the best tree (default: %(default)s)"
    )
    demo.add_argument("--seed", type=int, default=0, help="seed of the random methods (default: %(default)s)")
    demo.set_defaults(run=_demo)
    return parser


def _demo(arguments: argparse.Namespace) -> None:
    from . import datasets
    from .similarity import as_similarity, standardize

    digits = datasets.load("digits")
    similarity = as_similarity(standardize(digits.data), "cosine")
    print(f"{similarity.n} handwritten digits, similarity (1 + cosine) / 2 of standardised pixels")
    assert digits.labels is not None
    best = _compare(_demo_methods(arguments.seed), similarity, digits.labels)
    arguments.output.mkdir(parents=True, exist_ok=True)
    best.save(arguments.output / "digits.npz")
    (arguments.output / "digits.nwk").write_text(best.to_newick() + "\n")
    print(f"\nsaved the best tree: {arguments.output / 'digits.npz'} (hyphc.Tree.load) and digits.nwk (Newick)")


def _demo_methods(seed: int) -> dict[str, Callable[[Similarity], Tree]]:
    from . import baselines
    from .estimator import HypHC

    verbose = int(sys.stderr.isatty())

    def hyphc(similarity: Similarity, refine: bool) -> Tree:
        return HypHC(refine=refine, random_state=seed, verbose=verbose).fit(similarity).tree_

    return {
        "random tree": lambda similarity: baselines.random_tree(similarity, random_state=seed),
        "single linkage": baselines.single_linkage,
        "complete linkage": baselines.complete_linkage,
        "Ward linkage": baselines.ward_linkage,
        "average linkage": baselines.average_linkage,
        "HypHC, continuous": partial(hyphc, refine=False),
        "HypHC": partial(hyphc, refine=True),
    }


def _compare(methods: dict[str, Callable[[Similarity], Tree]], similarity: Similarity, labels: npt.ArrayLike) -> Tree:
    """Print a table of what each method's tree costs, with the bounds that hold for every tree; return the cheapest."""
    from .bounds import cost_bounds
    from .metrics import dasgupta_cost, dendrogram_purity

    bounds = cost_bounds(similarity)
    print(f"\n{'method':<18} {'Dasgupta cost':>14} {'above bound':>12} {'purity':>7} {'seconds':>8}")
    trees: list[tuple[float, Tree]] = []
    for name, method in methods.items():
        begin = time.perf_counter()
        tree = method(similarity)
        seconds = time.perf_counter() - begin
        cost = dasgupta_cost(tree, similarity)
        trees.append((cost, tree))
        above = cost / bounds.lower - 1
        purity = dendrogram_purity(tree, labels)
        print(f"{name:<18} {cost:>14.6g} {above:>12.2%} {purity:>7.3f} {seconds:>8.2f}")
    print(f"{'lower bound':<18} {bounds.lower:>14.6g}    no tree costs less")
    print(f"{'upper bound':<18} {bounds.upper:>14.6g}    no tree costs more")
    return min(trees, key=lambda pair: pair[0])[1]
