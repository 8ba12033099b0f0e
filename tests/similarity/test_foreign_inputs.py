"""What HypHC takes directly, and the small things around a fit: scores, numbers of clusters, reports, sheets."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree, as_similarity, dasgupta_cost
from hyphc.cli import main
from hyphc.cli.report import Comparison, comparison_row, score, score_rows
from numpy.testing import assert_array_equal
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV

X, GROUPS = make_blobs(60, centers=[[6, 0, 0], [0, 6, 0], [0, 0, 6]], cluster_std=0.5, random_state=0)


class Annotated:
    """As much of an AnnData object as is looked at."""

    def __init__(self, X):
        self.X, self.obsm = X, {"X_umap": None}
        self.obs_names, self.var_names = pd.Index([f"cell{i}" for i in range(60)]), pd.Index(["g1", "g2", "g3"])

    def to_df(self):
        return pd.DataFrame(self.X, index=self.obs_names, columns=self.var_names)


def test_annotated_data_is_taken_with_the_names_of_its_variables():
    plain, model = HypHC(3, random_state=0).fit(X), HypHC(3, random_state=0).fit(Annotated(X))
    assert model.tree_ == plain.tree_
    assert list(model.feature_names_in_) == ["g1", "g2", "g3"]
    assert model.tree_.names[:2] == ("cell0", "cell1")
    assert_array_equal(model.predict(Annotated(X)), plain.predict(X))
    sparse = HypHC(3, random_state=0).fit(Annotated(sp.csr_matrix(X)))
    assert sparse.tree_ == HypHC(3, random_state=0).fit(sp.csr_matrix(X)).tree_
    with pytest.raises(ValueError, match=r"no X; pass one of its embeddings, adata.obsm\[…\]: 'X_umap'"):
        HypHC().fit(Annotated(None))


def test_anndata_itself_is_taken():
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(X, var=pd.DataFrame(index=["g1", "g2", "g3"]))
    assert HypHC(random_state=0).fit(data).tree_ == HypHC(random_state=0).fit(X).tree_


def test_graphs_of_networkx_are_similarities():
    networkx = pytest.importorskip("networkx")
    graph = networkx.karate_club_graph()
    model = HypHC(random_state=0).fit(graph)
    W = networkx.to_scipy_sparse_array(graph, dtype=float)
    assert model.tree_ == HypHC(metric="precomputed", random_state=0).fit(W).tree_
    assert_array_equal(as_similarity(graph).to_dense(), W.toarray())
    assert model.tree_.names is None
    named = networkx.relabel_nodes(graph, {node: f"member {node}" for node in graph})
    assert HypHC(random_state=0).fit(named).tree_.names[33] == "member 33"
    with pytest.raises(ValueError, match="A graph holds similarities, and metric='cosine'"):
        HypHC(metric="cosine").fit(graph)


def test_polars_frames_are_taken_with_their_names():
    polars = pytest.importorskip("polars")
    model = HypHC(random_state=0).fit(polars.DataFrame(X, schema=["a", "b", "c"]))
    assert model.tree_ == HypHC(random_state=0).fit(X).tree_
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_sparse_rows_and_unknown_metrics_are_told_what_to_do():
    with pytest.raises(
        ValueError, match="Sparse features cannot be used with metric='rbf'; give n_neighbors, reduce them"
    ):
        HypHC(metric="rbf").fit(sp.csr_array(X))
    with pytest.raises(ValueError, match=r"metric='manhatten' is unknown; choose one of 'auto', .*'manhattan'"):
        HypHC(metric="manhatten").fit(X)
    with pytest.raises(ValueError, match="takes two rows, as a distance does; give n_neighbors"):
        HypHC(metric=lambda a, b: 0.0).fit(X)


def test_similarities_given_as_distances_are_warned_of():
    W = as_similarity(X, "cosine").to_dense() + np.eye(60)
    with pytest.warns(UserWarning, match="looks like similarities"):
        as_similarity(W, "precomputed_distances")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_similarity(squareform(pdist(X)), "precomputed_distances")
        as_similarity(pdist(X), "precomputed_distances")


def test_an_automatic_number_of_clusters_has_another_word():
    plain, auto = HypHC(random_state=0).fit(X), HypHC("auto", random_state=0).fit(X)
    assert_array_equal(plain.labels_, auto.labels_)
    assert auto.n_clusters == "auto"
    with pytest.raises(ValueError, match="n_clusters='three' must be a whole number"):
        HypHC("three").fit(X)


# --- score -----------------------------------------------------------------------------------------------------------


def test_the_score_is_minus_the_cost_per_weight_of_new_rows_in_the_tree():
    model = HypHC(random_state=0).fit(X[:50])
    before = model.tree_
    value = model.score(X[50:])
    assert model.tree_ is before
    whole = HypHC(random_state=0).fit(X[:50]).partial_fit(X[50:])
    own = whole.similarity_.subset(np.arange(50, 60))
    leaves = [leaf - 50 for leaf in whole.tree_.leaf_order().tolist() if leaf >= 50]
    assert sorted(leaves) == list(range(10))
    exact = min(-dasgupta_cost(tree, own) / own.total() for tree in (HypHC(refine=False, max_iter=5).fit(own).tree_,))
    assert np.isfinite(value)
    assert value < 0
    assert value > 2 * exact - 1  # of the order of a tree of these rows alone


def test_better_trees_have_better_scores():
    found = HypHC(metric="cosine", random_state=0).fit(X)
    poor = HypHC(metric="cosine", random_state=0).fit(X)
    poor._set_fitted_attributes(
        Tree(np.column_stack([np.append(0, np.arange(60, 118)), np.arange(1, 60)])), poor.similarity_, None
    )
    assert poor.score(X[::3]) < found.score(X[::3])


def test_grid_search_takes_the_score():
    search = GridSearchCV(HypHC(random_state=0, metric="cosine"), {"effort": [0.1, 0.2]}, cv=2).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    with pytest.raises(ValueError, match="score needs rows of features"):
        HypHC(metric="precomputed").fit(as_similarity(X, "cosine").to_dense()).score(X)


# --- the report ------------------------------------------------------------------------------------------------------


def test_costs_that_differ_by_rounding_are_the_same():
    assert comparison_row(1.0, Comparison(1.0 + 2e-16, None))[2] == "the same cost"
    assert "costs 1 % more" in comparison_row(1.0, Comparison(1.01, None))[2]


@pytest.mark.parametrize("n", [3, 40])
def test_a_similarity_that_tells_no_rows_apart_is_told(n):
    similarity = as_similarity(np.ones((n, 2)))
    tree = HypHC(random_state=0).fit(similarity).tree_
    rows = {what: (value, text) for what, value, text in score_rows(score(tree, similarity, None, 0))}
    assert rows["gap"][0] == "0.00 %"
    assert "all similarities are equal, and every tree costs the same" in rows["gap"][1]


def test_two_rows_and_rows_that_differ_have_a_gap():
    for rows in (X[:2], X):
        similarity = as_similarity(rows)
        told = score_rows(score(HypHC(random_state=0).fit(similarity).tree_, similarity, None, 0))
        assert not any("no rows apart" in text for _, _, text in told)


# --- clusters as a sheet ---------------------------------------------------------------------------------------------


def test_cut_writes_a_workbook(tmp_path, capsys):
    openpyxl = pytest.importorskip("openpyxl")
    Tree([[0, 1], [3, 2]], names=["=1+1", "b", "7"]).save(tmp_path / "t.npz")
    assert main(["cut", str(tmp_path / "t.npz"), "--n-clusters", "2", "--output", str(tmp_path / "c.xlsx")]) == 0
    sheet = openpyxl.load_workbook(tmp_path / "c.xlsx")["clusters"]
    assert [[cell.value for cell in row] for row in sheet] == [
        ["row", "name", "cluster"],
        [1, "=1+1", 0],
        [2, "b", 0],
        [3, 7, 1],
    ]
    assert sheet["B2"].data_type == "s"


def test_cut_refuses_extensions_that_promise_something_else(tmp_path, capsys, monkeypatch):
    Tree([[0, 1]]).save(tmp_path / "t.npz")
    assert main(["cut", str(tmp_path / "t.npz"), "--output", str(tmp_path / "c.ods")]) == 1
    assert "end it in .csv or .xlsx" in capsys.readouterr().err
    monkeypatch.setattr("hyphc.io.sources.find_spec", lambda _: None)
    assert main(["cut", str(tmp_path / "t.npz"), "--output", str(tmp_path / "c.xlsx")]) == 1
    assert "pip install 'hyphc[excel]'" in capsys.readouterr().err
