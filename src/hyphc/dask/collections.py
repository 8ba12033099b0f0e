"""Dask arrays and frames as rows in the storage: each block is computed on a worker, which writes it."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client

from .._runtime.shard_store import ShardStore
from .._runtime.storage import Storage
from ..out_of_core.array_sources import Rows
from ..out_of_core.row_sources import StoredRows, rows_per_block, spread_rows
from .waiting import wait_for


def as_array(X: Any) -> Any:
    """Return a Dask array (n, d) whose number of rows is known."""
    array = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
    if array.ndim != 2:
        raise ValueError(f"X has shape {array.shape}; a table (n, d) of rows is needed.")
    if np.isnan(array.shape[0]):
        array = array.compute_chunk_sizes()
    return array


def plan_stored_rows(array: Any, storage: Storage, block_rows: int | None) -> tuple[Any, StoredRows]:
    """Return the array in the blocks of a fit, and the source that reads them from the storage once they are written."""
    n, d = array.shape
    dtype = np.dtype(array.dtype if array.dtype in (np.float32, np.float64) else np.float64)
    rows = block_rows or rows_per_block(n, d)
    blocks = array.rechunk((rows, -1)).astype(dtype)
    return blocks, StoredRows(storage, (n, d), str(dtype), rows, _fingerprint(array))


def _fingerprint(array: Any) -> str:
    """Return a hash of shape, dtype and some rows, whatever the chunks."""
    rows = np.ascontiguousarray(array[spread_rows(array.shape[0])].compute())
    return hashlib.sha256(f"{array.shape} {array.dtype} ".encode() + rows.tobytes()).hexdigest()


def write_rows(blocks: Any, storage: Storage, client: Client | None) -> None:
    """Compute the blocks that are not in the storage, each on a worker, which writes it."""
    write = dask.delayed(_write, pure=False)
    parts = blocks.to_delayed().ravel()
    is_written = _find_written(storage, len(parts), client)
    tasks = [write(part, storage, number) for number, part in enumerate(parts) if not is_written[number]]
    if client is None:
        dask.compute(*tasks, scheduler="threads")
    else:
        wait_for(client, client.compute(tasks), lambda done: None)


def _find_written(storage: Storage, count: int, client: Client | None) -> list[bool]:
    """Return whether each block is in the storage; checked by workers, since the check reads it."""
    check = partial(ShardStore(storage).has, "rows")
    if client is None:
        return list(map(check, range(count)))
    checks = client.map(check, range(count), pure=False)
    wait_for(client, checks, lambda done: None)
    return [future.result() for future in checks]


def _write(rows: Rows, storage: Storage, number: int) -> None:
    ShardStore(storage).write("rows", number, {"rows": np.ascontiguousarray(rows)})


def labels_array(storage: Storage, stage: str, n: int, step: int) -> Any:
    """Return labels in the storage as a Dask array, read block by block."""
    return concatenate_blocks(dask.delayed(partial(_read_labels, storage, stage), pure=True), n, step)


def concatenate_blocks(task: Any, n: int, step: int) -> Any:
    """Return a Dask array of n integers; ``task(start, stop)`` is a delayed block of it."""
    ends = [(start, min(start + step, n)) for start in range(0, n, step)]
    return da.concatenate([da.from_delayed(task(*block), (block[1] - block[0],), np.int64) for block in ends])


def _read_labels(storage: Storage, stage: str, start: int, stop: int) -> Any:
    return np.array(ShardStore(storage).one(stage, 0, "labels")[start:stop])
