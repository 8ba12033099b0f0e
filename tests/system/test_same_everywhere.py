"""One seed, one tree: in the process that compiles the kernels and in those that load them from the cache."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import hyphc
import pytest

KERNELS = Path(hyphc.__file__).parent / "_kernels" / "continuous"

RUNS = """
import hashlib
import numpy as np
import scipy.sparse as sp
from hyphc import HypHC, as_similarity, embed

rng = np.random.default_rng(0)
X = rng.normal(size=(330, 7))
features = as_similarity(X, "cosine")
graph = as_similarity(sp.csr_array(np.where(X @ X.T > 7, 1.0, 0.0) * (1 - np.eye(330))), "precomputed")
for similarity, options in (
    (features, {"max_iter": 40}),
    (features.subset(np.arange(60)), {"max_iter": 40}),
    (features.subset(np.arange(200)), {"max_iter": 20}),
    (features.subset(np.arange(60)), {"preset": "paper", "max_iter": 2}),
    (graph, {"max_iter": 60}),
):
    result = embed(similarity, random_state=0, **options)
    digits = result.embedding.tobytes() + result.loss_curve.tobytes() + np.asarray(result.tree.children).tobytes()
    print(hashlib.sha256(digits).hexdigest())
for similarity in (as_similarity(X), features, as_similarity(features.to_dense(), "precomputed"), graph):
    model = HypHC(random_state=0).fit(similarity)
    print(hashlib.sha256(model.linkage_.tobytes() + np.float64(model.cost_).tobytes()).hexdigest())
"""


EDGES = """
import hashlib
from sklearn.datasets import load_digits
from hyphc import as_similarity

i, j, weights = as_similarity(load_digits().data).graph.edges()
print(hashlib.sha256(i.tobytes() + j.tobytes() + weights.round(12).tobytes()).hexdigest())
"""


def test_the_neighbours_of_whole_numbers_are_the_same_whatever_instructions_the_linear_algebra_uses():
    """Digits have many equal distances; OpenBLAS sums in another order on each kind of processor."""
    found = set()
    for kind in ("Prescott", "Nehalem", ""):
        environment = {**os.environ, "OPENBLAS_CORETYPE": kind, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", EDGES], env=environment, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.slow
def test_a_seed_gives_the_same_digits_when_kernels_are_compiled_and_when_they_are_loaded(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    compiled, loaded = (
        subprocess.run([sys.executable, "-c", RUNS], env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert len(compiled.split()) == 9
    assert compiled == loaded


def test_kernels_whose_sums_may_be_reordered_are_called_by_no_other_kernel():
    """Such a callee exists by itself and inside its caller, with two orders of summation; ``inline`` makes copies only."""
    modules = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in KERNELS.glob("*.py")}
    functions = [node for module in modules.values() for node in module.body if isinstance(node, ast.FunctionDef)]
    options = {
        f.name: {k.arg for d in f.decorator_list if isinstance(d, ast.Call) for k in d.keywords} for f in functions
    }
    reordered = {name for name, given in options.items() if "fastmath" in given}
    assert "circle_blocks" in reordered
    for function in functions:
        called = {n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        assert all("inline" in options[name] for name in called & reordered), function.name
