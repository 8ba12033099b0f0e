"""Threads: what ``n_jobs`` means, and results in order."""

from __future__ import annotations

import os
import threading

import pytest
from hyphc._runtime.parallel import n_threads, thread_map


def test_n_jobs_means_what_it_means_in_scikit_learn():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert [n_threads(n_jobs) for n_jobs in (None, 1, 3, -1)] == [1, 1, 3, cores]
    assert n_threads(-cores - 5) == 1
    with pytest.raises(ValueError, match="n_jobs=0"):
        n_threads(0)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_results_come_in_order_and_errors_come_through(n_jobs):
    assert thread_map(lambda k: k * k, range(50), n_jobs) == [k * k for k in range(50)]
    with pytest.raises(ZeroDivisionError):
        thread_map(lambda k: 1 // k, [1, 0], n_jobs)


def test_one_chunk_needs_no_thread():
    assert thread_map(lambda _: threading.current_thread(), [0], n_jobs=4) == [threading.current_thread()]
