"""Tasks of a fit by parts on a Dask cluster, or on Dask's threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import dask
from distributed import Client, default_client

from .._runtime.shard_store import MANIFEST, naming_storage
from .._runtime.storage import Storage, as_storage_folder
from ..out_of_core.progress import Listener
from ..out_of_core.stages import Executor
from .waiting import finished

# A task that a worker left undone is done by another by itself; one that raised is tried again so often: a storage may be slow to
# show what another machine wrote.
RETRIES = 2


def chosen_client(client: Client | None) -> Client | None:
    """The client given, else the default one; None if there is none."""
    if client is not None:
        return client
    try:
        found: Client = default_client()
    except ValueError:
        return None
    return found


def on_dask(client: Client | None, tell: Listener) -> Executor:
    """Tasks on a client's workers; without a client, on Dask's threads in this process."""
    return partial(_on_threads if client is None else partial(_on_cluster, client), tell)


def _on_cluster(client: Client, tell: Listener, task: Callable[[int], None], count: int, stage: str) -> None:
    tell(stage, 0, count)
    # keys of their own: a scheduler that still knows tasks of an earlier fit must not take them for these
    keys = [f"hyphc-{stage}-{uuid4().hex[:8]}-{number}" for number in range(count)]
    futures = client.map(task, range(count), key=keys, pure=False, retries=RETRIES)
    finished(client, futures, lambda done: tell(stage, done, count))


def _on_threads(tell: Listener, task: Callable[[int], None], count: int, stage: str) -> None:
    tell(stage, 0, count)
    dask.compute(*(dask.delayed(task)(number) for number in range(count)), scheduler="threads")
    tell(stage, count, count)


def require_seen(client: Client | None, storage: Storage) -> None:
    """Raise unless every worker sees the storage."""
    seen = {} if client is None else client.run(_sees, storage)
    blind = sorted(worker for worker, found in seen.items() if not found)
    if blind:
        raise OSError(
            f"storage={str(storage)!r} is not seen by {blind[0]}{f' and {len(blind) - 1} more' if len(blind) > 1 else ''}; "
            "give a folder or an address that this machine and all workers share."
        )


def _sees(storage: Storage) -> bool:
    with naming_storage(storage):
        return as_storage_folder(storage).exists(MANIFEST)
