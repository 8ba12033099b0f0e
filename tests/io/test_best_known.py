"""Best known costs: every entry holds; a wrong cost, tree, packing, bound or similarity is reported as what it is."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.suites import best_known as suite
from hyphc import Tree, dasgupta_cost
from hyphc.cli import main
from hyphc.io import best_known
from hyphc.io.best_known import (
    BOUND_RTOL,
    AnotherSimilarity,
    DataNotAtHand,
    build_similarity,
    checksum,
    entry_paths,
    is_entry,
    keep_lower,
    proven_cost,
    read_entry,
    require_same,
    save_merges,
    similarity_of,
    verify_entry,
)
from hyphc.scores.path_packing import load_packings
from hyphc.similarity import Graph

FOLDER = Path(__file__).resolve().parents[2] / "best_known"
ENTRIES = sorted(path.stem for path in FOLDER.glob("*.json"))
LARGE = ("letter", "mnist")
QUICK_BOUNDS = ("karate-edges", "les_miserables-edges", "zoo-cosine", "zoo-default", "iris-cosine")  # others: a minute
WINE, KARATE = FOLDER / "wine-cosine.json", FOLDER / "karate-edges.json"


def entries(slow: set[str]) -> list:
    return [pytest.param(name, marks=pytest.mark.slow if name in slow else ()) for name in ENTRIES]


def verified(name: str, with_bound: bool) -> best_known.Verified:
    try:
        return verify_entry(FOLDER / f"{name}.json", with_bound=with_bound)
    except DataNotAtHand as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", entries(slow={name for name in ENTRIES if name.startswith(LARGE)}))
def test_the_cost_of_every_entry_holds(name):
    found = verified(name, with_bound=False)
    assert found.cost == pytest.approx(found.entry.cost, rel=1e-9)


@pytest.mark.parametrize("name", entries(slow=set(ENTRIES) - set(QUICK_BOUNDS)))
def test_the_bound_of_every_entry_is_found_again(name):
    found = verified(name, with_bound=True)
    assert found.bound == pytest.approx(found.entry.bound.value, rel=BOUND_RTOL)
    assert found.bound <= found.cost


def test_there_is_an_entry_for_every_task_and_the_files_are_small():
    assert set(ENTRIES) == {f"{task.case}-{task.kind}" for task in suite.tasks()}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 5_000_000
    assert {path.suffix for path in FOLDER.iterdir()} == {".json", ".npz"}


def test_trees_are_stored_in_the_smallest_type_that_holds_them():
    with np.load(FOLDER / "zoo-cosine.npz") as stored:
        assert stored["children"].dtype == np.uint8
    with np.load(FOLDER / "iris-cosine.npz") as stored:
        assert stored["children"].dtype == np.uint16


@pytest.fixture
def copied(tmp_path):
    """A copy of two entries, and a function that changes fields of one."""
    for file in [*FOLDER.glob("wine-cosine.*"), *FOLDER.glob("karate-edges*")]:
        shutil.copy(file, tmp_path)

    def change(name: str, **changes: object) -> Path:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        return path

    return change


def test_a_wrong_cost_is_reported(copied):
    cost = read_entry(WINE).cost
    with pytest.raises(ValueError, match="the entry says"):
        verify_entry(copied("wine-cosine", cost=cost * (1 + 1e-8)))


def test_another_tree_is_reported(copied, tmp_path):
    path, tree = copied("wine-cosine"), Tree.load(WINE.with_suffix(".npz"))
    children = tree.children.copy()
    leaves = np.argwhere(children < tree.n_leaves)
    (a, b), (c, d) = leaves[0], leaves[-1]
    children[a, b], children[c, d] = children[c, d], children[a, b]
    save_merges(Tree(children), tmp_path / "wine-cosine.npz")
    with pytest.raises(ValueError, match="the tree costs"):
        verify_entry(path, with_bound=False)
    save_merges(Tree([[0, 1], [2, 3]]), tmp_path / "wine-cosine.npz")
    with pytest.raises(ValueError, match="has 3 leaves and the entry 178"):
        verify_entry(path)


@pytest.mark.parametrize("name", ["total", "weighted", "n"])
def test_another_similarity_is_reported_as_such_and_not_as_a_wrong_cost(copied, name):
    stored = read_entry(WINE).checksum
    changed = stored | {name: stored[name] + 1e-8 * stored["total"]}
    with pytest.raises(AnotherSimilarity, match=f"another similarity: its {name} is"):
        verify_entry(copied("wine-cosine", checksum=changed, cost=1.0))


def test_the_checksum_notices_which_pairs_are_similar():
    W = np.zeros((6, 6))
    W[0, 1] = W[2, 3] = W[4, 5] = 1.0
    other = W[np.ix_([0, 2, 1, 3, 4, 5], [0, 2, 1, 3, 4, 5])]  # the same degrees, other pairs
    first, second = (checksum(Graph(matrix + matrix.T)) for matrix in (W, other))
    assert first["total"] == second["total"] == 3.0
    i, j = np.triu_indices(6, 1)
    assert first["weighted"] == pytest.approx(float(W[i, j] @ (np.cos(i) * np.cos(j))))
    with pytest.raises(AnotherSimilarity, match="weighted"):
        require_same(first, second)


def test_a_bound_that_is_not_found_again_is_reported(copied):
    bound = json.loads(WINE.read_text())["bound"]
    with pytest.raises(ValueError, match="the bound is"):
        verify_entry(copied("wine-cosine", bound=bound | {"value": bound["value"] * 1.01}))
    with pytest.raises(ValueError, match="the bound is"):  # fewer subsets give a wider interval
        verify_entry(copied("wine-cosine", bound=bound | {"settings": bound["settings"] | {"n_subsets": 20}}))


def test_packings_that_use_an_edge_beyond_its_weight_are_reported(copied, tmp_path):
    path, file = copied("karate-edges"), tmp_path / "karate-edges-packings.npz"
    with np.load(file) as stored:
        arrays = {
            name: stored[name] * (2 if name.endswith(("flows_data", "delivered_data", "amounts")) else 1)
            for name in stored
        }
    np.savez_compressed(file, **arrays)
    with pytest.raises(ValueError, match="An edge carries more than its weight"):
        verify_entry(path)


def test_the_sum_over_levels_is_that_of_the_solver():
    from hyphc import spreading_bound

    graph = build_similarity({"data": "karate", "metric": "precomputed"})
    stored = load_packings(FOLDER / "karate-edges-packings.npz")
    assert proven_cost(stored, graph) == spreading_bound(graph).lower == read_entry(KARATE).bound.value
    half = Graph(graph.to_csr() * 0.3)  # weights that are no integers
    made = spreading_bound(half, keep=True)
    assert proven_cost(made.packings, half) == pytest.approx(made.lower, rel=1e-12)


def test_the_cheaper_of_two_trees_is_kept(tmp_path):
    similarity = build_similarity({"data": "karate", "metric": "precomputed"})
    entry, tree = read_entry(KARATE), Tree.load(KARATE.with_suffix(".npz"))
    chain = Tree([[0, 1], *([33 + k, 1 + k] for k in range(1, 33))])
    worse = replace(entry, cost=dasgupta_cost(chain, similarity), seed=7)
    assert keep_lower(worse, chain, tmp_path, max_bytes=0)
    assert keep_lower(entry, tree, tmp_path, load_packings(FOLDER / "karate-edges-packings.npz"), max_bytes=10**6)
    assert not keep_lower(worse, chain, tmp_path, max_bytes=0)
    assert not keep_lower(replace(entry, seed=8), tree, tmp_path, max_bytes=0)
    assert read_entry(tmp_path / "karate-edges.json").seed == entry.seed
    assert verify_entry(tmp_path / "karate-edges.json").entry.bound.stored
    other = replace(worse, checksum=worse.checksum | {"total": 1.0})  # a new similarity: the old cost means nothing
    assert keep_lower(other, chain, tmp_path, max_bytes=0)


@pytest.mark.parametrize("data", ["wine", "digits"])
def test_default_similarities_do_not_depend_on_threads(data):
    recipe = {"data": data, "metric": "auto", "random_state": 0}
    one, two = (build_similarity(recipe, n_jobs) for n_jobs in (1, 2))
    assert checksum(one) == checksum(two)
    assert (one.graph.to_csr() != two.graph.to_csr()).nnz == 0


@pytest.mark.slow
def test_the_default_similarity_of_letter_does_not_depend_on_threads(needs_data):
    recipe = {"data": "letter", "metric": "auto", "random_state": 0}
    one, two = (build_similarity(recipe, n_jobs) for n_jobs in (1, 2))
    assert checksum(one) == checksum(two)


@pytest.mark.parametrize("data", ["zoo", "mnist", "cora_ml"])
def test_data_that_are_not_at_hand_are_named_with_the_remedy(monkeypatch, data):
    monkeypatch.delenv("HYPHC_DATA", raising=False)
    with pytest.raises(DataNotAtHand, match="HYPHC_DATA"):
        best_known.load_data(data)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is no entry of best known costs"),
        ('{"format": "hyphc best known 9"}', "another version"),
        ('{"format": "hyphc best known 1"}', "is no entry"),
        ("[]", "is no entry"),
    ],
)
def test_a_file_that_is_no_entry_is_refused(tmp_path, text, told):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=told):
        read_entry(path)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"cost": "much"}, "cost is 'much', no finite number"),
        ({"cost": float("nan")}, "no finite number"),
        ({"checksum": {"n": 178}}, "checksum total is None"),
        ({"checksum": []}, "checksum n is None"),
    ],
)
def test_an_entry_without_numbers_is_refused(copied, changes, told):
    with pytest.raises(ValueError, match=told):
        read_entry(copied("wine-cosine", **changes))


def test_unknown_settings_of_a_bound_and_damaged_packings_are_refused(copied, tmp_path):
    bound = json.loads(WINE.read_text())["bound"]
    with pytest.raises(ValueError, match="a setting 'n_jobs'; known are effort"):
        read_entry(copied("wine-cosine", bound=bound | {"settings": {"n_jobs": 3}}))
    (tmp_path / "karate-edges-packings.npz").write_bytes(b"PK\x03\x04 damaged")
    with pytest.raises(ValueError, match="holds no packings"):
        verify_entry(tmp_path / "karate-edges.json")


def test_an_unknown_argument_of_a_recipe_is_refused(copied):
    path = copied("wine-cosine", similarity={"data": "wine", "metric": "cosine", "power": 2})
    with pytest.raises(ValueError, match="'power', which is unknown; known are data"):
        verify_entry(path)
    with pytest.raises(ValueError, match="does not name its data"):
        read_entry(copied("wine-cosine", similarity={"metric": "cosine"}))


# --- commands ---------------------------------------------------------------------------------------------------------


def test_verify_prints_what_was_confirmed_and_labels_statistical_bounds(copied, tmp_path, capsys):
    assert main(["verify", str(tmp_path)]) == 0
    karate, wine = capsys.readouterr().out.splitlines()
    assert karate.startswith("karate-edges: cost 853 confirmed; no tree costs less than 714, for certain, by packings")
    assert "statistical: recomputed from 2000 subsets of 13 leaves, seed 0" in wine
    assert main(["verify", str(tmp_path), "--skip-bounds"]) == 0
    assert "bound not checked" in capsys.readouterr().out


def test_verify_skips_data_that_are_not_at_hand_and_fails_for_what_does_not_hold(copied, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HYPHC_DATA", raising=False)
    for file in FOLDER.glob("zoo-cosine.*"):
        shutil.copy(file, tmp_path)
    assert main(["verify", str(tmp_path), "--skip-bounds"]) == 0
    assert "zoo-cosine: skipped: zoo: its files are not on this machine" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "zoo-cosine.json")]) == 1
    assert "set HYPHC_DATA to a folder" in capsys.readouterr().err
    copied("wine-cosine", cost=1.0)
    assert main(["verify", str(tmp_path), "--skip-bounds"]) == 1
    assert "wine-cosine: FAILED: wine-cosine: the tree costs" in capsys.readouterr().out
    for name in ("wine-cosine", "karate-edges"):
        (tmp_path / f"{name}.json").unlink()
    for file in FOLDER.glob("glass-cosine.*"):
        shutil.copy(file, tmp_path)
    assert main(["verify", str(tmp_path)]) == 1
    assert "nothing was verified" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["verify", str(tmp_path / "empty")]) == 1
    assert "has no entries of best known costs" in capsys.readouterr().err


@pytest.mark.usefixtures("quick_certificate")
def test_score_compares_a_tree_with_the_best_known_cost(tmp_path, capsys):
    tree = Tree.load(KARATE.with_suffix(".npz"))
    swapped = [str(34 - leaf) for leaf in range(34)]
    newick = tmp_path / "mine.nwk"
    for names, told in (([str(leaf + 1) for leaf in range(34)], "costs 0.000000 % more"), (swapped, "% more")):
        newick.write_text(tree.to_newick(names))
        assert main(["score", str(newick), str(KARATE)]) == 0
        printed = capsys.readouterr().out
        assert "best known: 853, by HypHC" in printed
        assert told in printed
    assert "costs 0.000000 % more" not in printed
    newick.write_text(tree.to_newick([f"m{leaf}" for leaf in range(34)]))
    assert main(["score", str(newick), str(KARATE)]) == 1
    assert "name them 1 … 34" in capsys.readouterr().err
    assert main(["score", str(WINE.with_suffix(".npz")), str(KARATE)]) == 1
    assert "has 178 leaves and the entry 34" in capsys.readouterr().err
    assert main(["score", str(newick), str(KARATE), "--metric", "cosine"]) == 1
    assert "leave out --metric" in capsys.readouterr().err


def test_entries_are_recognised_by_their_first_bytes(tmp_path):
    assert is_entry(KARATE)
    assert not is_entry(KARATE.with_suffix(".npz"))
    (tmp_path / "tree.json").write_text(Tree([[0, 1]]).to_json())
    assert not is_entry(tmp_path / "tree.json")
    assert entry_paths(KARATE) == [KARATE]
    assert similarity_of(read_entry(KARATE)).n == 34
