"""Sweeps in levels: the same tree for any number of threads, lower cost, more of them with more effort."""

from __future__ import annotations

import numpy as np
import pytest
from hyphc import Tree, dasgupta_cost, refine

from strategies import KINDS, chain, random_tree, similarity_of_kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [chain(300), random_tree(300, 0)], ids=["chain", "random"])
def test_large_trees_are_swept_on_several_levels_by_any_number_of_threads(kind, start, monkeypatch):
    monkeypatch.setattr("hyphc.search.search_context.LARGE", 40)
    monkeypatch.setattr("hyphc.search.multilevel.SMALL", 4)
    monkeypatch.setattr("hyphc.search.multilevel.ALL_SIZES_UP_TO", 8)
    monkeypatch.setattr("hyphc.search.search_context.BACKGROUND_UP_TO", 100)
    similarity = similarity_of_kind(kind, 300, 1)
    found = refine(start, similarity, random_state=0)
    assert np.array_equal(found.children, refine(start, similarity, random_state=0, n_jobs=2).children)
    assert dasgupta_cost(found, similarity) < dasgupta_cost(start, similarity)
    assert found.n_leaves == 300


def test_more_effort_goes_on_longer_and_names_are_kept(monkeypatch):
    monkeypatch.setattr("hyphc.search.multilevel.SMALL", 4)
    monkeypatch.setattr("hyphc.search.multilevel.LEAST_RATE", 0.02)
    similarity = similarity_of_kind("graph", 400, 3)
    start = Tree(random_tree(400, 3).children, names=[f"leaf {i}" for i in range(400)])
    sweeps: dict[float, list[str]] = {}
    for effort in (0.01, 2.0):
        seen = sweeps.setdefault(effort, [])
        found = refine(start, similarity, effort=effort, random_state=0, callback=lambda p, s=seen: s.append(p.stage))
        assert found.names == start.names
    assert len(sweeps[2.0]) > len(sweeps[0.01])
