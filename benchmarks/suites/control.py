"""Released settings beside the authors' code; what each step is worth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import mean
from typing import NamedTuple

from hyphc import embed
from hyphc.continuous.paper_presets import PROTOCOLS, Protocol
from hyphc.similarity import Similarity

from ..harness import paper
from ..harness.cases import Case
from ..harness.markdown import NOTHING, table
from ..harness.sources import METHOD
from ..harness.store import Result, Store
from ..harness.task import MINUTE, Record, Task

SOURCES = METHOD
CASES = ("zoo", "iris", "glass")  # those whose settings the authors released
RELEASED, SEEDS = "released", 20
FEWER_SEEDS = 5  # of all else
PAPER, OWN = "paper", "own"
DIGITS = 4


class Step(NamedTuple):
    """A step of the protocol: what each of four descriptions says, and the one that is tried in place of the released."""

    label: str
    text: str
    released: str
    preset: str
    own: str
    tried: str = NOTHING
    change: Callable[[Protocol], Protocol] | None = None


def _one_third(protocol: Protocol) -> Protocol:
    return replace(protocol, settings=tuple(one._replace(thirds_per_pair=1.0) for one in protocol.settings))


STEPS = {
    "thirds": Step(
        "third points a pair", "1", "20, 4.5, 39", "as either", "all triplets of blocks of 256", "1", _one_third
    ),
    "repeat": Step(
        "third point",
        "outside the pair",
        "any",
        "as either",
        "outside the pair",
        "outside the pair",
        lambda protocol: replace(protocol, third_may_repeat=False),
    ),
    "redraw": Step(
        "triplets",
        "drawn once",
        "drawn once, reshuffled",
        "drawn once, reshuffled",
        "new blocks every pass",
        "drawn every epoch",
        lambda protocol: replace(protocol, redraw=True),
    ),
    "start": Step(
        "start of the leaves",
        "not said",
        "uniform, near the origin",
        "uniform on (−0.05, 0.05)²",
        "random angles at radius 1",
        "normal, sd 0.05",
        lambda protocol: replace(protocol, start="normal"),
    ),
    "scale": Step(
        "learned scale moves",
        "not said",
        "as a point of the 1-d ball",
        "as a point of the 1-d ball",
        "not learned: radius 1 to 10",
        "as a number, by Adam",
        lambda protocol: replace(protocol, scale="euclidean"),
    ),
    "init-scale": Step(
        "learned scale starts at",
        "not said",
        "0.05",
        "0.05",
        NOTHING,
        "0.5",
        lambda protocol: replace(protocol, init_scale=0.5),
    ),
    "beta2": Step(
        "Adam's β₂", "not said", "0.999", "0.999", "0.99", "0.99", lambda protocol: replace(protocol, beta2=0.99)
    ),
    "counter": Step(
        "counter of Adam's bias correction",
        "not said",
        "about 4 a step",
        "1 a step",
        "1 a step",
        "4 a step",
        lambda protocol: replace(protocol, counted=4),
    ),
    "rate": Step(
        "learning rate",
        "not said",
        "halved with the temperature",
        "as either",
        "0.3 to 0.0005",
        "constant",
        lambda protocol: replace(protocol, anneal_rate=False),
    ),
    "setting": Step("settings", "best of 9, by cost", "one for each set", "as either", "one for all sets"),
    "decoding": Step(
        "decoding", "Algorithm 1, or greedy by angles", "union-find on partly sorted depths", "exact", "exact"
    ),
}


def tasks() -> list[Task]:
    methods = (RELEASED, PAPER, OWN, *(name for name, step in STEPS.items() if step.change))
    return [Task("control", case, "cosine", method, 15 * MINUTE) for method in methods for case in CASES]


def records(task: Task) -> Iterator[Record]:
    """Cost over ordered pairs, triplets and CPU seconds on one thread, for each seed."""
    similarity = Case(task.case).similarity(task.kind)
    yield {"n": similarity.n}
    preset = protocol_of(task.method, task.case)
    embed(similarity, preset=preset, max_iter=1, random_state=0, n_jobs=1)  # compiles
    for seed in range(SEEDS if task.method == RELEASED else FEWER_SEEDS):
        yield {"seed": seed, **_run(similarity, preset, seed)}


def protocol_of(method: str, case: str) -> Protocol | None:
    """Return the protocol of a task: the set's released one, with one step changed if the method is a step."""
    if method == OWN:
        return None
    if method == PAPER:
        return PROTOCOLS["paper"]
    released = PROTOCOLS[f"released-{case}"]
    change = STEPS[method].change if method in STEPS else None
    return change(released) if change else released


def _run(similarity: Similarity, preset: Protocol | None, seed: int) -> Record:
    begin = time.process_time()
    result = embed(similarity, preset=preset, random_state=seed, n_jobs=1)
    return {"cost": 2 * result.cost, "triplets": result.n_triplets, "cpu_seconds": time.process_time() - begin}


def control_table(store: Store) -> str:
    """Costs of the authors' code and of the presets, and CPU time a million triplets."""
    rows = [["printed in the paper", *(paper.COST["hyphc-paper", case] for case in CASES)]]
    for label, costs in (
        ("the authors' code, released settings, 3 seeds", paper.AUTHORS_RELEASED),
        ('preset "released-…", 20 seeds', _costs(store, RELEASED)),
        ("the authors' code, the paper's grid, all pairs, 2 seeds", paper.AUTHORS_GRID),
        ('preset "paper", 5 seeds', _costs(store, PAPER)),
        ("our own schedule, `embed(similarity)`, 5 seeds", _costs(store, OWN)),
    ):
        rows.append([label, *(_range(costs.get(case, [])) for case in CASES)])
    rates = {case: _rate(store.get("control", case, "cosine", RELEASED)) for case in CASES}
    if not all(rates.values()):
        return table([], [], "control")
    authors = [f"{paper.AUTHORS_SECONDS[case]:.1f}" for case in CASES]
    rows.append(["CPU seconds a million triplets, the authors' code", *authors])
    rows.append(['CPU seconds a million triplets, preset "released-…"', *(f"{rates[case]:.3f}" for case in CASES)])
    return table(
        ["mean (least – largest)", *(f"{case} · 10^{paper.EXPONENT[case]}" for case in CASES)], rows, "control"
    )


def _costs(store: Store, method: str) -> dict[str, list[float]]:
    found = {case: store.get("control", case, "cosine", method) for case in CASES}
    return {
        case: [record["cost"] / 10 ** paper.EXPONENT[case] for record in result["records"]]
        for case, result in found.items()
        if result
    }


def _range(costs: list[float]) -> str:
    if not costs:
        return NOTHING
    return f"{mean(costs):.{DIGITS}f} ({min(costs):.{DIGITS}f} – {max(costs):.{DIGITS}f})"


def _rate(result: Result | None) -> float | None:
    """Return CPU seconds a million triplets."""
    if result is None or not result["records"]:
        return None
    seconds, triplets = (sum(record[name] for record in result["records"]) for name in ("cpu_seconds", "triplets"))
    return 1e6 * seconds / triplets


def steps_table(store: Store) -> str:
    """What each description says of a step, and by how much the mean cost changes if that step alone is another."""
    rows = []
    base = {case: costs[:FEWER_SEEDS] for case, costs in _costs(store, RELEASED).items()}
    for name, step in STEPS.items():
        costs = _costs(store, name) if step.change else {}
        if step.change and not costs:
            continue
        worth = [_change(costs[case], base[case]) if case in costs else NOTHING for case in CASES]
        rows.append([step.label, step.text, step.released, step.preset, step.own, step.tried, *worth])
    head = ["step", "the paper's text", "released code", "presets", "our own schedule", "tried instead", *CASES]
    return table(head, rows if base else [], "control")


def _change(costs: list[float], base: list[float]) -> str:
    return f"{100 * (mean(costs) / mean(base) - 1):+.2f} %"


TABLES: dict[str, Callable[[Store], str]] = {"control": control_table, "protocol-steps": steps_table}
