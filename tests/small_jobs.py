"""Helpers of the tests of out-of-core fits: jobs whose parts, samples and blocks are small."""

from __future__ import annotations

import numpy as np
from hyphc.out_of_core.array_sources import ArrayRows
from hyphc.out_of_core.job import Job, JobSettings


def make_job(X, folder, **settings):
    small = {"part_size": 200, "sample_size": 150, "block_rows": 170, "effort": 0.1, **settings}
    job = Job(ArrayRows(np.asarray(X)), JobSettings(**small), str(folder))
    job.open()
    return job
