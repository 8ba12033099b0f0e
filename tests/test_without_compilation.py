"""NUMBA_DISABLE_JIT=1: kernels run as plain Python, so that a debugger and coverage see inside."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hyphc._shared.arrays import record

SCRIPT = """
import numpy as np, scipy.sparse as sp
from hyphc import HypHC, baselines, cost_bounds, dasgupta_cost, dendrogram_purity, exact_tree, insert, optimality_gap, refine
from hyphc.similarity import Dense, Graph, as_similarity
from oracles import dasgupta_cost as brute_force_cost

X = np.random.default_rng(0).normal(size=(7, 3))
features = as_similarity(X)
W = features.to_dense()
for similarity in (features, Dense(W), Graph(sp.csr_array(np.where(W > 0.5, W, 0.0)))):
    start = baselines.random_tree(similarity, random_state=0)
    best = exact_tree(similarity)
    swept = refine(start, similarity, max_sweeps=20)
    assert abs(dasgupta_cost(start, similarity) - brute_force_cost(start, similarity.to_dense())) < 1e-9
    assert dasgupta_cost(best, similarity) <= dasgupta_cost(swept, similarity) + 1e-9 <= dasgupta_cost(start, similarity) + 2e-9
    few = similarity.subset(np.arange(5))
    assert insert(exact_tree(few), similarity).n_leaves == 7
model = HypHC(2, max_iter=2, refine=False, random_state=0).fit(X)
assert cost_bounds(features).lower <= model.cost_ <= cost_bounds(features).upper
assert dendrogram_purity(model.tree_, model.labels_) == 1.0
assert model.predict(X).tolist() == model.labels_.tolist()
assert optimality_gap(model.tree_, features, k=5).gap >= 0
print("done")
"""


def test_the_kernels_run_as_plain_python():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.path.dirname(__file__)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_a_field_of_a_record_may_not_hide_behind_an_attribute_of_numpy():
    with pytest.raises(ValueError, match=r"Fields \['size'\]"):
        record(("size", np.int32), ("leaf", np.int32))
    assert np.zeros(2, record(("n_leaves", np.int32)))[1].n_leaves == 0
