"""Which similarity brings known classes out: candidates and peers on twelve labelled sets, in two halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

from ..harness import trees
from ..harness.cases import CONFIRMING, SELECTING, STUDY
from ..harness.markdown import NOTHING, markdown
from ..harness.methods import METHODS
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import Task

SOURCES = METHOD
# peers each on what they take, by their defaults; our candidates, one method on many similarities
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
Entry = tuple[str, str]  # kind of similarity, method

OURS: tuple[Entry, ...] = tuple((kind, "hyphc-study") for kind in CANDIDATES)
PEERS: tuple[Entry, ...] = tuple((kind, method) for method, kind in STUDY_PEERS.items())
_KINDS = {"cosine": "cosine", "rbf": "rbf", "rows": "Euclidean"}


def tasks() -> list[Task]:
    """Candidates on the selecting half and on the confirming half, with all peers; the large sets last."""
    entries = (*PEERS, *OURS)
    cases = sorted(STUDY, key=lambda name: (name in ("spambase", "letter"), name))
    return [Task("study", case, kind, method) for case in cases for kind, method in entries]


records = trees.records


def name_of(entry: Entry) -> str:
    kind, method = entry
    if kind in _KINDS:
        return f"{METHODS[method].label}, {_KINDS[kind]}"
    metric, k, weights = kind.split("-", 2)
    return f"{METHODS[method].label}, {k} neighbours, {weights}" + (", cosine" if metric == "cosine" else "")


def _code_of(kind: str) -> str:
    """How a user says it."""
    if kind in _KINDS:
        return f'HypHC(metric="{kind}")'
    metric, k, weights = kind.split("-", 2)
    others = "" if weights == "fuzzy" else f', edge_weights="{weights}"'
    return f'HypHC(metric="{metric}", n_neighbors={k}{others})'


def score(store: Store, case: str, entry: Entry, what: str) -> float | None:
    """Mean over seeds of a score; None without a result."""
    result = store.get("study", case, *entry)
    return mean(r[what] for r in result["records"]) if result and result["records"] else None


def mean_ranks(store: Store, entries: Sequence[Entry], cases: Sequence[str], what: str) -> dict[Entry, float]:
    """Mean rank (1 is best, ties share) over the cases that have any result; what is missing there shares the last rank."""
    ranks: dict[Entry, list[float]] = {entry: [] for entry in entries}
    for case in cases:
        scores = {entry: score(store, case, entry, what) for entry in entries}
        if all(value is None for value in scores.values()):
            continue
        keys = {entry: -1.0 if value is None else value for entry, value in scores.items()}
        for entry, key in keys.items():
            better = sum(other > key for other in keys.values())
            equal = sum(other == key for other in keys.values())
            ranks[entry].append(better + (equal + 1) / 2)
    return {entry: mean(values) for entry, values in ranks.items() if values}


def best_candidates(store: Store) -> list[Entry]:
    """The candidates of best mean rank in purity among candidates on the selecting half."""
    ranks = mean_ranks(store, OURS, SELECTING, "purity")
    return [entry for entry in ranks if ranks[entry] == min(ranks.values())]


def chosen(store: Store) -> Entry | None:
    """The best candidate on the selecting half; of several the first that has the default weights, or else the first."""
    tied = best_candidates(store)
    return min(tied, key=lambda entry: not entry[0].endswith("-fuzzy"), default=None)


def score_table(store: Store, what: str) -> str:
    """A score, in per cent, for each set; selecting sets first. The best of a column in bold."""
    entries, cases = (*PEERS, *OURS), (*SELECTING, *CONFIRMING)
    found = {(e, c): score(store, c, e, what) for e in entries for c in cases}
    top = {c: max((v for e in entries if (v := found[e, c]) is not None), default=None) for c in cases}
    rows = []
    for entry in entries:
        cells = []
        for case in cases:
            value = found[entry, case]
            text = NOTHING if value is None else f"{100 * value:.1f}"
            cells.append(f"**{text}**" if value is not None and value == top[case] else text)
        rows.append([name_of(entry), *cells])
    return markdown(["", *cases], rows)


def rank_table(store: Store) -> str:
    """Mean ranks of the chosen setting against the peers, on both halves, by both scores."""
    setting = chosen(store)
    if setting is None:
        return "No results of the study are stored."
    entries = (setting, *PEERS)
    columns = [mean_ranks(store, entries, half, what) for what in ("purity", "ari") for half in (CONFIRMING, SELECTING)]
    order = sorted(entries, key=lambda entry: columns[0].get(entry, len(entries)))
    rows = [
        [name_of(entry), *(f"{column[entry]:.2f}" if entry in column else NOTHING for column in columns)]
        for entry in order
    ]
    header = ["mean rank", "purity, confirming", "purity, selecting", "ARI, confirming", "ARI, selecting"]
    return markdown(header, rows)


def candidates_table(store: Store) -> str:
    """Mean ranks of our candidates among themselves."""
    halves = [mean_ranks(store, OURS, half, "purity") for half in (SELECTING, CONFIRMING)]
    order = sorted((e for e in OURS if e in halves[0]), key=halves[0].__getitem__)
    rows = [[name_of(e), *(f"{half[e]:.2f}" if e in half else NOTHING for half in halves)] for e in order]
    return markdown(["candidate, mean rank in purity", "selecting", "confirming"], rows)


def verdict(store: Store) -> str:
    """What the two halves say, in sentences."""
    setting = chosen(store)
    if setting is None:
        return "No results of the study are stored."
    lines = [f"Chosen on the selecting half: **{name_of(setting)}**, in code `{_code_of(setting[0])}`."]
    lines += [_confirmed(store, setting)]
    lines += [_tied(store, other) for other in best_candidates(store) if other != setting]
    absent = [case for case in STUDY if not all(store.get("study", case, *entry) for entry in (*OURS, *PEERS))]
    if absent:
        lines.append(f"Not all runs are stored yet for: {', '.join(absent)}.")
    return "\n".join(line for line in lines if line)


def _confirmed(store: Store, setting: Entry) -> str:
    ranks = mean_ranks(store, (setting, *PEERS), CONFIRMING, "purity")
    if not ranks:
        return ""
    first = min(ranks, key=ranks.__getitem__)
    if first == setting:
        return f"On the confirming half it has the best mean rank, {ranks[setting]:.2f} of {len(ranks)}."
    return (
        f"On the confirming half {name_of(first)} has the best mean rank, {ranks[first]:.2f}; the chosen setting has "
        f"{ranks[setting]:.2f}."
    )


def _tied(store: Store, other: Entry) -> str:
    rank = mean_ranks(store, (other, *PEERS), CONFIRMING, "purity").get(other)
    instead = "" if rank is None else f", and would rank {rank:.2f} against the same peers on the confirming half"
    return f"{name_of(other)}, does as well on the selecting half{instead}; the default weights were kept."


def time_sentence(store: Store) -> str:
    """Seconds of a fit of the chosen setting, on its quickest and its slowest set."""
    setting = chosen(store)
    found = {case: store.get("study", case, *setting) for case in STUDY} if setting else {}
    seconds = {case: mean(r["seconds"] for r in result["records"]) for case, result in found.items() if result}
    if not seconds:
        return "No results of the study are stored."
    low, high = min(seconds, key=seconds.__getitem__), max(seconds, key=seconds.__getitem__)
    return f"A fit took from {seconds[low]:.2g} s ({low}) to {seconds[high]:.2g} s ({high}) on two cores."


TABLES: dict[str, Callable[[Store], str]] = {
    "verdict": verdict,
    "ranks": rank_table,
    "candidates": candidates_table,
    "study-purity": lambda store: score_table(store, "purity"),
    "study-ari": lambda store: score_table(store, "ari"),
    "study-time": time_sentence,
}
