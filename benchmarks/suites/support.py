"""Bootstrap support of planted groups and of noise, and its time.

pvclust's p-value is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from hyphc import HypHC, Tree, as_similarity, datasets, refine, support
from hyphc._runtime.parallel import thread_map
from hyphc._runtime.run_control import Clock
from hyphc.bootstrap_support import Draw, Support, _compare, _refit, _summarize, draw_columns
from sklearn.metrics import roc_auc_score

from ..harness.cells import blood_cells
from ..harness.markdown import NOTHING, table
from ..harness.multiscale import approximately_unbiased
from ..harness.sources import METHOD
from ..harness.store import Store
from ..harness.task import MINUTE, Record, Task
from ..harness.timing import timed

SOURCES = (*METHOD, "bootstrap_support.py")
GROUPS, SIZE = 16, 8  # groups of so many points
DECAY, SPREAD = 0.75, 0.5
SEEDS, REFITS = 6, 100
# columns that tell groups apart, and columns of noise for each of them
PLANTED = {"planted-1": (32, 1), "planted-4": (32, 4), "wide-1": (128, 1), "wide-4": (128, 4), "noise": (32, 1)}
SCALES, SCALED_SEEDS = (0.5, 0.71, 1.0, 1.41, 2.0), 2  # sizes of draws for pvclust's p-value
REAL = ("zoo", "wine", "pbmc68k_reduced", "digits")
LARGER = 2  # leaves: clusters of more are also judged by themselves
HIGH = 0.95
BINS = 10
LABELS = {
    "planted-1": "32 columns, as many of noise",
    "planted-4": "32 columns, four times as many of noise",
    "wide-1": "128 columns, as many of noise",
    "wide-4": "128 columns, four times as many of noise",
    "noise": "64 columns of noise alone",
}
WAYS = {"scratch": "from scratch", "warm": "from the tree", "sweeps": "from the tree, sweeps alone"}


def tasks() -> list[Task]:
    calibration = [Task("support", case, "columns", "scratch", 30 * MINUTE) for case in PLANTED]
    warm = [
        Task("support", case, "columns", way, 30 * MINUTE)
        for case in ("planted-1", "noise")
        for way in ("warm", "sweeps")
    ]
    scaled = [Task("support", case, "columns", "multiscale", 60 * MINUTE) for case in ("planted-1", "noise")]
    return [*calibration, *warm, *scaled, *(Task("support", case, "columns", "default", 60 * MINUTE) for case in REAL)]


def records(task: Task) -> Iterator[Record]:
    """Support of the clusters of fitted trees, by whether they are planted; of real data, how many are sure, and the seconds."""
    if task.method == "default":
        yield from _real_data(task.case)
        return
    yield {"n": GROUPS * SIZE}
    for seed in range(SCALED_SEEDS if task.method == "multiscale" else SEEDS):
        X, planted = _planted(seed, *PLANTED[task.case], task.case == "noise")
        tree = HypHC(random_state=0).fit(X).tree_
        is_real = np.array([leaves in planted for leaves in _leaf_sets(tree)])[:-1]
        if task.method == "multiscale":
            values = {"au": _unbiased(tree, X)}
        else:
            found = _supported(tree, X, task.method)
            values = {"share": found.share[:-1], "transfer": found.transfer[:-1]}
        yield {"seed": seed, **_judged(values, is_real, np.asarray(tree.sizes[tree.n_leaves : -1]))}


def _planted(
    seed: int, columns: int, noise: int, is_noise: bool
) -> tuple[npt.NDArray[np.float64], set[frozenset[int]]]:
    """Points in groups along a planted tree with columns of noise, and its clusters, the groups among them; or noise alone."""
    rng = np.random.default_rng(seed)
    if is_noise:
        return rng.normal(size=(GROUPS * SIZE, (1 + noise) * columns)), set()
    centres = datasets.planted(
        GROUPS, columns, n_classes=2, decay=DECAY, noise=0.0, random_state=seed, dtype=np.float64
    )
    group = np.repeat(np.arange(GROUPS), SIZE)
    X = centres.data[group] + SPREAD * rng.normal(size=(len(group), columns))
    X = np.hstack([X, X.std(axis=0).mean() * rng.normal(size=(len(X), noise * columns))])
    clusters = [frozenset(np.flatnonzero(group == g).tolist()) for g in range(GROUPS)]
    for a, b in centres.tree.children:
        clusters.append(clusters[a] | clusters[b])
    return X, set(clusters)


def _leaf_sets(tree: Tree) -> list[frozenset[int]]:
    sets = [frozenset([leaf]) for leaf in range(tree.n_leaves)]
    for a, b in tree.children:
        sets.append(sets[a] | sets[b])
    return sets[tree.n_leaves :]


def _supported(tree: Tree, X: npt.NDArray[np.float64], way: str) -> Support:
    if way == "scratch":
        return support(tree, X, n_resamples=REFITS, random_state=1, n_jobs=-1)
    refits = []
    for seed in range(REFITS):
        drawn, points = draw_columns(X, np.random.default_rng(seed))
        start = tree.with_leaves_numbered(np.argsort(points))
        sweeps = None if way == "warm" else 100
        found = refine(start, as_similarity(drawn), random_state=seed, max_sweeps=sweeps)
        refits.append(_compare(tree, found, points, False))
    return _summarize(tree, refits, "columns", False)


def _unbiased(tree: Tree, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """pvclust's p-value of each cluster, from refits at each scale."""
    shares, model = [], HypHC(n_jobs=1)
    for scale in SCALES:

        def draw(data: npt.NDArray[np.float64], rng: np.random.Generator, scale: float = scale) -> Draw:
            points, columns = rng.permutation(len(data)), rng.integers(data.shape[1], size=round(scale * data.shape[1]))
            return data[points][:, columns], points

        seeds = (round(100 * scale) * REFITS + np.arange(REFITS)).tolist()
        refits = thread_map(
            lambda seed, draw=draw: _compare(tree, *_refit(model, draw, X, None, seed, Clock()), False), seeds, -1
        )
        shares.append(_summarize(tree, refits, "columns", False).share[:-1])
    return approximately_unbiased(np.array(shares), np.array(SCALES), REFITS)


def _judged(
    found: dict[str, npt.NDArray[np.float64]], is_real: npt.NDArray[np.bool_], sizes: npt.NDArray[np.int64]
) -> Record:
    """Areas under the curve, shares that reach ``HIGH``, and clusters and real ones by their support, in bins."""
    judged: Record = {"clusters": len(is_real), "real": int(is_real.sum())}
    larger = sizes > LARGER
    for name, values in found.items():
        place = np.minimum((values * BINS).astype(int), BINS - 1)
        judged[name] = {
            "auc": float(roc_auc_score(is_real, values)) if is_real.any() else None,
            "auc_larger": float(roc_auc_score(is_real[larger], values[larger])) if is_real.any() else None,
            "mean": float(values.mean()),
            "high": float((values >= HIGH).mean()),
            "high_real": int((is_real & (values >= HIGH)).sum()),
            "bins": np.bincount(place, minlength=BINS).tolist(),
            "real_bins": np.bincount(place, is_real, minlength=BINS).astype(int).tolist(),
        }
    return judged


def _real_data(case: str) -> Iterator[Record]:
    X = blood_cells() if case == "pbmc68k_reduced" else datasets.load(case).data
    yield {"n": len(X)}
    model = HypHC(random_state=0).fit(X)
    support(model.tree_, X, n_resamples=1, random_state=0)  # compiles
    found, seconds = timed(lambda: support(model.tree_, X, n_resamples=REFITS, random_state=0, n_jobs=-1))
    clusters = model.tree_.clusters(model.n_clusters_)
    sure = int((found.transfer[:-1] >= 0.8).sum())
    yield {"seconds": seconds, "flat": len(clusters), "stable": found.n_stable(clusters), "sure": sure}


def pooled(store: Store, case: str, way: str, which: str) -> dict[str, float] | None:
    """Means over the seeds of a case."""
    result = store.get("support", case, "columns", way)
    if result is None or not result["records"]:
        return None
    records = [record[which] for record in result["records"]]
    means = {name: float(np.mean([record[name] for record in records])) for name in ("mean", "high")}
    areas = {name: [one[name] for one in records if one.get(name) is not None] for name in ("auc", "auc_larger")}
    return {**means, **{name: float(np.mean(values)) for name, values in areas.items() if values}}


def reliability(store: Store, case: str, which: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Clusters, and planted ones among them, by their support, in bins of equal width from 0 to 1; all seeds together."""
    result = store.get("support", case, "columns", "scratch")
    records = [record[which] for record in result["records"]] if result else []
    counts, real = (np.sum([record[name] for record in records], axis=0) for name in ("bins", "real_bins"))
    return np.resize(counts, BINS).astype(np.int64), np.resize(real, BINS).astype(np.int64)


def calibration_table(store: Store) -> str:
    """Areas under the curve, and what reaches 0.95."""
    rows = []
    for case in PLANTED:
        share, transfer = (pooled(store, case, "scratch", which) for which in ("share", "transfer"))
        if share is None or transfer is None:
            continue
        areas = [found.get(name) for found in (share, transfer) for name in ("auc", "auc_larger")]
        cells = [NOTHING if area is None else f"{area:.3f}" for area in areas]
        rows.append([LABELS[case], *cells, *(f"{100 * found['high']:.1f} %" for found in (share, transfer))])
    header = [
        "data",
        "AUC, share",
        "of more than 2",
        "AUC, transfer",
        "of more than 2",
        "share ≥ 0.95",
        "transfer ≥ 0.95",
    ]
    return table(header, rows, "support")


def warm_table(store: Store) -> str:
    """Mean support where there is nothing to find, by how refits begin."""
    rows = []
    for way, label in WAYS.items():
        cells = []
        for case in ("noise", "planted-1"):
            found = [pooled(store, case, way, which) for which in ("share", "transfer")]
            cells += ["–" if one is None else f"{one['mean']:.3f}" for one in found]
            if case == "planted-1":
                cells += ["–" if one is None else f"{one['auc']:.3f}" for one in found]
        rows.append([label, *cells])
    header = ["refits begin", "noise: share", "transfer", "planted: share", "transfer", "AUC, share", "AUC, transfer"]
    return table(header, rows, "support")


def multiscale_table(store: Store) -> str:
    """What pvclust's p-value says beside the share that it is made from."""
    rows = []
    for case in ("planted-1", "noise"):
        result = store.get("support", case, "columns", "multiscale")
        if not result or not result["records"]:
            continue
        found, records = pooled(store, case, "multiscale", "au"), result["records"]
        assert found is not None
        n_high = sum(round(record["au"]["high"] * record["clusters"]) for record in records)
        real = sum(record["au"]["high_real"] for record in records)
        area = f"{found['auc']:.3f}" if "auc" in found else NOTHING
        rows.append([LABELS[case], area, f"{100 * found['high']:.1f} %", f"{n_high - real} of {n_high}"])
    return table(["data", "AUC", "clusters with p ≥ 0.95", "of these chance"], rows, "support")


def seconds_table(store: Store) -> str:
    """What a hundred refits take, and what they say."""
    rows = []
    for case in REAL:
        result = store.get("support", case, "columns", "default")
        if result and result["records"]:
            one = result["records"][0]
            stable = f"{one['stable']} of {one['flat']}"
            rows.append(
                [f"{case} ({result['n']})", f"{one['seconds']:.1f}", stable, f"{one['sure']} of {result['n'] - 2}"]
            )
    header = ["set (points)", "seconds, 100 refits", "flat clusters ≥ 0.8", "all clusters ≥ 0.8"]
    return table(header, rows, "support")


TABLES: dict[str, Callable[[Store], str]] = {
    "calibration": calibration_table,
    "warm-starts": warm_table,
    "multiscale": multiscale_table,
    "support-seconds": seconds_table,
}
