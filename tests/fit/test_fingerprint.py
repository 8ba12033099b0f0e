"""A checkpoint is of one problem: whatever decides the tree is part of the fingerprint, or is exempt for a stated reason."""

from __future__ import annotations

import copy
import functools
import inspect
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Constraints, HypHC, Tree, as_similarity
from hyphc.continuous.solver import EmbedSettings
from hyphc.fit.fingerprint import FIELDS_WITHOUT_EFFECT, WITHOUT_EFFECT, checksum, compute_fingerprint
from hyphc.similarity import Similarity
from hyphc.similarity.inputs.mixed_types import MixedTable
from hyphc.tree.multifurcating import MultiTree

ROWS = np.random.default_rng(0).normal(size=(12, 3))
NAMES = list(inspect.signature(HypHC).parameters)
TREE = Tree([[0, 1], [2, 3], [4, 5]], [1.0, 2.0, 5.0], "abcd", support=[0.1, 0.2, 0.3])

# Two values of each parameter that decides the tree.
DECISIVE = {
    "metric": (lambda X: X @ X.T + 9.0, lambda X: X @ X.T + 8.0),
    "n_neighbors": (3, 4),
    "edge_weights": ("fuzzy", "binary"),
    "scale": (True, False),
    "background": (0.1, 0.2),
    "init": (np.eye(3), np.eye(3)[::-1]),
    "n_init": (1, 2),
    "preset": (None, "paper"),
    "n_components": (2, 3),
    "temperature": ((0.7, 0.5), (0.7, 0.4)),
    "max_iter": (5, 6),
    "block_size": (64, 65),
    "max_triplets": (100, 200),
    "spread_penalty": (0.0, 0.5),
    "constraints": (Constraints(order=np.arange(12)), Constraints(order=-np.arange(12))),
    "directed": (None, "sum"),
    "refine": (True, False),
    "effort": (1.0, 2.0),
    "time_budget": (60.0, 61.0),
    "random_state": (np.random.RandomState(0), np.random.RandomState(1)),
}
# Another value of each that does not; the first is the default.
WITHOUT = {
    "n_clusters": 3,
    "distance_threshold": 0.5,
    "criterion": "height",
    "min_size": 2,
    "outliers": "label",
    "n_jobs": 1,
    "verbose": 1,
    "callback": lambda progress: None,
    "memory_limit": "9GB",
}


def facts(**parameters):
    return compute_fingerprint({**HypHC().get_params(deep=False), **parameters}, ROWS, None)


def test_every_parameter_decides_the_fingerprint_or_is_exempt_for_a_reason():
    assert set(DECISIVE) | set(WITHOUT_EFFECT) == set(NAMES)
    assert not set(DECISIVE) & set(WITHOUT_EFFECT)
    assert all(isinstance(reason, str) and reason for reason in WITHOUT_EFFECT.values())
    for name, (one, other) in DECISIVE.items():
        assert facts(**{name: one}) == facts(**{name: copy.copy(one)})
        assert facts(**{name: one}) != facts(**{name: other}), name


@pytest.mark.parametrize("name", sorted(WITHOUT_EFFECT.keys() - {"checkpoint"}))
def test_parameters_that_are_exempt_leave_the_tree_as_it_is(name):
    plain, changed = (HypHC(random_state=0, effort=0.2, **given).fit(ROWS) for given in ({}, {name: WITHOUT[name]}))
    assert facts() == facts(**{name: WITHOUT[name]})
    np.testing.assert_array_equal(plain.children_, changed.children_)


def test_the_page_on_checkpoints_names_what_may_differ():
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text()
    told = page.partition("**What may differ.**")[2].partition("Any other")[0]
    assert {name for name in NAMES if f"`{name}`" in told} == WITHOUT_EFFECT.keys() - {"checkpoint"}


def similarities() -> list[Similarity]:
    dense = as_similarity(ROWS, "rbf")
    found = [as_similarity(ROWS), as_similarity(ROWS, "cosine"), dense, as_similarity(ROWS, "euclidean", n_neighbors=3)]
    return [*found, as_similarity(ROWS).background]


def subclasses(kind: type) -> set[type]:
    return {kind, *(below for one in kind.__subclasses__() for below in subclasses(one))}


OBJECTS = {
    type(one).__name__: one
    for one in (
        Constraints([[0, 1]], [(2, 3)], MultiTree([4, 4, 4, 5, 5, -1], 4), ["a", "b"], [1.0, 2.0]),
        MultiTree([4, 4, 4, 5, 5, -1], 4, heights=[1.0, 2.0], support=[0.1, 0.2], names=list("abcd")),
        TREE,
        MixedTable(np.eye(2), (None, ("u", "v")), ("a", "b")),
        EmbedSettings(),
        *similarities(),
    )
}


def changed(value):
    """Something else of the same kind."""
    if isinstance(value, np.ndarray):
        return value[::-1] if value.dtype == object else value + 1
    if isinstance(value, bool | int | float):
        return value + 1
    return (value, "changed")


def test_every_kind_of_similarity_is_walked():
    kinds = {
        kind for kind in subclasses(Similarity) if kind.__module__.startswith("hyphc.") and not inspect.isabstract(kind)
    }
    assert {kind.__name__ for kind in kinds} <= set(OBJECTS)


@pytest.mark.parametrize("name", OBJECTS)
def test_every_field_decides_the_fingerprint_or_is_exempt_for_a_reason(name):
    one = OBJECTS[name]
    exempt = {field for kind, fields in FIELDS_WITHOUT_EFFECT.items() if isinstance(one, kind) for field in fields}
    assert checksum(one) == checksum(copy.deepcopy(one))
    for field, value in list(vars(one).items()):
        if isinstance(getattr(type(one), field, None), functools.cached_property):
            continue
        other = copy.copy(one)
        vars(other)[field] = changed(value)
        assert (checksum(other) == checksum(one)) == (field in exempt), field


def test_what_an_object_computes_later_leaves_its_fingerprint_as_it_is():
    before = checksum(TREE)
    assert len(TREE.sizes) == 7
    assert checksum(TREE) == before


def test_fields_of_a_similarity_that_are_exempt_leave_the_tree_as_it_is():
    one = as_similarity(ROWS)
    other = copy.copy(one)
    other.metric = other.source = None
    trees = [HypHC(random_state=0).fit(similarity).children_ for similarity in (one, other)]
    np.testing.assert_array_equal(*trees)


def kernel(power: int):
    return lambda X: (X @ X.T + 9.0) ** power


class Kernel:
    def __init__(self, power: int) -> None:
        self.power = power

    def __call__(self, X):
        return (X @ X.T + 9.0) ** self.power


def compare(X, shift=0.0):
    return X @ X.T + 9.0 + shift


FACTOR = 2.0


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (kernel(1), kernel(1), kernel(2)),
        (Kernel(1), Kernel(1), Kernel(2)),
        (Kernel(1).__call__, Kernel(1).__call__, Kernel(2).__call__),
        (compare, compare, functools.partial(compare, shift=1.0)),
        (functools.partial(compare, shift=1.0), functools.partial(compare, shift=1.0), functools.partial(compare)),
        (lambda X, k=1: X + k, lambda X, k=1: X + k, lambda X, k=2: X + k),
        (lambda X: [x + 1 for x in X], lambda X: [x + 1 for x in X], lambda X: [x + 2 for x in X]),
        (np.exp, np.exp, np.expm1),
        (np.dot, np.dot, np.inner),
    ],
)
def test_functions_are_told_apart_by_what_they_do(one, same, other):
    assert checksum(one) == checksum(same) != checksum(other)


def test_a_global_that_a_lambda_reads_is_part_of_it(monkeypatch):
    scaled = lambda X: X * FACTOR  # noqa: E731
    before = checksum(scaled)
    monkeypatch.setattr(f"{__name__}.FACTOR", 3.0)
    assert checksum(scaled) != before


def test_a_function_that_calls_itself_has_a_fingerprint():
    def countdown(n):
        return countdown(n - 1) if n else 0

    assert checksum(countdown) == checksum(countdown)


def test_what_has_no_content_is_refused_by_name_with_the_remedy(tmp_path):
    class Local(Kernel):
        pass

    for metric in (Local(1), functools.partial(compare, shift=(one for one in ()))):
        with pytest.raises(
            TypeError, match=r"checkpoint= must tell metric from any other.*define functions and classes in a"
        ):
            HypHC(metric=metric, checkpoint=tmp_path / "kept").fit(ROWS)


@pytest.mark.parametrize(
    ("one", "other"),
    [([[1], []], [[[1]]]), ([1, 2], [12]), ("a", b"a"), (1, 1.0), ({1: 2}, {2: 1}), ([np.eye(2)], [np.eye(2) * 2])],
)
def test_containers_are_told_apart_by_their_structure(one, other):
    assert checksum(one) != checksum(other)


def test_the_order_of_sets_and_dicts_and_the_form_of_a_sparse_matrix_do_not_matter():
    assert checksum({"a": 1, "b": 2}) == checksum({"b": 2, "a": 1})
    matrix = sp.random_array((6, 6), density=0.4, rng=np.random.default_rng(0))
    assert checksum(matrix.tocsr()) == checksum(matrix.tocsc())
