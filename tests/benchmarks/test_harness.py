"""The harness of the benchmarks: stored results, tables of the pages, suites and their plans."""

from __future__ import annotations

import json
import platform
import re
import secrets
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.harness import command, paper, runner, sources, stale
from benchmarks.harness.cases import CONFIRMING, SELECTING
from benchmarks.harness.clusterers import CLUSTERERS, noise_apart, scaled
from benchmarks.harness.markdown import best
from benchmarks.harness.methods import METHODS
from benchmarks.harness.multiscale import approximately_unbiased
from benchmarks.harness.points import depths, meeting, points, triplets_alike
from benchmarks.harness.report import PAGES, PARTS, fill
from benchmarks.harness.store import Store
from benchmarks.harness.task import Task
from benchmarks.peers.label_propagation import label_propagation
from benchmarks.suites import SUITES, classification, study, tables, toys
from hyphc import Tree, baselines, dasgupta_cost, datasets
from hyphc.out_of_core.local_fit import bytes_per_row
from numpy.testing import assert_allclose
from scipy.stats import norm

from benchmarks import suites

ROOT = Path(__file__).resolve().parents[2]


def result(status: str = "ok", costs: tuple[float, ...] = (), **scores: float) -> dict:
    records = [{"seed": k, "seconds": 1.0 + k, "cost": cost, **scores} for k, cost in enumerate(costs)]
    return {"status": status, "records": records, "n": 10, "peak_mb": 300.0, "base_mb": 200.0}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_pages_are_what_the_stored_results_say_byte_for_byte(page):
    text = page.read_text(encoding="utf-8")
    assert fill(text, Store()) == text


def test_stored_results_name_versions_and_machine_but_neither_host_nor_path():
    found = list(Store().all())
    assert found
    for stored in found:
        text = json.dumps(stored)
        assert {"python", "hyphc", "numpy", "numba"} <= stored["versions"].keys(), stored["case"]
        assert stored["machine"].keys() == {"cores", "cpu", "memory_gb", "system"}
        assert str(ROOT) not in text
        assert str(Path.home()) not in text


def test_suites_have_one_form():
    for name, suite in SUITES.items():
        assert suite.__doc__, name
        assert {task.suite for task in suite.tasks()} == {name}
        assert len(sources.digest(suite.SOURCES)) == 16
    markers = [marker for suite in SUITES.values() for marker in suite.TABLES]
    assert len(set(markers)) == len(markers)


def test_plans_name_known_methods_and_no_run_twice():
    everything = suites.everything()
    trees = [task for task in everything if task.suite in ("tables", "graphs")]
    assert {task.method for task in trees} <= METHODS.keys() | {"bounds"}
    assert {task.method for task in everything if task.suite in ("toys", "study")} == CLUSTERERS.keys()
    assert not METHODS.keys() & CLUSTERERS.keys()
    assert len({task.key for task in everything}) == len(everything)
    assert {task.key for task in suites.small()} <= {task.key for task in everything}


def test_every_stored_result_belongs_to_a_task():
    known = {task.key for suite in SUITES.values() for task in suite.tasks()}
    for stored in Store().all():
        assert Task(*(stored[name] for name in ("suite", "case", "kind", "method"))).key in known


def test_results_are_one_sorted_line_each_and_a_new_one_changes_no_other_line(tmp_path):
    store, tasks = Store(tmp_path), [Task("graphs", case, "edges", "cut") for case in ("b", "c", "a")]
    for task in tasks:
        store.save(task, result(costs=(1.0,)))
    lines = (tmp_path / "graphs.jsonl").read_text().splitlines()
    assert [json.loads(line)["case"] for line in lines] == ["a", "b", "c"]
    store.save(tasks[0], result(costs=(2.0,)))
    changed = (tmp_path / "graphs.jsonl").read_text().splitlines()
    assert [one == other for one, other in zip(lines, changed, strict=True)] == [True, False, True]
    assert Store(tmp_path).of(tasks[0])["records"][0]["cost"] == 2.0


SAVE = """
import sys
from pathlib import Path
from benchmarks.harness.store import Store
from benchmarks.harness.task import Task
for k in range(20):
    Store(Path(sys.argv[1])).save(Task("graphs", f"{sys.argv[2]}-{k}", "edges", "cut"), {"records": [{"cost": 0.5}] * 200})
"""


def test_processes_that_save_at_the_same_time_lose_nothing(tmp_path):
    commands = [[sys.executable, "-c", SAVE, str(tmp_path), name] for name in "abc"]
    processes = [subprocess.Popen(command, cwd=ROOT) for command in commands]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(list(Store(tmp_path).all("graphs"))) == 60
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "graphs.jsonl"]


def test_every_table_of_a_suite_that_has_results_stands_in_a_page():
    pages, store = "".join(page.read_text(encoding="utf-8") for page in PAGES), Store()
    for suite in SUITES.values():
        for marker, write in suite.TABLES.items():
            assert f"<!-- {marker}:begin -->" in pages or write(store).startswith("No results are stored"), marker


def test_every_table_can_be_written_without_results(tmp_path):
    for suite in SUITES.values():
        for write in suite.TABLES.values():
            assert write(Store(tmp_path))


@pytest.mark.parametrize(
    "task",
    [
        Task("continuous", "2310", "growth", "passes"),
        Task("scores", "10000", "purity", "score"),
        Task("search", "planted-2000", "features-0.95", "bisecting"),
        Task("search", "planted-2000", "budget", "0.5"),
    ],
    ids=lambda task: task.key,
)
def test_a_suites_records_say_the_size_first_and_make_a_row(task, tmp_path):
    store, before = Store(tmp_path), Store(tmp_path / "empty")
    first, *records = SUITES[task.suite].records(task)
    store.save(task, {**task.as_dict(), **first, "records": records, "status": "ok", "peak_mb": 300.0})
    assert first.keys() == {"n"}
    written = {marker: write(store) for marker, write in SUITES[task.suite].TABLES.items()}
    assert written != {marker: write(before) for marker, write in SUITES[task.suite].TABLES.items()}


def test_the_halves_of_the_study_are_every_other_set_of_the_alphabet():
    together = [name for pair in zip(SELECTING, CONFIRMING, strict=True) for name in pair]
    assert together == sorted(together)
    assert len(together) == 12


def test_a_run_measures_in_a_process_of_its_own():
    task = Task("tables", "wine", "cosine", "average", 900.0)
    done = runner.run(task)
    similarity = datasets.paper_similarity("wine")
    expected = dasgupta_cost(baselines.average_linkage(similarity), similarity, units="ordered")
    assert done["status"] == "ok"
    assert done["n"] == 178
    assert done["took"] > 0
    assert [record["cost"] for record in done["records"]] == [expected] * 3
    assert 0 < done["records"][0]["purity"] <= 1
    assert done["peak_mb"] >= done["base_mb"] > 10
    assert platform.node() not in json.dumps(done) or len(platform.node()) < 3


PEAK_OF_A_CHILD = """
import subprocess, sys
bytearray(600 << 20).count(1)
program = "from benchmarks.harness.memory import peak_bytes; print(peak_bytes())"
print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
"""


def test_the_peak_memory_of_a_process_does_not_include_that_of_the_process_that_started_it():
    done = subprocess.run([sys.executable, "-c", PEAK_OF_A_CHILD], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 1 << 20 < int(done.stdout) < 300 << 20


def test_a_run_that_takes_too_long_is_stopped_and_one_that_fails_says_how():
    late = runner.run(Task("tables", "wine", "cosine", "hyphc-paper", 1.0))
    assert late["status"] == "time limit"
    failed = runner.run(Task("study", "wine", "no-such-kind", "ours", 900.0))
    assert failed["status"] == "failed: KeyError"
    assert runner.run(Task("tables", "letter", "cosine", "ufit"))["status"] == "too large"
    assert runner.run(Task("study", "wordnet", "auto", "spectral-flat"))["status"] == "too large"


def test_what_is_stored_is_not_run_again_and_an_interrupt_loses_one_run_only(tmp_path, monkeypatch):
    store, asked = Store(tmp_path), []
    tasks = [Task("tables", "wine", "cosine", method) for method in ("single", "average", "ward")]

    def run(task: Task) -> dict:
        asked.append(task.method)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return result(costs=(1.0,))

    monkeypatch.setattr(runner, "run", run)
    with pytest.raises(KeyboardInterrupt):
        runner.run_all(tasks, store)
    runner.run_all(tasks, store)
    runner.run_all(tasks, store)
    assert asked == ["single", "average", "average", "ward"]
    assert [stored["method"] for stored in store.all()] == ["average", "single", "ward"]


def test_the_lowest_cost_is_bold_and_what_is_missing_says_why(tmp_path):
    store = Store(tmp_path)
    for method, stored in {
        "single": result(costs=(2.9e5,)),
        "hyphc": result(costs=(2.81e5, 2.8e5)),
        "ufit": result("time limit"),
        "ghhc": result("too large"),
        "genie": result("failed: ValueError"),
    }.items():
        store.save(Task("tables", "zoo", "cosine", method), stored)
    column = {line.split(" | ")[0][2:]: line.split(" | ")[1] for line in tables.cost_table(store).splitlines()}
    assert column["HypHC"] == "**2.8000**"
    assert column["single linkage"] == "2.9000 (2.897)"
    assert [column[row] for row in ("UFit", "gHHC", "Genie", "Paris")] == [
        "over time (2.896)",
        "too large",
        "failed",
        "–",
    ]


def test_ranks_share_ties_and_put_what_is_missing_last(tmp_path):
    store = Store(tmp_path)
    entries = [("auto", name) for name in ("ours", "ward-flat", "paris-flat", "average-flat")]
    for entry, purity in zip(entries, (0.9, 0.90001, 0.5, None), strict=True):
        if purity is not None:
            store.save(Task("study", "iris", *entry), result(costs=(1.0,), purity=purity))
    assert list(study.mean_ranks(store, entries, ["iris", "zoo"], "purity").values()) == [1.5, 1.5, 3.0, 4.0]


def test_the_verdict_names_whoever_is_first_on_each_half(tmp_path):
    store = Store(tmp_path)
    ours, peer = study.contenders("auto_ari")[:2]
    for cases, first, second in ((CONFIRMING, peer, ours), (SELECTING, ours, peer)):
        for case in cases:
            store.save(Task("study", case, *first), result(costs=(1.0,), auto_ari=0.9, n_clusters=2, noise=0.0))
            store.save(Task("study", case, *second), result(costs=(1.0,), auto_ari=0.6, n_clusters=2, noise=0.0))
    line = study.verdict(store).splitlines()[0]
    assert line.startswith("- ARI at the automatic number: on the held-out half **HDBSCAN** has the best mean rank")
    assert ", HypHC 2.00; on the development half **HypHC** has the best mean rank of 6, 1.00." in line


def test_methods_that_share_the_first_rank_are_all_named(tmp_path):
    store = Store(tmp_path)
    for entry in study.contenders("ari")[:2]:
        for case in CONFIRMING:
            store.save(Task("study", case, *entry), result(costs=(1.0,), ari=0.9))
    assert "**HypHC** and **k-means** share the best mean rank of 7, 1.50" in study.verdict(store)


def test_every_point_of_noise_is_a_cluster_of_its_own():
    assert noise_apart(np.array([0, -1, 1, -1, 0])).tolist() == [0, 2, 1, 3, 0]
    assert noise_apart(np.array([-1, -1])).tolist() == [0, 1]


def test_peers_get_the_columns_as_our_default_scales_them():
    wine = points("wine").rows
    assert_allclose(scaled(wine).std(axis=0), 1.0)
    digits = points("digits").rows
    varying = digits.std(axis=0) > 0
    assert_allclose(scaled(digits), (digits - digits.mean(axis=0))[:, varying], atol=1e-12)


def test_triplets_of_a_tree_and_of_its_own_hypernyms_are_alike():
    # nodes 0 … 3 are leaves of ((0, 1), (2, 3)), whose inner nodes 4 and 5 and whose root 6 are points as well
    hypernym = np.array([4, 4, 5, 5, 6, 6, -1])
    depth = depths(hypernym)
    assert depth.tolist() == [2, 2, 2, 2, 1, 1, 0]
    assert meeting(hypernym, depth, np.array([0, 0, 0]), np.array([1, 2, 4])).tolist() == [4, 6, 4]
    alike = Tree([[0, 1], [7, 4], [2, 3], [9, 5], [8, 10], [11, 6]])
    across = Tree([[0, 2], [7, 4], [1, 3], [9, 5], [8, 10], [11, 6]])
    assert triplets_alike(alike, hypernym) == 1.0
    assert triplets_alike(across, hypernym) < 0.8


def test_the_colours_of_the_picture_follow_the_classes():
    like = pytest.importorskip("benchmarks.harness.figures")._like
    classes = np.repeat([0, 1, 2], 4)
    clusters = np.array([2, 2, 2, 2, 0, 0, 0, -1, 1, 1, 3, 1])
    assert like(clusters, classes).tolist() == [0, 0, 0, 0, 1, 1, 1, -1, 2, 2, 3, 2]


def test_the_default_reaches_on_the_toys_what_the_documentation_promises():
    stored = {case: Store().get("toys", case, "auto", "ours") for case in toys.SETS}
    ari = {case: found["records"][0]["ari"] for case, found in stored.items() if found}
    promised = {"moons": 0.95, "circles": 0.95, "aniso": 0.95, "blobs": 0.95, "varied": 0.8}
    promised |= {"wine": 0.75, "breast_cancer": 0.7, "iris": 0.6, "digits": 0.75, "letter": 0.14}
    assert {case for case in promised if ari[case] < promised[case]} == set()
    number = {case: found["records"][0]["n_clusters"] for case, found in stored.items() if found}
    assert number["noise"] == number["one-blob"] == 1
    right = [case for case in toys.TOYS if case not in toys.ONE_CLASS and number[case] == stored[case]["n_classes"]]
    assert len(right) >= 5


def test_label_propagation_follows_the_stronger_ties():
    W = np.full((6, 6), 0.1)
    W[:3, :3] = W[3:, 3:] = 1.0
    np.fill_diagonal(W, 0.0)
    assert label_propagation(W, np.array([4, -1, -1, 7, -1, -1])).tolist() == [4, 4, 4, 7, 7, 7]


def test_splits_are_stratified_and_leave_a_tenth_for_validation():
    labels = np.repeat([0, 1, 2], 50)
    train, test = classification.split(labels, 0)
    assert np.bincount(labels[train]).tolist() == [15, 15, 15]
    assert np.bincount(labels[test]).tolist() == [30, 30, 30]
    assert not set(train) & set(test)


def test_the_table_of_accuracies_says_what_was_reached(tmp_path):
    store = Store(tmp_path)
    for method, values in {"two-step": (0.8, 0.9), "end-to-end": (0.84, 0.86)}.items():
        records = [{"seed": k, "accuracy": value, "seconds": 1.0} for k, value in enumerate(values)]
        store.save(Task("classification", "iris", "cosine", method), {**result(), "records": records})
    row = next(line for line in classification.classification_table(store).splitlines() if line.startswith("| iris"))
    assert row == "| iris | – (76.7) | 85.0 ± 7.1 (84.4 ± 1.7) | 85.0 ± 1.4 (85.6 ± 0.8) | 84.8: reached |"
    assert "2 splits of all sets End-to-End is 0.00 points above" in classification.classification_findings(store)


def test_the_papers_figures_are_read_in_order():
    assert paper.COST["hyphc-paper", "letter"] == "2.384"
    assert paper.COST["lower", "zoo"] == "2.750"
    assert ("ufit", "letter") not in paper.COST
    assert paper.PURITY["ghhc", "glass"] == "46.3"
    assert paper.PURITY["hyphc-paper", "spambase"] == "79.2"


def test_an_unknown_part_of_a_page_is_an_error():
    with pytest.raises(ValueError, match="part 'nonsense'"):
        fill("<!-- nonsense:begin -->\n<!-- nonsense:end -->", Store())


MODULE = """
import numpy as np
from . import pruning
from ..tree.cut import best
RATE = 0.1


def step(x, *, rate=RATE):
    if x < 0:
        raise ValueError(f"x is {x}, below zero")
    return best(pruning.prune(np.exp(rate * x)), "height")
"""
REWRITTEN = """'''Steps.'''
import numpy as np
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .types import Rate
from . import prunings as steps
from ..forest.prune import best

__all__ = ["step"]


def step(x, *, rate=RATE):
    '''Return a step.'''
    if x < 0:  # no root
        raise ValueError(f"{x} is negative; give at least 0")
    return best(steps.prune(np.exp(rate * x)), "height")


RATE = 0.1
"""


def hash_of(home: Path, **modules: str) -> str:
    """Return the hash of a package that has these modules in one folder."""
    folder = home / secrets.token_hex(4) / "tree"
    folder.mkdir(parents=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return sources.digest(("tree",), folder.parent)


def test_the_hash_of_the_sources_does_not_change_with_prose_and_names_of_modules(tmp_path):
    pruning = "from typing import TYPE_CHECKING\n\n\ndef prune(x):\n    return x\n"
    before = hash_of(tmp_path, descent=MODULE, pruning=pruning)
    assert hash_of(tmp_path, steps=REWRITTEN, prunings=pruning) == before


def test_the_hash_of_the_sources_does_not_change_when_modules_are_merged(tmp_path):
    other = "import numpy as np\n\n\ndef size(x):\n    return np.size(x)\n"
    assert hash_of(tmp_path, both=MODULE + other) == hash_of(tmp_path, one=MODULE, two=other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("RATE = 0.1", "RATE = 0.2"),
        ("x < 0", "x <= 0"),
        ("ValueError", "TypeError"),
        ('"height"', '"modularity"'),
        ("import best", "import worst as best"),
        ("import numpy", "import torch"),
        ("rate=RATE", "rate=1.0"),
    ],
)
def test_the_hash_of_the_sources_changes_with_what_is_computed(old, new, tmp_path):
    changed = MODULE.replace(old, new)
    assert changed != MODULE
    assert hash_of(tmp_path, descent=changed) != hash_of(tmp_path, descent=MODULE)


def test_the_hash_of_the_sources_covers_assets_and_leaves_out_caches_and_other_folders(tmp_path):
    (tmp_path / "tree" / "__pycache__").mkdir(parents=True)
    (tmp_path / "tree" / "page.js").write_text("a = 1")
    before = sources.digest(("tree",), tmp_path)
    (tmp_path / "cli.py").write_text("b = 1")
    (tmp_path / "tree" / "__pycache__" / "core.pyc").write_text("compiled")
    assert sources.digest(("tree",), tmp_path) == before
    (tmp_path / "tree" / "page.js").write_text("a = 2")
    assert sources.digest(("tree",), tmp_path) != before
    with pytest.raises(ValueError, match="'forest'"):
        sources.digest(("forest",), tmp_path)


def test_the_method_is_the_whole_package_but_for_what_no_tree_depends_on():
    assert {"similarity", "tree", "search", "scores", "estimator.py"} <= set(sources.METHOD)
    assert not {"cli", "explorer", "plot", "io", "nn"} & set(sources.METHOD)
    assert all((sources.PACKAGE / name).exists() for name in sources._OTHERS - {"__pycache__"})


@pytest.fixture
def graphs_store(tmp_path):
    """A store with a fresh result, a stale one, and one whose sources were not recorded."""
    store, today = Store(tmp_path), sources.digest(SUITES["graphs"].SOURCES)
    marks = {"single": {"sources": today, "commit": "new"}, "average": {"sources": "older", "commit": "old"}, "cut": {}}
    for method, mark in marks.items():
        store.save(Task("graphs", "cora_ml", "edges", method), {**result(costs=(1.0,)), **mark})
    return store


def test_stale_results_are_counted_by_commit_and_listed_for_the_suites_that_are_named(graphs_store):
    assert stale.stale_lines(graphs_store, SUITES) == ["graphs: 1 at an unknown commit, 1 at old"]
    listed = ["graphs/cora_ml.edges.average at old", "graphs/cora_ml.edges.cut at an unknown commit"]
    assert stale.stale_lines(graphs_store, SUITES, ["graphs"]) == listed
    assert stale.stale_lines(graphs_store, SUITES, ["toys"]) == ["No result is stale."]


def test_the_overview_has_one_line_a_suite_with_counts_and_time(graphs_store):
    header, *lines = stale.overview(graphs_store, SUITES).splitlines()
    assert header.split()[:6] == ["suite", "results", "fresh", "stale", "missing", "time"]
    assert [line.split()[0] for line in lines] == list(SUITES)
    row = next(line for line in lines if line.startswith("graphs"))
    n_missing = len(SUITES["graphs"].tasks()) - 3
    assert row.split()[:8] == ["graphs", "3", "1", "2", str(n_missing), ">", "3", "s"]
    assert max(map(len, lines)) <= 130


@pytest.mark.parametrize(("names", "n"), [((), 12), (("zoo",), 4), (("zoo.cosine.ward",), 1), (("zoo", "ward"), 6)])
def test_tasks_are_selected_by_case_kind_method_or_all_three(names, n, monkeypatch):
    tasks = [Task("x", case, "cosine", method) for case in ("zoo", "iris", "wine") for method in ("ward", *"abc")]
    suite, ran = SimpleNamespace(tasks=lambda: tasks, TABLES={}), []
    monkeypatch.setattr(command, "run_all", lambda chosen, store, *, again: ran.extend(chosen))
    monkeypatch.setattr(command, "write_report", lambda store: None)
    command.main("benchmarks", "", {"x": suite}, {}, ["x", *names])
    assert len(ran) == n
    with pytest.raises(SystemExit):
        command.main("benchmarks", "", {"x": suite}, {}, ["x", "no-such-name"])


def test_a_page_tells_the_commits_of_its_own_results_and_marks_what_is_older(tmp_path):
    store = Store(tmp_path)
    for suite, mark in (
        ("graphs", {"sources": "older", "commit": "old"}),
        ("study", {"commit": "other"}),
        ("tables", {}),
    ):
        store.save(Task(suite, "x", "y", "z"), {**result(), **mark})
    page = fill("<!-- graphs:begin -->\n<!-- graphs:end -->\n<!-- measured:begin -->\n<!-- measured:end -->", store)
    assert "measured: 1 at old. Older than the code of today: graphs." in page
    chosen = {name: SUITES[name] for name in ("tables", "graphs")}
    text = stale.measured_at(store, chosen)
    assert "1 before sources were recorded, 1 at old. Older than the code of today: graphs, tables." in text
    today = sources.digest(SUITES["graphs"].SOURCES)
    store.save(Task("graphs", "x", "y", "z"), {**result(), "sources": today, "commit": "new"})
    assert "Older" not in stale.measured_at(store, {"graphs": SUITES["graphs"]})


def stale_parts(text: str, store: Store) -> list[str]:
    """Suites whose results a page shows, that are older than their sources, and that the page does not mark as older."""
    parts = {match[1] for match in re.finditer(r"<!-- ([a-z-]+):begin -->", text)} - {"measured"}
    shown = {suite for part in parts for suite in PARTS[part][0]}
    marked = re.search(r"Older than the code of today: ([^.]*)\.", text)
    named = set(marked[1].split(", ")) if marked else set()
    return sorted(name for name in shown - named if stale.stale_results(store, name, SUITES[name]))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_no_page_shows_a_result_older_than_its_sources_without_saying_so(page):
    remedy = "measure again (python -m benchmarks SUITE --again), or mark it (python -m benchmarks report)"
    assert stale_parts(page.read_text(encoding="utf-8"), Store()) == [], remedy


def test_an_older_result_without_the_mark_is_noticed(graphs_store):
    page = "<!-- graphs:begin -->\n| x |\n<!-- graphs:end -->\n"
    assert stale_parts(page, graphs_store) == ["graphs"]
    assert stale_parts(f"{page}Older than the code of today: graphs, toys.", graphs_store) == []
    assert stale_parts(f"{page}Older than the code of today: toys.", graphs_store) == ["graphs"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_no_page_has_an_empty_table(page):
    assert "No results are stored" not in page.read_text(encoding="utf-8")


def test_where_ward_costs_more_and_agrees_better_with_labels_is_what_the_page_says():
    store, found = Store(), []
    for case in ("zoo", "iris", "glass", "wine", "segmentation", "spambase", "letter"):
        ward, ours = (best(store.get("tables", case, "cosine", method)) for method in ("ward", "hyphc"))
        if ward["cost"] > ours["cost"] and ward["ari"] > ours["ari"] + 0.01:
            found.append(case)
    sentence = f"on {', '.join(found[:-1])} and {found[-1]} Ward's trees cost more than"
    for name in ("notes/benchmarks.md", "paper.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert sentence in text.replace("On wine", "on wine"), (name, found)


def test_a_run_says_its_commit_and_sources():
    done = runner.run(Task("tables", "letter", "cosine", "ufit"))
    assert done["sources"] == sources.digest(SUITES["tables"].SOURCES)
    assert "commit" in done


def test_the_unbiased_p_value_is_read_off_shares_that_follow_its_model():
    scales, distance, curvature = (
        np.array([0.5, 0.71, 1.0, 1.41, 2.0]),
        np.array([-0.8, 0.0, 1.1]),
        np.array([0.3, 0.1, -0.4]),
    )
    shares = norm.sf(np.outer(np.sqrt(scales), distance) + np.outer(1 / np.sqrt(scales), curvature))
    assert_allclose(approximately_unbiased(shares, scales, 100), norm.sf(distance - curvature))
    always = np.ones((5, 1))
    assert_allclose(approximately_unbiased(always, scales, 100), [1.0])


def test_the_estimated_memory_of_a_row_is_at_least_what_was_measured():
    stored = list(Store().all("memory"))
    assert stored
    for result in stored:
        measured = (result["peak_mb"] - result["base_mb"]) * 2**20 / result["n"]
        assert measured <= bytes_per_row(int(result["case"].split("x")[1])), result["case"]


@pytest.mark.parametrize(("program", "suite"), [("benchmarks", "tables"), ("tests.system", "fuzzing")])
def test_a_program_without_arguments_prints_its_table_of_suites(program, suite):
    done = subprocess.run([sys.executable, "-m", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("suite ")
    assert f"\n{suite} " in done.stdout
