"""Clusters, tree and genes of AnnData objects, with the fields that scanpy reads."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree
from hyphc.scores.group_differences import GroupMoments
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_ind
from sklearn.datasets import make_blobs

anndata = pytest.importorskip("anndata")
hsc = importlib.import_module("hyphc.scanpy")

CENTRES = [[9, 0, 0, 0], [0, 9, 0, 0], [0, 8, 4, 0], [0, 0, 0, 9]]
ROWS, GROUPS = make_blobs(200, centers=CENTRES, cluster_std=0.6, random_state=0)


@pytest.fixture
def cells():
    """Cells whose genes say as much as their principal components, and a graph that knows two groups only."""
    rng = np.random.default_rng(0)
    data = anndata.AnnData(
        np.hstack([np.abs(ROWS), rng.random((200, 2))]).astype(np.float32),
        obs=pd.DataFrame(index=[f"cell{i}" for i in range(200)]),
        var=pd.DataFrame(index=[f"gene{j}" for j in range(6)]),
    )
    data.obsm["X_pca"], data.obsm["X_other"] = ROWS, ROWS[:, :1]
    same = (GROUPS[:, None] < 2) == (GROUPS < 2)
    data.obsp["connectivities"] = data.obsp["mine"] = sp.csr_matrix(same - np.eye(200))
    data.uns["neighbors"] = {"connectivities_key": "connectivities"}
    return data


@pytest.fixture
def sc():
    pytest.importorskip("matplotlib").use("agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scanpy's own dependencies
        found = pytest.importorskip("scanpy", reason="scanpy is not installed")
        yield found
        importlib.import_module("matplotlib.pyplot").close("all")


def test_groups_are_those_of_the_estimator_as_text_categories(cells):
    assert hsc.tl.hyphc(cells) is None
    model = HypHC(random_state=0).fit(ROWS)
    assert list(cells.obs["hyphc"].cat.categories) == [str(k) for k in range(model.n_clusters_)]
    assert_array_equal(cells.obs["hyphc"].astype(int), model.labels_)
    stored = cells.uns["hyphc"]
    assert stored["params"] == {"use_rep": "X_pca", "random_state": 0}
    assert stored["cost"] == model.cost_
    assert Tree.from_linkage(stored["linkage"]) == model.tree_


def test_a_copy_is_returned_and_the_object_left_alone(cells):
    copied = hsc.tl.hyphc(cells, n_clusters=3, key_added="mine", copy=True)
    assert "mine" not in cells.obs
    assert copied.obs["mine"].nunique() == 3
    assert copied.uns["mine"]["params"]["n_clusters"] == 3


@pytest.mark.parametrize("given", [{"neighbors_key": "neighbors"}, {"obsp": "mine"}])
def test_a_graph_is_clustered_instead_of_rows(cells, given):
    hsc.tl.hyphc(cells, n_clusters=2, **given)
    groups = cells.obs["hyphc"].astype(int).to_numpy()
    assert_array_equal(groups == groups[0], (GROUPS < 2) == (GROUPS[0] < 2))
    assert cells.uns["hyphc"]["params"]["obsp"] == given.get("obsp", "connectivities")


def test_representations_are_chosen_by_name_and_x_without_components(cells):
    hsc.tl.hyphc(cells, use_rep="X", metric="cosine", n_clusters=2)
    assert cells.uns["hyphc"]["params"] == {"use_rep": "X", "n_clusters": 2, "random_state": 0, "metric": "cosine"}
    del cells.obsm["X_pca"]
    hsc.tl.hyphc(cells)
    assert cells.uns["hyphc"]["params"]["use_rep"] == "X"
    cells.X = sp.csr_matrix(cells.X)
    hsc.tl.hyphc(cells)
    assert cells.uns["dendrogram_hyphc"]["correlation_matrix"].shape == (4, 4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"use_rep": "X_pac"},
            "use_rep='X_pac' is no embedding in obsm; choose 'X' or one of these: 'X_pca', 'X_other'",
        ),
        ({"use_rep": "X", "obsp": "mine"}, "use_rep='X' and obsp='mine' ask for different inputs"),
        ({"neighbors_key": "knn"}, "neighbors_key='knn' is not in uns; uns has 'neighbors'"),
        ({"obsp": "conn"}, "obsp has no 'conn'; it has 'connectivities', 'mine'"),
        ({"obsp": "mine", "metric": "cosine"}, "metric='cosine'"),
        ({"resolution": 1.0}, "resolution"),
    ],
)
def test_what_cannot_be_clustered_is_named_with_the_remedy(cells, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        hsc.tl.hyphc(cells, **given)
    assert "hyphc" not in cells.obs


def test_outliers_have_no_group_and_one_group_no_dendrogram(cells):
    cells.obsm["X_pca"][0] = 60.0
    hsc.tl.hyphc(cells, metric="rbf", outliers="label")
    assert cells.obs["hyphc"].isna().any()
    assert "-1" not in cells.obs["hyphc"].cat.categories
    assert "dendrogram_hyphc" in cells.uns
    hsc.tl.hyphc(cells, n_clusters=1)
    assert "dendrogram_hyphc" not in cells.uns
    with pytest.raises(ValueError, match="has 1 group; differences need two"):
        hsc.get.differences(cells)


def test_heights_of_the_dendrogram_are_those_at_which_the_tree_joins_the_groups(cells):
    hsc.tl.hyphc(cells, n_clusters=4)
    model = HypHC(4, random_state=0).fit(ROWS)
    tree, nodes = model.tree_, model._clusters_.nodes
    between = Tree.from_linkage(cells.uns["dendrogram_hyphc"]["linkage"])
    some = [tree.members(node)[0] for node in nodes]
    for i in range(4):
        for j in range(i):
            assert between.heights[between.lca(i, j) - 4] == tree.heights[tree.lca(some[i], some[j]) - 200]


def test_scanpy_draws_our_tree_and_keeps_it_in_a_file(cells, sc, tmp_path):
    hsc.tl.hyphc(cells, n_clusters=4)
    mine = cells.uns["dendrogram_hyphc"]
    assert set(mine) == set(sc.tl.dendrogram(cells, "hyphc", inplace=False))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    for data in (cells, anndata.read_h5ad(tmp_path / "cells.h5ad")):
        lines = (
            sc.pl.dendrogram(data, "hyphc", show=False).collections or sc.pl.dendrogram(data, "hyphc", show=False).lines
        )
        assert lines
        axes = sc.pl.dotplot(data, ["gene0", "gene1"], groupby="hyphc", dendrogram=True, show=False)
        ticks = [label.get_text() for label in axes["mainplot_ax"].get_yticklabels()]
        assert ticks == list(mine["categories_ordered"])
        assert_array_equal(data.uns["dendrogram_hyphc"]["linkage"], mine["linkage"])
        sc.pl.correlation_matrix(data, "hyphc", show=False)


def test_bundled_blood_cells_are_drawn(sc, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    blood = sc.datasets.pbmc68k_reduced()
    hsc.tl.hyphc(blood)
    ax = sc.pl.dendrogram(blood, "hyphc", show=False)
    heights = {round(float(y), 9) for line in ax.lines for y in line.get_ydata()} - {0.0}
    assert heights == set(blood.uns["dendrogram_hyphc"]["linkage"][:, 2].round(9).tolist())
    plt.gcf().savefig(tmp_path / "tree.png")
    found = hsc.get.differences(blood, top=1).set_index("group")["gene"]
    assert set(found) <= set(blood.raw.var_names)
    assert "FCGR3A" in set(found)  # of monocytes


# --- genes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_sparse", [False, True])
@given(st.integers(0, 2**31))
def test_moments_of_groups_and_their_unions_are_those_of_the_definition(as_sparse, seed):
    rng = np.random.default_rng(seed)
    rows = np.where(rng.random((30, 4)) < 0.4, 0.0, rng.normal(3, 1, (30, 4)))
    rows[rng.random((30, 4)) < 0.1] = np.nan
    groups = rng.integers(-1, 3, 30)
    found = GroupMoments.of_rows(sp.csr_array(rows) if as_sparse else rows, groups, 3)
    others, union = found.of_others(), found.of_union([2, 0])
    for k in range(3):
        for moments, at, chosen in (
            (found, k, groups == k),
            (others, k, (groups != k) & (groups >= 0)),
            (union, 0, (groups == 2) | (groups == 0)),
        ):
            for j in range(4):
                values = rows[chosen, j][np.isfinite(rows[chosen, j])]
                assert moments.weight[at, j] == len(values)
                if len(values):
                    assert_allclose(moments.centre[at, j], values.mean(), atol=1e-12)
                    assert_allclose(moments.scatter[at, j], ((values - values.mean()) ** 2).sum(), atol=1e-10)


@pytest.mark.parametrize("compare", ["rest", "sibling"])
def test_differences_of_genes_are_those_of_the_definition(cells, compare):
    hsc.tl.hyphc(cells, n_clusters=4)
    frame = hsc.get.differences(cells, compare=compare, top=2)
    groups, values = cells.obs["hyphc"], pd.DataFrame(cells.X, index=cells.obs_names, columns=cells.var_names)
    assert list(frame["rank"]) == [1, 2] * 4
    for row in frame.itertuples():
        one = values.loc[groups == row.group, row.gene].astype(float)
        names = row.compared_with.split(", ")
        rest = groups != row.group if names == ["rest"] else groups.isin(names)
        other = values.loc[rest, row.gene].astype(float)
        assert_allclose([row.mean, row.other_mean], [one.mean(), other.mean()], rtol=1e-6)
        spread = np.sqrt((one.var() * (len(one) - 1) + other.var() * (len(other) - 1)) / (len(one) + len(other) - 2))
        g = (1 - 3 / (4 * (len(one) + len(other) - 2) - 1)) * (one.mean() - other.mean()) / spread
        assert_allclose(row.effect, g, rtol=1e-5)
        assert_allclose(row.p_value, ttest_ind(one, other, equal_var=False).pvalue, rtol=1e-4)
        assert row.sure == (row.p_value * 4 * 6 <= 0.05)


def test_genes_are_those_of_raw_where_it_is_and_of_a_layer_on_request(cells):
    cells.raw = anndata.AnnData(sp.csr_matrix(cells.X), var=pd.DataFrame(index=[f"raw{j}" for j in range(6)]))
    cells.layers["twice"] = 2 * cells.X
    hsc.tl.hyphc(cells, n_clusters=4)
    raw = hsc.get.differences(cells, top=6)
    plain, twice = hsc.get.differences(cells, use_raw=False, top=6), hsc.get.differences(cells, layer="twice", top=6)
    assert set(raw["gene"]) == {f"raw{j}" for j in range(6)}
    assert_allclose(raw["effect"], plain["effect"], rtol=1e-5)
    assert_allclose(twice["mean"], 2 * plain["mean"], rtol=1e-5)
    with pytest.raises(ValueError, match="layer='twice' and use_raw=True ask for different values"):
        hsc.get.differences(cells, use_raw=True, layer="twice")


@pytest.mark.parametrize(
    ("key", "options", "message"),
    [
        ("hyphc", {}, r"obs has no 'hyphc'; run hyphc.scanpy.tl.hyphc\(adata\) first"),
        ("number", {}, "holds int64, not categories"),
        ("kind", {"compare": "sibling"}, "uns has no tree of the 2 groups of 'kind'"),
        ("kind", {"compare": "siblings"}, "compare='siblings'"),
        ("kind", {"top": 0}, "top=0 keeps no gene"),
        ("kind", {"use_raw": True}, "adata.raw is None"),
        ("kind", {"layer": "counts"}, "layer='counts' is not in layers"),
    ],
)
def test_what_cannot_be_explained_is_named_with_the_remedy(cells, key, options, message):
    cells.obs["number"], cells.obs["kind"] = np.arange(200), pd.Categorical(["a", "b"] * 100)
    with pytest.raises(ValueError, match=message):
        hsc.get.differences(cells, key, **options)


def test_groups_without_cells_are_left_out(cells):
    cells.obs["kind"] = pd.Categorical(["a", "b"] * 100, categories=["a", "none", "b"])
    assert list(hsc.get.differences(cells, "kind", top=1)["group"]) == ["a", "b"]


# --- the estimator ---------------------------------------------------------------------------------------------------


def test_a_fit_prefers_principal_components_and_says_so(cells):
    model = HypHC(random_state=0).fit(cells)
    assert model.tree_ == HypHC(random_state=0).fit(ROWS).tree_
    assert str(model.plan_).startswith("rows: obsm['X_pca'] of the AnnData object; columns")
    assert model.tree_.names[7] == "cell7"
    assert_array_equal(model.predict(cells), model.predict(ROWS))
    del cells.obsm["X_pca"]
    assert str(HypHC(random_state=0).fit(cells).plan_).startswith("rows: X of the AnnData object; columns")
