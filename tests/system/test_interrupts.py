"""Ctrl-C ends a fit that runs in another process, with the best tree found until then."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import signal, sys, time, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from hyphc import HypHC
X = np.random.default_rng(0).normal(size=(400, 5))
told = []
def callback(progress):
    if progress.stage == sys.argv[1] and not told:
        told.append(progress)
        print("now", flush=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    budgets = {"time_budget": float(sys.argv[2]), "max_iter": int(sys.argv[3]), "max_triplets": 10**15}
    model = HypHC(random_state=0, callback=callback, **budgets).fit(X)
print(model.interrupted_, model.tree_.n_leaves, caught[-1].category.__name__)
"""


BUDGET = 1200.0  # seconds that the fit would take if nobody ended it


@pytest.mark.parametrize(("stage", "max_iter"), [("embedding", 10**6), ("iterated", 1)])
def test_a_real_interrupt_ends_a_fit_of_another_process(stage, max_iter):
    command = [sys.executable, "-c", SCRIPT, stage, str(BUDGET), str(max_iter)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BUDGET / 2)
    assert out == "True 400 UserWarning\n", err
