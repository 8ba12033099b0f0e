"""The job of an out-of-core fit: rows, settings, and the storage of finished shards. Small to send to a worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from .._runtime.shard_store import ShardStore
from .._runtime.storage import Storage
from ..similarity.build import metric_named
from ..similarity.neighbor_metrics import BACKGROUND, N_NEIGHBORS
from ..similarity.scaling import SCALES
from .array_sources import Rows
from .records import Partition, Record
from .row_sources import Source, fingerprint, read_block, rows_per_block

R = TypeVar("R", bound=Record)
METRICS = ("auto", "cosine")  # similarities between parts are exact without all pairs
EDGE_WEIGHTS = ("fuzzy", "binary")  # computed from the neighbours of one row alone
# A part has at most so many rows, where cells allow it; the sample so many, or enough for cells much smaller than parts.
PART_SIZE = 20_000
SAMPLE_SIZE, SAMPLED_A_PART = 20_000, 256
MOST_SAMPLED = 400_000
ROUNDS = 2  # each leaves about a third of the misassigned rows, and is fast compared with the trees of the parts


@dataclass(frozen=True)
class JobSettings:
    """Parameters that decide the tree, apart from the rows."""

    metric: str = "auto"
    n_neighbors: int = N_NEIGHBORS
    edge_weights: str = "fuzzy"
    scale: str | bool = "auto"
    background: float = BACKGROUND
    effort: float = 1.0
    seed: int = 0
    part_size: int = PART_SIZE
    sample_size: int | None = None
    block_rows: int | None = None
    top_size: int | None = None  # subtrees at most whose tree is made above the parts

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], **sizes: Any) -> JobSettings:
        """Return the settings that follow from an estimator's parameters; None stands for the defaults here."""
        given = {name: parameters[name] for name in ("metric", "n_neighbors", "edge_weights", "scale", "background")}
        if given["metric"] in METRICS:
            metric_named(**given)  # raises for settings that the metric does not have
        if given["metric"] != "auto" and given["n_neighbors"] is not None:
            raise ValueError(
                f"n_neighbors={given['n_neighbors']!r} with metric={given['metric']!r} cannot be fitted out of core; "
                "leave one out."
            )
        seed = parameters["random_state"]
        if isinstance(seed, np.random.RandomState):
            raise ValueError(f"random_state={seed!r} cannot be fitted out of core; give a whole number.")
        known = {name: value for name, value in given.items() if value is not None}
        return cls(**known, effort=parameters["effort"], seed=0 if seed is None else int(seed), **sizes)

    def check(self) -> None:
        """Raise for values that an out-of-core fit does not support."""
        for name, choices in (("metric", METRICS), ("edge_weights", EDGE_WEIGHTS), ("scale", SCALES)):
            value = getattr(self, name)
            if value not in choices:
                listed = ", ".join(map(repr, choices))
                raise ValueError(f"{name}={value!r} cannot be fitted out of core; choose one of {listed}.")
        for name in ("n_neighbors", "part_size", "sample_size", "block_rows", "top_size"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or int(value) != value or value < 1):
                raise ValueError(f"{name}={value!r} is no whole number of at least 1.")
        if not 0.0 <= self.background < np.inf:
            raise ValueError(f"background={self.background} must be a finite number of at least 0.")


@dataclass(frozen=True)
class Job:
    """Rows, settings and storage of an out-of-core fit: all that a task is sent; it reads what it needs."""

    source: Source
    settings: JobSettings
    storage: Storage

    @cached_property
    def store(self) -> ShardStore:
        """Finished shards."""
        return ShardStore(self.storage)

    @classmethod
    def reopen(cls, source: Source, storage: Storage) -> Job:
        """Return the job whose finished shards are in a storage; the rows are not read."""
        facts = ShardStore(storage).facts()
        try:
            settings = JobSettings(**{field.name: facts[field.name] for field in fields(JobSettings)})
            settings.check()
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{str(storage)!r} holds a fit of another version of hyphc ({error}); fit the rows again."
            ) from None
        return cls(source, settings, storage)

    def open(self) -> None:
        """Prepare the storage; raise if it holds another fit."""
        self.settings.check()
        n, d = self.source.shape
        if n < 1 or d < 1:
            raise ValueError(f"The table has shape {(n, d)}; it needs at least one row and one column.")
        ShardStore.open(self.storage, {"data": fingerprint(self.source), **asdict(self.settings)})

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.source.shape[0]

    @property
    def block_rows(self) -> int:
        """Number of rows of a block."""
        return self.settings.block_rows or rows_per_block(*self.source.shape)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n // self.block_rows)

    def n_parts(self, round_number: int | None = None) -> int:
        """Return the number of parts in a round, by default the last; parts that all rows leave are removed."""
        return len(self.shard(Partition, 0, round_number).counts)

    @property
    def n_rounds(self) -> int:
        """How often rows move to the part of most of their neighbours, after the first partition."""
        return ROUNDS if self.has_edges else 0

    def stage_name(self, record: type[Record], round_number: int | None = None) -> str:
        """Return where shards of a record are stored; of repeated stages, those of a round, by default the last."""
        number = self.n_rounds if round_number is None else round_number
        return f"{record.stage}-{number}" if record.has_rounds else record.stage

    @property
    def has_edges(self) -> bool:
        """Whether the similarity has a graph of nearest neighbours."""
        return self.settings.metric == "auto"

    @property
    def sample_size(self) -> int:
        """Number of rows of the sample: enough for cells that are small compared with a part."""
        wanted = self.settings.sample_size
        if wanted is None:
            wanted = int(np.clip(SAMPLED_A_PART * self.n / self.settings.part_size, SAMPLE_SIZE, MOST_SAMPLED))
        return min(self.n, wanted)

    def block(self, number: int) -> tuple[Rows, int]:
        """Return the rows of a block, not scaled, and the number of the first."""
        start = number * self.block_rows
        return read_block(self.source, start, min(start + self.block_rows, self.n)), start

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def shard(self, record: type[R], number: int = 0, round_number: int | None = None) -> R:
        """Return a shard of a stage; its arrays are memory-mapped on first access."""
        return record.load(self.store, self.stage_name(record, round_number), number)

    def shards(self, record: type[R], count: int, round_number: int | None = None) -> Iterator[R]:
        """Yield the first ``count`` shards of a stage in order."""
        for number in range(count):
            yield self.shard(record, number, round_number)
