"""Out-of-core fits: the same tree for any executor, its exact cost, and hardly more than that of a fit in memory."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hyphc import HypHC, Tree, dasgupta_cost, datasets
from hyphc._kernels.tree.passes import smallest_leaves
from hyphc._runtime.memory import n_bytes
from hyphc.fit.flat_cut import FlatCut
from hyphc.fit.weighted_leaves import collapsed, expanded
from hyphc.out_of_core import partition_trees, search_settings
from hyphc.out_of_core import stages as stages_module
from hyphc.out_of_core.array_sources import NpyRows, ZarrRows
from hyphc.out_of_core.job import Job, JobSettings
from hyphc.out_of_core.labels import labels_stage, load_tree, predict_clusters
from hyphc.out_of_core.local_fit import choose_sizes
from hyphc.out_of_core.partition import assign_cells_to_parts, deny_moves, find_queries
from hyphc.out_of_core.records import AdjacentParts, DirectedEdges, FinishedTree, Leaves, Neighbors
from hyphc.out_of_core.row_sources import ParquetRows, open_rows, rows_per_block
from hyphc.out_of_core.sample import compute_scaling, hash_ids
from hyphc.out_of_core.stages import Stage, make_thread_executor, run_stages, run_task, stages
from hyphc.out_of_core.to_memory import load_similarity
from hyphc.similarity.scaling import Moments, column_scaling, compute_moments, scaling_from_moments
from hypothesis import given, settings
from hypothesis import strategies as st

from small_jobs import make_job
from strategies import trees

METRICS = ["auto", "cosine"]
FEW, MANY = "as few rows", "as many rows"  # are searched: beyond a number of them, by sweeps alone


def fitted(X, folder, n_jobs=1, cut=None, **parameters):
    job = make_job(X, folder, **parameters)
    run_stages(job, make_thread_executor(n_jobs), *([] if cut is None else [labels_stage(cut)]))
    return job


def cost_of(job):
    return float(job.shard(FinishedTree).cost)


@pytest.fixture(scope="module")
def rows():
    X = datasets.planted(600, 6, decay=0.95, random_state=0).data
    X[100:130] = X[100]  # copies are one leaf of a part
    return X


@pytest.fixture(scope="module", params=[FEW, MANY])
def searched_as(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.param == MANY:
            patch.setattr(search_settings, "LARGE", 1)
            patch.setattr(partition_trees, "FEWEST", 100)  # so that subtrees of several rows move as one
        yield request.param


@pytest.fixture(scope="module", params=METRICS)
def fit(request, rows, tmp_path_factory, searched_as):
    return fitted(rows, tmp_path_factory.mktemp("fit") / "store", metric=request.param, cut=FlatCut(4))


def test_the_cost_is_that_of_the_whole_tree(fit):
    similarity = load_similarity(fit)
    assert cost_of(fit) == pytest.approx(dasgupta_cost(load_tree(fit), similarity), rel=1e-9)


def merges_by_cluster(tree):
    """Merges ordered by the smallest leaf and the size of their clusters, whatever the order of equal heights."""
    smallest = smallest_leaves(tree.children, np.arange(tree.n_leaves))
    return np.lexsort((tree.sizes[tree.n_leaves :], smallest[tree.n_leaves :]))


def test_the_tree_carries_what_a_fit_at_once_gives_it(fit):
    tree, local = load_tree(fit), HypHC.from_out_of_core(fit, FlatCut(4))
    assert local.tree_ == tree
    np.testing.assert_allclose(tree.degrees, local.tree_.degrees, rtol=1e-6, atol=1e-6)
    for name in ("heights", "split_weights"):
        values = (getattr(t, name)[merges_by_cluster(t)] for t in (tree, local.tree_))
        np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-6)
    labels = fit.store.one(labels_stage(FlatCut(4)).name, 0, "labels")
    np.testing.assert_array_equal(labels, local.labels_)


def test_the_tree_is_the_same_for_any_threads_and_order_of_tasks(fit, rows, tmp_path):
    def backwards(task, count, stage):
        for number in reversed(range(count)):
            task(number)

    metric = fit.settings.metric
    for name, execute in (("threads", make_thread_executor(4)), ("backwards", backwards)):
        other = make_job(rows, tmp_path / name, metric=metric)
        run_stages(other, execute)
        np.testing.assert_array_equal(load_tree(other).children, load_tree(fit).children)
        assert cost_of(other) == cost_of(fit)


def test_a_tree_by_parts_is_hardly_dearer_than_one_of_all_rows(fit, rows):
    similarity = load_similarity(fit)
    alone = HypHC(random_state=0).fit(similarity)
    scale = dasgupta_cost(alone.tree_, similarity.local_part)
    assert dasgupta_cost(load_tree(fit), similarity) <= alone.cost_ + 0.02 * scale


def test_neighbours_are_those_of_all_rows(rows, tmp_path):
    X = np.unique(rows, axis=0)
    graph = load_similarity(fitted(X, tmp_path / "store", metric="auto")).local_part
    truth = HypHC(metric="auto", random_state=0)._make_metric().similarity(X).local_part
    found = graph.to_csr().minimum(truth.to_csr()).sum() / truth.to_csr().sum()
    assert found > 0.99


def directed_edges(job):
    """Row → rows: lists before and edges after the NN-descent step. No row is there twice."""
    ids = [job.shard(Leaves, part).ids for part in range(job.n_parts())]
    X, before, after = job.source.read(0, job.n), {}, {}
    for part, own in enumerate(ids):
        lists, edges = job.shard(Neighbors, part), job.shard(DirectedEdges, part)
        for leaf, row in enumerate(own):
            kept, there = lists.neighbors[leaf] >= 0, edges.leaf == leaf
            ends = zip(lists.neighbor_parts[leaf][kept], lists.neighbors[leaf][kept], strict=True)
            before[row] = {ids[q][j] for q, j in ends}
            after[row] = {ids[q][j] for q, j in zip(edges.other_part[there], edges.other_leaf[there], strict=True)}
    return X, before, after


def test_neighbours_of_neighbours_find_what_was_missed_in_other_parts(tmp_path, monkeypatch):
    """Rows that visit one part at most, and their neighbours' parts; compared with all rows, one by one."""
    monkeypatch.setattr("hyphc.out_of_core.partition.NEARBY", 1)
    monkeypatch.setattr("hyphc.out_of_core.job.ROUNDS", 0)
    X = np.random.default_rng(0).normal(size=(800, 6))
    job = make_job(X, tmp_path / "store", n_neighbors=10, scale=False)
    for stage in stages(job):
        make_thread_executor(1)(partial(run_task, job, stage), stage.count(job), stage)
        if stage.name == "edges":
            break
    X, before, after = directed_edges(job)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    truth = np.argsort(distances, axis=1)[:, :10]
    found = [np.mean([len(near[row] & set(truth[row])) / 10 for row in near]) for near in (before, after)]
    assert found[0] < 0.8  # there was something to find
    assert found[1] > found[0] + 0.05
    for row in range(800):
        was, now = (np.sort(distances[row, sorted(near[row])]) for near in (before, after))
        assert len(now) == 10
        assert (now[: len(was)] <= was + 1e-12).all()


def test_an_edge_is_the_same_from_both_of_its_ends(fit):
    if fit.has_edges:
        graph = load_similarity(fit).local_part.to_csr()
        assert abs(graph - graph.T).max() <= 1e-12
        adjacent = fit.shard(AdjacentParts)
        one = np.repeat(np.arange(fit.n_parts()), np.diff(adjacent.starts))
        pairs = set(zip(one.tolist(), adjacent.parts.tolist(), strict=True))
        assert pairs == {(q, p) for p, q in pairs}


@given(st.integers(1, 6), st.integers(0, 1000))
def test_moves_are_denied_only_for_want_of_room(n_parts, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 20, (n_parts, n_parts))
    source, target = np.nonzero(rows)
    moves, room = np.column_stack([source, target, rows[source, target]]), rng.integers(0, 40, n_parts).astype(float)
    denied = deny_moves(moves, room)
    assert not denied[source == target].any()
    for part in range(n_parts):
        comes = (target == part) & (source != part)
        taken = moves[comes & ~denied, 2].sum()
        assert taken <= room[part]
        assert all(taken + count > room[part] for count in moves[comes & denied, 2])


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_finished_is_not_done_again(rows, tmp_path, metric, monkeypatch):
    """The fit is stopped after each stage in turn, and begun again each time."""

    class Stopped(Exception):
        pass

    done: list[tuple[str, int]] = []
    write = stages_module.run_task

    def counted(job: Job, stage: Stage, number: int) -> None:
        if not job.store.has(stage.name, number):
            done.append((stage.name, number))
        write(job, stage, number)

    monkeypatch.setattr(stages_module, "run_task", counted)
    job = make_job(rows, tmp_path / "store", metric=metric)
    names = [stage.name for stage in stages(job)]
    for last in names:

        def until(task, count, stage, last=last):
            make_thread_executor(1)(task, (count + 1) // 2 if stage.name == last else count, stage)
            if stage.name == last:
                raise Stopped

        with pytest.raises(Stopped):
            run_stages(make_job(rows, tmp_path / "store", metric=metric), until)
    run_stages(job, make_thread_executor(1))
    assert len(done) == len(set(done))
    whole = fitted(rows, tmp_path / "whole", metric=metric)
    np.testing.assert_array_equal(load_tree(job).children, load_tree(whole).children)


def test_what_nothing_reads_again_is_removed_and_a_fit_that_needs_it_says_so(rows, tmp_path):
    fitted(rows, tmp_path / "store")
    kept = {path.parent.name for path in (tmp_path / "store").glob("*/000000.json")}
    assert "assignment" not in kept
    assert not any(name.startswith(("shuffle", "candidates", "neighbors", "edges")) for name in kept)
    assert {"leaves-2", "graph", "part-trees", "tree"} <= kept
    run_stages(make_job(rows, tmp_path / "store"), make_thread_executor(1))  # nothing to do
    next((tmp_path / "store" / "graph").glob("*.npy")).write_bytes(b"")
    with pytest.raises(ValueError, match=r"is damaged: results of 'edges' are needed again"):
        run_stages(make_job(rows, tmp_path / "store"), make_thread_executor(1))


def test_a_damaged_piece_is_made_again(rows, tmp_path):
    job = fitted(rows, tmp_path / "store", metric="cosine")
    before = np.array(load_tree(job).children)
    path = next((tmp_path / "store" / "part-trees").glob("*.children.npy"))
    path.write_bytes(path.read_bytes()[:-8])
    run_stages(job, make_thread_executor(1))
    np.testing.assert_array_equal(load_tree(job).children, before)


def test_reports_say_which_stage_of_how_many_is_under_way(tmp_path):
    seen: list[tuple[str, float]] = []
    X = np.random.default_rng(0).normal(size=(300, 3))
    job = make_job(X, tmp_path / "store")
    report = lambda stage, done, count, share: seen.append((stage, share))  # noqa: E731
    run_stages(job, make_thread_executor(1, report), labels_stage(FlatCut(2)))
    titles = list(dict.fromkeys(title for title, _ in seen))
    assert [title.partition(":")[0] for title in titles] == [f"stage {k} of 14" for k in range(1, 15)]
    assert titles[4] == "stage 5 of 14: nearest neighbours, round 1 of 3"
    assert titles[-1] == "stage 14 of 14: flat clusters"
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_rows_have_a_tree_too(n, metric, tmp_path, searched_as):
    X = np.random.default_rng(n).normal(size=(n, 3))
    if n == 1 and metric == "auto":
        with pytest.raises(ValueError, match="No column varies"):
            fitted(X, tmp_path / "store", metric=metric, part_size=2)
        return
    job = fitted(X, tmp_path / "store", metric=metric, part_size=2, block_rows=2)
    assert load_tree(job).n_leaves == n
    assert cost_of(job) == pytest.approx(dasgupta_cost(load_tree(job), load_similarity(job)), abs=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_rows_that_are_mostly_copies_have_a_tree(tmp_path, metric, searched_as):
    X = np.repeat(np.random.default_rng(0).normal(size=(12, 4)), 50, axis=0)
    job = fitted(X, tmp_path / "store", metric=metric, sample_size=100)
    tree = load_tree(job)
    assert cost_of(job) == pytest.approx(dasgupta_cost(tree, load_similarity(job)), rel=1e-9)
    for first in range(0, 600, 50):  # copies are together, with nothing else among them
        assert tree.sizes[tree.lca(first, np.arange(first + 1, first + 50)).max()] == 50


def test_rows_that_are_all_equal_have_a_tree(tmp_path, searched_as):
    job = fitted(np.ones((600, 3)), tmp_path / "store", metric="cosine")
    assert load_tree(job).n_leaves == 600
    assert cost_of(job) == pytest.approx(600 * (600**2 - 1) / 3, rel=1e-9)  # of a clique, whatever the tree


@given(st.integers(1, 10**10), st.integers(1, 10_000), st.booleans(), st.none() | st.integers(1, 10**6))
def test_subtrees_that_move_are_small_and_not_too_many(n, d, has_edges, most):
    size = partition_trees.frontier_size(n, d, has_edges, most)
    fine = partition_trees.WITH_EDGES if has_edges else partition_trees.BY_SUMS
    usual = max(partition_trees.FEWEST, min(fine.most, partition_trees.MOST_NUMBERS / d))
    assert size >= 1
    assert n / size <= min(usual, most or np.inf) * (1 + 1e-9)
    assert size <= max(fine.rows_each, n / min(partition_trees.FEWEST, most or np.inf)) * (1 + 1e-9)


def test_new_rows_join_the_clusters_of_rows_like_them(fit, rows):
    labels = np.array(fit.store.one(labels_stage(FlatCut(4)).name, 0, "labels"))
    assert (predict_clusters(fit, FlatCut(4), rows[:100]) == labels[:100]).mean() > 0.9


def test_other_rows_or_parameters_in_one_storage_are_an_error(rows, tmp_path):
    make_job(rows, tmp_path / "store")
    with pytest.raises(ValueError, match="a fit of other data"):
        make_job(rows + 1, tmp_path / "store")
    with pytest.raises(ValueError, match="a fit with part_size=200, not 100"):
        make_job(rows, tmp_path / "store", part_size=100)


def test_a_path_to_a_table_says_which_columns_are_left_out_or_seem_no_features(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    table.assign(kind=["u", "v"] * 15, batch=[1, 2, 3] * 10).to_parquet(tmp_path / "x.parquet")
    with pytest.warns(UserWarning, match="columns|Columns") as caught:
        model = HypHC(random_state=0).fit(tmp_path / "x.parquet")
    told = [str(one.message) for one in caught]
    assert model.n_features_in_ == 4
    assert any("hold no numbers are left out: 'kind'" in one for one in told)
    assert any("say how rows were measured and not what ('batch')" in one for one in told)
    assert caught[0].filename == __file__


def test_a_row_that_was_changed_is_found_when_a_fit_goes_on(rows, tmp_path):
    fitted(rows, tmp_path, metric="cosine")
    fitted(rows.copy(), tmp_path, metric="cosine")
    changed = rows.copy()
    changed[1] += 1.0  # none of the rows that the manifest was made of
    with pytest.raises(ValueError, match=r"holds a fit of other data: not all rows from 0 to 169 are the same; choose"):
        fitted(changed, tmp_path, metric="cosine")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "rbf"}, "metric='rbf' cannot be fitted out of core"),
        ({"edge_weights": "shared"}, "edge_weights='shared' cannot be fitted out of core"),
        ({"part_size": 0}, "part_size=0 is no whole number"),
        ({"top_size": 0.5}, "top_size=0.5 is no whole number"),
        ({"background": -1.0}, "background=-1.0 must be"),
    ],
)
def test_what_cannot_be_fitted_out_of_core_raises_before_the_work(rows, tmp_path, parameters, message):
    with pytest.raises(ValueError, match=message):
        make_job(rows, tmp_path / "store", **parameters)


def test_a_missing_number_is_told_with_its_row(rows, tmp_path):
    broken = rows.copy()
    broken[500, 2] = np.nan
    with pytest.raises(ValueError, match=r"X\[500, 2\] is nan"):
        fitted(broken, tmp_path / "store")


@given(st.integers(0, 2**40), st.integers(1, 200))
def test_hashes_depend_on_the_row_and_the_seed_alone(seed, n):
    ids = np.arange(n)
    np.testing.assert_array_equal(hash_ids(ids, seed)[n // 2 :], hash_ids(ids[n // 2 :], seed))
    assert len(np.unique(hash_ids(ids, seed))) == n
    assert not np.array_equal(hash_ids(ids, seed), hash_ids(ids, seed + 1))


@given(st.integers(1, 5), st.integers(0, 1000), st.sampled_from(["numbers", "binary", "mixed"]))
def test_moments_of_blocks_together_are_those_of_all_rows(n_blocks, seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * [1, 100, 1]
    if kind != "numbers":
        X[:, : 3 if kind == "binary" else 1] = rng.integers(0, 2, size=(40, 3 if kind == "binary" else 1))
    pieces = [compute_moments(block) for block in np.array_split(X, n_blocks)]
    found = pieces[0]
    for piece in pieces[1:]:
        found = Moments.merge(found, piece)
    whole = compute_moments(X)
    for name in ("centre", "deviations", "smallest", "largest"):
        np.testing.assert_allclose(getattr(found, name), getattr(whole, name), atol=1e-9)
    np.testing.assert_array_equal(found.binary, whole.binary)
    assert scaling_from_moments(found, "auto").why == column_scaling(X).why


def test_columns_are_scaled_as_in_a_fit_of_all_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 3)) * [1, 1000, 1]
    job = fitted(X, tmp_path / "store", metric="auto")
    whole = column_scaling(X)
    np.testing.assert_allclose(compute_scaling(job).factor, whole.factor)
    assert compute_scaling(job).why == whole.why


@given(trees(min_leaves=1, max_leaves=30), st.integers(1, 20), st.data())
@settings(max_examples=50)
def test_parts_are_the_largest_subtrees_of_few_rows(tree, part_size, data):
    cells = tree.cut(max_size=2)
    n_cells = int(cells.max()) + 1
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n_cells, max_size=n_cells)))
    part = assign_cells_to_parts(tree, cells, counts, part_size)
    assert ((part < 0) <= (counts == 0)).all()
    for k in range(part.max() + 1):
        own = part == k
        assert counts[own].sum() <= part_size or own.sum() == 1
        assert counts[own].sum() > 0


@given(trees(min_leaves=2, max_leaves=30), st.integers(1, 10))
def test_a_tree_is_its_groups_tree_with_their_trees_in_it(tree, size):
    groups = tree.cut(max_size=size)
    coarse = collapsed(tree, groups)
    assert coarse.n_leaves == groups.max() + 1
    balanced = expanded(coarse, groups)
    np.testing.assert_array_equal(collapsed(balanced, groups).children, coarse.children)


@given(st.integers(1, 6), st.integers(0, 1000))
def test_visits_are_all_pairs_of_a_row_and_another_part_near_it(n_parts, seed):
    rng = np.random.default_rng(seed)
    home, near = rng.integers(0, n_parts, 20), rng.integers(-1, n_parts, (20, 4))
    row, part = find_queries(home, near)
    expected = {(i, p) for i in range(20) for p in near[i] if p not in (-1, home[i])}
    assert set(zip(row.tolist(), part.tolist(), strict=True)) == expected
    assert len(row) == len(expected)
    assert (np.diff(part) >= 0).all()


def test_files_of_all_formats_give_the_same_rows(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    zarr = pytest.importorskip("zarr")
    X = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    table = pa.table({"name": [f"row {i}" for i in range(100)], **{f"c{j}": X[:, j] for j in range(3)}})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=33)
    (tmp_path / "many").mkdir()
    for k in range(4):
        pq.write_table(table.slice(25 * k, 25), tmp_path / "many" / f"{k}.parquet")
    zarr.create_array(str(tmp_path / "x.zarr"), shape=X.shape, chunks=(30, 3), dtype=X.dtype)[:] = X
    kinds = {"x.npy": NpyRows, "x.parquet": ParquetRows, "many": ParquetRows, "x.zarr": ZarrRows}
    for name, kind in kinds.items():
        source = open_rows(tmp_path / name)
        assert isinstance(source, kind)
        assert (source.shape, source.dtype) == (X.shape, X.dtype)
        np.testing.assert_array_equal(source.read(20, 77), X[20:77])


def test_blocks_depend_on_the_shape_alone_and_stay_small():
    assert rows_per_block(1_000, 32) == 65_536
    assert rows_per_block(10**8, 32) == 500_000
    assert rows_per_block(10**6, 10**6) * 10**6 * 8 <= 256 << 20


def test_a_path_larger_than_the_limit_is_fitted_by_parts(rows, tmp_path):
    np.save(tmp_path / "x.npy", rows)
    whole = HypHC(3, metric="cosine", memory_limit="1GB", random_state=0).fit(tmp_path / "x.npy")
    assert whole.similarity_ is not None
    many = np.tile(rows, (12, 1)) + np.random.default_rng(0).normal(size=(7200, 6)) / 100
    np.save(tmp_path / "many.npy", many)
    limit = {"effort": 0.1, "memory_limit": "20MB", "random_state": 0}
    model = HypHC(3, metric="cosine", **limit).fit(str(tmp_path / "many.npy"))
    assert model.similarity_ is None
    assert model.tree_.n_leaves == len(model.labels_) == 7200
    assert model.n_clusters_ == 3
    assert (model.predict(many[:50]) == model.labels_[:50]).mean() > 0.9
    mapped = HypHC(3, metric="cosine", n_jobs=1, **limit).fit(np.load(tmp_path / "many.npy", mmap_mode="r"))
    assert mapped.tree_ == model.tree_
    with pytest.raises(ValueError, match="optimality_gap needs all rows in memory"):
        model.optimality_gap()


def test_a_limit_too_small_says_how_much_is_needed():
    with pytest.raises(MemoryError, match=r"give at least 1\.2e"):
        choose_sizes(1e6, 10_000_000, 32, 2)


@pytest.mark.parametrize("text", ["two", "-1GB", "0", "3 parsecs"])
def test_what_is_no_amount_of_memory_is_told(text):
    with pytest.raises(ValueError, match="is no amount of memory"):
        n_bytes(text)


def test_sizes_do_not_depend_on_the_threads():
    one, many = (choose_sizes(1e9, 10**6, 64, n_jobs) for n_jobs in (1, 8))
    assert (one.part, one.sample, one.block, one.top) == (many.part, many.sample, many.block, many.top)
    assert one.tasks == 1


def test_a_saved_folder_opens_as_the_same_tree(tmp_path):
    tree = HypHC(2, random_state=0).fit(np.random.default_rng(0).normal(size=(40, 3))).tree_
    tree = tree.with_names([f"leaf {i}" for i in range(40)])
    tree.save(tmp_path / "tree", mapped=True)
    found = Tree.load(tmp_path / "tree")
    assert found == tree
    assert found.names == tree.names
    np.testing.assert_array_equal(found.cut(5), tree.cut(5))
    np.testing.assert_array_equal(found.heights, tree.heights)
    with pytest.raises(ValueError, match="is no folder of a saved tree"):
        Tree.load(tmp_path)


def test_a_task_is_small_to_send(rows, tmp_path):
    import pickle

    np.save(tmp_path / "x.npy", rows)
    job = Job(open_rows(tmp_path / "x.npy"), JobSettings(), str(tmp_path / "store"))
    job.source.read(0, 10)  # opened files are not sent along
    stage = next(stages(job))
    assert len(pickle.dumps(partial(run_task, job, stage))) < 2_000
