"""Robinson-Foulds and triplet distances against their definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hyphc import robinson_foulds_distance, triplet_distance
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from strategies import balanced, chain, random_tree

SHAPES = {"random": random_tree, "chain": lambda n, seed: chain(n, np.random.default_rng(seed).permutation(n))}


@st.composite
def two_trees(draw):
    n = draw(st.integers(2, 9))
    return [SHAPES[draw(st.sampled_from(sorted(SHAPES)))](n, draw(st.integers(0, 2**31))) for _ in range(2)]


@settings(max_examples=200)
@given(two_trees())
def test_distances_equal_their_definitions(pair):
    a, b = pair
    n = a.n_leaves
    different = len(oracles.clusters(a) ^ oracles.clusters(b))
    assert robinson_foulds_distance(a, b, normalized=False) == different
    triplets = list(combinations(range(n), 3))
    different = sum(oracles.first_pair(a, *t) != oracles.first_pair(b, *t) for t in triplets)
    assert triplet_distance(a, b, normalized=False) == different
    assert triplet_distance(a, b) == pytest.approx(different / max(1, len(triplets)))


@given(two_trees())
def test_distances_are_symmetric_and_zero_exactly_between_equals(pair):
    a, b = pair
    for distance in (robinson_foulds_distance, triplet_distance):
        assert distance(a, b) == distance(b, a)
        assert 0.0 <= distance(a, b) <= 1.0
        assert distance(a, a) == 0.0
        assert (distance(a, b) == 0.0) == (a == b)


def test_a_million_leaves():
    deep, flat = chain(1_000_000), balanced(1_000_000)
    assert robinson_foulds_distance(deep, deep) == 0.0
    assert robinson_foulds_distance(deep, flat) > 0.99
    assert 0.3 < triplet_distance(deep, flat) < 0.7


def test_trees_on_different_leaves_are_refused():
    for distance in (robinson_foulds_distance, triplet_distance):
        with pytest.raises(ValueError, match="3 and 4 leaves"):
            distance(chain(3), chain(4))
