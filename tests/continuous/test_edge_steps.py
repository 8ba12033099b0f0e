"""The compiled steps on the edges of a graph, against the same steps in plain NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import as_similarity, embed
from hyphc._kernels.continuous import edge_steps as kernels
from hyphc._kernels.continuous.powers import powers
from hyphc.continuous import edge_descent, objective, sampling
from hyphc.continuous.adam import RiemannianAdam
from hyphc.continuous.descent import Schedule
from hyphc.continuous.manifolds import Circle
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numpy.testing import assert_allclose


@njit(error_model="numpy")
def power_of(x, p):
    whole = np.empty_like(x)
    powers(x, x.view(np.uint64), whole, whole.view(np.uint64), p, x.shape[0])
    return x


def random_graph(n, n_edges, seed):
    rng = np.random.default_rng(seed)
    i, j = rng.integers(n, size=(2, n_edges))
    W = sp.csr_array((rng.uniform(0.1, 3.0, n_edges), (i, j)), shape=(n, n))
    W = W + W.T
    W.setdiag(0.0)
    W.eliminate_zeros()
    return as_similarity(W, "precomputed")


@given(st.lists(st.floats(1e-30, 1e30), min_size=1, max_size=20), st.floats(0.01, 8.0))
def test_powers_are_those_of_the_library(x, p):
    exact = np.array(x) ** p
    assert_allclose(power_of(np.array(x), p), exact, rtol=3e-10)
    assert_allclose(power_of(np.array(x), 1e-3 * p), np.array(x) ** (1e-3 * p), rtol=1e-12)


def test_powers_beyond_float64_end_at_the_largest():
    assert power_of(np.array([1e-200, 1.0, 1e200]), 50.0).tolist() == [2.0**-1000, 1.0, 2.0**1000]


def descent_of(graph, n_iter, seed, mapping=map, **schedule):
    settings = {
        "temperature": (0.7, 0.1),
        "radius": (1.0, 10.0),
        "learning_rate": (0.3, 0.01),
        "start": 0.0,
        **schedule,
    }
    edges = sampling.Edges(graph, 0.0, mapping)
    start = np.random.default_rng(seed).uniform(-9, 9, graph.n)
    return edge_descent.EdgeDescent(edges, start, Schedule(**settings), n_iter, seed), edges, start


@pytest.mark.parametrize("drawn", [None, 40])
@pytest.mark.parametrize(("n", "n_edges"), [(3, 3), (4, 6), (50, 400)])
def test_compiled_steps_are_those_of_the_reference_on_the_same_triplets(n, n_edges, drawn, monkeypatch):
    monkeypatch.setattr(sampling, "MAX_EDGES", drawn or sampling.MAX_EDGES)
    graph = random_graph(n, n_edges, 1)
    descent, edges, params = descent_of(graph, 6, 2)
    adam = RiemannianAdam(Circle(), params)
    for t in range(6):
        if t % edge_descent.TOGETHER == 0:
            circular = edges.circular(descent.leaves.angles)
        ijk, weights = triplets_of_step(edges.edges, circular, t, 2)
        three = np.zeros((len(ijk), 3))
        three[:, 0] = weights
        radius, tau, rate = descent.schedule[t].tolist()
        value, grad, _ = objective.circle_triplet_objective(params, radius, ijk, three, tau)
        params = adam.step(params, grad, rate)
        assert_allclose(descent.steps(t, t + 1), [value], rtol=1e-8)
        noise = (descent.leaves.angles - params) / (kernels.NOISE * rate)
        assert np.abs(noise).max() < 3.5
        params = descent.leaves.angles.copy()


def triplets_of_step(edges, circular, t, seed):
    """The edges and third points of one step, drawn as the kernel draws them, with the generator in plain Python."""
    n_edges, ijk, weights = len(edges.i), [], []
    part = edges.cumulative[-1] / edges.n_drawn
    shift = (scrambled(seed, t) >> 32) * 2**30 // 2**32 / 2**30
    for s in range(edges.n_drawn):
        at = s if edges.n_drawn == n_edges else int(np.searchsorted(edges.cumulative, (s + shift) * part, side="right"))
        w = edges.weights[at] if edges.n_drawn == n_edges else part
        number = 2 * (t * edges.n_drawn + s)
        i, j, n = edges.i[at], edges.j[at], len(circular.order)
        far, near = scrambled(seed + 1, number), scrambled(seed + 1, number + 1)
        scale = (near >> 32) * circular.n_scales >> 32
        step = 2**scale + (near >> 2) % 2**scale
        place = circular.rank[i if near & 1 else j] + (step if near & 2 else -step)
        for k in ((far >> 32) * n >> 32, circular.order[place % n]):
            if k not in (i, j):
                apart = [abs(circular.rank[k] - circular.rank[end]) for end in (i, j)]
                often = 1 / n + sum(circular.chances[min(d, n - d)] for d in apart)
                ijk.append((i, j, k))
                weights.append(w / often)
    return np.array(ijk), np.array(weights)


def scrambled(seed, number):
    z = (seed + number * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_threads_change_nothing(n_jobs, monkeypatch):
    monkeypatch.setattr(edge_descent, "CHUNK_EDGES", 100)
    graph = random_graph(150, 900, 0)
    one, more = (embed(graph, max_iter=45, random_state=1, n_jobs=jobs) for jobs in (1, n_jobs))
    assert np.array_equal(one.embedding, more.embedding)
    assert np.array_equal(one.loss_curve, more.loss_curve)


def test_listening_changes_nothing():
    graph = random_graph(60, 300, 4)
    heard = []
    silent = embed(graph, max_iter=400, random_state=1)
    loud = embed(graph, max_iter=400, random_state=1, callback=lambda news: heard.append(news.iteration))
    assert heard == list(range(400))
    assert np.array_equal(silent.embedding, loud.embedding)
    assert silent.n_triplets == loud.n_triplets


@pytest.mark.parametrize(
    "options", [{"radius": "learned"}, {"radius": 25.0}, {"spread_penalty": 0.1}, {"n_components": 3}]
)
def test_what_the_compiled_steps_do_not_serve_goes_step_by_step(options, monkeypatch):
    monkeypatch.setattr(edge_descent.EdgeDescent, "steps", None)
    result = embed(random_graph(20, 60, 0), max_iter=3, random_state=0, **options)
    assert result.n_iter == 3
