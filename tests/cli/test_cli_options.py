"""No option is ever silently ignored: each one of each parser is carried out, or refused by its name with the remedy."""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hyphc import HypHC, Tree
from hyphc.cli import fit_out_of_core, main, options
from hyphc.cli.common import build_similarity, check_usage, read_data
from hyphc.cli.fit_out_of_core import CARRIED_OUT
from hyphc.cli.options import data_options
from hyphc.cli.parsers import build_parser

pytestmark = pytest.mark.usefixtures("quick_certificate")

COMMANDS: dict[str, argparse.ArgumentParser] = next(
    action.choices for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
)
N = 40
ROOT = Path(__file__).resolve().parents[2]


def options_of(command: str) -> list[argparse.Action]:
    return [action for action in COMMANDS[command]._actions if action.option_strings and action.dest != "help"]


def words_for(action: argparse.Action) -> list[str]:
    """A value that is not the default, from the parser alone."""
    flag = action.option_strings[-1]
    if action.nargs == 0:
        return [flag]
    if action.choices is not None:
        return [flag, next(str(choice) for choice in action.choices if choice != action.default)]
    own = {
        "h5ad": "out.h5ad",
        "width": "85mm",
        "height": "60mm",
        "format": "pdf",
        "palette": "viridis",
        "colors": "a=viridis",
    }
    return [flag, own.get(action.dest, "7" if action.type not in (None, Path) else "a")]


def table() -> dict[str, object]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) + 5 * np.repeat(np.eye(2, 3), N // 2, axis=0)
    numbers = {name: X[:, c].tolist() for c, name in enumerate("abc")}
    kinds, pairs = ["u"] * (N // 2) + ["v"] * (N // 2), [f"p{i // 2}" for i in range(N)]
    return {"id": list(range(N)), **numbers, "kind": kinds, "pair": pairs, "name": [f"r{i}" for i in range(N)]}


@pytest.fixture
def parquet(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(table()), "x.parquet")
    return tmp_path


def test_types_choices_and_defaults_are_those_of_options_that_exist():
    names = {name for parser in COMMANDS.values() for action in parser._actions for name in action.option_strings}
    names |= {action.dest for parser in COMMANDS.values() for action in parser._actions if not action.option_strings}
    typed = [name for several in options._TYPES.values() for name in several.split()]
    assert len(set(typed)) == len(typed)
    assert {*typed, *options._CHOICES, *options._DEFAULTS} <= names


# --- out-of-core fits -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action", [action for action in options_of("fit") if action.dest not in CARRIED_OUT], ids=lambda action: action.dest
)
def test_an_option_that_out_of_core_fits_do_not_carry_out_is_refused_by_name(parquet, capsys, action):
    with pytest.raises(SystemExit) as ended:
        main(["fit", "x.parquet", "--workers", "1", *words_for(action)])
    assert ended.value.code == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert action.option_strings[-1] in told
    assert any(remedy in told for remedy in ("leave", "write the", "writes a copy", "say how many")), told
    assert [path.name for path in Path().iterdir()] == ["x.parquet"]


def test_what_is_carried_out_are_options_of_the_parser():
    assert {action.dest for action in COMMANDS["fit"]._actions} >= CARRIED_OUT


class Recorded:
    """DaskHypHC as far as the command line sees it: what it was given."""

    seen: list[object]

    def __init__(self, n_clusters, *, client, **parameters):
        Recorded.seen = [n_clusters, client.told, {name: str(value) for name, value in parameters.items()}]

    def fit(self, rows):
        Recorded.seen += [rows.columns, rows.path]
        return self


def record_files(model, chosen, notes, folder, arguments):
    """Record what decides the files, in place of writing them."""
    drawn = [
        getattr(arguments, name) for name in ("preset", "width", "height", "font_size", "format", "palette", "colors")
    ]
    Recorded.seen += [chosen.labels, folder, drawn]


class Cluster:
    dashboard_link = "off"

    def __init__(self, *address, **options):
        self.told = [*(getattr(one, "told", one) for one in address), options]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


GIVEN = {
    "file": ["y.parquet"],
    "features": ["--features", "a,b"],
    "exclude": ["--exclude", "c"],
    "labels": ["--labels", "kind"],
    "metric": ["--metric", "cosine"],
    "n_neighbors": ["--n-neighbors", "5"],
    "scale": ["--scale", "no"],
    "background": ["--background", "0.5"],
    "standardize": ["--standardize"],
    "n_clusters": ["--n-clusters", "3"],
    "criterion": ["--criterion", "sse"],
    "min_size": ["--min-size", "4"],
    "outliers": ["--outliers", "label"],
    "effort": ["--effort", "2"],
    "seed": ["--seed", "3"],
    "checkpoint": ["--checkpoint", "kept"],
    "output": ["--output", "there"],
    "workers": ["--workers", "2"],
    "memory": ["--memory", "1GB"],
    "scheduler": ["--scheduler", "tcp://head:8786"],
    "preset": ["--preset", "slide"],
    "width": ["--width", "85mm"],
    "height": ["--height", "60mm"],
    "font_size": ["--font-size", "7"],
    "format": ["--format", "pdf,svg"],
    "palette": ["--palette", "viridis"],
    "colors": ["--colors", "a=viridis"],
}


@pytest.mark.parametrize("option", sorted(CARRIED_OUT))
def test_an_option_that_out_of_core_fits_carry_out_changes_what_is_fitted_or_said(parquet, monkeypatch, capsys, option):
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("hyphc.dask")
    monkeypatch.setattr(dask, "DaskHypHC", Recorded)
    monkeypatch.setattr(distributed, "Client", Cluster)
    monkeypatch.setattr(distributed, "LocalCluster", Cluster)
    Path("y.parquet").write_bytes(Path("x.parquet").read_bytes())

    monkeypatch.setattr(fit_out_of_core, "_write", record_files)

    def outcome(words: list[str]) -> tuple[list[object], str]:
        monkeypatch.setattr(fit_out_of_core, "print_note", lambda note: print(note.split(", dashboard")[0]))
        file = "x.parquet" if option != "file" or not words else words[0]
        workers = ["--workers", "1"] if option not in ("workers", "scheduler") or not words else []
        assert main(["fit", file, *workers, *(words if option != "file" else [])]) == 0
        return Recorded.seen, capsys.readouterr().out

    assert outcome([]) != outcome(GIVEN[option])


@contextmanager
def threads(arguments):
    yield None  # Dask's threads in this process


def test_excluded_columns_text_and_identifiers_are_left_out_and_said(parquet, monkeypatch, capsys):
    """The clusters are those of the file that has nothing else."""
    pytest.importorskip("distributed")
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(fit_out_of_core, "_client", threads)
    columns = table()
    only = pyarrow.table({name: columns[name] for name in "ab"})
    pytest.importorskip("pyarrow.parquet").write_table(only, "only.parquet")
    options = ["--workers", "1", "--n-clusters", "2", "--labels", "kind"]
    assert main(["fit", "x.parquet", "--exclude", "c", *options, "--output", "one"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "features a, b (as requested)" in told or "features a, b (the columns with numbers)" in told
    assert "no feature id (it only numbers the rows" in told
    assert "not used name (text)" in told
    assert "agreement 1.0000" in told
    assert main(["fit", "only.parquet", *options[:-2], "--output", "two"]) == 0
    np.testing.assert_array_equal(np.load("one/labels.npy"), np.load("two/labels.npy"))


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--exclude", "nosuch"], ["no column 'nosuch'", "its columns are id, a, b"]),
        (["--exclude", "knid"], ["did you mean 'kind'?"]),
        (["--labels", "nosuch"], ["no column 'nosuch'"]),
        (["--features", "a,name"], ["name holds text", "--features, --exclude"]),
    ],
)
def test_columns_that_out_of_core_fits_cannot_use_are_named_before_the_work(parquet, capsys, words, parts):
    assert main(["fit", "x.parquet", "--workers", "1", *words]) == 1
    told = capsys.readouterr().err
    assert all(part in told for part in parts), told
    assert [path.name for path in Path().iterdir()] == ["x.parquet"]


@pytest.mark.parametrize("option", [["--n-neighbors", "5"], ["--standardize"]])
def test_what_cosines_out_of_core_have_no_place_for_is_refused(parquet, capsys, option):
    with pytest.raises(SystemExit):
        main(["fit", "x.parquet", "--workers", "1", "--metric", "cosine", *option])
    assert f"{option[0]} goes with --metric auto" in capsys.readouterr().err


@pytest.mark.parametrize("signalled", [KeyboardInterrupt, "Terminated"])
def test_an_interrupted_out_of_core_fit_says_where_its_checkpoint_is_and_how_to_go_on(
    parquet, monkeypatch, capsys, signalled
):
    from hyphc._runtime.signals import Terminated

    def interrupted(arguments, chosen, storage, client):
        Path(storage).mkdir()
        (Path(storage) / "piece.npy").write_bytes(bytes(1_100_000))
        raise Terminated if signalled == "Terminated" else signalled

    monkeypatch.setattr(fit_out_of_core, "_client", threads)
    monkeypatch.setattr(fit_out_of_core, "_fit_model", interrupted)
    assert main(["fit", "x.parquet", "--workers", "1", "--output", "out"]) == (
        143 if signalled == "Terminated" else 130
    )
    told = capsys.readouterr().err
    place = Path("out/checkpoint")
    assert f"the checkpoint was kept in {place} (1.1 MB): the same command resumes from it" in told
    assert "nothing was written" not in told


# --- all commands -----------------------------------------------------------------------------------------------------


class Watched(argparse.Namespace):
    """Remembers which options were read by name; ``vars`` of it, which check all options alike, do not count."""

    def __getattribute__(self, name: str):
        if not name.startswith("_") and "_read" in object.__getattribute__(self, "__dict__"):
            object.__getattribute__(self, "__dict__")["_read"].add(name)
        return object.__getattribute__(self, name)


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"r{i},{i % 3},{i * i % 7},{'uv'[i % 2]}" for i in range(8)]
    Path("t.csv").write_text("\n".join(["name,a,b,kind", *rows]) + "\n")
    return tmp_path


LINES = {
    "fit": "fit t.csv --labels kind --support 1 --output out",
    "predict": "predict model.npz t.csv",
    "score": "score tree.npz t.csv",
    "compare": "compare tree.npz tree.npz",
    "cut": "cut tree.npz",
    "plot": "plot tree.npz t.csv --kind clustermap",
    "explore": "explore tree.npz t.csv",
    "convert": "convert tree.npz tree.json",
    "verify": f"verify {ROOT}/best_known/karate-edges.json",
    "datasets": "datasets --write iris iris.csv",
}
ELSEWHERE = {"workers", "memory", "scheduler"}  # read where a fit becomes one out of core, see above


@pytest.mark.parametrize("command", sorted(LINES))
def test_every_option_of_a_command_is_read_when_it_runs(small, monkeypatch, command):
    tree = Tree(np.column_stack([[0, 8, 9, 10, 11, 12, 13], range(1, 8)]), names=[f"r{i}" for i in range(8)])
    tree.save("tree.npz")
    HypHC(random_state=0).fit(np.column_stack([np.arange(8), np.arange(8) ** 2])).save("model.npz")
    read: set[str] = set()
    parse = argparse.ArgumentParser.parse_args

    def watched(parser, words):
        arguments = Watched(**vars(parse(parser, words)))
        vars(arguments)["_read"] = read
        return arguments

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", watched)
    assert main(LINES[command].split()) == 0
    assert {action.dest for action in COMMANDS[command]._actions} - {"help"} - ELSEWHERE <= read


def test_commands_that_are_not_run_here_are_the_demo_and_those_without_options():
    assert set(COMMANDS) - set(LINES) == {"demo", "compile", "clear-cache"}
    assert options_of("compile") == options_of("clear-cache") == []


def test_every_option_of_the_demo_is_read():
    text = (Path(fit_out_of_core.__file__).parent / "data.py").read_text(encoding="utf-8")
    assert all(f"arguments.{action.dest}" in text for action in options_of("demo"))


@pytest.mark.parametrize("dest", data_options())
@pytest.mark.parametrize("command", ["plot", "explore"])
def test_an_option_about_data_is_refused_without_data(small, capsys, command, dest):
    Tree([[0, 1], [2, 3]]).save("tree.npz")
    action = next(action for action in COMMANDS[command]._actions if action.dest == dest)
    with pytest.raises(SystemExit):
        main([command, "tree.npz", *words_for(action)])
    assert action.option_strings[-1] in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--annotate", "kind"], "--annotate goes with --kind clustermap"),
        (["--labels", "kind", "--n-clusters", "2"], "--n-clusters is about colours by cluster"),
        (["--labels", "kind", "--criterion", "height"], "--criterion is about colours by cluster"),
        (["--labels", "kind", "--min-size", "2"], "--min-size is about colours by cluster"),
    ],
)
def test_an_option_that_a_picture_has_no_place_for_is_refused(small, capsys, words, told):
    Tree(np.column_stack([[0, 8, 9, 10, 11, 12, 13], range(1, 8)])).save("tree.npz")
    with pytest.raises(SystemExit):
        main(["plot", "tree.npz", "t.csv", *words])
    assert told in capsys.readouterr().err


# --- options and formats ----------------------------------------------------------------------------------------------

OF_DATA = {
    "features": ["--features", "a,b"],
    "exclude": ["--exclude", "c"],
    "labels": ["--labels", "kind"],
    "names": ["--names", "pair"],
    "categories": ["--categories", "kind"],
    "drop_missing": ["--drop-missing"],
    "impute": ["--impute"],
    "transpose": ["--transpose"],
    "precomputed": ["--precomputed"],
    "distances": ["--distances"],
    "graph": ["--graph"],
    "directed": ["--directed", "sum"],
    "sheet": ["--sheet", "second"],
    "obsm": ["--obsm", "X_pca"],
    "header": ["--header", "2"],
    "sequence_distance": ["--sequence-distance", "jukes-cantor"],
    "metric": ["--metric", "cosine"],
    "n_neighbors": ["--n-neighbors", "4"],
    "scale": ["--scale", "yes"],
    "background": ["--background", "0.5"],
    "standardize": ["--standardize"],
}
# Options that say what the format says already.
TRUE_ANYWAY = {("distances", "fasta"), ("precomputed", "edges"), ("graph", "edges")}


def gapped() -> dict[str, object]:
    columns = table()
    columns.pop("id")
    columns["c"][3] = None
    return columns


def write_csv(path: Path) -> None:
    columns = gapped()
    cells = [["NA" if v is None else str(v) for v in row] for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(map(",".join, [list(columns), *cells])) + "\n")


def write_excel(path: Path) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for sheet in (book.active, book.create_sheet("second")):
        columns = gapped()
        sheet.append(list(columns))
        for k, row in enumerate(zip(*columns.values(), strict=True)):
            sheet.append([*row[:-1], f"{sheet.title}{k}"])
    book.save(path)


def write_parquet(path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(gapped()), path)


def write_npz(path: Path) -> None:
    X = np.array([gapped()[name] for name in "abc"], dtype=float).T
    np.savez(path, a=X, kind=np.array(gapped()["kind"]), pair=np.array(gapped()["pair"]))


def write_h5ad(path: Path) -> None:
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    X = np.array([gapped()[name] for name in "abc"], dtype=float).T
    obs = pandas.DataFrame({"kind": gapped()["kind"]}, index=gapped()["name"])
    anndata.AnnData(X, obs, pandas.DataFrame(index=list("abc")), obsm={"X_pca": np.nan_to_num(X[:, :2])}).write_h5ad(
        path
    )


def write_edges(path: Path) -> None:
    path.write_text("".join(f"r{i} r{(i + 1) % 9} {1 + i}\n" for i in range(9)))


def write_fasta(path: Path) -> None:
    rng = np.random.default_rng(0)
    path.write_text(
        "".join(f">r{i}\n{''.join(rng.choice(list('ACGT'), 30, p=[0.7, 0.1, 0.1, 0.1]))}\n" for i in range(6))
    )


FORMATS = {
    "csv": write_csv,
    "xlsx": write_excel,
    "parquet": write_parquet,
    "npz": write_npz,
    "h5ad": write_h5ad,
    "edges": write_edges,
    "fasta": write_fasta,
}


def outcome(file: str, words: list[str]) -> str:
    """All that comes of reading a file and making it a similarity, as text; or the error."""
    arguments = build_parser().parse_args(["score", "tree.npz", file, *words])
    told, sys.stderr = sys.stderr, io.StringIO()
    try:
        check_usage(arguments)
        points = read_data(arguments, file)
        similarity, notes = build_similarity(points, arguments)
    except (ValueError, SystemExit) as error:
        return f"refused: {error} {sys.stderr.getvalue()}"
    finally:
        sys.stderr = told
    return repr((points.names, points.labels, points.notes, notes, similarity.degrees().tolist()))


@pytest.mark.parametrize("kind", FORMATS)
def test_an_option_about_data_has_an_effect_on_a_format_or_is_refused(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    file = f"x.{kind}"
    FORMATS[kind](Path(file))
    plain = outcome(file, [])
    assert not plain.startswith("refused"), plain
    silent = {(option, kind) for option, words in OF_DATA.items() if outcome(file, words) == plain}
    assert silent == {pair for pair in TRUE_ANYWAY if pair[1] == kind}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("csv", ["--sheet", "2"]),
        ("csv", ["--obsm", "X_pca"]),
        ("csv", ["--sequence-distance", "jukes-cantor"]),
        ("parquet", ["--header", "2"]),
        ("npz", ["--categories", "kind"]),
        ("edges", ["--metric", "cosine"]),
        ("edges", ["--n-neighbors", "3"]),
        ("edges", ["--impute"]),
        ("fasta", ["--scale", "no"]),
        ("fasta", ["--precomputed"]),
        ("fasta", ["--graph"]),
    ],
)
def test_an_option_that_a_format_has_no_place_for_is_refused_by_name(tmp_path, monkeypatch, kind, words):
    monkeypatch.chdir(tmp_path)
    FORMATS[kind](Path(f"x.{kind}"))
    told = outcome(f"x.{kind}", words)
    assert told.startswith(f"refused: x.{kind}")
    assert words[0] in told


def test_the_options_tried_on_formats_are_all_that_are_about_data():
    """Another option about data must be tried too."""
    similarity = {"metric", "n_neighbors", "scale", "background", "standardize"}
    assert set(OF_DATA) == {*data_options(), *similarity} - {"annotate"}
