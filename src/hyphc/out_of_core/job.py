"""What is fitted by parts: rows, parameters, and where finished pieces are. All that a task needs, and small to send."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from .._runtime.shard_store import ShardStore
from .._runtime.storage import Storage
from ..similarity.build import metric_named
from ..similarity.neighbor_metrics import BACKGROUND, N_NEIGHBORS
from ..similarity.scaling import SCALES
from .npy_source import Rows
from .row_sources import Source, checked_block, fingerprint, rows_of_a_block

METRICS = ("auto", "cosine")  # those whose similarity between parts is exact without looking at all pairs
EDGE_WEIGHTS = ("fuzzy", "binary")  # those that a row decides from its own neighbours
# A part has at most so many rows, where cells allow it; the sample so many, or enough for cells much smaller than parts.
PART_SIZE = 20_000
SAMPLE_SIZE, SAMPLED_A_PART = 20_000, 256
MOST_SAMPLED = 400_000
TURNS = 2  # each leaves about a third of the misplaced; a turn takes little beside the fits of the parts


@dataclass(frozen=True)
class Recipe:
    """Parameters that decide the tree, besides the rows."""

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
    def of(cls, parameters: Mapping[str, Any], **sizes: Any) -> Recipe:
        """Return the recipe of an estimator's parameters; None stands for the defaults here."""
        given = {name: parameters[name] for name in ("metric", "n_neighbors", "edge_weights", "scale", "background")}
        if given["metric"] in METRICS:
            metric_named(**given)  # raises for settings that the metric does not have
        if given["metric"] != "auto" and given["n_neighbors"] is not None:
            raise ValueError(
                f"n_neighbors={given['n_neighbors']!r} with metric={given['metric']!r} cannot be fitted by parts; leave one out."
            )
        seed = parameters["random_state"]
        if isinstance(seed, np.random.RandomState):
            raise ValueError(f"random_state={seed!r} cannot be fitted by parts; give a whole number.")
        known = {name: value for name, value in given.items() if value is not None}
        return cls(**known, effort=parameters["effort"], seed=0 if seed is None else int(seed), **sizes)

    def check(self) -> None:
        """Raise for what a fit by parts cannot do."""
        for name, choices in (("metric", METRICS), ("edge_weights", EDGE_WEIGHTS), ("scale", SCALES)):
            value = getattr(self, name)
            if value not in choices:
                told = ", ".join(map(repr, choices))
                raise ValueError(f"{name}={value!r} cannot be fitted by parts; choose one of {told}.")
        for name in ("n_neighbors", "part_size", "sample_size", "block_rows", "top_size"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or int(value) != value or value < 1):
                raise ValueError(f"{name}={value!r} is no whole number of at least 1.")
        if not 0.0 <= self.background < np.inf:
            raise ValueError(f"background={self.background} must be a finite number of at least 0.")


@dataclass(frozen=True)
class Problem:
    """Rows, recipe and storage. Tasks get nothing else, and read what they need."""

    source: Source
    recipe: Recipe
    storage: Storage

    @cached_property
    def store(self) -> ShardStore:
        """Finished pieces."""
        return ShardStore(self.storage)

    def open(self) -> None:
        """Make the storage ready, or raise if it holds something else."""
        self.recipe.check()
        n, d = self.source.shape
        if n < 1 or d < 1:
            raise ValueError(f"The table has shape {(n, d)}; it needs at least one row and one column.")
        ShardStore.open(self.storage, {"data": fingerprint(self.source), **asdict(self.recipe)})

    @property
    def n(self) -> int:
        """Rows."""
        return self.source.shape[0]

    @property
    def block_rows(self) -> int:
        """Rows of a block."""
        return self.recipe.block_rows or rows_of_a_block(*self.source.shape)

    @property
    def n_blocks(self) -> int:
        """Blocks of rows."""
        return -(-self.n // self.block_rows)

    def n_parts(self, turn: int | None = None) -> int:
        """Parts; known once they are divided, and fewer if rows leave one altogether."""
        return len(self.store.one(self.stage("parts", turn), 0, "counts"))

    @property
    def n_turns(self) -> int:
        """How often rows move to the part in which most of their neighbours are."""
        return TURNS if self.has_edges else 0

    def stage(self, name: str, turn: int | None = None) -> str:
        """A stage's name at a turn; by default after the last."""
        return f"{name}-{self.n_turns if turn is None else turn}"

    @property
    def has_edges(self) -> bool:
        """Whether there is a graph of neighbours."""
        return self.recipe.metric == "auto"

    @property
    def sample_size(self) -> int:
        """Rows of the sample: enough for cells that are small beside a part."""
        wanted = self.recipe.sample_size
        if wanted is None:
            wanted = int(np.clip(SAMPLED_A_PART * self.n / self.recipe.part_size, SAMPLE_SIZE, MOST_SAMPLED))
        return min(self.n, wanted)

    def block(self, number: int) -> tuple[Rows, int]:
        """The rows of a block as they are, and the number of the first."""
        start = number * self.block_rows
        return checked_block(self.source, start, min(start + self.block_rows, self.n)), start

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def pieces(self, stage: str, count: int, *names: str) -> Iterator[dict[str, Any]]:
        """The named arrays of all pieces of a stage, in order."""
        for number in range(count):
            yield self.store.read(stage, number, *names)
