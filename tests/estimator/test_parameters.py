"""Parameters: none mistaken, none ignored, whatever is fitted; and a fit leaves nothing to the next."""

from __future__ import annotations

import _thread
import inspect
import signal
import threading
import traceback
import warnings
from itertools import chain, pairwise, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import Constraints, HypHC, as_similarity
from hyphc._runtime.base_estimator import default_parameters
from hyphc._runtime.parallel import thread_map
from hyphc.cli import main
from hyphc.fit.parameter_checks import CHECKS
from hyphc.out_of_core.local_fit import SUPPORTED, fit_out_of_core, open_source
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted

pytestmark = pytest.mark.usefixtures("quick_certificate")

X = np.random.default_rng(0).normal(size=(24, 3))
NAMES = list(inspect.signature(HypHC).parameters)


# --- mistaken values -------------------------------------------------------------------------------------------------


def test_every_parameter_has_a_check():
    dask = pytest.importorskip("hyphc.dask")
    assert set(CHECKS) == set(NAMES) | set(inspect.signature(dask.DaskHypHC).parameters)


OUTLANDISH = ["outlandish", -1, float("nan"), [], object()]
# What looks outlandish and has a meaning, or is judged beside the data: all cores, a folder, starts, numbers of clusters.
POSSIBLE = {
    ("n_jobs", "-1"),
    ("n_clusters", "-1"),
    ("checkpoint", "outlandish"),
    ("init", "outlandish"),
    ("init", "[]"),
}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_value_of_a_parameter_is_refused_whatever_is_fitted(name):
    for value in OUTLANDISH:
        for rows in (X, as_similarity(X, "cosine"), "no such file.npy"):
            if (name, str(value)) not in POSSIBLE:
                with pytest.raises(ValueError, match=name):
                    HypHC(**{name: value}).fit(rows)


def test_a_parameter_that_does_not_exist_is_named_with_the_one_that_was_meant():
    with pytest.raises(TypeError, match=r"^HypHC has no parameter 'n_cluster'; did you mean 'n_clusters'\?$"):
        HypHC(n_cluster=3)
    with pytest.raises(TypeError, match="HypHC takes n_clusters by place, and got 2 values"):
        HypHC(3, "auto")
    assert clone(HypHC(3, effort=2.0)).get_params()["effort"] == 2.0
    assert set(HypHC().get_params()) == set(NAMES)


# --- ignored settings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "rows", "told"),
    [
        ({"metric": "cosine", "edge_weights": "binary"}, X, "edge_weights='binary' goes with a graph of neighbours"),
        ({"metric": "rbf", "n_neighbors": 3}, X, "cannot be used with n_neighbors"),
        ({"scale": True}, sp.csr_array(X), "scale=True is of dense rows"),
        ({"metric": "rbf"}, as_similarity(X), "X holds similarities, and metric='rbf' makes them of rows"),
        ({"n_neighbors": 3}, as_similarity(X), "cannot be used with n_neighbors"),
        ({"background": 0.1}, nx.path_graph(5), "background=0.1 goes with metric='auto'"),
        ({"effort": 2.0, "refine": False}, X, "effort=2.0 is of the search, and refine=False leaves it out"),
        ({"distance_threshold": 1.0, "criterion": "sse"}, X, "criterion='sse' goes with a number of clusters"),
    ],
)
def test_a_setting_that_would_be_ignored_is_refused(given, rows, told):
    with pytest.raises(ValueError, match=told):
        HypHC(random_state=0, **given).fit(rows)


OTHER = {
    "init": np.eye(2),
    "n_init": 2,
    "n_components": 3,
    "temperature": 0.4,
    "max_iter": 5,
    "block_size": 100,
    "max_triplets": 100,
    "spread_penalty": 0.5,
    "preset": "paper",
    "constraints": Constraints(),
    "directed": "sum",
    "refine": False,
    "time_budget": 60.0,
    "callback": print,
}


def test_a_fit_from_disk_carries_out_or_refuses_every_parameter(tmp_path):
    assert set(NAMES) - SUPPORTED == set(OTHER)
    np.save(tmp_path / "x.npy", X)
    source, model, defaults = open_source(tmp_path / "x.npy"), HypHC(memory_limit=1e9), default_parameters(HypHC)
    for name, value in OTHER.items():
        given = {**model.get_params(deep=False), name: value}
        with pytest.raises(ValueError, match=rf"(?s){name}=.* has no meaning for an out-of-core fit"):
            fit_out_of_core(source, given, model._make_cut(), defaults)
    given = {**model.get_params(deep=False), "spread_penalty": 0, "refine": np.True_, "n_init": np.int64(1)}
    fit_out_of_core(source, given, model._make_cut(), defaults).discard()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"metric": "cosine", "n_neighbors": 5}, "n_neighbors=5 with metric='cosine' cannot be fitted out of core"),
        ({"metric": "cosine", "background": 0.1}, "background=0.1 goes with metric='auto'"),
        ({"metric": "cosine", "edge_weights": "binary"}, "edge_weights='binary' goes with a graph"),
        (
            {"random_state": np.random.RandomState(0)},
            "random_state=.* cannot be fitted out of core; give a whole number",
        ),
    ],
)
def test_a_fit_from_disk_ignores_no_setting_of_the_metric(given, told, tmp_path):
    np.save(tmp_path / "x.npy", X)
    model = HypHC(memory_limit=1e9, **given)
    with pytest.raises(ValueError, match=told):
        fit_out_of_core(
            open_source(tmp_path / "x.npy"), model.get_params(deep=False), model._make_cut(), default_parameters(HypHC)
        )


# --- one fit after another -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Every kind of input, with the parameters that it takes."""
    folder = tmp_path_factory.mktemp("rows")
    np.save(folder / "few.npy", X)
    np.save(folder / "many.npy", np.random.default_rng(1).normal(size=(4_500, 2)))
    frame = pd.DataFrame(X, columns=list("abc"), index=[f"row {i}" for i in range(24)])
    dense = as_similarity(X, "rbf").to_dense()
    return {
        "array": (X, {"n_clusters": 3}),
        "without a number": (X, {}),
        "continuous": (X, {"max_iter": 3}),
        "frame": (frame, {"n_clusters": 3}),
        "text": (frame.assign(kind=["u", "v"] * 12), {}),
        "sparse": (sp.csr_array(np.maximum(X, 0)), {}),
        "graph": (nx.karate_club_graph(), {}),
        "sparse similarities": (sp.csr_array(dense), {"metric": "precomputed"}),
        "similarities": (dense, {"metric": "precomputed"}),
        "Similarity": (as_similarity(X, "cosine"), {"n_clusters": 2}),
        "constraints": (X, {"constraints": Constraints(must_link=[[0, 1]])}),
        "path": (folder / "few.npy", {"memory_limit": "1GB"}),
        "from disk": (folder / "many.npy", {"memory_limit": 16e6, "metric": "cosine", "n_clusters": 3}),
    }


DEFAULTS = HypHC(effort=0.05, random_state=0).get_params(deep=False)


def fit_as(model: HypHC, given) -> dict[str, object]:
    rows, parameters = given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return vars(model.set_params(**{**DEFAULTS, **parameters}).fit(rows))


def test_a_fit_leaves_nothing_to_the_next_whatever_was_fitted(inputs):
    fresh = {kind: set(fit_as(HypHC(), given)) for kind, given in inputs.items()}
    kinds = list(inputs)
    # a de Bruijn sequence: each kind follows each kind once
    sequence = [
        kind for i, one in enumerate(kinds) for kind in (one, *chain(*((one, other) for other in kinds[i + 1 :])))
    ]
    steps = list(pairwise([*sequence, sequence[0]]))
    assert sorted(steps) == sorted(product(kinds, repeat=2))
    model = HypHC()
    fit_as(model, inputs[sequence[0]])
    for before, after in steps:
        assert set(fit_as(model, inputs[after])) == fresh[after], (before, after)


def test_a_refit_has_the_values_of_a_fresh_fit():
    frame = pd.DataFrame(X, columns=list("abc"))
    again, fresh = (
        HypHC(3, random_state=0, max_iter=3).fit(frame).fit(X[:20]),
        HypHC(3, random_state=0, max_iter=3).fit(X[:20]),
    )
    assert not hasattr(again, "feature_names_in_")
    for name in ("labels_", "children_", "loss_curve_", "embedding_"):
        assert_array_equal(getattr(again, name), getattr(fresh, name))


def test_a_fit_that_raises_leaves_the_model_unfitted():
    model = HypHC(3, random_state=0).fit(X)
    model.note = "mine"
    with pytest.raises(ValueError, match="n_clusters=99"):
        model.set_params(n_clusters=99).fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert model.note == "mine"


def test_other_estimators_begin_anew_too(tmp_path):
    dask, nn = pytest.importorskip("hyphc.dask"), pytest.importorskip("hyphc.nn")
    np.save(tmp_path / "x.npy", X)
    for model, given, wrong in (
        (dask.DaskHypHC(2, metric="cosine", part_size=20), (tmp_path / "x.npy",), (tmp_path / "none.npy",)),
        (nn.HypHCClassifier(max_iter=2), (X, [0, 1] * 12), (X, [-1] * 24)),
    ):
        before = set(vars(model))
        model.fit(*given)
        vars(model)["stale_"] = 1
        fitted = set(vars(model.fit(*given)))
        assert "stale_" not in fitted
        with pytest.raises((ValueError, FileNotFoundError)):
            model.fit(*wrong)
        assert not {"labels_", "cost_", "tree_", "fits_"} & set(vars(model))
        assert before <= set(vars(model))
        with pytest.raises(TypeError, match=f"{type(model).__name__} has no parameter 'n_cluster'"):
            type(model)(n_cluster=3)


# --- score -----------------------------------------------------------------------------------------------------------


def test_a_grid_over_metrics_and_neighbours_is_measured_by_one_similarity():
    grid = [{"metric": ["auto", "cosine", "rbf"]}, {"n_neighbors": [2, 5]}]
    search = GridSearchCV(HypHC(random_state=0, effort=0.1), grid, cv=2, refit=False).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert (np.abs(search.cv_results_["mean_test_score"]) <= 12).all()
    fixed = cross_val_score(HypHC(random_state=0, effort=0.1), X, cv=2)
    assert fixed.mean() == pytest.approx(search.cv_results_["mean_test_score"][0])


# --- fewer points than clusters --------------------------------------------------------------------------------------


def test_equal_points_that_must_be_apart_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        HypHC(4, constraints=Constraints(cannot_link=[(0, 1)]), random_state=0).fit(np.ones((6, 2)))


def test_a_fit_from_disk_warns_of_more_clusters_than_distinct_rows(tmp_path):
    np.save(tmp_path / "x.npy", np.repeat(np.eye(2), 2_300, axis=0))
    with pytest.warns(ConvergenceWarning, match=r"distinct points \(2\) is smaller than n_clusters \(4\)"):
        HypHC(4, metric="cosine", memory_limit=16e6, random_state=0).fit(tmp_path / "x.npy")


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")  # as outside of tests
def test_the_command_line_says_so_in_a_sentence(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("a,b\n" + "1.5,2\n" * 20)
    assert main(["fit", str(tmp_path / "x.csv"), "--n-clusters", "4", "--output", str(tmp_path / "out")]) == 0
    assert "hyphc: The number of distinct points (1) is smaller than n_clusters (4)" in capsys.readouterr().err


# --- interrupts ------------------------------------------------------------------------------------------------------


@pytest.fixture
def heeds_interrupts():
    """Ctrl-C raises KeyboardInterrupt, also where a shell in the background has let the process ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_interrupts")
def test_an_interrupt_ends_a_map_over_threads_at_once_and_without_frames_of_the_pool():
    free, begun = threading.Event(), []

    def work(number: int) -> None:
        begun.append(number)
        if number == 0:
            _thread.interrupt_main()
        free.wait(20)

    with pytest.raises(KeyboardInterrupt) as caught:
        thread_map(work, range(50), n_jobs=2)
    was_free = free.is_set()
    free.set()
    assert not was_free
    assert len(begun) <= 4
    assert not any("concurrent" in frame.filename for frame in traceback.extract_tb(caught.value.__traceback__))
    assert caught.value.__context__ is None or caught.value.__suppress_context__
