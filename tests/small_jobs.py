"""Helpers of the tests of out-of-core fits: jobs whose parts, samples and blocks are small."""

from __future__ import annotations

import numpy as np
from hyphc.out_of_core.job import Problem, Recipe
from hyphc.out_of_core.npy_source import ArrayRows


def problem_of(X, folder, **recipe):
    small = {"part_size": 200, "sample_size": 150, "block_rows": 170, "effort": 0.1, **recipe}
    problem = Problem(ArrayRows(np.asarray(X)), Recipe(**small), str(folder))
    problem.open()
    return problem
