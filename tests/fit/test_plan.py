"""The plan of a fit: which start, which stages, which budgets, and why."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hyphc import HypHC, Tree, as_similarity
from hyphc.continuous.solver import EmbedSettings
from hyphc.fit.plan import plan_fit
from hyphc.search.search_context import LARGE
from hyphc.similarity import Features, Graph
from scipy.sparse import csr_array

X = np.random.default_rng(0).normal(size=(60, 4))
FEATURES = as_similarity(X, "cosine")
KNN = as_similarity(X, "euclidean", n_neighbors=5)
BLEND = as_similarity(X)
ALL = ("sweeps", "other starts", "ratchet", "iterated")
TIMED = ("sweeps", "ratchet", "iterated")


def wide(n: int, d: int) -> Features:
    return Features(np.ones((n, d), dtype=np.float32), offset=0.0, scale=1.0)


def empty_graph(n: int) -> Graph:
    return Graph(csr_array((n, n)))


def test_features_start_from_bisecting_and_graphs_from_agglomeration_small_ones_from_average_linkage():
    plan = plan_fit(FEATURES, EmbedSettings())
    assert (plan.start, plan.linkage, plan.search, plan.embed) == ("bisecting k-means", True, ALL, None)
    plan = plan_fit(empty_graph(1_001), EmbedSettings())
    assert (plan.start, plan.linkage, plan.embed) == ("agglomeration along edges", True, None)
    for similarity in (KNN, BLEND):
        plan = plan_fit(similarity, EmbedSettings())
        assert (plan.start, plan.linkage, plan.embed) == ("average linkage", False, None)
    assert not plan_fit(wide(2_001, 1), EmbedSettings()).linkage
    assert plan_fit(BLEND, EmbedSettings(), refine=False).start == "continuous stage"


def test_budgets_that_are_given_are_kept():
    assert plan_fit(KNN, EmbedSettings(max_iter=7)).embed.max_iter == 7
    assert plan_fit(KNN, EmbedSettings(n_init=2)).embed.max_iter == 400
    assert plan_fit(FEATURES, EmbedSettings(n_init=2)).embed.max_triplets == 200_000_000
    given = plan_fit(KNN, EmbedSettings(max_triplets=7)).embed
    assert (given.max_iter, given.max_triplets) == (None, 7)


@pytest.mark.parametrize(
    ("similarity", "start", "stages"),
    [
        (empty_graph(LARGE + 1), "agglomeration along edges", ALL),
        (wide(LARGE + 1, 1), "bisecting k-means", ("sweeps",)),
        (wide(1_001, 10_000), "bisecting k-means", ("sweeps",)),
    ],
    ids=["graph", "many", "wide"],
)
def test_large_problems_without_edges_get_fewer_stages(similarity, start, stages):
    plan = plan_fit(similarity, EmbedSettings())
    assert (plan.start, plan.embed, plan.search) == (start, None, stages)
    assert f"start: {start}" in repr(plan)
    assert plan_fit(similarity, EmbedSettings(), time_budget=9.0).search == (TIMED if stages == ("sweeps",) else ALL)


ASKED = [{"init": "random"}, {"init": Tree([[0, 1]])}, {"init": np.zeros((2, 2))}, {"n_init": 2}, {"n_components": 3}]
ASKED += [
    {"temperature": 0.3},
    {"max_iter": 3},
    {"max_triplets": 9},
    {"block_size": 99},
    {"spread_penalty": 1.0},
    {"preset": "paper"},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("similarity", [FEATURES, BLEND, wide(LARGE + 1, 1)], ids=["features", "blend", "large"])
def test_a_setting_of_the_continuous_stage_asks_for_one(asked, similarity):
    plan = plan_fit(similarity, EmbedSettings(**asked))
    assert plan.start == "continuous stage"
    assert all(getattr(plan.embed, name) is value for name, value in asked.items())


def test_a_default_given_in_other_words_asks_for_nothing():
    plan = plan_fit(FEATURES, EmbedSettings(n_init=np.int64(1), temperature=[0.7, 0.5], spread_penalty=0))
    assert plan.embed is None


def test_without_a_search_the_continuous_stage_is_all_there_is_and_gets_all_the_time():
    plan = plan_fit(FEATURES, EmbedSettings(), refine=False, time_budget=5.0)
    assert (plan.linkage, plan.search, plan.embed_share) == (False, (), 1.0)
    assert repr(plan) == "start: continuous stage; no search because refine=False; all within 5 s"


def test_a_fitted_model_tells_its_plan_in_words(set_tick):
    set_tick(0.1)  # of 30 seconds, which it would take
    model = HypHC(metric="cosine", random_state=0, max_iter=5, time_budget=30).fit(X)
    assert str(model.plan_) == (
        "start: continuous stage (at most 5 steps, 200 000 000 triplets, 20% of the time) or average linkage, the cheaper; "
        "search: sweeps, other starts, ratchet, iterated; all within 30 s"
    )
    with pytest.raises(FrozenInstanceError):
        model.plan_.start = "nothing"


def test_the_stages_that_were_planned_are_reported():
    for similarity in (KNN, BLEND):
        seen: list[str] = []
        model = HypHC(random_state=0, callback=lambda progress: seen.append(progress.stage)).fit(similarity)  # noqa: B023
        ends = [stage for stage in dict.fromkeys(seen) if stage in ALL]
        assert tuple(ends) == model.plan_.search
        assert ("embedding" in seen) == (model.plan_.embed is not None)
