"""How often the confidence interval of `optimality_gap` misses, over 500 draws of subsets."""

from __future__ import annotations

from hyphc import optimality_gap

from certificate_instances import LITTLE, instances


def test_the_interval_misses_the_bound_or_the_true_gap_at_most_12_times_in_500_at_99_per_cent() -> None:
    misses = overshoots = sampled = 0
    for tree, similarity, bound, true_gap in instances():
        for seed in range(100):
            result = optimality_gap(tree, similarity, k=7, n_subsets=60, effort=LITTLE, random_state=seed)
            low, high = result.confidence_interval
            assert low <= result.gap <= high
            assert result.exact == (result.method in ("spreading", "pairs"))
            if result.exact:
                assert true_gap <= high
                continue
            sampled += 1
            misses += not low <= bound * (1 + 1e-9) or not bound <= high * (1 + 1e-9)
            overshoots += true_gap > high
    assert sampled >= 300
    assert misses <= 12
    assert overshoots <= misses
