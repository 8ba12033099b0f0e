"""Stored results → PNG figures, in colours that the colour-blind can tell apart (Okabe & Ito)."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.ticker import FuncFormatter, NullFormatter
from PIL import Image
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from tests.system.soak.figure import draw_soak

from ..suites.curves import CURVES, LABELS, STARTS, curves_of, lowest_cost, middle_curve
from ..suites.speed import GRAPHS, KINDS, PEERS, SETS, lowest, middle, results_of, slope, times_of
from ..suites.speed import LABELS as WHO
from ..suites.subsets import SETS as CERTIFIED
from ..suites.support import LABELS as PLANTED
from ..suites.support import reliability
from ..suites.toys import COLUMNS, ONE_CLASS, ROWS, found_words
from .cases import DECODED
from .points import points
from .store import Store

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
TOY_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
NOISE, SHADES = "#b8b8b8", 20
MARKERS = "osv^DPX"
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
STYLES = ("-", "--", "-.", ":", (0, (5, 1)))


def draw_all(store: Store, home: Path) -> None:
    """Every figure whose results are stored."""
    draw_curves(store, home / "bench_ablation.png")
    draw_triplets(store, home / "bench_triplets.png")
    draw_snapshots(store, home / "bench_embeddings.png")
    draw_toys(store, home / "toys.png")
    draw_speed(store, home / "bench_speed.png")
    draw_growth(store, home / "bench_growth.png")
    draw_reliability(store, home / "support_reliability.png")
    draw_subsets(store, home / "gap_against_k.png")
    draw_soak(store, home / "soak.png")


def draw_curves(store: Store, path: Path) -> None:
    """Cost above the lowest found against time, a panel a set, a line a way to begin: the middle one of three seeds."""
    panels = [(name, curves) for name in CURVES if (curves := curves_of(store, name))]
    if not panels:
        return
    n_rows = -(-(len(panels) + 1) // 3)
    figure, axes = plt.subplots(n_rows, 3, figsize=(10.8, 3.4 * n_rows), squeeze=False, layout="constrained")
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (name, curves) in zip(axes.flat, panels, strict=False):
        least = lowest_cost(list(curves.values()))
        for k, start in enumerate(STARTS):
            if start in curves:
                seconds, costs = np.array(middle_curve(curves[start])).T
                excess = 100 * (costs / least - 1)
                axis.step(seconds, excess, where="post", color=COLOURS[k], linestyle=STYLES[k])
                axis.plot(seconds[-1], excess[-1], marker=MARKERS[k], color=COLOURS[k], clip_on=False)
        axis.set(xscale="log", xlabel="seconds", title=f"{name} (n = {next(iter(curves.values()))['n']})")
        axis.set_yscale("symlog", linthresh=0.01)
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(PLAIN)
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("cost above the lowest found, %")
    handles = [
        plt.Line2D([], [], color=COLOURS[k], linestyle=STYLES[k], marker=MARKERS[k], label=LABELS[start])
        for k, start in enumerate(STARTS)
    ]
    axes.flat[len(panels)].legend(handles=handles, loc="center", frameon=False)  # one panel is kept free for it
    _save(figure, path)


def draw_reliability(store: Store, path: Path) -> None:
    """The share of clusters that are planted against their support, in bins; the area of a mark is the number of clusters."""
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 4.2), sharey=True, layout="constrained")
    drawn = False
    for axis, which in zip(axes, ("share", "transfer"), strict=True):
        axis.plot([0, 1], [0, 1], color="0.7", linestyle=":", linewidth=1)
        for k, (case, label) in enumerate(PLANTED.items()):
            counts, real = reliability(store, case, which)
            filled = counts > 0
            if real.sum() == 0:
                continue
            drawn = True
            middles = (np.arange(len(counts))[filled] + 0.5) / len(counts)
            shares = real[filled] / counts[filled]
            axis.plot(middles, shares, color=COLOURS[k], linestyle=STYLES[k], label=label)
            axis.scatter(middles, shares, s=4 * np.sqrt(counts[filled]) + 8, color=COLOURS[k], marker=MARKERS[k])
        axis.set(xlim=(0, 1), ylim=(-0.02, 1.02), xlabel=f"support, {which}")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("share of clusters that are planted")
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    if drawn:
        _save(figure, path)


def draw_subsets(store: Store, path: Path) -> None:
    """What the certificate says against the leaves of a subset: the fitted tree with its interval, average linkage dotted."""
    figure, axis = plt.subplots(figsize=(6.2, 4.2), layout="constrained")
    for colour, case in zip(COLOURS, CERTIFIED, strict=False):
        for method, style in (("hyphc", "-"), ("average linkage", ":")):
            result = store.get("subsets", case, "cosine", method)
            if result is None or not result["records"]:
                plt.close(figure)
                return
            k, gap, low, high = (
                np.array([record[name] for record in result["records"]]) for name in ("k", "gap", "low", "high")
            )
            axis.plot(k, 100 * gap, color=colour, linestyle=style, label=case if style == "-" else None)
            if style == "-":
                axis.fill_between(k, 100 * low, 100 * high, color=colour, alpha=0.15, linewidth=0)
    axis.set(xlabel="leaves of a subset, k", ylabel="at most … % above the best tree")
    axis.set_ylim(bottom=0)
    axis.legend(title="default fit (average linkage dotted)", frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def draw_speed(store: Store, path: Path) -> None:
    """Cost above the lowest known against time, a panel a set: ours as a line, peers as the point where they end."""
    cases = [(name, "cosine") for name in SETS] + [(name, "edges") for name in GRAPHS]
    panels = [(name, kind, found) for name, kind in cases if "hyphc" in (found := results_of(store, name, kind))]
    if not panels:
        return
    figure, axes = plt.subplots(2, 3, figsize=(10.8, 6.8), squeeze=False, layout="constrained")
    colours = dict(zip(WHO, COLOURS, strict=True))
    for axis, (name, _, found) in zip(axes.flat, panels, strict=False):
        least = lowest(found)
        for k, who in enumerate(WHO):
            if who in found:
                seconds, costs = np.array(middle(found[who])["curve"]).T
                excess = 100 * (costs / least - 1)
                if len(seconds) > 1:
                    axis.step(seconds, excess, where="post", color=colours[who])
                axis.plot(seconds[-1], excess[-1], MARKERS[k], color=colours[who], label=WHO[who], clip_on=False)
        axis.set(xscale="log", xlabel="seconds", title=f"{name} (n = {next(iter(found.values()))['n']})")
        axis.set_yscale("symlog", linthresh=0.01)
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(PLAIN)
        axis.xaxis.set_minor_formatter(
            NullFormatter()
        )  # where seconds span less than a decade, their labels would collide
        axis.grid(alpha=0.3)
    for axis in axes[:, 0]:
        axis.set_ylabel("cost above the lowest known, %")
    for axis, place in ((axes[0, -1], "center right"), (axes[1, 0], "lower left")):  # methods are the same in a row
        axis.legend(fontsize="x-small", frameon=False, loc=place)
    _save(figure, path)


def draw_growth(store: Store, path: Path) -> None:
    """Seconds against n on planted data, a panel a kind of similarity, with the power of n at the end of each line."""
    if not any(times_of(store, kind, "hyphc") for kind in KINDS):
        return
    figure, axes = plt.subplots(1, 3, figsize=(10.8, 3.8), sharey=True, layout="constrained")
    colours = dict(zip(WHO, COLOURS, strict=True))
    for axis, (kind, words) in zip(axes, KINDS.items(), strict=True):
        for k, who in enumerate(WHO):
            times = times_of(store, kind, who) if who == "hyphc" or who in PEERS[kind] else {}
            if times:
                power = slope(times)
                label = WHO[who] if power is None else f"{WHO[who]}: n^{power:.2f}"
                axis.plot(list(times), list(times.values()), marker=MARKERS[k], color=colours[who], label=label)
        axis.set(xscale="log", yscale="log", xlabel="points", title=words)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="x-small", frameon=False)
    axes[0].set_ylabel("seconds")
    _save(figure, path)


def draw_triplets(store: Store, path: Path) -> None:
    """Cost against the number of triplets."""
    found = [(name, result) for name in DECODED if (result := store.get("triplets", name, "cosine", "triplets"))]
    found = [(name, result) for name, result in found if result["records"]]
    if not found:
        return
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for k, (name, result) in enumerate(found):
        groups: dict[int, list[dict[str, Any]]] = {}
        for record in result["records"]:
            groups.setdefault(record["budget"], []).append(record)
        least = min(record["cost"] for record in result["records"])
        budgets = np.array(sorted(groups))
        excess = [100 * (median(r["cost"] for r in groups[b]) / least - 1) for b in budgets]
        axes.plot(
            budgets / result["n"] ** 2, excess, color=COLOURS[k], marker=MARKERS[k], label=f"{name} (n = {result['n']})"
        )
    axes.set(xscale="log", xlabel="triplets / n²", ylabel="cost above the lowest of the line, %")
    axes.set_yscale("symlog", linthresh=0.1)
    axes.set_ylim(0, 2 * axes.dataLim.y1)  # room for the markers at the top
    axes.yaxis.set_major_formatter(PLAIN)
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    _save(figure, path)


def draw_snapshots(store: Store, path: Path) -> None:
    """Leaves in the Poincaré disk during training, coloured by class; below, the same with the leaves spaced evenly."""
    result = store.get("snapshots", "zoo", "cosine", "snapshots")
    if not result or not result["records"]:
        return
    records = result["records"]
    figure, axes = plt.subplots(2, len(records), figsize=(2.5 * len(records), 6.0), layout="constrained")
    for (above, below), record in zip(axes.T, records, strict=True):
        points, labels = np.array(record["points"]), np.array(record["labels"])
        _disk(above, points, labels)
        _disk(below, _evenly_spaced(points), labels)
        above.set_title(
            f"step {record['iteration'] + 1} of {record['of']}\ncost {record['cost'] / 1e5:.4f} · 10⁵", size=10
        )
    figure.get_layout_engine().set(rect=(0.025, 0, 0.975, 1))  # room for the names of the rows
    figure.text(0.005, 0.74, "as embedded", rotation=90, va="center")
    figure.text(0.005, 0.30, "in the same order, evenly", rotation=90, va="center")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    _save(figure, path)


def _disk(axis: plt.Axes, points: np.ndarray, labels: np.ndarray) -> None:
    axis.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.6"))
    for k in range(labels.max() + 1):
        axis.scatter(*points[labels == k].T, s=20, color=COLOURS[k], marker=MARKERS[k], label=f"class {k + 1}")
    axis.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    axis.axis("off")


def draw_toys(store: Store, path: Path) -> None:
    """scikit-learn's comparison: a row a toy set, a column a method; noise in grey, the adjusted Rand index below."""
    found = {(case, method): store.get("toys", case, "auto", method) for case in ROWS for method, _, _ in COLUMNS}
    if not all(result and result["records"] for result in found.values()):
        return
    size = (1.75 * len(COLUMNS), 1.8 * len(ROWS) + 0.5)
    figure, axes = plt.subplots(len(ROWS), len(COLUMNS), figsize=size, layout="constrained")
    for case, row in zip(ROWS, axes, strict=True):
        data = points(case)
        for (method, which, title), axis in zip(COLUMNS, row, strict=True):
            record = found[case, method]["records"][0]
            clusters = np.array(record[which].split(), dtype=np.int64)
            _clusters(axis, data.rows, _like(clusters, data.labels))
            axis.set_xlabel(_caption(case, which, record), size=9, color="0.25", labelpad=3)
            if case == ROWS[0]:
                name, number = title.split("\n")
                axis.set_title(f"{name}\n", size=12, weight="bold" if method == "ours" else "normal", pad=4)
                axis.text(0.5, 1.04, number, transform=axis.transAxes, ha="center", size=9, color="0.35")
        row[0].set_ylabel("no structure" if case == "noise" else case.replace("-", " "), size=11)
    figure.get_layout_engine().set(w_pad=0.03, h_pad=0.04, wspace=0.0, hspace=0.0)
    _save(figure, path)
    with Image.open(path) as picture:
        _with_few_colours(picture).save(path, optimize=True)


def _with_few_colours(picture: Image.Image) -> Image.Image:
    """Every pixel in the nearest of the colours of the points and of their steps to white: a quarter of the file."""
    full = np.array([to_rgb(colour) for colour in (*TOY_COLOURS, NOISE)])
    shades = np.round(255 * (1.0 + np.linspace(0.0, 1.0, SHADES)[:, None, None] * (full - 1.0))).reshape(-1, 3)
    pixels = np.asarray(picture.convert("RGB"))
    colours, which = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    nearest = cdist(colours, shades).argmin(axis=1).astype(np.uint8)
    few = Image.fromarray(nearest[which].reshape(pixels.shape[:2]), "P")
    few.putpalette(shades.astype(np.uint8).ravel().tolist())
    return few


def _clusters(axis: plt.Axes, rows: np.ndarray, clusters: np.ndarray) -> None:
    noise = clusters < 0
    axis.scatter(*rows[noise].T, s=6, color=NOISE, linewidths=0)
    colours = np.array(TOY_COLOURS)[clusters[~noise] % len(TOY_COLOURS)]
    axis.scatter(*rows[~noise].T, s=8, c=colours, linewidths=0)
    axis.set(xticks=[], yticks=[])
    axis.margins(0.06)
    for spine in axis.spines.values():
        spine.set_color("0.8")


def _like(clusters: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The same clusters, numbered so that as many points as can be have the number of their class; −1 stays."""
    n_clusters, n_classes = clusters.max() + 1, classes.max() + 1
    shared = np.zeros((n_clusters, max(n_clusters, n_classes)), dtype=np.int64)
    np.add.at(shared, (clusters[clusters >= 0], classes[clusters >= 0]), 1)
    number = linear_sum_assignment(-shared)[1]
    return np.where(clusters < 0, -1, number[clusters])


def _caption(case: str, which: str, record: dict[str, Any]) -> str:
    if which == "found" and case in ONE_CLASS:
        return f"found {found_words(record)}"
    if which == "found":
        return f"found {record['n_clusters']} · ARI {_hundredths(record['auto_ari'])}"
    return "asked for 3" if case in ONE_CLASS else f"ARI {_hundredths(record['ari'])}"


def _hundredths(value: float) -> str:
    return f"{value if abs(value) >= 0.005 else 0.0:.2f}"


def _evenly_spaced(points: np.ndarray) -> np.ndarray:
    """The same radii and the same order around the circle, with equal gaps."""
    place = np.argsort(np.argsort(np.arctan2(points[:, 1], points[:, 0])))
    angles = 2 * np.pi * place / len(points)
    return np.linalg.norm(points, axis=1)[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def _save(figure: plt.Figure, path: Path) -> None:
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
