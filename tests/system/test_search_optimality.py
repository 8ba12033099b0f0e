"""How often the tree search finds the best of all trees, over 240 small problems of all kinds."""

from __future__ import annotations

from hyphc import dasgupta_cost, exact_tree, refine

from strategies import KINDS, magnitude, random_tree, similarity_of_kind


def test_refine_is_optimal_on_small_problems_of_all_kinds():
    optimal = 0
    for seed in range(240):
        n = 4 + seed % 7
        similarity = similarity_of_kind(KINDS[seed // 3 % 4], n, seed)
        found = dasgupta_cost(refine(random_tree(n, seed), similarity, random_state=0), similarity)
        least = dasgupta_cost(exact_tree(similarity), similarity)
        rounding = 1e-12 * magnitude(similarity)
        assert found >= least - rounding
        optimal += found <= least + 1e3 * rounding
    assert optimal >= 237
