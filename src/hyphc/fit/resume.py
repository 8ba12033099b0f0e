"""Checkpoints of a fit in memory: its state is written at intervals, and a later process resumes from it.

A folder in the format of ``shard_store`` holds the last two states of one fit, ``state/<number>.*``, in order. If the checksums
show that the last is damaged, the one before it is used.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

import numpy as np
from sklearn.utils import check_random_state

from .._runtime.arrays import Ints
from .._runtime.checkpointing import Checkpoints, Scope, Snapshot
from .._runtime.folder_lock import FolderLock
from .._runtime.run_control import Clock
from .._runtime.shard_store import Facts, ShardStore, naming_storage
from .._runtime.storage import LocalFolder, as_storage_folder
from .._runtime.user_warnings import warn
from ..tree import Tree
from ..tree.storage import arrays_of, tree_from
from .constraints import Subproblem
from .run import FitResult, Seed

STATE = "state"
N_STATES = 2  # states in the folder: the last, and the one before it
INTERVAL = 10.0  # seconds between two of them
TIME_SHARE = 0.005  # of the run time that writing takes at most: large states are written less often
PathLike = str | os.PathLike[str]


class NoCheckpoint:
    """The checkpoint of a fit without a folder: nothing is restored or written."""

    def choose_seed(self, random_state: Seed) -> Seed:
        """Return the seed of the fit."""
        return random_state

    def close(self) -> None:
        """Release the folder."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class FitCheckpoint(NoCheckpoint):
    """The checkpoint of a fit in a folder: restores the state of an earlier process, and saves that of this one.

    Parameters
    ----------
    folder : path
        New, empty, or of the same fit.
    facts : dict
        Fingerprint of data and parameters: all that decides the tree.

    Raises
    ------
    ValueError
        The folder holds another fit, or something else, or is locked by another process.
    """

    def __init__(self, folder: PathLike, facts: Facts) -> None:
        place = as_storage_folder(folder)
        if not isinstance(place, LocalFolder):
            raise ValueError(f"checkpoint={os.fspath(folder)!r} is an address; give a folder, a mounted one say.")
        with naming_storage(place):
            place.prepare()
            lock = FolderLock.acquire(place.path)
        if lock is None:
            raise ValueError(f"Another process keeps a fit in {os.fspath(folder)!r}; wait for it, or choose another.")
        self._lock, self._warned = lock, False
        try:
            self._store = ShardStore.open(place, facts)
            self._store.remove_leftovers()
            self.restored = self._read_last_state()
        except BaseException:
            lock.release()
            raise
        self._next = time.monotonic() + INTERVAL

    def attach(self, clock: Clock) -> None:
        """Let the stages under a run control restore and save their state here; the time of earlier processes counts."""
        clock.checkpoints = Checkpoints(self.restored, self.save_if_due)
        clock.add_elapsed(float(self.restored.get("fit.seconds", 0.0)))

    def choose_seed(self, random_state: Seed) -> Seed:
        """Return an integer seed: the one given, else that of the process that began the fit, else a new one."""
        if random_state is not None and not isinstance(random_state, np.random.RandomState):
            return random_state
        if "fit.seed" in self.restored:
            return int(self.restored["fit.seed"])
        return int(check_random_state(random_state).randint(2**31 - 1))

    def _read_last_state(self) -> Snapshot:
        """Return the arrays of the last undamaged state, none if there is no state."""
        numbers = self._store.numbers(STATE)
        self._number = max(numbers, default=-1)
        for number in reversed(numbers):
            if self._store.has(STATE, number):
                # copied, since the files will be removed
                return {name: np.array(array) for name, array in self._store.read(STATE, number).items()}
        if numbers:
            self._warn("every state there is damaged; the fit starts again")
        return {}

    def save_if_due(self, frame: Callable[[], Snapshot], now: bool = False) -> None:
        """Write the state if the interval is over, and remove the last but one; if writing fails, warn once and continue.

        The previous state is flushed to disk before the last but one is removed: one of them survives a power failure.
        """
        begin, number = time.monotonic(), self._number + 1
        if begin < self._next and not now:
            return
        try:
            self._store.write(STATE, number, frame())
            if number > 0:
                self._store.flush(STATE, self._number)
            self._number = number
            for old in self._store.numbers(STATE)[:-N_STATES]:
                self._store.remove(STATE, old)
        except OSError as error:
            self._store.remove(STATE, number)
            self._warn(f"{os.strerror(error.errno or 0)}; the fit goes on, and what is there stays")
        end = time.monotonic()
        self._next = end + max(INTERVAL, (end - begin) / TIME_SHARE)

    def _warn(self, why: str) -> None:
        if not self._warned:
            warn(f"The checkpoint {str(self._store.place)!r} failed: {why}.", UserWarning, stacklevel=2)
        self._warned = True

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.release()


def restore_result(level: Scope, clock: Clock) -> FitResult | None:
    """Return the result that an earlier process has saved, None if it had not finished."""
    if "children" not in level.saved:
        return None
    clock.steps = int(level.saved["steps"])
    embedding = level.saved["embedding"]
    return FitResult(tree_from(level.saved), embedding if embedding.size else None, level.saved["loss_curve"])


def save_result(level: Scope, clock: Clock, seed: Seed, result: FitResult) -> None:
    """Save the result of a fit, unless it was stopped before its end."""
    if clock.stopped:
        return
    embedding = np.empty(0) if result.embedding is None else result.embedding
    arrays = {**arrays_of(result.tree), "embedding": embedding, "loss_curve": result.loss_curve}
    level.save_now(seconds=clock.seconds, seed=seed, steps=clock.steps, **arrays)


class SolvedSubproblems:
    """The trees of subproblems in order, those of an earlier process first; each is saved as it is added."""

    def __init__(self, level: Scope, clock: Clock) -> None:
        self._level, self._clock = level, clock
        self._merges: list[Ints] = []
        self._restored: list[Ints] = []
        if level.saved:
            self._restored = np.split(level.saved["merges"], np.cumsum(level.saved["counts"])[:-1])[::-1]
            clock.steps = int(level.saved["steps"])

    def restore_next(self) -> Tree | None:
        """Return the tree of the next subproblem if an earlier process has found it."""
        if not self._restored:
            return None
        self._merges.append(self._restored.pop())
        return Tree(self._merges[-1])

    def make_clock(self, subproblem: Subproblem) -> Clock:
        """Return the run control of one subproblem: its share of the time left, its progress as that of the fit."""
        own = self._clock.for_subproblem(subproblem.translate_progress, subproblem.share)
        own.checkpoints = self._clock.checkpoints
        return own

    def add(self, tree: Tree, own: Clock) -> None:
        """Add the tree of the next subproblem, searched under its own run control."""
        self._clock.steps += own.steps
        self._merges.append(tree.children)
        if not self._clock.should_stop():
            self._level.save(merges=self._concatenated, counts=self._counts, steps=self._clock.steps)

    # called when they are written: there may be many subproblems
    def _concatenated(self) -> Ints:
        return np.concatenate(self._merges)

    def _counts(self) -> list[int]:
        return [len(merges) for merges in self._merges]
