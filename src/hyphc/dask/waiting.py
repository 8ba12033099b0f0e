"""Wait for tasks on a cluster: errors with a remedy, and checks of the workers.

A cluster may lose all its workers without an error, and a local one may give up a worker for good: some seconds after a worker
was lost, Dask closes its nanny process unless the worker is back, which it is not if it was lost again meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from distributed import Client, KilledWorker, LocalCluster
from distributed.scheduler import NoValidWorkerError, NoWorkerError

from .._runtime.user_warnings import warn

LOOK = 2.0  # seconds between two checks of the workers
ALONE = 30.0  # seconds without any worker before a warning
_STAYS = "Finished results are kept: fit again with the same storage to resume."


def wait_for(client: Client, futures: list[Any], report: Callable[[int], object]) -> None:
    """Wait for all futures; raise the first error, and cancel those that have not begun."""
    done: SimpleQueue[Any] = SimpleQueue()
    for future in futures:
        future.add_done_callback(done.put)
    workers = _Workers(client)
    try:
        with _translate_errors():
            for count in range(1, len(futures) + 1):
                _next(done, workers).result()
                report(count)
    finally:
        left = [future for future in futures if not future.done()]
        if left:
            client.cancel(left, reason="the fit has ended")


def _next(done: SimpleQueue[Any], workers: _Workers) -> Any:
    """Return the next future that has ended; check the workers meanwhile."""
    while True:
        workers.look()
        try:
            return done.get(timeout=LOOK)
        except Empty:
            continue


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise errors of the cluster, not of a task, with a remedy."""
    try:
        yield
    except KilledWorker as error:
        remedy = "If it was for memory, give workers more, or choose a smaller part_size."
        raise OSError(f"One task has ended several workers: {error} {remedy} {_STAYS}") from error
    except (NoWorkerError, NoValidWorkerError) as error:
        raise ConnectionError(f"The cluster has been without a worker for too long: {error} {_STAYS}") from error
    except CancelledError as error:
        cause = f"Tasks were cancelled, or the connection to the scheduler was lost ({str(error).rstrip('.')})."
        raise ConnectionError(f"{cause} {_STAYS}") from error


class _Workers:
    """The workers of a cluster, checked at intervals."""

    def __init__(self, client: Client) -> None:
        self._client, self._looked = client, time.monotonic()
        self._alone: float | None = None  # since when there is none
        self._warned = False

    def look(self) -> None:
        """Restart workers that the cluster has given up, and warn if there are none."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        _restart_lost(self._client.cluster)
        if self._has_any():
            self._alone, self._warned = None, False
            return
        self._alone = now if self._alone is None else self._alone
        if now - self._alone >= ALONE and not self._warned:
            self._warned = True
            warn(
                f"The cluster has had no worker for {now - self._alone:.0f} s; the fit waits for one. Start workers, or end the "
                f"fit (Dask ends it by itself after distributed.scheduler.no-workers-timeout, if that is set). {_STAYS}",
                RuntimeWarning,
                stacklevel=7,
            )

    def _has_any(self) -> bool:
        try:
            return bool(self._client.nthreads())
        except OSError:  # the scheduler is away; if for good, the client cancels what it waits for
            return True


def _restart_lost(cluster: Any) -> None:
    """Restart the workers that a local cluster has given up."""
    if isinstance(cluster, LocalCluster) and set(cluster.worker_spec) - set(cluster.workers):
        cluster.scale(len(cluster.worker_spec))
