"""An out-of-core fit of 3 000 rows of noise, where a few rows are neighbours of all: no part outgrows its size."""

from __future__ import annotations

from functools import partial

import numpy as np
from hyphc.out_of_core.partition import GROWTH
from hyphc.out_of_core.records import Leaves, Partition
from hyphc.out_of_core.stages import make_thread_executor, run_task, stages

from small_jobs import make_job


def test_parts_do_not_outgrow_their_size_when_rows_move_to_hubs(tmp_path):
    """In many columns of noise a few rows near the centre are neighbours of all, and all would move to their part."""
    X = np.random.default_rng(0).standard_t(2, size=(3_000, 32))
    job = make_job(X, tmp_path / "store", scale=False, n_neighbors=5, sample_size=1_000)
    for stage in stages(job):
        if stage.name == "graph":
            break
        make_thread_executor(1)(partial(run_task, job, stage), stage.count(job), stage)
    denied = [len(job.shard(Partition, 0, round_number).denied) for round_number in (1, 2)]
    assert sum(denied) > 0  # some would have
    for round_number in (0, 1, 2):
        counts = job.shard(Partition, 0, round_number).counts
        assert counts.sum() == 3_000
        assert counts.max() <= GROWTH * 200
    ids = [job.shard(Leaves, part, 2).ids for part in range(job.n_parts())]
    np.testing.assert_array_equal([len(own) for own in ids], counts)
    np.testing.assert_array_equal(np.sort(np.concatenate(ids)), np.arange(3_000))
