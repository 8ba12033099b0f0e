"""A fit that was killed, whenever, goes on from what it kept, and ends as if nothing had happened."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import Constraints, HypHC, Tree
from hyphc._runtime.run_control import Clock
from hyphc._runtime.shard_store import ShardStore
from hyphc.fit import resume
from hyphc.search import search_context as search

from killing import Killed, every_state_written, killed_and_resumed

ROWS = np.random.default_rng(0).normal(size=(90, 3))


def graph(n: int = 80, edges: int = 240) -> sp.csr_array:
    rng = np.random.default_rng(1)
    i, j = rng.integers(n, size=(2, edges))
    W = sp.coo_array((rng.random(edges), (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    W.setdiag(0)
    W.eliminate_zeros()
    return sp.csr_array(W)


CASES = {
    "auto": (ROWS, {}),
    "cosine": (ROWS, {"metric": "cosine"}),
    "matrix": (ROWS, {"metric": "rbf", "effort": 3.0}),
    "graph": (graph(), {"metric": "precomputed"}),
    "duplicates": (np.repeat(ROWS[:40], 2, axis=0), {}),
    "two continuous runs": (ROWS[:40], {"max_iter": 5, "n_init": 2}),
    "continuous on edges": (graph(), {"metric": "precomputed", "max_iter": 12}),
    "continuous alone": (ROWS[:30], {"n_components": 3, "max_iter": 4, "refine": False}),
    "constraints": (ROWS, {"constraints": Constraints(must_link=[list(range(20)), [30, 40]])}),
}


def assert_same_fit(one: HypHC, other: HypHC) -> None:
    for name in ("children_", "distances_", "labels_", "loss_curve_", "embedding_", "cost_", "n_iter_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """What the disk keeps when the power fails is not tested here."""
    monkeypatch.setattr(ShardStore, "flush", lambda *_: None)


@pytest.mark.parametrize("name", CASES)
def test_a_killed_fit_ends_with_the_same_tree(name, tmp_path, monkeypatch):
    X, parameters = CASES[name]
    model = HypHC(3, random_state=0, **parameters)
    alone = HypHC(**model.get_params()).fit(X)
    with every_state_written(monkeypatch) as held:
        assert_same_fit(HypHC(3, random_state=0, checkpoint=tmp_path / "whole", **parameters).fit(X), alone)
    levels = [{name.rpartition(".")[0] for name in state} for state in held]
    moments = [k for k, level in enumerate(levels) if level not in levels[:k]]  # the first state of each kind
    for after in sorted({*moments, len(held) // 2, len(held)} - {0}):
        assert_same_fit(killed_and_resumed(model, X, tmp_path / "killed", after, monkeypatch), alone)


@pytest.mark.parametrize("metric", ["cosine", "auto"])
def test_a_killed_fit_of_a_large_tree_ends_with_the_same_tree(metric, tmp_path, monkeypatch):
    monkeypatch.setattr(search, "LARGE", 50)
    model = HypHC(3, metric=metric, random_state=0)
    alone = HypHC(**model.get_params()).fit(ROWS)
    with every_state_written(monkeypatch) as held:
        HypHC(3, metric=metric, random_state=0, checkpoint=tmp_path / "whole").fit(ROWS)
    assert any(".search." in name for state in held for name in state)
    for after in range(1, len(held) + 1):
        assert_same_fit(killed_and_resumed(model, ROWS, tmp_path / "killed", after, monkeypatch), alone)


def test_a_fit_that_is_killed_again_and_again_ends_with_the_same_tree(tmp_path, monkeypatch):
    model, kills = HypHC(3, random_state=0, checkpoint=tmp_path), 0
    while True:
        try:
            with every_state_written(monkeypatch, limit=2):
                model.fit(ROWS)
            break
        except Killed:
            kills += 1
    assert kills > 5
    assert_same_fit(model, HypHC(3, random_state=0).fit(ROWS))


def test_without_a_seed_the_drawn_one_is_kept(tmp_path, monkeypatch):
    with every_state_written(monkeypatch):
        one = HypHC(3, checkpoint=tmp_path).fit(ROWS)
    assert_same_fit(HypHC(3, checkpoint=tmp_path).fit(ROWS), one)


def test_a_finished_fit_is_not_done_again(tmp_path, monkeypatch):
    one = HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    monkeypatch.setattr("hyphc.fit.run.run_plan", None)
    assert_same_fit(HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS), one)
    assert HypHC(5, random_state=0, checkpoint=tmp_path, n_jobs=1).fit(ROWS).n_clusters_ == 5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"effort": 2.0}, r"effort=1\.0, not 2\.0"),
        ({"random_state": 1}, "random_state=0, not 1"),
        ({"metric": "cosine"}, "metric='auto', not 'cosine'"),
        ({"init": np.ones((90, 2))}, "init='auto', not the one given"),
        ({"constraints": Constraints(must_link=[[1, 2]])}, "constraints=None, not the one given"),
    ],
)
def test_other_parameters_are_named(change, told, tmp_path):
    HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    with pytest.raises(ValueError, match=f"holds a fit with {told}; choose another folder"):
        HypHC(3, **{"random_state": 0, "checkpoint": tmp_path, **change}).fit(ROWS)


def test_other_data_and_weights_are_named(tmp_path):
    HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    model = HypHC(3, random_state=0, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="a fit of other data; choose"):
        model.fit(np.nextafter(ROWS, 9.0))
    with pytest.raises(ValueError, match="a fit with sample_weight=None"):
        model.fit(ROWS, sample_weight=np.ones(len(ROWS)))


def damage(path, how: str) -> None:
    content = path.read_bytes()
    if how == "flipped":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif how == "half":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["flipped", "half", "empty", "gone"])
@pytest.mark.parametrize("file", ["json", "npy"])
def test_a_damaged_state_is_found_and_the_one_before_used(how, file, tmp_path, monkeypatch):
    with every_state_written(monkeypatch, limit=6), pytest.raises(Killed):
        HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    last, before = sorted((tmp_path / "state").glob("*.json"))[::-1]
    damage(sorted((tmp_path / "state").glob(f"{last.stem}*.{file}"))[-1], how)
    checkpoint = resume.FitCheckpoint(tmp_path, json.loads((tmp_path / "manifest.json").read_text()))
    checkpoint.close()
    names = json.loads(before.read_text())["files"]
    assert set(checkpoint.restored) == set(names)
    assert_same_fit(HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS), HypHC(3, random_state=0).fit(ROWS))


def test_where_nothing_is_whole_the_fit_begins_anew_and_says_so(tmp_path, monkeypatch):
    with every_state_written(monkeypatch, limit=6), pytest.raises(Killed):
        HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    for path in (tmp_path / "state").glob("*.npy"):
        damage(path, "half")
    with pytest.warns(UserWarning, match="every state there is damaged; the fit starts again"):
        model = HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    assert_same_fit(model, HypHC(3, random_state=0).fit(ROWS))


def test_two_states_are_kept_and_no_draft(tmp_path, monkeypatch):
    with every_state_written(monkeypatch):
        HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    assert len(list((tmp_path / "state").glob("*.json"))) == 2
    (tmp_path / "state" / ".000099.fit.seed.npy.0123abcd").write_bytes(b"half")
    (tmp_path / "state" / "000099.fit.seed.npy").write_bytes(b"an array without a record")
    HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    assert not list(tmp_path.rglob(".*"))
    assert not list(tmp_path.rglob("000099*"))


def test_nothing_is_pickled(tmp_path, monkeypatch):
    with every_state_written(monkeypatch):
        HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    for path in (tmp_path / "state").glob("*.npy"):
        np.load(path, allow_pickle=False)


def test_a_folder_in_use_is_told(tmp_path):
    checkpoint = resume.FitCheckpoint(tmp_path, {})
    try:
        with pytest.raises(ValueError, match="Another process keeps a fit in"):
            HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    finally:
        checkpoint.close()


def test_a_full_disk_is_told_once_and_the_fit_goes_on(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with every_state_written(monkeypatch), monkeypatch.context() as patch:
        patch.setattr(ShardStore, "_write_array", full)
        with pytest.warns(UserWarning, match="failed: No space left on device; the fit continues") as told:
            model = HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS)
    assert len(told) == 1
    assert_same_fit(model, HypHC(3, random_state=0).fit(ROWS))
    assert [path.name for path in tmp_path.iterdir() if path.name != "state"] == ["manifest.json"]
    assert not list((tmp_path / "state").iterdir())


def test_an_interrupted_fit_goes_on_from_before_the_interrupt(tmp_path, monkeypatch):
    seen = []

    def press(progress):
        seen.append(progress.stage)
        if progress.stage == "ratchet":
            raise KeyboardInterrupt

    with every_state_written(monkeypatch), pytest.warns(UserWarning, match="Interrupted"):
        HypHC(3, random_state=0, checkpoint=tmp_path, callback=press).fit(ROWS)
    assert_same_fit(HypHC(3, random_state=0, checkpoint=tmp_path).fit(ROWS), HypHC(3, random_state=0).fit(ROWS))


def test_time_spent_before_counts_against_the_budget(tmp_path, monkeypatch):
    with every_state_written(monkeypatch, limit=6), pytest.raises(Killed):
        HypHC(3, random_state=0, time_budget=50.0, checkpoint=tmp_path).fit(ROWS)
    spent = []
    monkeypatch.setattr(Clock, "add_elapsed", lambda clock, seconds: (spent.append(seconds), clock.stop()))
    HypHC(3, random_state=0, time_budget=50.0, checkpoint=tmp_path).fit(ROWS)
    assert len(spent) == 1
    assert 0 < spent[0] < 50


def test_large_states_are_written_less_often(tmp_path, monkeypatch):
    now, writes = [0.0], []
    monkeypatch.setattr(resume.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(ShardStore, "write", lambda *_: (writes.append(now[0]), now.__setitem__(0, now[0] + 1.0)))
    checkpoint = resume.FitCheckpoint(tmp_path, {})
    for _ in range(1000):
        now[0] += 1.0
        checkpoint.save_if_due(dict)
    checkpoint.close()
    assert len(writes) * 1.0 <= resume.TIME_SHARE * now[0] + 1
    assert writes[0] == resume.INTERVAL


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_fits_are_kept_too(n, tmp_path):
    one = HypHC(1, metric="cosine", random_state=0, checkpoint=tmp_path).fit(ROWS[:n])
    again = HypHC(1, metric="cosine", random_state=0, checkpoint=tmp_path).fit(ROWS[:n])
    assert isinstance(again.tree_, Tree)
    assert_same_fit(one, again)


def test_rows_by_parts_are_kept_in_the_checkpoint(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(5000, 40)))
    parameters = {"metric": "cosine", "random_state": 0, "memory_limit": "25MB"}
    one = HypHC(3, checkpoint=tmp_path / "kept", **parameters).fit(tmp_path / "x.npy")
    merges = np.array(one.children_)
    del one
    again = HypHC(3, checkpoint=tmp_path / "kept", **parameters).fit(tmp_path / "x.npy")
    np.testing.assert_array_equal(again.children_, merges)
    assert (tmp_path / "kept" / "manifest.json").exists()
