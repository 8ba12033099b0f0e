"""Fuzzing of all readers, a short form of ``python -m tests.system fuzzing``, and the inputs that once broke a rule."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from benchmarks.harness.memory import can_reset_peak
from hyphc.io import read_points
from tests.system.fuzzing import seeds
from tests.system.fuzzing.campaign import generate_inputs, run_campaign, summarize
from tests.system.fuzzing.mutation import mutate
from tests.system.fuzzing.readers import READERS
from tests.system.fuzzing.rules import judge

N_INPUTS = 200
ROOT = Path(__file__).resolve().parents[2]
measures_memory = pytest.mark.skipif(
    not can_reset_peak(), reason="needs Linux, which can reset a process's peak memory"
)


@pytest.mark.parametrize("name", READERS)
def test_whatever_a_file_holds_it_is_read_or_refused_in_a_sentence(name):
    pytest.importorskip(READERS[name].needs)
    n = N_INPUTS // READERS[name].costs
    totals = run_campaign(name, n, seed=1)
    assert not totals.broken, summarize(name, totals)
    assert totals.inputs == n


@pytest.mark.parametrize("name", READERS)
def test_the_files_that_fuzzing_begins_from_are_whole(name, tmp_path):
    reader = READERS[name]
    pytest.importorskip(reader.needs)
    verdicts = [judge(reader.read, tmp_path, content, reader.calls_it) for content in reader.seeds()]
    assert not all(verdict.refused for verdict in verdicts) or name in {"csv as similarities", "npz tree member"}
    assert not any(verdict.broken for verdict in verdicts)


def test_the_same_seed_gives_the_same_inputs():
    first, again, other = (generate_inputs("csv", seed) for seed in (3, 3, 4))
    whole = len(READERS["csv"].seeds())
    drawn = [(next(first), next(again), next(other)) for _ in range(whole + 50)]
    assert all(a == b for a, b, _ in drawn)
    assert any(a != c for a, _, c in drawn[whole:])


def test_most_inputs_differ_from_the_files_they_come_from():
    whole = seeds.newick()
    assert sum(mutate(whole, 0, k) in whole for k in range(200)) < 20


# Rules must be able to break: a reader that does what none may do is reported.
@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        (lambda: "\ud800".encode(), "UnicodeEncodeError"),
        (lambda: {}["x"], "KeyError"),
        (lambda: np.float64(1e308) * 10, "RuntimeWarning"),
        (lambda: int("x"), "a message without"),
        pytest.param(lambda: bytearray(300 << 20), "memory", marks=measures_memory),
    ],
)
def test_a_reader_that_breaks_a_rule_is_reported(fault, rule, tmp_path):
    verdict = judge(lambda folder, content: fault() and None, tmp_path, b"x", "input")
    assert verdict.broken is not None
    assert rule in verdict.broken


# In a process of its own: a worker of the tests would keep a peak of 1.5 GB.
AFTER_A_LARGE_PEAK = """
import sys
from pathlib import Path
from tests.system.fuzzing.rules import judge
from benchmarks.harness.memory import can_reset_peak
bytearray(1536 << 20)
for n_bytes in (300 << 20, 1 << 20):
    print(judge(lambda folder, content: bytearray(n_bytes) and None, Path(), b"x").broken)
"""


@measures_memory
def test_memory_is_measured_however_much_the_process_held_before():
    command = [sys.executable, "-c", AFTER_A_LARGE_PEAK]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == "memory\nNone\n"


_GRAPHML = (
    b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    b'<graph edgedefault="undirected"><node id="a"/><node id="b"/>'
    b'<edge source="a" target="b"><data key="w">1e300</data></edge></graph></graphml>'
)
_NPY_HEAD = b"\x93NUMPY\x01\x00v\x00"


def _npy(text: bytes, content: bytes = bytes(144)) -> bytes:
    return _NPY_HEAD + text.ljust(117) + b"\n" + content


def _not_an_array() -> bytes:
    return seeds.npz_of({"X": b"no array"})


def _without_end() -> bytes:
    """An archive whose directory points before its beginning."""
    whole = bytearray(seeds.npz_tree()[0])
    place = whole.rindex(b"PK\x05\x06") + 16
    whole[place : place + 4] = b"\xff\xff\xff\x7f"
    return bytes(whole)


def _with_signalling_nan(content: bytes, place: int) -> bytes:
    """A number of eight bytes replaced, counted from the end."""
    return content[:place] + (0x7FF0000000000001).to_bytes(8, "little") + content[place + 8 :]


# What each of these did before: ended the process, raised an error of another package, a RecursionError, an OverflowError or a
# warning, or a sentence that does not name the file.
BROKE = {
    "a number of 5 000 digits as a node": ("edges", b"0 " + b"9" * 5000 + b"\n1 2\n"),
    "a size line that ends early": ("mtx", b"%%MatrixMarket matrix coordinate real general\n3 3"),
    "entries that end early": ("mtx", b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3"),
    "a complex matrix": ("mtx", seeds.matrix_market()[-1]),
    "a zero byte in a matrix": ("mtx", seeds.matrix_market()[0].replace(b"0.5", b"0\x00.5")),
    "an array that is none": ("npz member", b"no array"),
    "complex rows": ("npy rows", seeds.npy_of(seeds.table().astype(np.complex128))),
    "rows of text": ("npy rows", seeds.npy_of(seeds.table().astype("<U3"))),
    "a header that is no Python": ("npy rows", _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (6, 3")),
    "a header of another Python": ("linkage", _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (5L, 4L), }")),
    "a shape beyond any integer": (
        "linkage",
        _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (5, %s), }" % (b"9" * 30)),
    ),
    "a shape below zero": ("npy rows", _npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (6, -13), }")),
    "a NaN of the signalling kind": ("npy", seeds.npy_of(np.full((6, 3), 0x7F800001, dtype="<u4").view("<f4"))),
    "numbers beyond float64": ("npy", seeds.npy_of(np.full((6, 3), np.finfo(np.longdouble).max))),
    "infinite nodes": ("json tree", b'{"children": [[0, 1e999]], "heights": [1.0]}'),
    "nodes beyond any integer": ("json tree", b'{"children": [[0, 1e300]], "heights": [1.0]}'),
    "a whole number beyond any float": ("json tree", b'{"children": [[0, ' + b"9" * 400 + b']], "heights": [1.0]}'),
    "brackets a thousand deep": ("json tree", b'{"children": ' + b"[" * 2000),
    "names that are no list": ("json tree", b'{"children": [[0, 1]], "heights": [1.0], "names": 5}'),
    "a directory that points nowhere": ("npz tree", _without_end()),
    "a tree's description that is a number": ("mapped tree", b"2"),
    "a tree's array elsewhere": ("mapped tree", b'{"format": 1, "arrays": ["../children", "heights"]}'),
    "a tree's deep description": ("mapped tree", b"[" * 5000),
    "a fit's description that is a number": ("checkpoint manifest", b"2"),
    "a fit's deep description": ("checkpoint manifest", b"[" * 5000),
    "a piece without sizes": ("checkpoint record", b'{"format": 1, "files": {"x": {}}}'),
    "a piece elsewhere": ("checkpoint record", b'{"format": 1, "files": {"../../x": {"bytes": 1, "sha256": "0"}}}'),
    "a name with line ends": ("csv", b'\n"a\nb"\n"c\nd"\n'),
    "distances that are white space": ("phylip", "\u2028".encode()),
    "a number of rows of 5 000 digits": ("phylip", b"9" * 5000 + b"\na 0\n"),
    "a distance whose square is no number": ("phylip", b"2\na 0 1e300\nb 1e300 0\n"),
    "a weight whose square is no number": ("graphml", _GRAPHML),
    "an empty list among lists": ("json lines", b"[1, 2]\n[]\n[3, 4]\n"),
    "a height that is NaN of the signalling kind": ("linkage", _with_signalling_nan(seeds.linkage()[0], -16)),
    "many rows without distances": ("phylip", b"200000\n" + b"a\n" * 200_000),
}


def test_a_signalling_nan_in_a_column_of_parquet_is_missing_without_a_warning(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    odd = np.array([0x7FF0000000000001, *range(1, 6)], dtype="<u8").view("<f8")
    pq.write_table(pa.table({"odd": odd, "b": np.arange(6.0) ** 2}), tmp_path / "odd.parquet")
    content = (tmp_path / "odd.parquet").read_bytes()
    assert judge(READERS["parquet"].read, tmp_path, content, READERS["parquet"].calls_it).broken is None


def test_a_row_beyond_the_last_of_excel_is_refused_and_not_counted_up_to(tmp_path):
    pytest.importorskip("openpyxl")
    content = seeds.sheet()[0].replace(b'<row r="1">', b'<row r="%s">' % (b"1" * 60))
    assert b"1" * 60 in content
    verdict = judge(READERS["excel sheet"].read, tmp_path, content, "input")
    assert verdict.refused
    assert verdict.broken is None


@pytest.mark.parametrize("what", BROKE)
def test_what_once_broke_a_rule_does_so_no_more(what, tmp_path):
    name, content = BROKE[what]
    reader = READERS[name]
    for whole in reader.seeds()[:1]:  # makes the folders that the input is put into
        judge(reader.read, tmp_path, whole)
    assert judge(reader.read, tmp_path, content, reader.calls_it).broken is None


def test_matrix_market_is_read_as_scipy_reads_it(tmp_path):
    from scipy.io import mmread

    rng = np.random.default_rng(0)
    for k, content in enumerate([*seeds.matrix_market()[:4], _random_matrix(rng)]):
        path = tmp_path / f"{k}.mtx"
        path.write_bytes(content)
        expected = mmread(path)
        found = read_points(path).data
        as_array = [matrix if isinstance(matrix, np.ndarray) else matrix.toarray() for matrix in (found, expected)]
        np.testing.assert_array_equal(*as_array)


def _random_matrix(rng: np.random.Generator) -> bytes:
    entries = sorted({(int(i), int(j)) for i, j in rng.integers(1, 30, size=(80, 2)) if i > j})
    lines = [f"{i} {j} {rng.normal():.17g}" for i, j in entries]
    head = f"%%MatrixMarket matrix coordinate real skew-symmetric\n30 30 {len(lines)}\n"
    return (head + "\n".join(lines) + "\n").encode()


def test_a_packed_archive_and_one_with_other_members_are_read(tmp_path):
    members = {"X": seeds.npy_of(seeds.table())}
    path = tmp_path / "x.npz"
    path.write_bytes(seeds.npz_of(members))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("readme.txt", "no array")
    assert read_points(path).n == 6
    packed = Path(tmp_path / "x.npz.gz")
    packed.write_bytes(gzip.compress(seeds.npz_of(members)))
    assert read_points(packed).n == 6
