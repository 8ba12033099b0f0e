"""Best known costs: entries of a similarity, a tree, its cost and a bound that no tree undercuts; readers, writers, verification.

An entry is a JSON file beside its tree, ``zoo-cosine.json`` and ``zoo-cosine.npz``; the packings that prove a small graph's bound
are in ``karate-edges-packings.npz``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
import numpy.typing as npt

from .._runtime.arrays import Floats
from .._runtime.atomic_write import atomic_write
from .._runtime.numpy_files import damage_as_value_error
from ..datasets import load
from ..datasets.catalogue import TABLES
from ..datasets.load import DATA_VARIABLE, files_of, find_home, homes
from ..scores.certificate import OptimalityGap, optimality_gap
from ..scores.costs import dasgupta_cost
from ..scores.path_packing import Packing, load_packings, save_packings, verify
from ..scores.spreading_metrics import spreading_bound
from ..similarity import Graph, Similarity, as_similarity, standardize
from ..tree import Tree

PathLike = str | os.PathLike[str]

FORMAT = "hyphc best known 1"
COST_RTOL = 1e-9  # a cost summed in another order differs by some 1e-15
# A bound that is computed again, not read from stored packings: searches for packings and subsets amplify the last digits of
# sums, which differ between machines. 0.14 % was seen.
BOUND_RTOL = 5e-3
PROOF_RTOL = 1e-6  # of stored packings, which are summed again
CHECKSUM_RTOL = 1e-10  # one edge of a million has a larger share of the total weight
# What is not in ``datasets.load``: two graphs of networkx, and a file of images.
NETWORKX = {"karate": ("karate_club_graph", None), "les_miserables": ("les_miserables_graph", "weight")}
MNIST, MNIST_FILE = "mnist", "mnist/mnist.npz"
_BOUND_BY = ("effort", "random_state", "k", "n_subsets", "confidence")
_BUILT_BY = ("metric", "n_neighbors", "edge_weights", "scale", "background", "random_state")


class DataNotAtHand(FileNotFoundError):
    """The data of an entry are not on this machine."""


class AnotherSimilarity(ValueError):
    """The similarity that was built is not that of the entry, so its cost says nothing about the entry."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A cost that no tree undercuts, and how it was found.

    Attributes
    ----------
    value : float
    kind : {"packing", "certain", "statistical"}
        Packings of paths, each of which is verified; another bound that holds for certain; or the end of a confidence interval.
    confidence : float
        1 unless statistical.
    settings : dict
        Arguments that find it again: ``effort`` of packings, the arguments of ``optimality_gap`` otherwise.
    decided_by : str
        ``OptimalityGap.method``.
    stored : bool
        Whether the packings are in a file beside the entry. Others are made again, which gives the same ones.
    """

    value: float
    kind: str
    confidence: float
    settings: dict[str, Any]
    decided_by: str
    stored: bool = False

    @property
    def words(self) -> str:
        """How sure it is."""
        if self.kind == "statistical":
            return f"with {100 * self.confidence:.6g} % confidence, statistical"
        return "for certain, by packings" if self.kind == "packing" else "for certain"


@dataclass(frozen=True, kw_only=True)
class BestKnown:
    """The tree of least cost that is known for a similarity.

    Attributes
    ----------
    name : str
        Stem of its files.
    n : int
        Leaves.
    similarity : dict
        How to build it: ``data``, a name; ``standardize``, if columns are; and arguments of ``as_similarity``.
    checksum : dict
        Of the similarity, see ``checksum``.
    cost : float
        Dasgupta's cost, each pair counted once.
    method, seed, commit :
        What found the tree, and the commit of the package.
    bound : Bound
    """

    name: str
    n: int
    similarity: dict[str, Any]
    checksum: dict[str, float]
    cost: float
    method: str
    seed: int
    commit: str
    bound: Bound

    @property
    def gap(self) -> float:
        """What the tree costs above the bound, as a share of the bound."""
        return self.cost / self.bound.value - 1.0


@dataclass(frozen=True)
class Verified:
    """An entry, and what was computed again: the cost of its tree, and its bound unless that was left out."""

    entry: BestKnown
    cost: float
    bound: float | None


def entry_paths(path: PathLike) -> list[Path]:
    """Return the entry of a file, or the entries of a folder in alphabetical order."""
    given = Path(path)
    if not given.is_dir():
        return [given]
    found = [one for one in sorted(given.glob("*.json")) if is_entry(one)]
    if not found:
        raise ValueError(f"{given} has no entries of best known costs; give a folder such as best_known, or an entry.")
    return found


def is_entry(path: PathLike) -> bool:
    """Return whether a file is an entry, from its first bytes."""
    file = Path(path)
    if file.suffix.lower() != ".json" or not file.is_file():
        return False
    with file.open("rb") as opened:
        return FORMAT.encode() in opened.read(64)


def read_entry(path: PathLike) -> BestKnown:
    """Return an entry of best known costs."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        if stored.pop("format") != FORMAT:
            raise ValueError("it was written by another version")
        entry = BestKnown(**stored | {"bound": Bound(**stored["bound"])})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"{os.fspath(path)} is no entry of best known costs ({error}); expected format {FORMAT!r}."
        ) from None
    if not (isinstance(entry.similarity, dict) and isinstance(entry.similarity.get("data"), str)):
        raise ValueError(f"{os.fspath(path)} does not name its data; expected similarity: {{data: NAME, …}}.")
    for name, value in _numbers_of(entry).items():
        if not (isinstance(value, int | float) and np.isfinite(value)):
            raise ValueError(f"{os.fspath(path)}: {name} is {value!r}, no finite number; get the file again.")
    unknown = sorted(set(entry.bound.settings) - set(_BOUND_BY)) if isinstance(entry.bound.settings, dict) else ["?"]
    if unknown:
        raise ValueError(
            f"{os.fspath(path)}: the bound has a setting {unknown[0]!r}; known are {', '.join(_BOUND_BY)}."
        )
    return entry


def _numbers_of(entry: BestKnown) -> dict[str, Any]:
    """Return what must be numbers in an entry, by name."""
    of_checksum = entry.checksum if isinstance(entry.checksum, dict) else {}
    numbers = {f"checksum {name}": of_checksum.get(name) for name in ("n", "total", "weighted")}
    return numbers | {"n": entry.n, "cost": entry.cost, "seed": entry.seed, "bound": entry.bound.value}


def write_entry(entry: BestKnown, tree: Tree, folder: PathLike) -> None:
    """Write an entry and its tree."""
    home = Path(folder)
    save_merges(tree, home / f"{entry.name}.npz")
    with atomic_write(home / f"{entry.name}.json") as file:
        file.write((json.dumps({"format": FORMAT, **asdict(entry)}, indent=1) + "\n").encode())


def save_merges(tree: Tree, path: PathLike) -> None:
    """Write merges and their order, no more, with as few bytes a number as hold them; ``Tree.load`` reads the file."""
    children = tree.children.astype(np.min_scalar_type(2 * tree.n_leaves))
    # the smaller node first: such columns compress better, and the sides of a merge are alike
    arrays = {"children": np.sort(children, axis=1), "heights": np.arange(1, tree.n_leaves, dtype=children.dtype)}
    with atomic_write(path) as file:
        np.savez_compressed(file, allow_pickle=False, names=np.frombuffer(b"null", np.uint8), **arrays)


def load_data(name: str) -> Any:
    """Return the rows or the graph that an entry names; raise `DataNotAtHand` if they are not on this machine."""
    if name in NETWORKX:
        return _load_networkx(name)
    if name == MNIST:
        return _load_mnist()
    if name in TABLES and name != "iris" and find_home(name) is None:  # OpenML's copies have another order of rows
        raise DataNotAtHand(
            f"{name}: its files are not on this machine; set {DATA_VARIABLE} to a folder with {' and '.join(files_of(name))}."
        )
    try:
        return load(name).data
    except FileNotFoundError as error:
        raise DataNotAtHand(str(error)) from None


def _load_networkx(name: str) -> Any:
    try:
        import networkx
    except ImportError:
        raise DataNotAtHand(f"{name} comes with networkx; run: pip install networkx.") from None
    function, weight = NETWORKX[name]
    return networkx.to_scipy_sparse_array(getattr(networkx, function)(), weight=weight, dtype=np.float64)


def _load_mnist() -> npt.NDArray[np.float32]:
    path = next((home / MNIST_FILE for home in homes(None) if (home / MNIST_FILE).is_file()), None)
    if path is None:
        what = f"{MNIST_FILE} (X: 70 000 × 784 bytes, training images first)"
        raise DataNotAtHand(f"MNIST is not on this machine; set {DATA_VARIABLE} to a folder with {what}.")
    with np.load(path, allow_pickle=False) as archive:
        return np.asarray(archive["X"], dtype=np.float32) / np.float32(255)


def build_similarity(recipe: dict[str, Any], n_jobs: int | None = -1) -> Similarity:
    """Return the similarity that an entry describes; it does not depend on ``n_jobs``."""
    unknown = sorted(recipe.keys() - {"data", "standardize", *_BUILT_BY})
    if unknown:
        raise ValueError(
            f"The entry has {unknown[0]!r}, which is unknown; known are data, standardize, {', '.join(_BUILT_BY)}."
        )
    rows = load_data(recipe["data"])
    rows = standardize(rows) if recipe.get("standardize") else rows
    settings = {name: recipe[name] for name in _BUILT_BY if name in recipe}
    return as_similarity(rows, **settings, n_jobs=n_jobs)


def checksum(similarity: Similarity) -> dict[str, float]:
    """Return n, Σ w_ij and Σ w_ij·cos(i)·cos(j) over pairs, in which every pair has a weight of its own.

    Sums, not a hash of bytes: machines differ in the last digits of a similarity, which neither the cost nor these sums notice.
    """
    x = np.cos(np.arange(similarity.n))
    return {
        "n": similarity.n,
        "total": float(similarity.total()),
        "weighted": float(x @ similarity.product(x)) / 2,
    }


def require_same(found: dict[str, float], stored: dict[str, float]) -> None:
    """Raise `AnotherSimilarity` unless two checksums agree."""
    scale = abs(stored["total"])
    for name in ("n", "total", "weighted"):
        if not abs(found[name] - stored[name]) <= CHECKSUM_RTOL * scale:
            raise AnotherSimilarity(
                f"another similarity: its {name} is {found[name]:.15g} and that of the entry {stored[name]:.15g}; "
                "the data, the package's metric or the arithmetic of this machine differ."
            )


def similarity_of(entry: BestKnown, n_jobs: int | None = -1) -> Similarity:
    """Return the similarity of an entry, built from the data; raise `AnotherSimilarity` if its checksum is another."""
    similarity = build_similarity(entry.similarity, n_jobs)
    require_same(checksum(similarity), entry.checksum)
    return similarity


def find_bound(
    tree: Tree, similarity: Similarity, *, effort: float, random_state: int, n_jobs: int | None = -1
) -> tuple[Bound, tuple[Packing, ...] | None]:
    """Return a bound for an entry, and packings with flows if the similarity is a graph that packings decide."""
    settings: dict[str, Any] = {"effort": effort, "random_state": random_state}
    gap = optimality_gap(tree, similarity, **settings, n_jobs=n_jobs)
    if isinstance(similarity, Graph) and gap.method == "spreading":
        packings = spreading_bound(similarity, effort=effort, keep=True, n_jobs=n_jobs).packings
        value = proven_cost(packings, similarity)
        return Bound(
            value=value, kind="packing", confidence=1.0, settings={"effort": effort}, decided_by=gap.method
        ), packings
    settings |= {"k": gap.k, "n_subsets": gap.n_subsets, "confidence": gap.confidence}
    return _bound_of(gap, settings), None


def _bound_of(gap: OptimalityGap, settings: dict[str, Any]) -> Bound:
    return Bound(
        value=gap.lower_bound,
        kind="certain" if gap.exact else "statistical",
        confidence=1.0 if gap.exact else gap.confidence,
        settings=settings,
        decided_by=gap.method,
    )


def proven_cost(packings: tuple[Packing, ...], graph: Graph) -> float:
    """Return Σ_t of the largest worth of the packings at level t: no tree of the graph costs less.

    For leaves of one point each. Clusters of one point leave all edges between them, and cuts of integer weights are integers.
    """
    if not (graph.sizes == 1).all():
        raise ValueError("Packings of an entry are of leaves of one point each; leave out sizes.")
    levels = np.arange(graph.n, dtype=np.float64)
    cuts: Floats = np.where(levels < 2, graph.total(), 0.0)
    for packing in packings:
        cuts = np.maximum(cuts, packing.worth(levels))
    whole = bool((graph.data == np.round(graph.data)).all())
    return float((np.ceil(cuts * (1 - COST_RTOL)) if whole else cuts).sum())


def verify_entry(path: PathLike, *, with_bound: bool = True, n_jobs: int | None = -1) -> Verified:
    """Check an entry against its data: similarity, cost of the tree, and the bound.

    Parameters
    ----------
    path : path of the entry
    with_bound : bool
        False checks the cost only.
    n_jobs : int or None
        Threads; no result depends on it.

    Returns
    -------
    Verified

    Raises
    ------
    DataNotAtHand
        The data are not on this machine.
    AnotherSimilarity
        The similarity that was built is not the entry's.
    ValueError
        The cost differs by more than 1e-9 of it, a packing proves less than it says, or the bound is another one.
    """
    entry, file = read_entry(path), Path(path)
    tree = Tree.load(file.with_suffix(".npz"))
    if tree.n_leaves != entry.n:
        raise ValueError(f"{file.with_suffix('.npz')} has {tree.n_leaves} leaves and the entry {entry.n}.")
    similarity = similarity_of(entry, n_jobs)
    cost = dasgupta_cost(tree, similarity)
    if not abs(cost - entry.cost) <= COST_RTOL * abs(entry.cost):
        raise ValueError(f"{entry.name}: the tree costs {cost:.15g}, and the entry says {entry.cost:.15g}.")
    if not with_bound:
        return Verified(entry, cost, None)
    value = _find_again(entry, file, tree, similarity, n_jobs)
    tolerance = PROOF_RTOL if entry.bound.stored else BOUND_RTOL
    if not abs(value - entry.bound.value) <= tolerance * abs(entry.bound.value):
        raise ValueError(f"{entry.name}: the bound is {value:.15g}, and the entry says {entry.bound.value:.15g}.")
    return Verified(entry, cost, value)


def _find_again(entry: BestKnown, file: Path, tree: Tree, similarity: Similarity, n_jobs: int | None) -> float:
    """Return the bound of an entry, from its packings or from its seed."""
    if entry.bound.kind != "packing":
        return optimality_gap(tree, similarity, **entry.bound.settings, n_jobs=n_jobs).lower_bound
    if not isinstance(similarity, Graph):
        raise ValueError(f"{entry.name}: packings prove bounds of graphs, and this is {similarity}.")
    if entry.bound.stored:
        packings = _load_stored(file.with_name(f"{file.stem}-packings.npz"))
    else:
        packings = spreading_bound(similarity, **entry.bound.settings, keep=True, n_jobs=n_jobs).packings
    for packing in packings:
        verify(packing, similarity)
    return proven_cost(packings, similarity)


def _load_stored(path: Path) -> tuple[Packing, ...]:
    """Return packings of a file that may be damaged."""
    try:
        with damage_as_value_error():
            if not is_zipfile(path):  # numpy would leave the file open
                raise ValueError("it is no archive, or damaged")
            return load_packings(path)
    except ValueError as error:
        raise ValueError(f"{path} holds no packings ({error}); get the file again.") from None


def verify_all(path: PathLike, *, with_bound: bool = True) -> Iterator[tuple[Path, Verified | Exception]]:
    """Yield each entry of a folder, or one, with what verification returns or why it failed."""
    for one in entry_paths(path):
        try:
            yield one, verify_entry(one, with_bound=with_bound)
        except (ValueError, OSError) as error:
            yield one, error


def keep_lower(
    entry: BestKnown, tree: Tree, folder: PathLike, packings: tuple[Packing, ...] | None = None, *, max_bytes: int
) -> bool:
    """Write an entry unless the stored one of the same similarity costs no more; return whether it was written.

    Packings are stored if their file has at most ``max_bytes``.
    """
    home = Path(folder)
    path = home / f"{entry.name}.json"
    if path.is_file():
        stored = read_entry(path)
        try:
            require_same(entry.checksum, stored.checksum)
            if entry.cost >= stored.cost * (1 - COST_RTOL):
                return False
        except AnotherSimilarity:  # a new similarity makes the old cost meaningless
            pass
    home.mkdir(parents=True, exist_ok=True)
    if packings is not None:
        file = home / f"{entry.name}-packings.npz"
        save_packings(packings, file)
        keeps = file.stat().st_size <= max_bytes
        entry = replace(entry, bound=replace(entry.bound, stored=keeps))
        if not keeps:
            file.unlink()
    write_entry(entry, tree, home)
    return True
