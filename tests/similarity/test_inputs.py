"""What people pass by mistake: the error says what it is, where it stands, and what to do, whichever function is called."""

from __future__ import annotations

import datetime
import warnings

import hyphc
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hyphc import HypHC, as_similarity, baselines, dasgupta_cost, refine
from numpy.testing import assert_array_equal

from strategies import chain

N = 12
X = np.random.default_rng(0).normal(size=(N, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
TREE = chain(N)


def changed(value: object, dtype: object = float) -> np.ndarray:
    """The rows with another value in row 4 of column 2."""
    rows = X.astype(dtype)
    rows[4, 2] = value
    return rows


# What takes rows, and what takes similarities.
ROWS = {
    "fit": lambda given: HypHC(random_state=0).fit(given),
    "fit by cosine": lambda given: HypHC(metric="cosine").fit(given),
    "predict": lambda given: HypHC(2, random_state=0).fit(X).predict(given),
    "partial_fit": lambda given: HypHC(2, random_state=0).fit(X).partial_fit(given),
    "as_similarity": as_similarity,
}
MATRICES = {
    "precomputed": lambda given: as_similarity(given, "precomputed"),
    "dasgupta_cost": lambda given: dasgupta_cost(TREE, given),
    "refine": lambda given: refine(TREE, given),
    "average_linkage": baselines.average_linkage,
    "optimality_gap": lambda given: hyphc.optimality_gap(TREE, given),
}
NO_TABLES = {
    "generator": (lambda: (row for row in X), r"X is of type generator, .*pass np.array\(list\(X\)\)"),
    "map": (lambda: map(list, X), r"X is of type map, .*pass np.array\(list\(X\)\)"),
    "set": (lambda: {1.0, 2.0}, r"X is of type set, .*pass np.array\(list\(X\)\)"),
    "values of a dict": (lambda: {"a": 1.0}.values(), r"X is of type dict_values, .*pass np.array\(list\(X\)\)"),
    "dict": (lambda: {"a": [1.0, 2.0]}, r"X is of type dict, .*pass pandas.DataFrame\(X\)"),
    "bytes": (lambda: b"rows", "X is of type bytes, .*pass an array or a frame"),
    "None": (lambda: None, "X is of type NoneType, .*pass an array or a frame"),
    "rows of different lengths": (lambda: [[1, 2], [3, 4], [5]], "row 0 has 2 values, row 2 1 values; make them equal"),
    "a row that is a number": (lambda: [[1, 2], 3], "row 0 has 2 values, row 1 no list"),
    "three axes": (lambda: np.zeros((N, 2, 2)), rf"shape \({N}, 2, 2\).*X.reshape\({N}, -1\)"),
    "complex numbers": (lambda: X + 1j, "holds complex128; take real and imaginary parts"),
    "sparse complex numbers": (lambda: sp.csr_array(X + 1j), "holds complex128; take real and imaginary parts"),
    "text among objects": (lambda: changed("tall", object), r"entry \[4, 2\] is 'tall'"),
    "a huge integer": (lambda: [[10**400, 1], [2, 3]], r"entry \[0, 0\] is 1000.*too large"),
    "dates": (
        lambda: np.full((N, 1), "2020-01-01", dtype="datetime64[s]"),
        r"got datetime64\[s\]: turn it into numbers",
    ),
    "a structured array": (lambda: np.zeros(5, dtype=[("a", float)]), "turn it into numbers"),
    "a column of dates": (
        lambda: FRAME.assign(when=pd.Timestamp("2020-01-01")),
        "column 'when' holds datetime64.*days or",
    ),
    "dates of a time zone": (
        lambda: FRAME.assign(when=pd.Timestamp("2020-01-01", tz="UTC")),
        "column 'when' holds datetime",
    ),
    "a column of durations": (lambda: FRAME.assign(took=pd.Timedelta("1s")), "column 'took' holds timedelta64"),
    "a column of periods": (lambda: FRAME.assign(when=pd.Period("2020-01")), "column 'when' holds period"),
    "a column of date objects": (
        lambda: FRAME.assign(day=[datetime.date(2020, 1, 1)] * N),
        "column 'day' holds object",
    ),
    "a column of lists": (lambda: FRAME.assign(k=[[1, 2]] * N), "column 'k' holds object, neither numbers nor"),
    "a column of complex numbers": (lambda: FRAME.assign(z=X[:, 0] + 1j), "column 'z' holds complex128"),
    "an infinite value of a frame": (
        lambda: pd.DataFrame(changed(np.inf), columns=list("abc")),
        "column 'c', row 4 is inf",
    ),
}


@pytest.mark.parametrize("function", [*ROWS, *MATRICES])
@pytest.mark.parametrize("kind", NO_TABLES)
def test_what_is_no_table_of_numbers_is_named_with_its_place_and_the_remedy(kind, function):
    make, told = NO_TABLES[kind]
    with pytest.raises((ValueError, TypeError), match=told):
        {**ROWS, **MATRICES}[function](make())


@pytest.mark.parametrize("function", ROWS)
def test_infinite_values_of_rows_have_a_place(function):
    for given in (changed(np.inf), changed(-np.inf), changed(np.inf).tolist(), changed(np.inf, np.float32)):
        with pytest.raises(ValueError, match=r"X\[4, 2\] is -?inf; "):
            ROWS[function](given)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_infinite_and_missing_entries_of_matrices_have_a_place(value):
    W = np.abs(X @ X.T)
    W[4, 2] = value
    for given in (W, sp.csr_array(W), sp.coo_matrix(W)):
        for function in MATRICES.values():
            with pytest.raises(ValueError, match=rf"\[4, 2\] is {value}"):
                function(given)
        with pytest.raises(ValueError, match=rf"\[4, 2\] is {value}"):
            HypHC(metric="precomputed").fit(given)
    with pytest.raises(ValueError, match=rf"X\[4, 2\] is {value}"):
        HypHC().fit(sp.csr_array(changed(value)))


def test_polars_columns_are_named_too():
    polars = pytest.importorskip("polars")
    for column, told in (
        ([datetime.datetime(2020, 1, 1)] * N, "holds Datetime"),
        ([datetime.timedelta(seconds=1)] * N, "holds Duration"),
        ([[1, 2]] * N, "holds List"),
        ([1.0] * (N - 1) + [np.inf], f"row {N - 1} is inf"),
    ):
        for function in ROWS.values():
            with pytest.raises(ValueError, match=f"column 'b'.*{told}"):
                function(polars.DataFrame({"a": X[:, 0], "b": column}))


def test_missing_values_of_every_kind_are_missing():
    holed = changed(np.nan)
    expected = as_similarity(holed).to_dense()
    hidden = np.ma.masked_array(X, mask=np.isnan(holed))
    nullable = pd.DataFrame(holed, columns=list("abc")).convert_dtypes(convert_integer=False)
    assert nullable["c"].dtype == "Float64"
    for given in (hidden, nullable, changed(None, object), changed(pd.NA, object)):
        assert_array_equal(as_similarity(given).to_dense(), expected)
        assert_array_equal(HypHC(random_state=0).fit(given).similarity_.to_dense(), expected)


def test_one_axis_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"X.reshape\(-1, 1\) if X is one column"):
        as_similarity(X[:, 0])


# --- differences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["generator", "set", "bytes", "None", "rows of different lengths", "complex numbers"])
def test_differences_refuses_what_is_no_table(kind):
    make, told = NO_TABLES[kind]
    with pytest.raises(ValueError, match=told):
        hyphc.differences(TREE, make())


# --- columns that are no features ------------------------------------------------------------------------------------

DOORS = {"fit": lambda frame: HypHC(random_state=0).fit(frame), "as_similarity": as_similarity}


@pytest.mark.parametrize("door", DOORS)
def test_identifiers_and_batches_of_a_frame_are_warned_of(door):
    frame = FRAME.assign(id=np.arange(N)[::-1] * 7, plate=[1, 2, 3] * 4, site=["north", "south"] * 6)
    told = r"only number the rows \('id'\) and to say how rows were measured and not what \('plate', 'site'\).*"
    with pytest.warns(UserWarning, match=told + r"X.drop\(columns=\['id', 'plate', 'site'\]\)"):
        DOORS[door](frame)
    with pytest.warns(UserWarning, match=r"X.drop\(columns=\['Unnamed: 0'\]\)"):
        DOORS[door](FRAME.assign(**{"Unnamed: 0": range(N)}))


@pytest.mark.parametrize("door", DOORS)
def test_other_frames_and_all_arrays_are_not_warned_of(door):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DOORS[door](FRAME)
        DOORS[door](FRAME.assign(running=X[:, 0], age=np.arange(N) % 4))
        DOORS[door](FRAME.assign(id=np.arange(N)).to_numpy())
        DOORS[door](pd.DataFrame({"id": np.arange(N)}))


def test_new_rows_are_not_warned_of_again():
    frame = FRAME.assign(plate=[1, 2, 3] * 4)
    with pytest.warns(UserWarning, match="'plate'"):
        model = HypHC(2, random_state=0).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)


# --- square matrices under the default metric ------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array, sp.csc_matrix])
def test_a_graph_taken_as_features_is_warned_of_dense_or_sparse(form):
    W = np.triu(np.random.default_rng(1).random((N, N)) < 0.4, 1).astype(float)
    told = "of 12 rows and columns but is taken as features; pass metric='precomputed'"
    with pytest.warns(UserWarning, match=f"X is a symmetric matrix {told}"):
        as_similarity(form(W + W.T))
    with pytest.warns(UserWarning, match=f"X is a matrix with an empty diagonal {told}"):
        HypHC(random_state=0).fit(form(W))


def test_square_tables_of_features_are_not_warned_of():
    rows = np.random.default_rng(2).random((N, N))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_similarity(rows)
        as_similarity(sp.csr_array(rows))
