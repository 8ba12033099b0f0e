"""The study of similarities: scores of candidates and peers, ranks, and the setting that the selecting half chooses."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from .cases import CONFIRMING, SELECTING, STUDY
from .methods import METHODS
from .plans import CANDIDATES, STUDY_PEERS
from .store import Store
from .tables import NOTHING, markdown

Entry = tuple[str, str]  # kind of similarity, method

OURS: tuple[Entry, ...] = tuple((kind, "hyphc-study") for kind in CANDIDATES)
PEERS: tuple[Entry, ...] = tuple((kind, method) for method, kind in STUDY_PEERS.items())
_KINDS = {"cosine": "cosine", "rbf": "rbf", "rows": "Euclidean"}


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
