"""What is run: lists of tasks."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from .cases import CONFIRMING, GRAPHS, PAPER, PLANTED, SELECTING, STUDY

SMALL = ("zoo", "iris", "glass", "segmentation", "wine")
DECODED = ("zoo", "iris", "glass", "segmentation")
CURVES = ("zoo", "glass", "segmentation", "digits", "letter")

TABLE_METHODS = (
    "single",
    "average",
    "complete",
    "ward",
    "bkm",
    "bkm-means",
    "cut",
    "ufit",
    "ghhc",
    "affinity",
    "paris",
    "louvain",
    "genie",
    "hdbscan",
    "sklearn-bisecting",
    "hyphc-paper",
    "hyphc-continuous",
    "hyphc",
)
GRAPH_METHODS = (
    "single",
    "average",
    "complete",
    "bkm",
    "cut",
    "paris-graph",
    "louvain-graph",
    "hyphc-continuous",
    "hyphc",
)
CLASSIFIERS = ("label-propagation", "two-step", "end-to-end")
STARTS = ("continuous", "random", "average", "bisecting", "both")

# the study: peers each on what they take, by their defaults; our candidates, one method on many similarities
STUDY_PEERS = {
    "ward-rows": "rows",
    "average-rows": "rows",
    "hdbscan": "rows",
    "genie": "rows",
    "bkm-means": "rows",
    "paris-graph": "euclidean-15-fuzzy",
}
CANDIDATES = (
    "cosine",
    "rbf",
    "cosine-15-fuzzy",
    "euclidean-5-fuzzy",
    "euclidean-10-fuzzy",
    "euclidean-15-fuzzy",
    "euclidean-30-fuzzy",
    "euclidean-15-self-tuned",
    "euclidean-15-shared",
    "euclidean-15-binary",
)
MINUTE = 60.0
# what took longer than this on two cores is stopped and reported as such
LIMITS = {"hyphc-paper": 15 * MINUTE, "two-step": 15 * MINUTE, "end-to-end": 15 * MINUTE}
DEFAULT_LIMIT = 5 * MINUTE


@dataclass(frozen=True)
class Task:
    """One child process: a part of the benchmark, a case, a similarity and a method."""

    suite: str
    case: str
    kind: str
    method: str
    limit: float = DEFAULT_LIMIT

    @property
    def key(self) -> str:
        """Where its result is kept."""
        return f"{self.suite}/{self.case}.{self.kind}.{self.method}"

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def small() -> list[Task]:
    """The small sets: minutes."""
    tasks = [
        _table(case, method)
        for case in SMALL
        for method in ("bounds", *TABLE_METHODS)
        if method != "hyphc-paper" or case != "segmentation"  # many minutes there
    ]
    tasks += [Task("decoding", case, "cosine", "decoding") for case in DECODED]
    tasks += [Task("curves", case, "cosine", start) for case in ("zoo", "glass") for start in STARTS]
    tasks += [Task("triplets", case, "cosine", "triplets") for case in ("zoo", "iris", "glass")]
    return [*tasks, Task("snapshots", "zoo", "cosine", "snapshots")]


def everything() -> list[Task]:
    """All tables, figures and the study; the small sets first, then by size."""
    tasks = small()
    tasks += [Task("graphs", case, "edges", method) for case in GRAPHS for method in GRAPH_METHODS]
    tasks += study()
    tasks += classification()
    tasks += [Task("curves", case, "cosine", start) for case in CURVES for start in STARTS]
    tasks += [Task("triplets", case, "cosine", "triplets") for case in DECODED]
    tasks += [_table(case, method) for case in (*PAPER, PLANTED) for method in ("bounds", *TABLE_METHODS)]
    seen: dict[str, Task] = {}
    for task in tasks:
        seen.setdefault(task.key, task)
    return list(seen.values())


def study() -> list[Task]:
    """Which similarity to use: candidates on the selecting half and on the confirming half, with all peers."""
    tasks = []
    for case in sorted(STUDY, key=lambda name: (name in ("spambase", "letter"), name)):
        tasks += [Task("study", case, kind, method) for method, kind in STUDY_PEERS.items()]
        tasks += [Task("study", case, kind, "hyphc-study") for kind in CANDIDATES]
    return tasks


def classification() -> list[Task]:
    """Classes from a few labels; needs the classifier's extra."""
    limits = {method: LIMITS.get(method, DEFAULT_LIMIT) for method in CLASSIFIERS}
    return [
        Task("classification", case, "cosine", method, limits[method]) for case in DECODED for method in CLASSIFIERS
    ]


def _table(case: str, method: str) -> Task:
    return Task("tables", case, "cosine", method, LIMITS.get(method, DEFAULT_LIMIT))


PLANS = {"small": small, "classification": classification, "all": everything}
assert set(SELECTING) | set(CONFIRMING) == set(STUDY)
