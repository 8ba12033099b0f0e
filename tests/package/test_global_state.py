"""What the package does leaves the process as it was: collector, warnings, signals, random numbers, settings of others."""

from __future__ import annotations

import gc
import locale
import os
import random
import signal
import sys
import threading
import warnings

import hyphc
import numba
import numpy as np
import pytest
from hyphc import HypHC, embed, plot
from hyphc.cli import main
from threadpoolctl import threadpool_info

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

pytestmark = pytest.mark.usefixtures("quick_certificate")

ROWS = np.random.default_rng(0).normal(size=(40, 3))


def snapshot() -> dict[str, object]:
    """Settings that all packages of a process share."""
    return {
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks)),
        "warnings": (list(warnings.filters), warnings.showwarning, warnings.formatwarning),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "interpreter": (sys.getrecursionlimit(), sys.getswitchinterval(), threading.stack_size(), tuple(sys.path)),
        "numpy": (np.geterr(), np.get_printoptions(), np.geterrcall()),
        "random numbers": (random.getstate(), str(np.random.get_state())),  # noqa: NPY002  # the legacy state is what others may use
        "matplotlib": (dict(matplotlib.rcParams), plt.get_fignums(), matplotlib.get_backend()),
        "threads": (numba.get_num_threads(), {one["filepath"]: one["num_threads"] for one in threadpool_info()}),
        "process": (os.getcwd(), dict(os.environ), locale.setlocale(locale.LC_ALL)),
    }


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    np.savetxt(path, ROWS, delimiter=",", header="a,b,c", comments="")
    return path


def draw(folder):
    ax = plot.dendrogram(HypHC(3, random_state=0).fit(ROWS).tree_)
    ax.figure.savefig(folder / "tree.png")
    plt.close(ax.figure)


WORK = {
    "fit": lambda folder: HypHC(3, random_state=0, checkpoint=folder / "state", verbose=1).fit(ROWS),
    "fit on threads": lambda folder: HypHC(3, random_state=0, n_jobs=2).fit(ROWS),
    "fit out of core": lambda folder: HypHC(3, random_state=0, memory_limit=3e7).fit(saved(folder)),
    "embed": lambda folder: embed(hyphc.as_similarity(ROWS, "cosine"), max_iter=5, random_state=0),
    "support": lambda folder: hyphc.support(
        HypHC(3, random_state=0).fit(ROWS).tree_, ROWS, n_resamples=2, random_state=0
    ),
    "explore": lambda folder: HypHC(3, random_state=0).fit(ROWS).explore(folder / "tree.notebook_repr"),
    "plot": draw,
    "fit that fails": lambda folder: fail(),
    "hyphc fit": lambda folder: main(["fit", str(folder / "rows.csv"), "--output", str(folder / "out")]),
    "hyphc fit that fails": lambda folder: main(["fit", str(folder / "missing.csv")]),
}


def fail():
    with pytest.raises(ValueError, match="is inf"):
        HypHC(3, random_state=0).fit(np.where(ROWS.max() > ROWS, ROWS, np.inf))


def saved(folder):
    rows = np.random.default_rng(0).normal(size=(9_000, 3))
    np.save(folder / "rows.npy", rows)
    return folder / "rows.npy"


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_the_process_is_left_as_it_was(work, table, capsys):
    embed(
        hyphc.as_similarity(ROWS, "cosine"), max_iter=1, random_state=0
    )  # libraries that are loaded bring thread pools with them
    before = snapshot()
    work(table.parent)
    after = snapshot()
    assert {name: value for name, value in after.items() if value != before[name]} == {}
