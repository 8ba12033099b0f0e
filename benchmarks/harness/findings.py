"""Sentences that follow from the stored results: what is reproduced, what is lowest, and where it is not."""

from __future__ import annotations

from ..suites.graphs import GRAPH_METHODS
from ..suites.tables import OURS, SETS, TABLE_METHODS
from . import paper
from .cases import GRAPHS
from .markdown import best
from .methods import METHODS
from .store import Store

LINKAGES = ("single", "average", "complete", "ward")
SAME_FILES = ("zoo", "glass", "segmentation")  # the paper's iris and spambase differ from today's files
SCALE = 1e-9  # costs this close, relatively, are equal: they are sums in another order


def findings(store: Store) -> str:
    """A list in Markdown."""
    return "\n".join(f"- {line}" for line in (*_linkages(store), *_near(store), *_lowest(store), *_graphs(store)))


def _linkages(store: Store) -> list[str]:
    found, wrong = 0, []
    for name in SAME_FILES:
        for method in LINKAGES:
            record = best(store.get("tables", name, "cosine", method))
            if record is not None:
                found += 1
                measured = f"{record['cost'] / 10 ** paper.EXPONENT[name]:.3f}"
                if measured != paper.COST[method, name]:
                    wrong.append(f"{METHODS[method].label} on {name}")
    if not found:
        return []
    if wrong:
        return [f"Linkages that differ from the paper's printed digits: {', '.join(wrong)}."]
    return [f"All {found} linkage costs on zoo, glass and segmentation equal the paper's to every printed digit."]


def _near(store: Store) -> list[str]:
    """BKM and UFit relative to the paper's rows."""
    lines = []
    for method in ("bkm", "ufit"):
        shares = []
        for name in SETS:
            record = best(store.get("tables", name, "cosine", method))
            if record is not None and (method, name) in paper.COST:
                printed = float(paper.COST[method, name]) * 10 ** paper.EXPONENT[name]
                shares.append(f"{name} {100 * (record['cost'] / printed - 1):+.2f} %")
        if shares:
            lines.append(f"{METHODS[method].label}, cost relative to the paper's row: {', '.join(shares)}.")
    return lines


def _lowest(store: Store) -> list[str]:
    won, lost = [], []
    for name in SETS:
        costs = {m: r["cost"] for m in TABLE_METHODS if (r := best(store.get("tables", name, "cosine", m)))}
        if "hyphc" not in costs:
            continue
        rival = min((m for m in costs if m not in OURS), key=costs.__getitem__, default=None)
        least = min(costs.values())
        if costs["hyphc"] <= least * (1 + SCALE):
            gain = f" ({100 * (1 - costs['hyphc'] / costs[rival]):.2g} % below {METHODS[rival].label})" if rival else ""
            won.append(f"{name}{gain}")
        else:
            winner = min(costs, key=costs.__getitem__)
            lost.append(f"{name}, where {METHODS[winner].label} is {100 * (1 - least / costs['hyphc']):.3f} % lower")
    lines = [f"HypHC has the lowest cost on: {'; '.join(won)}."] if won else []
    return lines + ([f"It has not on: {'; '.join(lost)}."] if lost else [])


def _graphs(store: Store) -> list[str]:
    lines = []
    for name in GRAPHS:
        costs = {m: r["cost"] for m in GRAPH_METHODS if (r := best(store.get("graphs", name, "edges", m)))}
        if len(costs) > 1:
            first, second = sorted(costs, key=costs.__getitem__)[:2]
            share = 100 * (1 - costs[first] / costs[second])
            lines.append(
                f"On {name} {METHODS[first].label} is lowest, {share:.1f} % below {METHODS[second].label}, the next."
            )
    return lines
