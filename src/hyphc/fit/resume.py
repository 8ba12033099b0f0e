"""Fits that go on where an earlier process ended: where they stand is written every so often, and found again.

A folder in the format of ``shard_store`` holds the last two states of one fit, ``state/<number>.*``, numbered in order. One that
is damaged is told by its checksums, and the one before it used.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.utils import check_random_state

from .._runtime.arrays import Ints
from .._runtime.checkpointing import Checkpoints, Snapshot
from .._runtime.folder_lock import FolderLock
from .._runtime.run_control import Clock
from .._runtime.shard_store import Facts, ShardStore, naming_storage
from .._runtime.storage import LocalFolder, as_storage_folder
from .._runtime.user_warnings import warn
from ..similarity import Similarity
from ..tree import Tree
from ..tree.storage import arrays_of, tree_from
from .constraints import Part
from .run import Fit, Seed

STATE = "state"
KEPT = 2  # states in the folder: the last, and the one before it
EVERY = 10.0  # seconds between two of them
SHARE = 0.005  # of its time that a fit spends on writing them at most: large ones are written less often
PathLike = str | os.PathLike[str]


class Keeper:
    """Writes where a fit stands into a folder, and has found what an earlier process wrote there.

    Parameters
    ----------
    folder : path
        New, empty, or of the same fit.
    facts : dict
        Data and parameters: all that decides the tree.

    Raises
    ------
    ValueError
        The folder holds another fit, or something else, or another process is at work there.
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
            self.found = self._last_whole()
        except BaseException:
            lock.release()
            raise
        self._next = time.monotonic() + EVERY

    def _last_whole(self) -> Snapshot:
        numbers = self._store.numbers(STATE)
        self._number = max(numbers, default=-1)
        for number in reversed(numbers):
            if self._store.has(STATE, number):
                # copied, since the files will be removed
                return {name: np.array(array) for name, array in self._store.read(STATE, number).items()}
        if numbers:
            self._warn("no state there is whole; the fit begins anew")
        return {}

    def offer(self, frame: Callable[[], Snapshot], now: bool = False) -> None:
        """Write a state if it is time, and remove the last but one. If it cannot be written, warn once and go on.

        The one before is on the disk for sure before the last but one is removed: should the power fail, one of them is whole.
        """
        begin, number = time.monotonic(), self._number + 1
        if begin < self._next and not now:
            return
        try:
            self._store.write(STATE, number, frame())
            if number > 0:
                self._store.flush(STATE, self._number)
            self._number = number
            for old in self._store.numbers(STATE)[:-KEPT]:
                self._store.remove(STATE, old)
        except OSError as error:
            self._store.remove(STATE, number)
            self._warn(f"{os.strerror(error.errno or 0)}; the fit goes on, and what is there stays")
        end = time.monotonic()
        self._next = end + max(EVERY, (end - begin) / SHARE)

    def _warn(self, why: str) -> None:
        if not self._warned:
            warn(f"The checkpoint {str(self._store.place)!r} failed: {why}.", UserWarning, stacklevel=2)
        self._warned = True

    def close(self) -> None:
        """Let others work there."""
        self._lock.release()


@contextmanager
def resuming(folder: PathLike | None, facts: Callable[[], Facts], clock: Clock, random_state: Seed) -> Iterator[Seed]:
    """Let the stages on a clock keep where they stand in a folder, if there is one, and go on from what is there.

    Yields the seed: the one given, or, where there is none to give again, one drawn by the process that began.
    """
    if folder is None:
        yield random_state
        return
    keeper = Keeper(folder, facts())
    clock.checkpoints = Checkpoints(keeper.found, keeper.offer)
    clock.add_elapsed(float(keeper.found.get("fit.seconds", 0.0)))
    try:
        yield _seed_of(random_state, keeper.found)
    finally:
        keeper.close()


def _seed_of(random_state: Seed, found: Snapshot) -> int:
    if random_state is not None and not isinstance(random_state, np.random.RandomState):
        return random_state
    return int(found["fit.seed"] if "fit.seed" in found else check_random_state(random_state).randint(2**31 - 1))


def resumed(clock: Clock, seed: Seed, solve: Callable[[], Fit]) -> Fit:
    """What ``solve`` finds, or has found in an earlier process; kept at the end, unless somebody ended it."""
    with clock.checkpoints.scope("fit") as level:
        if "children" in level.saved:
            clock.steps = int(level.saved["steps"])
            tree, embedding = tree_from(level.saved), level.saved["embedding"]
            return Fit(tree, embedding if embedding.size else None, level.saved["loss_curve"])
        about = {"seconds": clock.seconds, "seed": seed}
        level.save(**about)
        found = solve()
        if not clock.stopped:
            embedding = np.empty(0) if found.embedding is None else found.embedding
            result = {"embedding": embedding, "loss_curve": found.loss_curve, "steps": clock.steps}
            level.save_now(**about, **arrays_of(found.tree), **result)
        return found


@contextmanager
def part_by_part(
    clock: Clock, solve: Callable[[Similarity, Clock], Tree]
) -> Iterator[Callable[[Similarity, Part], Tree]]:
    """A function that solves parts of a problem one after the other, and has those of an earlier process already."""
    with clock.checkpoints.scope("parts") as level:
        merges: list[Ints] = []
        done: list[Ints] = []
        if level.saved:
            done = np.split(level.saved["merges"], np.cumsum(level.saved["counts"])[:-1])[::-1]
            clock.steps = int(level.saved["steps"])

        def solved(problem: Similarity, part: Part) -> Tree:
            if done:
                merges.append(done.pop())
                return Tree(merges[-1])
            own = clock.for_subproblem(part.retold, part.share)
            own.checkpoints = clock.checkpoints
            tree = solve(problem, own)
            clock.steps += own.steps
            merges.append(tree.children)
            if not clock.should_stop():
                # put together when they are written: there may be many
                packed = {"merges": lambda: np.concatenate(merges), "counts": lambda: [len(one) for one in merges]}
                level.save(**packed, steps=clock.steps)
            return tree

        yield solved
