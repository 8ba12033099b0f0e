"""The driver of resumable stages: loops over steps, checks the deadline, saves the state and restores it.

A stage is an algorithm without save or restore of its own: a state, a dataclass of arrays and numbers, ``step(state)``, which
changes it, and ``is_done(state)``.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from .run_control import Clock

State = TypeVar("State")


class ResumableStage(Protocol):
    """An algorithm in steps; what it does next depends on its parameters and on the state alone."""

    name: str  # of the scope of its checkpoints

    def is_done(self, state: Any) -> bool:
        """Return whether no step is left."""

    def step(self, state: Any) -> None:
        """Change the state by one step; fields are replaced, not changed in place."""


def run_steps(stage: ResumableStage, state: State, clock: Clock) -> State:
    """Run a stage from its first state, or from that of a checkpoint, and return the last state.

    The first step is always taken; further ones until the stage is done or must stop. A state is saved after each step, unless
    the step was cut short.
    """
    with clock.checkpoints.scope(stage.name) as scope:
        scope.restore(state)
        has_begun = bool(scope.saved)
        while not stage.is_done(state) and not (has_begun and clock.should_stop()):
            stage.step(state)
            has_begun = True
            if not clock.should_stop():
                scope.save(**vars(state))
    return state
