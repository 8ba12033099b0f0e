"""A metric is told once: lists, helps and errors derive from the registry, and a similarity keeps the metric that made it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import hyphc
import numpy as np
import pytest
from hyphc import HypHC, as_similarity
from hyphc.similarity import Dense, Features, Graph, Similarity
from hyphc.similarity.base import BY_KIND
from hyphc.similarity.metrics import METRICS, get_metric
from numpy.testing import assert_allclose

ROOT = Path(__file__).resolve().parents[2]
X = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 2.0, 5.0]
NEW = np.random.default_rng(1).normal(size=(4, 3)) * [1.0, 2.0, 5.0]
MADE = {
    "cosine": lambda rows: as_similarity(rows, "cosine"),
    "correlation": lambda rows: as_similarity(rows, "correlation"),
    "spearman": lambda rows: as_similarity(rows, "spearman"),
    "linear": lambda rows: as_similarity(rows, "linear", offset=500.0),
    "rbf": lambda rows: as_similarity(rows, "rbf", gamma=0.1),
    "a callable": lambda rows: as_similarity(rows, lambda Z: np.exp(-np.abs(Z[:, None] - Z[None]).sum(axis=-1))),
}


@pytest.mark.parametrize("name", MADE)
def test_new_rows_are_as_similar_as_if_they_had_been_there_from_the_start(name):
    fitted, whole = MADE[name](X), MADE[name](np.concatenate([X, NEW]))
    extended = fitted.extended(fitted.metric.rows(fitted, NEW))
    old, new = np.arange(30), np.arange(30, 34)
    assert_allclose(extended.to_dense()[np.ix_(new, old)], whole.to_dense()[np.ix_(new, old)], rtol=1e-12)


@pytest.mark.parametrize("name", MADE)
def test_a_fit_of_a_similarity_predicts_by_the_metric_that_made_it(name):
    fitted, whole = MADE[name](X), MADE[name](np.concatenate([X, NEW]))
    model = HypHC(n_clusters=3, random_state=0).fit(fitted)
    assert model.predict(NEW).tolist() == model.predict(whole).tolist()


def test_rows_of_another_width_are_an_error_that_says_both():
    model = HypHC(n_clusters=2, random_state=0).fit(as_similarity(X, "linear"))
    with pytest.raises(ValueError, match="X has 2 columns but the fitted rows have 3"):
        model.predict(NEW[:, :2])
    model = HypHC(n_clusters=1, random_state=0).fit(Dense(np.ones((5, 5))))
    with pytest.raises(ValueError, match="X has 4 columns; pass similarities to each of the 5 fitted points"):
        model.predict(np.ones((2, 4)))


def test_a_similarity_made_by_hand_takes_rows_like_its_own():
    assert get_metric(Features(X, offset=500.0, scale=1.0)).name == "linear"
    assert get_metric(Dense(np.ones((2, 2)))).name == get_metric(Graph(np.ones((2, 2)))).name == "precomputed"


def test_weights_keep_the_metric():
    model = HypHC(n_clusters=3, metric="linear", random_state=0).fit(X, sample_weight=np.full(30, 2.0))
    assert model.similarity_.metric.name == "linear"


def test_an_unknown_metric_is_told_all_choices():
    with pytest.raises(ValueError, match="'mahalanobis' is unknown") as error:
        as_similarity(X, "mahalanobis")
    assert all(repr(name) in str(error.value) for name in METRICS)
    assert "callable" in str(error.value)


@pytest.mark.parametrize("documented", [as_similarity, HypHC], ids=["as_similarity", "HypHC"])
def test_every_metric_is_documented(documented):
    assert all(f'"{name}"' in documented.__doc__ for name in METRICS)


def test_the_command_line_offers_every_metric_of_rows():
    from hyphc.cli.options import Choices, metrics_of_rows

    assert list(Choices(metrics_of_rows)) == [name for name, metric in METRICS.items() if metric.takes_rows]
    assert "precomputed" not in Choices(metrics_of_rows)


def kinds() -> list[type[Similarity]]:
    return [kind for kind in Similarity.__subclasses__() if kind.__module__.startswith("hyphc.")]


def test_the_table_of_functions_by_kind_is_complete_and_contributors_are_told_of_it():
    for _, name, _ in pkgutil.walk_packages(hyphc.__path__, "hyphc."):
        if not name.endswith("__main__"):
            importlib.import_module(name)
    told = set(re.findall(r"^\| `(\S+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    assert told == {name.removeprefix("hyphc.") for name in BY_KIND}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_each_kind_has_a_version_of_what_cannot_be_done_without_one(kind):
    for name, chosen in BY_KIND.items():
        default = chosen.registry[object]
        needed = "raise TypeError" in importlib.import_module("inspect").getsource(default)
        assert not needed or kind in chosen.registry, f"{name} has no version for {kind.__name__}"
