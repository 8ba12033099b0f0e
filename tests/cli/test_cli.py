"""The command line on small data: help, every command, the files of a fit, names, progress and interrupts."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hyphc import HypHC, Tree, datasets
from hyphc._runtime.run_control import Clock
from hyphc.cli import main
from hyphc.cli.options import criteria, metrics_of_rows
from hyphc.io import read_tree
from hyphc.similarity.metrics import METRICS
from hyphc.similarity.neighbor_metrics import BACKGROUND, N_NEIGHBORS
from hyphc.tree import prunings
from sklearn.metrics import adjusted_rand_score

from commands import COMMANDS, Run, data_of, help_of

pytestmark = pytest.mark.usefixtures("quick_certificate")

FIT_FILES = [
    "clustermap.png",
    "clusters.csv",
    "differences.csv",
    "disk.png",
    "explorer.html",
    "itol_clusters.txt",
    "linkage.npy",
    "model.npz",
    "report.md",
    "tree.d3.json",
    "tree.json",
    "tree.npz",
    "tree.nwk",
    "tree.png",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return Run(tmp_path_factory.mktemp("examples"))


def cost_in(printed: str) -> float:
    found = re.search(r"^cost +(\S+)", printed, re.MULTILINE)
    assert found, printed
    return float(found[1])


def table_in(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


# --- help ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [(), *((name,) for name in COMMANDS)], ids=lambda command: "".join(command) or "hyphc"
)
def test_help_fits_a_terminal_of_100_columns(command):
    assert max(map(len, help_of(*command).splitlines())) <= 100


def test_the_page_mentions_every_option():
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        for option in set(re.findall(r"--[a-z-]+", help_of(name))) - {"--help"}:
            assert option in page, f"{name} {option}"


def test_help_names_every_command():
    for name in COMMANDS:
        assert re.search(rf"\n    {name}\s", help_of())


def test_module_and_version_work():
    done = subprocess.run([sys.executable, "-m", "hyphc", "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"hyphc \d+\.\d+\.\d+\n", done.stdout)


def test_help_loads_nothing_heavy():
    heavy = ("numpy", "numba", "sklearn")
    code = f"import sys, hyphc.cli; hyphc.cli.build_parser(); print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_cutting_a_tree_loads_no_more_than_the_tree(tmp_path):
    (tmp_path / "tree.nwk").write_text("((a,b),(c,d));")
    heavy = ("sklearn", "scipy.sparse", "hyphc.estimator", "hyphc.similarity", "hyphc.scores")
    code = f"""import sys
import scipy.linalg  # as numba does; that of older versions loads scipy.sparse
before = set(sys.modules)
from hyphc.cli import main
assert main(["cut", "tree.nwk", "--n-clusters", "2", "--output", "flat.csv"]) == 0
assert main(["convert", "tree.nwk", "tree.npz"]) == 0
print([module for module in {heavy} if module in sys.modules and module not in before])"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_criteria_offered_are_those_of_the_tree_and_the_default_is_its_default():
    assert list(criteria()) == list(prunings.CRITERIA)
    assert HypHC().criterion == signature(Tree.cut).parameters["criterion"].default == "condensed"
    for command in ("fit", "cut", "plot", "explore"):
        assert "(default: condensed)" in " ".join(help_of(command).split())


def test_the_metrics_offered_and_the_default_are_those_of_the_estimator():
    assert set(metrics_of_rows()) == {name for name, metric in METRICS.items() if metric.takes_rows}
    for command in ("fit", "score"):
        words = " ".join(help_of(command).split())
        assert f"(default: {HypHC().metric}, nearest neighbours" in words
        assert f"(default for auto: {N_NEIGHBORS})" in words
        assert f"(default: {BACKGROUND})" in words


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out == help_of()


# --- demo and data sets ----------------------------------------------------------------------------------------------


def test_demo_prints_costs_and_ends_with_the_explorer(tmp_path, monkeypatch, capsys):
    """On 100 digits; on all of them: tests/system/test_cli_examples.py."""
    digits = datasets.load("digits")
    few = replace(digits, data=digits.data[:100], labels=digits.labels[:100])
    monkeypatch.setattr(datasets, "load", lambda name: few)
    assert main(["demo", "--output", str(tmp_path / "demo")]) == 0
    printed = capsys.readouterr().out
    assert "100 handwritten digits" in printed
    assert re.search(r"^HypHC +\d", printed, re.MULTILINE)
    assert data_of(tmp_path / "demo" / "digits.html")["sprite"]["width"] == 8
    assert Tree.load(tmp_path / "demo" / "digits.npz").n_leaves == 100


def test_datasets_lists_every_name_with_its_size(run):
    lines = {line.split()[0]: line.split() for line in run("hyphc datasets").splitlines() if line}
    assert set(datasets.names()) < set(lines)
    assert lines["digits"][1:3] == ["1797", "64"]
    assert lines["iris"][3] == "yes,"


# --- fit -------------------------------------------------------------------------------------------------------------


def test_fit_writes_all_its_files(run):
    run("hyphc datasets --write iris iris.csv")
    printed = run("hyphc fit iris.csv --labels label")
    assert sorted(path.name for path in (run.folder / "iris-hyphc").iterdir()) == FIT_FILES
    assert all(name in printed for name in FIT_FILES)
    assert (run.folder / "iris-hyphc" / "tree.png").read_bytes().startswith(b"\x89PNG")


def test_fit_says_what_it_inferred(run):
    run("hyphc datasets --write iris iris.csv")
    printed = run("hyphc fit - --n-neighbors 10 --scale yes --output piped < iris.csv")
    assert "features    sepal_length, sepal_width, petal_length, petal_width" in printed
    assert "label (text with 3 different values; choose it as labels to compare" in printed
    assert "similarity  10 nearest neighbours of each row, with a background of 0.0001" in printed
    assert "columns     scaled: asked for" in printed


def test_fit_and_its_report_say_what_was_done_and_how_many_clusters_were_found_and_why(run):
    run("hyphc datasets --write wine wine.csv")
    printed = " ".join(run("hyphc fit wine.csv --labels label --output wine").split())
    report = (run.folder / "wine" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    wine = datasets.load("wine")
    model = HypHC(random_state=0).fit(wine.data)
    number = model.cluster_number_
    scaling = model.similarity_.source.scaling.why
    assert scaling.startswith("columns scaled: ")
    agreement = f"{adjusted_rand_score(wine.labels, model.labels_):.4f}"
    for text in (printed, report):
        assert scaling.removeprefix("columns ") in text
        assert f"search: {', '.join(model.plan_.search)}" in text
        assert f"{number.n_clusters} found: {number.why}; next come " in text
        for k, p in number.runners_up:
            assert f"{k} (p = {p:.2g})" in text
        assert agreement in text


def test_what_is_asked_of_clusters_is_what_files_page_and_picture_have(run):
    run("hyphc datasets --write iris iris.csv")
    run("hyphc fit iris.csv --criterion modularity --min-size 4 --n-clusters 10 --output asked")
    tree = Tree.load(run.folder / "asked" / "tree.npz")
    found = [int(row["cluster"]) for row in table_in(run.folder / "asked" / "clusters.csv")]
    assert found == tree.cut(10, criterion="modularity", min_size=4).tolist() != tree.cut(10).tolist()
    page = data_of(run.folder / "asked" / "explorer.html")
    assert page["opening"] == 10
    nodes = np.frombuffer(base64.b64decode(page["cuts"]["10"]), "<i4")
    assert sorted(nodes) == sorted(tree.clusters(10, criterion="modularity", min_size=4))
    printed = run("hyphc cut asked/tree.npz --criterion modularity --min-size 4")
    assert [int(row["cluster"]) for row in csv.DictReader(io.StringIO(printed))] == found


def test_a_cut_without_a_number_is_the_fits(run):
    run("hyphc datasets --write wine wine.csv")
    run("hyphc fit wine.csv --labels label --output wine")
    fitted = [row["cluster"] for row in table_in(run.folder / "wine" / "clusters.csv")]
    for file in ("tree.npz", "tree.json"):
        assert [row["cluster"] for row in csv.DictReader(io.StringIO(run(f"hyphc cut wine/{file}")))] == fitted


def test_a_wide_column_is_told_of_in_the_words_of_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=20), 1000 * rng.normal(size=20)]).tolist()
    Path("x.csv").write_text("a,grams\n" + "".join(f"{a},{b}\n" for a, b in rows))
    assert main(["fit", "x.csv"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["fit", "x.csv", "--metric", "linear"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("hyphc: column 'grams' carries 100% of the variance")
    assert told.endswith("use --metric auto or --standardize.\n")


def test_distances_are_clustered_as_such_and_told_from_similarities(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    points = np.random.default_rng(0).normal(size=(12, 2)) + np.repeat([[0.0, 0.0], [9.0, 9.0]], 6, axis=0)
    np.savetxt("d.csv", np.linalg.norm(points[:, None] - points[None], axis=2), delimiter=",")
    assert main(["fit", "d.csv", "--distances", "--n-clusters", "2"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "similarity  largest distance - distance" in captured.out
    assert [row["cluster"] for row in table_in(Path("d-hyphc/clusters.csv"))] == ["0"] * 6 + ["1"] * 6
    assert main(["score", "d-hyphc/tree.npz", "d.csv", "--distances"]) == 0
    assert cost_in(capsys.readouterr().out) == cost_in(captured.out)
    assert main(["fit", "d.csv", "--precomputed"]) == 0
    assert "pass --distances for distances" in capsys.readouterr().err


def test_a_sparse_table_needs_no_metric(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    sp.save_npz("x.npz", sp.random_array((30, 12), density=0.4, random_state=np.random.default_rng(0), format="csr"))
    assert main(["fit", "x.npz"]) == 0
    assert "columns     as they are: the table is sparse" in capsys.readouterr().out


def test_the_report_has_cost_bounds_gap_purity_and_average_linkage(run):
    run("hyphc datasets --write iris iris.csv")
    printed = run("hyphc fit iris.csv --labels label")
    report = (run.folder / "iris-hyphc" / "report.md").read_text()
    for row in ("cost", "lower bound", "upper bound", "gap", "purity", "average linkage"):
        assert f"\n| {row} |" in report
    assert f"| cost | {cost_in(printed):.10g} |" in report
    assert re.search(r"\| gap \| at most [\d.]+ % \| above the cost of the best tree, with 99 % confidence \|", report)
    assert re.search(r"\| most room \| size \d+ \| clusters up to it leave edges of weight [^|]*\|", report)
    linked = set(re.findall(r"\]\(([^)]+)\)", report))
    assert linked
    assert linked <= {path.name for path in (run.folder / "iris-hyphc").iterdir()}


def test_the_gap_is_the_upper_confidence_limit_and_never_the_estimate(run):
    from hyphc import as_similarity, optimality_gap
    from hyphc.cli.report import CERTIFICATE_EFFORT

    run("hyphc datasets --write iris iris.csv")
    printed = run("hyphc fit iris.csv --labels label")
    tree = read_tree(run.folder / "iris-hyphc" / "tree.npz")
    similarity = as_similarity(datasets.load("iris").data, random_state=0)
    gap = optimality_gap(tree, similarity, effort=CERTIFICATE_EFFORT, random_state=0)
    assert f"{100 * gap.gap:.2f}" != f"{100 * gap.confidence_interval[1]:.2f}"
    assert f"at most {100 * gap.confidence_interval[1]:.2f} %" in printed


def test_the_clusters_keep_the_order_of_the_rows_and_are_the_models(run):
    run("hyphc datasets --write iris iris.csv")
    run("hyphc fit iris.csv --features petal_length,petal_width --n-clusters 3 --output petals")
    rows = table_in(run.folder / "petals" / "clusters.csv")
    assert [int(row["row"]) for row in rows] == list(range(1, 151))
    model = HypHC(n_clusters=3, random_state=0).fit(datasets.load("iris").data[:, 2:])
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()


@pytest.mark.parametrize("file", ["tree.npz", "tree.nwk", "tree.json", "linkage.npy"])
def test_a_tree_that_was_written_scores_what_the_fit_reached(run, file):
    run("hyphc datasets --write iris iris.csv")
    fitted = run("hyphc fit iris.csv --labels label")
    scored = run(f"hyphc score iris-hyphc/{file} iris.csv --labels label")
    assert cost_in(scored) == cost_in(fitted)
    assert re.search(r"^purity.*$", scored, re.MULTILINE)[0] == re.search(r"^purity.*$", fitted, re.MULTILINE)[0]


NAMES = ["frog", "toad", "frog", "it's; (odd), [name]", "Ζεύς", "<script>alert(1)</script>", "a|b", "", "newt", "frog"]


@pytest.fixture(scope="module")
def named(tmp_path_factory) -> tuple[Run, str]:
    """A fit of points whose names repeat and need quoting; and the same points in another order, in shuffled.csv."""
    run = Run(tmp_path_factory.mktemp("named"))
    points = np.random.default_rng(0).normal(size=(len(NAMES), 3)).round(3)
    # the frogs keep their order and the row without a name its place, for these make their names
    for file, order in {"named.csv": range(10), "shuffled.csv": [1, 0, 4, 2, 3, 8, 5, 7, 6, 9]}.items():
        with (run.folder / file).open("w", newline="", encoding="utf-8") as target:
            csv.writer(target).writerows([["name", "x", "y", "z"], *([NAMES[i], *points[i].tolist()] for i in order)])
    return run, run("hyphc fit named.csv --names name --output named")


def test_names_survive_every_format(named):
    run, printed = named
    unique = ["frog", "toad", "frog (2)", *NAMES[3:7], "row 8", "newt", "frog (3)"]
    for file in ("tree.npz", "tree.nwk", "tree.json"):
        assert sorted(read_tree(run.folder / "named" / file).names) == sorted(unique)
        assert cost_in(run(f"hyphc score named/{file} named.csv --names name")) == cost_in(printed)
    rows = table_in(run.folder / "named" / "clusters.csv")
    assert [row["name"] for row in rows] == NAMES


def test_leaves_are_matched_to_rows_by_name_whatever_their_order(named):
    run, printed = named
    for file in ("tree.npz", "tree.nwk", "tree.json"):
        scored = run(f"hyphc score named/{file} shuffled.csv --names name")
        assert "matched to the data by name" in scored
        assert cost_in(scored) == cost_in(printed)
    assert cost_in(run("hyphc score named/linkage.npy shuffled.csv --names name")) > cost_in(printed)


def test_names_in_the_report_are_text_and_no_markup(named):
    run, _ = named
    report = (run.folder / "named" / "report.md").read_text(encoding="utf-8")
    page = (run.folder / "named" / "explorer.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in report
    assert "<script>alert(1)" not in page


def test_without_matplotlib_the_fit_succeeds_and_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("a,b\n1,2\n2,1\n3,5\n5,4\n")
    assert main(["fit", "x.csv"]) == 0
    printed = capsys.readouterr().out
    assert "tree.png was left out" in printed
    assert "pip install 'hyphc[plot]'" in printed
    assert not Path("x-hyphc/tree.png").exists()
    assert Path("x-hyphc/explorer.html").exists()
    assert "tree.png" not in Path("x-hyphc/report.md").read_text()


@pytest.mark.parametrize("n", [2, 3])
def test_the_smallest_tables_work(tmp_path, monkeypatch, n):
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("a,b\n" + "".join(f"{i},{2 * i + i % 2}\n" for i in range(1, n + 1)))
    assert main(["fit", "x.csv"]) == 0
    assert Tree.load("x-hyphc/tree.npz").n_leaves == n


OPTIONS = {
    "auto": [],
    "auto with options": ["--n-neighbors", "4", "--scale", "yes", "--background", "0.1"],
    "cosine": ["--metric", "cosine", "--standardize"],
    "linear": ["--metric", "linear"],
    "rbf": ["--metric", "rbf"],
    "euclidean": ["--metric", "euclidean", "--n-neighbors", "3"],
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_every_metric_scores_as_it_fits(tmp_path, monkeypatch, capsys, options):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(1).normal(size=(12, 3)))
    assert main(["fit", "x.npy", *options]) == 0
    fitted = cost_in(capsys.readouterr().out)
    assert main(["score", "x-hyphc/tree.json", "x.npy", *options]) == 0
    assert cost_in(capsys.readouterr().out) == fitted


def test_graphs_and_similarities_are_clustered_as_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("g.csv").write_text("source,target,weight\na,b,3\nc,d,3\nb,c,1\n")
    assert main(["fit", "g.csv", "--graph"]) == 0
    assert cost_in(capsys.readouterr().out) == 3 * 2 + 3 * 2 + 1 * 4
    Path("w.csv").write_text("0,3,0,0\n3,0,1,0\n0,1,0,3\n0,0,3,0\n")
    assert main(["fit", "w.csv", "--precomputed"]) == 0
    assert cost_in(capsys.readouterr().out) == 3 * 2 + 3 * 2 + 1 * 4


# --- other commands --------------------------------------------------------------------------------------------------


def test_cut_prints_the_trees_clusters(run):
    run("hyphc datasets --write iris iris.csv")
    run("hyphc fit iris.csv --labels label")
    rows = list(csv.DictReader(io.StringIO(run("hyphc cut iris-hyphc/tree.npz --n-clusters 3"))))
    assert [int(row["cluster"]) for row in rows] == Tree.load(run.folder / "iris-hyphc/tree.npz").cut(3).tolist()


@pytest.mark.parametrize("file", ["tree.npz", "tree.json"])
def test_cut_by_a_criterion_needs_the_tree_alone(run, file):
    run("hyphc datasets --write iris iris.csv")
    run("hyphc fit iris.csv --labels label")
    tree = read_tree(run.folder / "iris-hyphc" / file)
    for criterion in criteria():
        printed = run(f"hyphc cut iris-hyphc/{file} --n-clusters 3 --criterion {criterion} --min-size 5")
        found = [int(row["cluster"]) for row in csv.DictReader(io.StringIO(printed))]
        assert found == tree.cut(3, criterion=criterion, min_size=5).tolist()
    printed = run(f"hyphc cut iris-hyphc/{file} --min-size 100")
    assert {row["cluster"] for row in csv.DictReader(io.StringIO(printed))} == {"0"}


def test_convert_keeps_the_tree(run):
    run("hyphc datasets --write iris iris.csv")
    run("hyphc fit iris.csv --labels label")
    tree = read_tree(run.folder / "iris-hyphc/tree.npz")
    for name in ("b.nwk", "b.newick", "b.json", "b.npz", "b.npy"):
        run(f"hyphc convert iris-hyphc/tree.npz {name}")
        assert read_tree(run.folder / name) == tree
        assert (read_tree(run.folder / name).split_weights is not None) == name.endswith((".json", ".npz"))


def test_a_reader_that_goes_away_is_no_error_message(run):
    run("hyphc datasets --write iris iris.csv")
    run("hyphc fit iris.csv --labels label")
    command = f"{shlex.quote(sys.executable)} -m hyphc cut iris-hyphc/tree.npz --n-clusters 3 | true"
    done = subprocess.run(["sh", "-c", command], cwd=run.folder, capture_output=True, text=True)
    assert done.stderr == ""


# --- progress and interrupts -----------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_fit_is_quiet_when_its_output_is_no_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(1).normal(size=(12, 3)))
    assert main(["fit", "x.npy"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "\r" not in captured.out


def test_a_terminal_shows_a_bar_with_cost_and_time_left(tmp_path, monkeypatch, set_tick):
    set_tick(0.005)
    monkeypatch.setattr("hyphc._runtime.progress.REDRAW", 0.01)
    monkeypatch.chdir(tmp_path)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    np.save("x.npy", np.random.default_rng(1).normal(size=(60, 3)))
    assert main(["fit", "x.npy", "--time-budget", "1.5"]) == 0
    drawn = terminal.getvalue().split("\r")
    assert any(re.search(r"\[#+\.*\] (iterated|ratchet) .*cost [\d.e+]+ .*0:0\d left", line) for line in drawn)
    assert re.fullmatch(r"done after 0:0\d  cost [\d.e+]+ *\n", drawn[-1])


def test_an_interrupt_keeps_the_best_tree_and_writes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(1).normal(size=(60, 3)))
    asked: list[Clock] = []
    should_stop = Clock.should_stop

    def press(clock: Clock) -> bool:
        asked.append(clock)
        if len(asked) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        return should_stop(clock)

    monkeypatch.setattr(Clock, "should_stop", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["fit", "x.npy", "--time-budget", "60"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert sum(clock is asked[0] for clock in asked) < 20  # the certificate has a clock of its own
    assert sorted(path.name for path in Path("x-hyphc").iterdir()) == FIT_FILES
    assert Tree.load("x-hyphc/tree.npz").n_leaves == 60
    message = capsys.readouterr().err
    assert "Ctrl-C again stops at once" in message
    assert "the best tree found until then was written" in message
    assert "interrupted" in Path("x-hyphc/report.md").read_text()


def test_an_interrupt_without_a_tree_leaves_nothing(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(HypHC, "fit", interrupted)
    np.save("x.npy", np.random.default_rng(1).normal(size=(60, 3)))
    assert main(["fit", "x.npy", "--output", "new/folder"]) == 130
    assert [path.name for path in Path().iterdir()] == ["x.npy"]
    assert capsys.readouterr().err == "hyphc: interrupted; nothing was written.\n"


def test_a_fit_in_a_thread_works(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(1).normal(size=(5, 3)))
    codes: list[int] = []
    thread = threading.Thread(
        target=lambda: codes.append(main(["fit", str(tmp_path / "x.npy"), "--output", str(tmp_path / "out")]))
    )
    thread.start()
    thread.join()
    assert codes == [0]


def test_texts_name_the_clusters(tmp_path):
    import numpy as np
    from hyphc.cli import main

    rng = np.random.default_rng(0)
    rows = [(10.0 * (i % 2) + rng.normal(), rng.normal(), ("grey owl", "red wine")[i % 2]) for i in range(40)]
    file = tmp_path / "birds.csv"
    file.write_text("x,y,about\n" + "".join(f"{x},{y},{text}\n" for x, y, text in rows))
    assert not main(["fit", str(file), "--texts", "about", "--n-clusters", "2", "--output", str(tmp_path / "out")])
    lines = (tmp_path / "out" / "clusters.csv").read_text().splitlines()
    assert "cluster_name" in lines[0]
    assert "owl" in lines[1]
    assert "wine" in lines[2]
    assert "owl" in (tmp_path / "out" / "report.md").read_text()
    page = (tmp_path / "out" / "explorer.html").read_text()
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert data["texts"][:2] == ["grey owl", "red wine"]
    assert any("owl" in name for name in data["nodeNames"])


def test_texts_alone_are_clustered_by_their_words(tmp_path, capsys):
    file, kinds = tmp_path / "notes.csv", ("grey owl in a tree", "red wine of the year")
    file.write_text("id,note\n" + "".join(f"{i + 1},{kinds[i % 2]}\n" for i in range(40)))
    assert not main(["fit", str(file), "--texts", "note", "--n-clusters", "2", "--output", str(tmp_path / "out")])
    assert "TF-IDF of the 6 words" in capsys.readouterr().out
    with open(tmp_path / "out" / "clusters.csv", newline="") as rows:
        assert [row["cluster"] for row in csv.DictReader(rows)] == ["0", "1"] * 20
    assert main(["fit", str(file), "--output", str(tmp_path / "other")])
    assert "no column of numbers to cluster by but id" in capsys.readouterr().err
