"""Checkpoints of a fit in memory: its state is written at intervals, and a later process resumes from it.

A folder in the format of ``shard_store`` holds the last two states of one fit, ``state/<number>.*``, in order. If the checksums
show that the last is damaged, the one before it is used.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._runtime.checkpointing import Checkpoints, Snapshot
from .._runtime.folder_lock import FolderLock
from .._runtime.run_control import Clock
from .._runtime.shard_store import Facts, ShardStore, naming_storage
from .._runtime.storage import LocalFolder, as_storage_folder
from .._runtime.user_warnings import warn
from ..similarity.metric_base import Seed
from .fingerprint import compute_fingerprint

STATE = "state"
N_STATES = 2  # states in the folder: the last, and the one before it
INTERVAL = 10.0  # seconds between two of them
TIME_SHARE = 0.005  # of the run time that writing takes at most: large states are written less often


@contextmanager
def open_checkpoint(parameters: Mapping[str, Any], X: Any, sample_weight: Any, clock: Clock) -> Iterator[Seed]:
    """Attach the checkpoint that the parameters name, if they do, to a run control; yield the seed of the fit."""
    if parameters["checkpoint"] is None:
        yield parameters["random_state"]
        return
    checkpoint = FitCheckpoint(parameters["checkpoint"], compute_fingerprint(parameters, X, sample_weight))
    try:
        checkpoint.attach(clock)
        yield checkpoint.choose_seed(parameters["random_state"])
    finally:
        checkpoint.close()


class FitCheckpoint:
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

    def __init__(self, folder: str | os.PathLike[str], facts: Facts) -> None:
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
            self._warn(f"{os.strerror(error.errno or 0)}; the fit continues, and earlier files are kept")
        end = time.monotonic()
        self._next = end + max(INTERVAL, (end - begin) / TIME_SHARE)

    def _warn(self, why: str) -> None:
        if not self._warned:
            warn(f"The checkpoint {str(self._store.place)!r} failed: {why}.", UserWarning, stacklevel=2)
        self._warned = True

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.release()
