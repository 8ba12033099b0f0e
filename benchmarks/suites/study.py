"""Similarities and peers on twelve labelled sets and WordNet.

The sets are divided into a development and a held-out half.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean

from ..harness import clusterers
from ..harness.cases import CONFIRMING, SELECTING, STUDY
from ..harness.clusterers import CANDIDATES, CLUSTERERS, NAMES
from ..harness.markdown import NOTHING, markdown, missing
from ..harness.points import WORDNET
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import DEFAULT_LIMIT, MINUTE, Task
from .toys import found_words

SOURCES = METHOD
Entry = tuple[str, str]  # kind, method

DEFAULT: Entry = ("auto", "ours")
OURS: tuple[Entry, ...] = tuple((kind, "ours") for kind in CANDIDATES)
PEERS: tuple[Entry, ...] = tuple(("auto", method) for method in CLUSTERERS if method != "ours")
LARGE = ("spambase", "letter", WORDNET)  # last, in this order
LIMITS = {"letter": 15 * MINUTE, WORDNET: 15 * MINUTE}
ON_WORDNET: tuple[Entry, ...] = tuple(
    (kind, "ours") for kind in ("auto", "background-0", "background-0.003", "cosine", "cosine-as-given")
)
# a score: its name in records, in words, and the peers that have it
SCORES: dict[str, tuple[str, tuple[str, ...]]] = {
    "purity": ("dendrogram purity", ("ward-flat", "average-flat", "paris-flat")),
    "ari": (
        "ARI at the true number",
        ("kmeans-flat", "ward-flat", "average-flat", "spectral-flat", "genie-flat", "evoc-flat"),
    ),
    "auto_ari": (
        "ARI at the automatic number",
        ("hdbscan-flat", "fast-hdbscan-flat", "evoc-flat", "louvain-flat", "leiden-flat"),
    ),
}


def tasks() -> list[Task]:
    """All sets with all candidates and peers; the large ones last."""
    cases = sorted((*STUDY, WORDNET), key=lambda name: (name in LARGE and 1 + LARGE.index(name), name))
    return [
        Task("study", case, *entry, LIMITS.get(case, DEFAULT_LIMIT))
        for case in cases
        for entry in (DEFAULT, *PEERS, *(ON_WORDNET if case == WORDNET else OURS)[1:])
    ]


records = clusterers.records


def name_of(entry: Entry) -> str:
    kind, method = entry
    label = CLUSTERERS[method].label
    return f"{label}, {NAMES[kind]}" if method == "ours" and entry != DEFAULT else label


def score(store: Store, case: str, entry: Entry, what: str) -> float | None:
    """A score; None without a result, or of a method that has no such score."""
    result = store.get("study", case, *entry)
    return mean(r[what] for r in result["records"]) if result and what in (result["records"] or [{}])[0] else None


def mean_ranks(store: Store, entries: Sequence[Entry], cases: Sequence[str], what: str) -> dict[Entry, float]:
    """Mean rank (1 is best, ties share) over the cases that have any result; what is missing there shares the last rank.

    Scores are equal if they are as printed, in tenths of a per cent.
    """
    ranks: dict[Entry, list[float]] = {entry: [] for entry in entries}
    for case in cases:
        scores = {entry: score(store, case, entry, what) for entry in entries}
        if all(value is None for value in scores.values()):
            continue
        keys = {entry: -1.0 if value is None else round(value, 3) for entry, value in scores.items()}
        for entry, key in keys.items():
            better = sum(other > key for other in keys.values())
            equal = sum(other == key for other in keys.values())
            ranks[entry].append(better + (equal + 1) / 2)
    return {entry: mean(values) for entry, values in ranks.items() if values}


def contenders(what: str) -> tuple[Entry, ...]:
    """The default and the peers that have this score."""
    return (DEFAULT, *(("auto", method) for method in SCORES[what][1]))


def score_table(store: Store, what: str) -> str:
    """A score, in per cent, for each set; development sets first. The best of a column in bold."""
    entries, cases = (*contenders(what), *OURS[1:]), (*SELECTING, *CONFIRMING, WORDNET)
    found = {(e, c): score(store, c, e, what) for e in entries for c in cases}
    top = {c: max((round(v, 3) for e in entries if (v := found[e, c]) is not None), default=None) for c in cases}
    rows = []
    for entry in entries:
        cells = []
        for case in cases:
            value, result = found[entry, case], store.get("study", case, *entry)
            if value is None:
                cells.append(missing(result))
                continue
            text = f"{100 * value:.1f}"
            text = f"**{text}**" if round(value, 3) == top[case] else text
            cells.append(f"{text} ({found_words(result['records'][0])})" if what == "auto_ari" else text)
        rows.append([name_of(entry), *cells])
    return markdown(["", *cases], rows)


def rank_table(store: Store) -> str:
    """Mean ranks of the default against the peers, on both halves, by each score."""
    columns = [mean_ranks(store, contenders(what), half, what) for what in SCORES for half in (CONFIRMING, SELECTING)]
    if not any(columns):
        return "No results of the study are stored."
    rows = [
        [name_of(entry), *(f"{column[entry]:.2f}" if entry in column else NOTHING for column in columns)]
        for entry in (DEFAULT, *PEERS)
    ]
    header = [f"{words}, {half}" for words, _ in SCORES.values() for half in ("held-out", "development")]
    return markdown(["mean rank", *header], rows)


def candidates_table(store: Store) -> str:
    """Mean ranks of our candidates among themselves."""
    columns = [mean_ranks(store, OURS, half, what) for half in (SELECTING, CONFIRMING) for what in SCORES]
    rows = [[name_of(e), *(f"{c[e]:.2f}" if e in c else NOTHING for c in columns)] for e in OURS]
    header = [f"{words}, {half}" for half in ("development", "held-out") for words, _ in SCORES.values()]
    return markdown(["mean rank among candidates", *header], rows)


def verdict(store: Store) -> str:
    """Who has the best mean rank on each half, score by score."""
    lines = []
    for what, (words, _) in SCORES.items():
        told = []
        for half, cases in (("held-out", CONFIRMING), ("development", SELECTING)):
            ranks = mean_ranks(store, contenders(what), cases, what)
            if DEFAULT in ranks:
                told.append(f"on the {half} half {_first(ranks)}")
        if told:
            lines.append(f"- {words[0].upper()}{words[1:]}: {'; '.join(told)}.")
    absent = sorted({task.case for task in tasks() if task not in store})
    if absent and lines:
        lines.append(f"- Not all runs are stored yet for: {', '.join(absent)}.")
    return "\n".join(lines) or "No results of the study are stored."


def _first(ranks: dict[Entry, float]) -> str:
    least = min(ranks.values())
    first = [entry for entry in ranks if ranks[entry] == least]
    names = " and ".join(f"**{name_of(entry)}**" for entry in first)
    verb = "has" if len(first) == 1 else "share"
    ours = "" if DEFAULT in first else f", HypHC {ranks[DEFAULT]:.2f}"
    return f"{names} {verb} the best mean rank of {len(ranks)}, {least:.2f}{ours}"


def triplets_table(store: Store) -> str:
    """Trees of WordNet's nouns: purity by lexicographer file, and agreement with the hypernyms."""
    rows = []
    for entry in (*ON_WORDNET, *(("auto", method) for method in SCORES["purity"][1])):
        result = store.get("study", WORDNET, *entry)
        if result is None or not result["records"]:
            rows.append([name_of(entry), *[missing(result)] * 3])
            continue
        record = result["records"][0]
        scores = [f"{100 * record[what]:.1f}" for what in ("purity", "triplets")]
        rows.append([name_of(entry), *scores, f"{record['seconds']:.3g}"])
    return markdown(["WordNet, 82 115 nouns", "purity", "triplets alike, %", "seconds"], rows)


def time_sentence(store: Store) -> str:
    """Seconds of a default fit, on its quickest and its slowest set."""
    found = {case: store.get("study", case, *DEFAULT) for case in STUDY}
    seconds = {case: r["records"][0]["seconds"] for case, r in found.items() if r and r["records"]}
    if not seconds:
        return "No results of the study are stored."
    low, high = min(seconds, key=seconds.__getitem__), max(seconds, key=seconds.__getitem__)
    cores = " or ".join(sorted({str(r["machine"]["cores"]) for r in found.values() if r}))
    return f"A default fit took from {seconds[low]:.2g} s ({low}) to {seconds[high]:.2g} s ({high}), cores: {cores}."


TABLES: dict[str, Callable[[Store], str]] = {
    "verdict": verdict,
    "ranks": rank_table,
    "candidates": candidates_table,
    "study-purity": lambda store: score_table(store, "purity"),
    "study-ari": lambda store: score_table(store, "ari"),
    "study-found": lambda store: score_table(store, "auto_ari"),
    "wordnet": triplets_table,
    "study-time": time_sentence,
}
