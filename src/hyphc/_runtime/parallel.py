"""Threads: kernels release the interpreter's lock, and chunks do not depend on the number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

import threadpoolctl

Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads of scikit-learn's ``n_jobs``: None is 1, −1 all cores this process may use, −2 all but one."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 leaves no thread to work; choose n_jobs >= 1, or -1 for all cores.")
    if n_jobs is None or n_jobs > 0:
        return n_jobs or 1
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, n_cores + 1 + n_jobs)


def thread_map(
    function: Callable[[Chunk], Result],
    chunks: Iterable[Chunk],
    n_jobs: int | None = None,
    abort: Callable[[], object] | None = None,
) -> list[Result]:
    """Return ``[function(chunk) for chunk in chunks]``, computed on the threads of ``n_jobs``, results in order.

    On an interrupt ``abort`` is called, which can make running threads stop; chunks that have not begun are dropped, those under
    way are not waited for, and the interrupt is raised at once, without the frames of the pool.
    """
    chunks = list(chunks)
    if n_threads(n_jobs) == 1 or len(chunks) < 2:
        return [function(chunk) for chunk in chunks]
    pool, interrupted = ThreadPoolExecutor(n_threads(n_jobs)), False
    try:
        return list(pool.map(function, chunks))
    except KeyboardInterrupt as error:
        interrupted = True
        if abort is not None:
            abort()
        raise error.with_traceback(None) from None
    finally:
        pool.shutdown(wait=not interrupted, cancel_futures=True)


class _BlasLimit:
    """The number of ``single_blas_thread`` blocks under way, and the limit that was set for the first of them."""

    def __init__(self) -> None:
        self.lock, self.holders = Lock(), 0
        self.limiter: Any = None

    def acquire(self) -> None:
        """Set the limit, unless it is set."""
        with self.lock:
            if self.holders == 0:
                self.limiter = threadpoolctl.threadpool_limits(1, user_api="blas")
            self.holders += 1

    def release(self) -> None:
        """Restore what was there before the first of all blocks, when the last of them ends."""
        with self.lock:
            self.holders -= 1
            if self.holders == 0 and self.limiter is not None:
                _release()
                self.limiter.restore_original_limits()
                _release()


def _release() -> None:
    """Later versions of threadpoolctl let only the thread change a limit that set it: the last block may end in another."""
    clear = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_limit = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.__init__)  # type: ignore[misc]  # the parent's threads are not in the child


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, for the whole process, until the last of all such blocks ends.

    The limit belongs to the process: were it set and restored by each block, fits that overlap in several threads would restore
    each other's limit and leave it behind.
    """
    _limit.acquire()
    try:
        yield
    finally:
        _limit.release()
