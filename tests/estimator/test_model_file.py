"""`HypHC.save` and `HypHC.load`: the same model after loading, no pickle, and errors for files that are not such models."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import pickle
import zipfile
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import Constraints, HypHC, MultiTree, Tree
from hyphc._runtime import value_archive
from hyphc.fit import model_file
from hyphc.similarity import Similarity
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

RNG = np.random.default_rng(0)
N = 36
X = RNG.normal(size=(N, 4)) + 6 * np.repeat([0, 1, 2], N // 3)[:, None]
NEW = RNG.normal(size=(9, 4)) + 6 * np.repeat([0, 1, 2], 3)[:, None]
WITH_GAPS = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
KINDS = np.array(["cat", "dog", "owl"])
FRAME = pd.DataFrame(X, columns=list("abcd"), index=[f"row {k}" for k in range(N)])
MIXED = FRAME.assign(kind=np.repeat(KINDS, N // 3))
NEW_MIXED = pd.DataFrame(NEW, columns=list("abcd")).assign(kind=np.repeat(KINDS, 3))
SQUARED = ((X[:, None] - X) ** 2).sum(axis=2)
TO_NEW = ((NEW[:, None] - X) ** 2).sum(axis=2)
GRAPH = networkx.relabel_nodes(networkx.connected_caveman_graph(4, 9), "node {}".format)
EDGES = sp.csr_array(np.where(np.exp(-SQUARED / 9) > 0.05, np.exp(-SQUARED / 9), 0))
PARENTS = MultiTree([*[N] * 3, *[N + 1] * (N - 3), N + 1, -1], N)

# settings, what is fitted, and what is predicted
CASES = {
    "default": ({}, X, NEW),
    "float32": ({}, X.astype(np.float32), NEW.astype(np.float32)),
    "missing values": ({}, WITH_GAPS, NEW),
    "names": ({}, FRAME, NEW_MIXED[list("abcd")]),
    "categories": ({}, MIXED, NEW_MIXED),
    "polars": ({}, "polars", NEW),
    "sparse rows": ({}, sp.csr_array(np.abs(X)), sp.csr_array(np.abs(NEW))),
    "copies": ({}, np.repeat(X[:12], 3, axis=0), NEW),
    "cosine": ({"metric": "cosine"}, X, NEW),
    "cosine of float32": ({"metric": "cosine"}, X.astype(np.float32), NEW.astype(np.float32)),
    "correlation": ({"metric": "correlation"}, X, NEW),
    "spearman": ({"metric": "spearman"}, X, NEW),
    "linear": ({"metric": "linear"}, X, NEW),
    "rbf": ({"metric": "rbf"}, X, NEW),
    "neighbours": ({"metric": "euclidean", "n_neighbors": 5, "edge_weights": "shared"}, X, NEW),
    "neighbours by manhattan": ({"metric": "manhattan", "n_neighbors": 5}, X, NEW),
    "neighbours of sparse rows": ({"metric": "cosine", "n_neighbors": 5}, sp.csr_array(np.abs(X)), sp.csr_array(NEW)),
    "matrix": ({"metric": "precomputed"}, np.exp(-SQUARED / 9), np.exp(-TO_NEW / 9)),
    "graph": ({"metric": "precomputed"}, EDGES, sp.csr_array(np.exp(-TO_NEW / 9))),
    "graph of networkx": ({}, GRAPH, None),
    "distances": ({"metric": "precomputed_distances"}, np.sqrt(SQUARED), np.sqrt(TO_NEW)),
    "cut": ({"criterion": "modularity", "n_clusters": 3, "min_size": 2}, X, NEW),
    "outliers": ({"outliers": "label"}, X, NEW),
    "threshold": ({"distance_threshold": 2.0}, X, NEW),
    "continuous": ({"refine": False, "max_iter": 20}, X, NEW),
    "protocol": ({"metric": "cosine", "preset": "paper", "max_iter": 2}, X, NEW),
    "first tree": ({"init": Tree([[0, 1], *([k + 1, N + k - 1] for k in range(1, N - 1))])}, X, NEW),
    "random state": ({"random_state": np.random.RandomState(3)}, X, NEW),
    "groups": ({"constraints": Constraints(must_link=[[0, 1, 35]], cannot_link=[(2, 3)])}, X, NEW),
    "classes": ({"constraints": Constraints(classes=["a", "b", None] * (N // 3), clusters=PARENTS)}, X, NEW),
    "order": ({"constraints": Constraints(order=np.arange(N))}, X, NEW),
    "order by dates": ({"constraints": Constraints(order=np.arange(N).astype("datetime64[D]"))}, X, NEW),
}


def fit(case: str, **more) -> HypHC:
    settings, rows, _ = CASES[case]
    if isinstance(rows, str):
        rows = pytest.importorskip("polars").DataFrame(X, schema=list("abcd"))
    return HypHC(**{"random_state": 0, **settings, **more}).fit(rows)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore")
def test_a_loaded_model_has_all_attributes_and_predicts_the_same(case, tmp_path):
    model, new = fit(case), CASES[case][2]
    model.save(tmp_path / "model.npz")
    loaded = HypHC.load(tmp_path / "model.npz")
    assert sorted(vars(loaded)) == sorted(vars(model))
    assert loaded.tree_ == model.tree_
    assert loaded.tree_.names == model.tree_.names
    for name in ("labels_", "probabilities_", "outlier_scores_", "linkage_", "embedding_", "loss_curve_"):
        assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.cost_ == model.cost_
    assert repr(loaded.plan_) == repr(model.plan_)
    assert repr(loaded.cluster_number_) == repr(model.cluster_number_)
    assert_array_equal(loaded.similarity_.to_dense(), model.similarity_.to_dense())
    if new is not None:
        assert_array_equal(loaded.predict(new), model.predict(new))
        assert loaded.predict(new).dtype == model.predict(new).dtype


def test_parameters_are_kept_except_for_the_callback(tmp_path):
    model = fit("cosine", n_clusters=np.int64(3), temperature=(1.0, 0.1), callback=lambda progress: False, verbose=0)
    model.save(tmp_path / "model.npz")
    loaded = HypHC.load(tmp_path / "model.npz").get_params()
    expected = model.get_params() | {"callback": None}
    assert loaded == expected
    assert type(loaded["n_clusters"]) is int


def test_weights_are_kept_and_points_can_be_added(tmp_path):
    weights = np.arange(1.0, N + 1)
    model = HypHC(random_state=0).fit(X, sample_weight=weights)
    model.save(tmp_path / "model.npz")
    loaded = HypHC.load(tmp_path / "model.npz")
    assert_array_equal(loaded.similarity_.sizes, weights)
    assert loaded.partial_fit(NEW).tree_ == model.partial_fit(NEW).tree_
    assert loaded.fit(X).labels_ is not None


def test_every_kind_of_similarity_can_be_stored():
    kinds = [kind for kind in Similarity.__subclasses__() if kind.__module__.startswith("hyphc.")]
    assert set(kinds) == set(model_file.KINDS)


def test_arguments_of_similarities_are_attributes_or_the_matrix_of_a_graph():
    for kind in model_file.KINDS:
        model = fit("neighbours" if kind.__name__ == "Graph" else "default")
        made = {type(part): part for part in (model.similarity_, *getattr(model.similarity_, "parts", ()))}
        for name in inspect.signature(kind).parameters:
            assert name in ("adjacency", "directed") or kind not in made or hasattr(made[kind], name)


def test_columns_of_new_rows_are_checked_by_name_after_loading(tmp_path):
    fit("names").save(tmp_path / "model.npz")
    loaded = HypHC.load(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(FRAME[list("abdc")])


def test_a_function_is_refused_with_the_remedy(tmp_path):
    model = HypHC(metric=lambda rows: np.exp(rows @ rows.T / 50), random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"^metric is <function .*without running code.*joblib\.dump"):
        model.save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_a_fit_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        HypHC().save(tmp_path / "model.npz")


def test_arrays_that_compress_a_thousandfold_are_read_back(tmp_path):
    zeros = np.zeros(10_000_000)  # 80 MB, of which a reader accepts at most a hundredfold
    value_archive.write_values(tmp_path / "zeros.npz", {"zeros": zeros, "again": zeros.copy()}, {})
    read = value_archive.read_values(tmp_path / "zeros.npz", {})
    assert read["zeros"].shape == read["again"].shape == (10_000_000,)
    assert (tmp_path / "zeros.npz").stat().st_size < 90_000_000


def test_equal_arrays_are_stored_once(tmp_path):
    fit("default").save(tmp_path / "model.npz")
    with zipfile.ZipFile(tmp_path / "model.npz") as archive:
        wide = [name for name in archive.namelist() if archive.getinfo(name).file_size >= X.nbytes]
    assert len(wide) < 5


def rewrite(path: Path, change) -> None:
    """Write the archive again with another text."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["values.json"] = change(members["values.json"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def replace(path: Path, old: str, new: str) -> None:
    def change(text: bytes) -> bytes:
        assert old.encode() in text
        return text.replace(old.encode(), new.encode(), 1)

    rewrite(path, change)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('["version", 1]', '["version", 2]', r"hyphc 0\.1\.0 wrote it in a later format; update hyphc"),
        ('"hyphc model"', '"another"', "another content"),
        ('"Blend"', '"os.system"', "'os.system', which this version does not know"),
        ('"labels_"', '"__class__"', "'__class__' is no fitted attribute"),
        ('"tree_"', '"trees_"', "its tree_ is no Tree"),
        ('"labels_"', '"marks_"', "its labels_ is no ndarray"),
        ('"effort"', '"vigour"', "no parameter 'vigour'.*update hyphc"),
        ('"array": 0', '"array": 99', "no item named 'array-99.npy'"),
        ('"array": 0', '"array": "../../etc/passwd"', "invalid literal"),
    ],
)
def test_files_of_other_versions_and_with_other_content_are_refused(old, new, reason, tmp_path):
    path = tmp_path / "model.npz"
    fit("default").save(path)
    replace(path, old, new)
    with pytest.raises(ValueError, match=reason) as error:
        HypHC.load(path)
    assert "model.npz" in str(error.value)


def test_indices_beyond_the_points_are_refused(tmp_path):
    path = tmp_path / "model.npz"
    fit("graph").save(path)
    with zipfile.ZipFile(path) as archive:
        text = json.loads(archive.read("values.json"))
        attributes = dict(text["dict"][4][1]["dict"])
        number = attributes["similarity_"]["Graph"]["adjacency"]["sparse"]["indices"]["array"]
        members = {name: archive.read(name) for name in archive.namelist()}
    indices = np.load(io.BytesIO(members[f"array-{number}.npy"]))
    indices[0] = 10**6
    changed = io.BytesIO()
    np.save(changed, indices)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | {f"array-{number}.npy": changed.getvalue()}).items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match="is not a saved model"):
        HypHC.load(path)


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_truncated_and_altered_files_are_refused(at, tmp_path):
    path = tmp_path / "model.npz"
    fit("default").save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(at * len(whole))])
    with pytest.raises(ValueError, match=r"model.npz' is not a saved model .*; write one with HypHC.save"):
        HypHC.load(path)
    place = int(at * len(whole))
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    with contextlib.suppress(ValueError):  # a byte of the directory that nothing depends on may differ
        assert HypHC.load(path).tree_ == fit("default").tree_


def test_pickles_are_not_run(tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(pickle.dumps(fit("default")))
    with pytest.raises(ValueError, match="is not a saved model"):
        HypHC.load(path)
    fit("default").save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    objects = io.BytesIO()
    np.save(objects, np.array([print], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | {"array-0.npy": objects.getvalue()}).items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        HypHC.load(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        HypHC.load(tmp_path / "model.npz")
