"""The driver of resumable stages: a stage that was killed after any step ends with the state of one that was not."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hyphc._runtime.checkpointing import Checkpoints
from hyphc._runtime.driver import run_steps
from hyphc._runtime.run_control import Clock


@dataclass
class Sums:
    n_steps: int = 0
    total: float = 0.0
    terms: np.ndarray = field(default_factory=lambda: np.empty(0))


class Summation:
    name = "summation"

    def __init__(self, n: int, fail_at: int | None = None) -> None:
        self.n, self.fail_at = n, fail_at
        self.taken = 0

    def is_done(self, state: Sums) -> bool:
        return state.n_steps >= self.n

    def step(self, state: Sums) -> None:
        if state.n_steps == self.fail_at:
            raise RuntimeError("killed")
        self.taken += 1
        state.n_steps += 1
        state.total += 1 / state.n_steps
        state.terms = np.append(state.terms, state.total)


def clock_with(saved, written):
    clock = Clock()
    clock.checkpoints = Checkpoints(saved, lambda snapshot, now: written.append(snapshot()))
    return clock


def assert_same(one: Sums, other: Sums) -> None:
    assert (one.n_steps, one.total) == (other.n_steps, other.total)
    np.testing.assert_array_equal(one.terms, other.terms)


@pytest.mark.parametrize("fail_at", range(6))
def test_a_stage_resumes_from_its_last_step(fail_at):
    whole = run_steps(Summation(6), Sums(), Clock())
    written = [{}]
    with pytest.raises(RuntimeError, match="killed"):
        run_steps(Summation(6, fail_at), Sums(), clock_with({}, written))
    assert len(written) == 1 + fail_at
    again = Summation(6)
    assert_same(run_steps(again, Sums(), clock_with(written[-1], [])), whole)
    assert again.taken == 6 - fail_at


def test_a_finished_stage_takes_no_step():
    written = []
    whole = run_steps(Summation(3), Sums(), clock_with({}, written))
    again = Summation(3)
    assert_same(run_steps(again, Sums(), clock_with(written[-1], [])), whole)
    assert again.taken == 0


def test_a_stopped_clock_leaves_one_step_and_no_checkpoint_of_it():
    written, stage = [], Summation(5)
    clock = clock_with({}, written)
    clock.stop()
    assert run_steps(stage, Sums(), clock).n_steps == 1
    assert not written
    resumed = clock_with({"summation.n_steps": np.array(2), "summation.total": np.array(1.5)}, written)
    resumed.stop()
    assert run_steps(Summation(5), Sums(), resumed).n_steps == 2
