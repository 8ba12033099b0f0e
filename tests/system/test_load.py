"""Many fits, many threads, many processes: each does what it does alone, and leaves nothing behind. Short forms of the soak."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hyphc import HypHC
from threadpoolctl import threadpool_info, threadpool_limits

STATM = Path("/proc/self/statm")


def rows(seed: int, n: int = 40) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 4))


def default_fit(seed: int) -> np.ndarray:
    return np.array(HypHC(random_state=seed, n_jobs=2).fit(rows(seed)).linkage_)


def continuous_fit(seed: int) -> np.ndarray:
    return np.array(
        HypHC(metric="cosine", refine=False, max_iter=20 + seed, random_state=seed).fit(rows(seed)).linkage_
    )


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("fit", [default_fit, continuous_fit])
def test_fits_in_32_threads_are_those_alone_and_leave_blas_as_it_was(fit):
    alone, before = [fit(seed) for seed in range(32)], blas_threads()
    with ThreadPoolExecutor(32) as pool:
        together = list(pool.map(fit, range(32)))
    assert all(map(np.array_equal, alone, together))
    assert blas_threads() == before


@pytest.mark.parametrize("limit", [1, 2])
def test_limits_of_threadpoolctl_are_kept_and_change_no_tree(limit):
    alone = continuous_fit(3)
    with threadpool_limits(limit, user_api="blas"):
        assert np.array_equal(continuous_fit(3), alone)
        assert set(blas_threads()) <= {limit}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")  # what is tested here
def test_a_forked_process_fits_what_its_parent_fits():
    alone = default_fit(1), continuous_fit(1)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert all(np.array_equal(alone[0], found) for found in pool.map(default_fit, [1, 1]))
        assert all(np.array_equal(alone[1], found) for found in pool.map(continuous_fit, [1, 1]))


SPAWNED = """
import multiprocessing
import sys
sys.path.insert(0, sys.argv[1])
from test_load import default_fit
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(*(found.tobytes().hex() for found in pool.map(default_fit, [1, 1])))
"""


def test_a_spawned_process_fits_what_its_parent_fits(tmp_path):
    (tmp_path / "spawned.py").write_text(SPAWNED)
    command = [sys.executable, str(tmp_path / "spawned.py"), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [default_fit(1).tobytes().hex()] * 2


@pytest.mark.parametrize("n_jobs", [1, 64, 1000])
def test_threads_beyond_the_cores_change_nothing(n_jobs):
    model = HypHC(random_state=0, n_jobs=n_jobs).fit(rows(0, 300))
    assert model.tree_ == HypHC(random_state=0, n_jobs=2).fit(rows(0, 300)).tree_


@pytest.mark.parametrize("metric", ["auto", "cosine"])
def test_predict_from_many_threads_on_one_model_answers_as_alone(metric):
    model, new = HypHC(metric=metric, random_state=0, n_jobs=2).fit(rows(0, 200)), rows(1, 100)
    alone = model.predict(new)
    with ThreadPoolExecutor(16) as pool:
        assert all(np.array_equal(alone, found) for found in pool.map(lambda _: model.predict(new), range(48)))


# In a process of its own: one that has run other tests may hold free memory that would hide what fits leave behind.
GROWTH = """
import gc
import os
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_load import continuous_fit, default_fit
for n_fits in (5, 15):
    for seed in range(n_fits):
        default_fit(seed)
        continuous_fit(seed)
    gc.collect()
    print(int(Path("/proc/self/statm").read_text().split()[1]))
"""


@pytest.mark.skipif(not STATM.exists(), reason="needs Linux, which says how much memory a process holds")
def test_memory_does_not_grow_with_the_number_of_fits():
    command = [sys.executable, "-c", GROWTH, str(Path(__file__).parent)]
    before, after = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert after <= 1.05 * before


@pytest.mark.parametrize(("metric", "more"), [("auto", 0.2), ("cosine", 0.02)])
def test_points_added_in_batches_cost_little_more_than_a_fresh_fit(metric, more):
    X = np.vstack([rows(k, 60) + 6 * np.eye(4)[k % 4] for k in range(4)])[np.random.default_rng(0).permutation(240)]
    model = HypHC(metric=metric, random_state=0).fit(X[:60])
    for begin in range(60, 240, 20):
        model.partial_fit(X[begin : begin + 20])
    fresh = HypHC(metric=metric, random_state=0).fit(X)
    assert model.n_leaves_ == 240
    assert fresh.cost_ <= model.cost_ <= (1 + more) * fresh.cost_
