"""Regressions: results that were wrong or misleading without a word at commit 4ce926c, and its crashes.

Only names that were public at that commit are used: run on its sources (``PYTHONPATH=<its src>``), this file fails in every
test. The numbers are those of the list of mistakes. Two of its points are not here. `tests/package/test_architecture.py`, which
looked for words only and now follows the calls, is a test itself; and ``--h5ad`` in an out-of-core fit was refused already,
because files that such a fit reads do not end in .h5ad.
"""

from __future__ import annotations

import _thread
import base64
import builtins
import gc
import io
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import hyphc
import numba
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import Constraints, HypHC, MultiTree, Tree, as_similarity, baselines, plot
from hyphc.cli import main
from hyphc.io import read_points
from numba.extending import overload
from sklearn.exceptions import ConvergenceWarning

from commands import data_of

networkx = pytest.importorskip("networkx")
LineCollection = pytest.importorskip("matplotlib.collections").LineCollection
to_hex = pytest.importorskip("matplotlib.colors").to_hex

pytestmark = pytest.mark.usefixtures("quick_certificate")

N = 24
X = np.random.default_rng(0).normal(size=(N, 3))
FRAME = pd.DataFrame(X, columns=list("abc"))
MANY = np.random.default_rng(1).normal(size=(7_000, 2))  # too many for a limit of 16 MB


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_parquet(path: str, columns: dict[str, object]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(columns), path)


# --- 1. a checkpoint returned the tree of another problem ------------------------------------------------------------

ORDERS = [Constraints(order=np.arange(N)), Constraints(order=np.array([*range(12), *range(N - 1, 11, -1)]))]
PARENTS = [[N, N, *[N + 1] * (N - 1), -1], [N + 1, N, N, *[N + 1] * (N - 2), -1]]
TREES = [Constraints(clusters=MultiTree(parents, N)) for parents in PARENTS]
KERNELS = [lambda rows: np.exp(rows @ rows.T), lambda rows: np.exp(-rows @ rows.T)]


@pytest.mark.parametrize(
    ("name", "values"),
    [("constraints", ORDERS), ("constraints", TREES), ("metric", KERNELS)],
    ids=["order", "tree", "metric"],
)
def test_1_a_checkpoint_is_of_one_problem(name, values):
    HypHC(**{name: values[0]}, random_state=0, checkpoint="ck").fit(X)
    with pytest.raises(
        ValueError, match=rf"holds a fit with other {name} \([0-9a-f]{{8}}…, not [0-9a-f]{{8}}…\); choose"
    ):
        HypHC(**{name: values[1]}, random_state=0, checkpoint="ck").fit(X)


# --- 2. options that out-of-core fits ignored ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scheduler():
    """Address of a cluster of one worker in this process."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


OPTIONS = {
    "--exclude": ["nosuch"],
    "--categories": ["kind"],
    "--drop-missing": [],
    "--impute": [],
    "--transpose": [],
    "--support": ["2"],
    "--annotate": ["kind"],
    "--sheet": ["2"],
    "--obsm": ["X_pca"],
}


@pytest.mark.parametrize("option", OPTIONS)
def test_2_an_option_that_an_out_of_core_fit_has_no_use_for_is_refused(option, scheduler, capsys):
    write_parquet("x.parquet", {"a": X[:, 0], "b": X[:, 1], "kind": ["u", "v"] * (N // 2)})
    try:
        code = main(["fit", "x.parquet", "--scheduler", scheduler, option, *OPTIONS[option]])
    except SystemExit as end:
        code = end.code
    assert code in (1, 2)
    assert (OPTIONS[option][0] if option == "--exclude" else option) in capsys.readouterr().err


def test_2_out_of_core_fits_leave_out_excluded_columns_and_say_what_they_use(scheduler, capsys):
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1], 20)
    columns = {"a": rng.normal(size=40) + 9 * group, "b": rng.normal(size=40), "c": 99 * rng.normal(size=40)}
    write_parquet("x.parquet", {**columns, "kind": ["u", "v"] * 20})
    words = ["--scheduler", scheduler, "--n-clusters", "2", "--scale", "no", "--exclude", "c"]
    assert main(["fit", "x.parquet", *words, "--output", "out"]) == 0
    labels = np.load("out/labels.npy")
    assert abs(np.corrcoef(labels, group)[0, 1]) == pytest.approx(1)
    told = " ".join(capsys.readouterr().out.split())
    assert "features a, b" in told
    assert "not used kind (text" in told


def test_2_a_fit_from_disk_refuses_a_parameter_that_it_ignored():
    np.save("x.npy", MANY)
    with pytest.raises(ValueError, match="block_size=100 has no meaning"):
        HypHC(2, metric="cosine", memory_limit=16e6, block_size=100, effort=0.05, random_state=0).fit("x.npy")


def test_2_a_fit_from_disk_takes_the_default_in_other_words():
    np.save("x.npy", MANY)
    HypHC(2, metric="cosine", memory_limit=16e6, spread_penalty=0, effort=0.05, random_state=0).fit("x.npy")


# --- 3. attributes of the fit before ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["path", "graph"])
def test_3_a_refit_leaves_nothing_of_the_fit_before(kind):
    np.save("x.npy", MANY)
    graph = networkx.karate_club_graph()
    given, parameters = {"path": ("x.npy", {"memory_limit": 16e6, "metric": "cosine"}), "graph": (graph, {})}[kind]
    fresh = HypHC(2, effort=0.05, random_state=0, **parameters).fit(given)
    again = HypHC(2, effort=0.05, random_state=0).fit(FRAME).set_params(**parameters).fit(given)
    assert sorted(vars(again)) == sorted(vars(fresh))


# --- 4 and 5. graphs -------------------------------------------------------------------------------------------------


def test_4_a_sparse_graph_taken_as_features_is_warned_of():
    with pytest.warns(UserWarning, match="taken as features; pass metric='precomputed'"):
        HypHC(random_state=0).fit(sp.csr_array(networkx.to_scipy_sparse_array(networkx.karate_club_graph())))


def test_5_edges_in_one_direction_are_not_made_two_way_in_silence():
    graph = networkx.DiGraph([("a", "b", {"weight": 3.0}), ("b", "c"), ("c", "d")])
    with pytest.raises(ValueError, match="directed=") as caught:
        HypHC(random_state=0).fit(graph)
    assert "to_undirected" not in str(caught.value)


# --- 6. "NA" was a class ---------------------------------------------------------------------------------------------


def test_6_na_is_missing_in_labels_and_annotations_as_in_numbers():
    rows = [f"{i % 2 * 9 + i / 10},{i % 2 * 9 - i / 7},{'NA' if i in (3, 8) else 'uv'[i % 2]}" for i in range(14)]
    Path("x.csv").write_text("\n".join(["a,b,kind", *rows]) + "\n")
    assert "NA" not in read_points("x.csv", labels="kind").labels
    assert main(["fit", "x.csv", "--labels", "kind", "--annotate", "kind", "--n-clusters", "2", "--output", "o"]) == 0
    data = data_of(Path("o/explorer.html"))
    assert [strip["names"] for strip in data["annotations"]] == [["u", "v"]]
    codes = np.frombuffer(base64.b64decode(data["annotations"][0]["codes"]), dtype="<i4")
    assert np.flatnonzero(codes[np.argsort(Tree.load("o/tree.npz").leaf_order())] == -1).size == 2


# --- 7. points outside of the ball -----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1.0, 1.2, 50.0])
def test_7_the_loss_of_points_outside_the_ball_is_no_number(norm):
    torch = pytest.importorskip("torch")
    from hyphc.nn import HypHCLoss

    points = torch.tensor([[0.1, 0.2], [0.3, 0.0], [norm, 0.0]])
    with pytest.raises(ValueError, match=rf"\[2\] has norm {norm:g}"):
        HypHCLoss(0.1)(points, torch.tensor([[0, 1, 2]]), torch.ones(1, 3))


# --- 8 and 9. scores, and clusters of equal points -------------------------------------------------------------------


def test_8_scores_of_one_tree_do_not_depend_on_the_unit_of_the_metric():
    # a constant added to all similarities leaves the best tree and the best places as they are
    scores = [
        HypHC(metric=lambda rows, c=c: c + 1 / (1 + np.abs(rows[:, :1] - rows[:, 0])), random_state=0)
        .fit(X[:16])
        .score(X[16:])
        for c in (0.0, 1.0, 10.0)
    ]
    np.testing.assert_allclose(scores, scores[0])
    assert -8 <= scores[0] <= -2


def test_8_scores_of_one_tree_do_not_depend_on_the_number_of_neighbours():
    # pairs of pairs of pairs, each eight times as far apart as the pairs within
    rows = np.column_stack([[sum(8.0**k * (i >> k & 1) for k in range(4)) for i in range(16)], np.arange(16) % 2 / 10])
    models = [HypHC(n_neighbors=k, random_state=0).fit(rows) for k in (3, 5, None)]
    assert models[0].tree_ == models[1].tree_ == models[2].tree_
    scores = [model.score(rows[::3] + 0.01) for model in models]
    assert scores == pytest.approx([scores[0]] * 3)


@pytest.mark.parametrize(
    ("rows", "metric", "n_distinct"),
    [
        (np.ones((20, 2)), "auto", 1),
        (np.repeat(np.eye(3), 7, axis=0), "auto", 3),
        (np.repeat(np.eye(3), 7, axis=0), "cosine", 3),
        (np.ones((20, 20)), "precomputed", 1),
        (sp.csr_array((20, 20)), "precomputed", 1),
    ],
)
def test_9_more_clusters_than_distinct_points_are_warned_of(rows, metric, n_distinct):
    told = rf"number of distinct points \({n_distinct}\) is smaller than n_clusters \(4\)"
    with pytest.warns(ConvergenceWarning, match=told) as caught:
        HypHC(4, metric=metric, random_state=0).fit(rows)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        HypHC(n_distinct, metric=metric, random_state=0).fit(rows)
        HypHC(metric=metric, random_state=0).fit(rows)


# --- 10. figures that look like proofs -------------------------------------------------------------------------------


def test_10_where_nothing_is_certified_no_figure_looks_like_a_proof():
    i, j = np.random.default_rng(0).integers(300, size=(2, 900))
    graph = sp.coo_array((np.ones(900), (i, j)), shape=(300, 300)).tocsr()
    graph = as_similarity(graph + graph.T, "precomputed")
    gap = hyphc.optimality_gap(baselines.average_linkage(graph), graph, k=8, n_subsets=20, effort=0.01, random_state=0)
    assert "%" not in str(gap)
    assert re.search("(?i)nothing (could be )?certified", str(gap))


# --- 11. columns that are no features --------------------------------------------------------------------------------


def test_11_a_column_called_a_batch_is_pointed_out_with_both_ways_out(capsys):
    rows = [f"{i * 7 % 11},{i * i % 13 / 2},{i % 3},{i % 4}" for i in range(16)]
    Path("x.csv").write_text("\n".join(["a,b,plate_no,rooms", *rows]) + "\n")
    assert main(["fit", "x.csv", "--output", "out"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "batch? clustered by plate_no, which seems to say how rows were measured" in told
    assert "--exclude plate_no, or show it beside the tree with --annotate plate_no" in told
    assert "clustered by rooms" not in told
    assert "clustered by plate\\_no" in Path("out/report.md").read_text()


@pytest.mark.parametrize("column", [{"id": np.arange(N)}, {"batch": [1, 2, 3] * (N // 3)}], ids=["id", "batch"])
def test_11_identifiers_and_batches_of_a_frame_are_warned_of(column):
    with pytest.warns(UserWarning, match=rf"X.drop\(columns=\['{next(iter(column))}'\]\)"):
        HypHC(random_state=0).fit(FRAME.assign(**column))


def test_11_one_column_does_not_decide_about_the_scale_of_hundreds():
    rng = np.random.default_rng(3)
    genes = rng.normal(size=(60, 293)) * np.exp(0.4 * rng.normal(size=293)) + rng.uniform(2, 10, 293)
    for rows in (genes, np.column_stack([genes, rng.uniform(20, 80, 60)])):
        assert repr(HypHC(random_state=0, effort=0.05).fit(rows).plan_).startswith("columns as they are")


# --- 12. memory and locks --------------------------------------------------------------------------------------------


def test_12_the_limit_of_a_container_is_the_memory_there_is(monkeypatch):
    """The files in which Linux states the limit of a control group say 64 MB."""
    group = {"memory.max": "64000000", "memory.current": "0", "memory.stat": "inactive_file 0"}
    files = {f"/sys/fs/cgroup/{name}": text for name, text in group.items()} | {
        "/proc/self/cgroup": "0::/",
        "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw",
    }
    opened = builtins.open

    def open_other(file, *arguments, **options):
        known = files.get(os.fspath(file)) if isinstance(file, str | os.PathLike) else None
        return opened(file, *arguments, **options) if known is None else io.StringIO(known)

    monkeypatch.setattr(builtins, "open", open_other)
    monkeypatch.setattr(io, "open", open_other)
    with pytest.raises(MemoryError, match=r"0\.1 GB"):
        as_similarity(np.random.default_rng(0).normal(size=(3_000, 2)), "rbf")


def test_12_the_memory_of_a_row_is_what_was_measured():
    np.save("x.npy", MANY)
    with pytest.raises(MemoryError, match=r"memory_limit=1\.2e\+07 is too little for 7000 rows of 2 columns"):
        HypHC(2, metric="cosine", memory_limit=12e6, random_state=0).fit("x.npy")


WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None
import numpy as np
from hyphc import HypHC
X = np.random.default_rng(0).normal(size=(12, 3))
def begin_another(progress):
    HypHC(2, random_state=0, checkpoint="ck").fit(X)
HypHC(2, random_state=0, checkpoint="ck", callback=begin_another).fit(X)
"""


def test_12_two_fits_do_not_share_a_checkpoint_on_systems_without_fcntl():
    run = subprocess.run([sys.executable, "-c", WITHOUT_FCNTL], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "another" in run.stderr.splitlines()[-1]


# --- 13. side effects on the process ---------------------------------------------------------------------------------


def test_13_the_garbage_collector_works_while_other_packages_compile():
    hyphc.HypHC(random_state=0).fit(X)
    states = []

    def twice(x):
        raise NotImplementedError

    @overload(twice)
    def compile_twice(x):
        states.append(gc.isenabled())
        return lambda x: 2 * x

    assert numba.njit(lambda x: twice(x))(3) == 6
    assert states
    assert all(states)


def test_13_no_module_uses_the_internals_of_numba():
    for path in Path(hyphc.__file__).parent.rglob("*.py"):
        found = re.findall(
            r"^ *(?:from|import) +((?:numba\.|llvmlite).*)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
        documented = [line for line in found if line.startswith(("numba.extending", "numba.core import event"))]
        assert found == documented, path


@pytest.mark.parametrize("fails", [False, True], ids=["done", "failed"])
def test_13_while_a_command_fits_the_machinery_of_warnings_is_as_it_was(monkeypatch, capsys, fails):
    def machinery():
        return warnings.showwarning, warnings.formatwarning, list(warnings.filters)

    def look_and_fit(model, rows):
        seen.append(machinery())
        if fails:
            raise ValueError("no")
        return fit(model, rows)

    np.save("wide.npy", X * [1000, 1, 1])
    before, seen, fit = machinery(), [], HypHC.fit
    monkeypatch.setattr(HypHC, "fit", look_and_fit)
    assert main(["fit", "wide.npy", "--metric", "linear", "--output", "out"]) == int(fails)
    assert "hyphc: column 1 carries" in capsys.readouterr().err
    assert seen == [before]
    assert machinery() == before


# --- 14. the explorer's heat map -------------------------------------------------------------------------------------


def alternating_widths(row):
    """Return the widths of the longest stretch of a row of pixels in which two colours alternate, without its ends."""
    ends = np.flatnonzero(np.diff(row))
    if len(ends) < 3:
        return []
    colours, widths = row[ends], np.diff(ends, prepend=-1)
    breaks = np.flatnonzero(colours[2:] != colours[:-2]) + 1
    first, last = max(pairwise([0, *breaks.tolist(), len(ends) - 1]), key=lambda stretch: stretch[1] - stretch[0])
    return widths[first + 1 : last]


def test_14_columns_of_the_heat_map_have_one_width(chromium):
    plt = pytest.importorskip("matplotlib.pyplot")
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
    rng = np.random.default_rng(0)
    model = HypHC(random_state=0).fit(rng.normal(size=(30, 5)) + 8 * np.eye(5)[rng.integers(0, 3, 30)])
    values = np.empty(30)
    values[model.tree_.leaf_order()] = [-1.0, 1.0] * 15
    page = Path(model.explore("page.html", features=values[:, None])).resolve().as_uri()
    options = webdriver.ChromeOptions()
    options.binary_location, driver = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800"):
        options.add_argument(flag)
    found, end = [], time.monotonic() + 120
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as browser:
        browser.get(page)
        while not found and time.monotonic() < end:  # until the page is drawn
            picture = plt.imread(io.BytesIO(browser.get_screenshot_as_png()), format="png")
            pixels = np.round(picture[..., :3] * 255).astype(int) @ [65536, 256, 1]
            found = [widths for widths in map(alternating_widths, pixels) if len(widths) == 28]
    assert found
    assert max(np.ptp(widths) for widths in found) <= 1


# --- 15. dendrograms, palettes and names -----------------------------------------------------------------------------


def lines_of(ax):
    """Return the branches of a dendrogram, each an array of points."""
    return [
        path.vertices for lines in ax.collections if isinstance(lines, LineCollection) for path in lines.get_paths()
    ]


@pytest.mark.parametrize("n", [30, 200])
def test_15_distinct_points_never_look_like_duplicates(n):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 6)) + 6 * np.eye(6)[rng.integers(0, 3, n)]
    ax = HypHC(random_state=0).fit(rows).plot("dendrogram", max_leaves=None)
    tops = [line[:, 1].max() for line in lines_of(ax)]
    assert len(tops) >= n
    assert min(tops) > 0.02 * max(tops)
    assert "drawn at least" in ax.get_ylabel()


def test_15_each_annotation_has_colours_of_its_own():
    tree = baselines.average_linkage(as_similarity(X, "cosine")).with_n_clusters(3)
    beside = {"kind": ["a", "b"] * (N // 2), "batch": [1, 2, 3] * (N // 3)}
    strips = [axes for axes in plot.clustermap(X, tree, annotations=beside).child_axes if axes.images][:3]
    colours = [set(map(tuple, strip.images[0].get_array()[:, 0].tolist())) for strip in strips]
    assert list(map(len, colours)) == [3, 2, 3]
    assert len(set.union(*colours)) == 8


def test_15_clusters_have_the_same_colours_in_plots_and_page():
    tree = baselines.average_linkage(as_similarity(X, "cosine")).with_n_clusters(4)
    legend = plot.disk(tree).get_legend()
    page = Path(hyphc.explore(tree, "page.html")).read_text(encoding="utf-8")
    for handle in legend.legend_handles:
        assert to_hex(handle.get_color()) in page


def test_15_thinned_names_are_announced():
    tree = baselines.average_linkage(as_similarity(np.random.default_rng(0).normal(size=(300, 3)), "cosine"))
    ax = plot.dendrogram(tree, max_leaves=None, names=[f"name {i}" for i in range(300)])
    assert re.fullmatch(r"every \d+(st|nd|rd|th) name is shown", ax.get_xlabel())


# --- crashes and poor messages ---------------------------------------------------------------------------------------


def test_differences_of_a_sparse_matrix_are_those_of_the_full_one():
    rows, tree = X * (np.abs(X) > 0.5), baselines.average_linkage(as_similarity(X, "cosine"))
    full, sparse = hyphc.differences(tree, rows), hyphc.differences(tree, sp.csr_array(rows))
    assert full.names == sparse.names
    np.testing.assert_array_equal(full.effects, sparse.effects)
    np.testing.assert_array_equal(full.columns, hyphc.differences(tree, sp.coo_matrix(rows)).columns)


def test_a_column_of_dates_is_named():
    with pytest.raises(ValueError, match="column 'when' holds datetime64"):
        HypHC().fit(FRAME.assign(when=pd.Timestamp("2020-01-01")))


def test_a_parameter_that_does_not_exist_is_named_with_the_one_that_was_meant():
    with pytest.raises(TypeError, match=r"^HypHC has no parameter 'n_cluster'; did you mean 'n_clusters'\?$"):
        HypHC(n_cluster=3)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ((row for row in X), r"X is of type generator, .*pass np.array\(list\(X\)\)"),
        ({1.0, 2.0}, r"X is of type set, .*pass np.array\(list\(X\)\)"),
        ({"a": [1.0, 2.0]}, r"X is of type dict, .*pass pandas.DataFrame\(X\)"),
        (np.where(np.arange(3 * N).reshape(N, 3) == 14, "tall", X.astype(object)), r"entry \[4, 2\] is 'tall'"),
        (np.where(np.arange(3 * N).reshape(N, 3) == 14, np.inf, X), r"X\[4, 2\] is inf; "),
    ],
    ids=["generator", "set", "dict", "string", "inf"],
)
def test_what_is_no_table_of_numbers_is_named_with_its_place_and_the_remedy(rows, told):
    with pytest.raises((ValueError, TypeError), match=told):
        HypHC().fit(rows)


def test_a_title_above_the_header_of_a_sheet_is_recognised(capsys):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["Weights of mice"], [], ["id", "a", "b"], *([f"m{i}", i * 3 % 7, i * i % 5] for i in range(6))):
        book.active.append(row)
    book.save("x.xlsx")
    assert main(["fit", "x.xlsx", "--output", "out"]) == 1
    assert re.search("if line 3 is the header, pass its number.*--header", capsys.readouterr().err)


def test_a_limit_of_memory_is_checked_for_arrays_too():
    with pytest.raises(ValueError, match="memory_limit='lots' is no amount of memory"):
        HypHC(memory_limit="lots").fit(X)


def test_an_interrupt_before_the_first_tree_has_no_frames_of_the_thread_pool(monkeypatch):
    submit = ThreadPoolExecutor.submit

    def press_ctrl_c(pool, *work):
        future = submit(pool, *work)
        _thread.interrupt_main()
        return future

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(ThreadPoolExecutor, "submit", press_ctrl_c)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            HypHC(n_jobs=2, random_state=0).fit(MANY)
    finally:
        signal.signal(signal.SIGINT, before)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert not any("concurrent" in frame.filename for frame in frames)


def test_an_out_of_core_fit_that_is_ended_says_where_its_checkpoint_is(scheduler):
    write_parquet("x.parquet", dict(zip("ab", np.tile(MANY, (4, 1)).T, strict=True)))
    words = [sys.executable, "-m", "hyphc", "fit", "x.parquet", "--scheduler", scheduler, "--output", "out"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        while run.poll() is None and not any(path.is_file() for path in Path("out/checkpoint").rglob("*.npy")):
            time.sleep(0.02)
        run.send_signal(signal.SIGTERM)
        told = run.communicate()[1]
    assert run.returncode == 143
    assert "the checkpoint was kept in out/checkpoint" in told
    assert "nothing was written" not in told


def test_a_checkpoint_of_other_data_is_refused_without_long_hashes():
    HypHC(2, random_state=0, checkpoint="ck").fit(X)
    with pytest.raises(ValueError, match="holds a fit") as caught:
        HypHC(2, random_state=0, checkpoint="ck").fit(X + 1)
    assert not re.search("[0-9a-f]{9}", str(caught.value))


def test_numbers_followed_by_a_unit_are_said_to_be_so():
    rows = [f"p{i},{i * i % 7},{60 + i}.3 kg" for i in range(6)]
    Path("x.csv").write_text("\n".join(["who,a,weight", *rows]) + "\n")
    told = "not used: weight (text: numbers followed by 'kg'; remove that from the file to cluster by them)"
    assert told in read_points("x.csv").notes
