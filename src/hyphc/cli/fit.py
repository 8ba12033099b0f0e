"""``hyphc fit``: from a file to a folder with the tree, its clusters, its pictures and a report."""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import replace
from pathlib import Path

from .._runtime.signals import NO_THREAD
from .._runtime.user_warnings import collect_warnings
from ..estimator import HypHC
from ..fit.constraints import Constraints
from ..similarity import Similarity
from ..tree.prunings import CONDENSED
from .annotations import read_annotations
from .common import check_usage, nuisance_notes, print_note, print_notes, read_data, say, similarity_of
from .constraints import constraints_of, known_columns, known_note
from .fit_files import Fitted, Judgement, brief, judged, write_all, write_tree_alone
from .fit_out_of_core import run_fit_by_parts
from .h5ad_output import check_annotated, write_annotated
from .outputs import checkpoint_kept, require_writable_folder
from .report import how_many, joined_words, print_rows

INTERRUPTED, TERMINATED = 130, 143


def run_fit(arguments: argparse.Namespace) -> int | None:
    """Read, fit, score and write; the exit code."""
    check_usage(arguments)
    if arguments.resample is not None and arguments.support is None:
        arguments.parser.error("--resample is about --support; say how many refits, for instance --support 100")
    folder = arguments.output or Path(_default_folder(arguments.file))
    require_writable_folder(folder)
    check_annotated(arguments)
    if arguments.scheduler or arguments.workers or arguments.memory:
        run_fit_by_parts(arguments, folder)
        return None
    points = read_data(arguments, arguments.file, known_columns(arguments))
    beside = read_annotations(arguments, arguments.file)
    _check_clusters(arguments, points.n)
    known = constraints_of(arguments, points)
    similarity, notes = similarity_of(points, arguments)
    notes += (
        () if arguments.features or points.kind != "features" else tuple(nuisance_notes(points.columns, points.data))
    )
    notes += () if known is None else (known_note(known, points.n),)
    print_notes(points, notes)
    with checkpoint_kept(arguments.checkpoint):
        model = _fitted(arguments, similarity, known)
    told = replace(model.plan_, rows="")  # the notes have said it
    fitted = Fitted(arguments, points, (*points.notes, *notes), f"plan: {told}", model, beside, known)
    print_note(fitted.plan)
    print_note(f"clusters: {how_many(model)}{joined_words(model)}")
    return _written(fitted, similarity, folder)


def _written(fitted: Fitted, similarity: Similarity, folder: Path) -> int | None:
    """Write everything; what takes long is left out if somebody interrupts or memory is short, but never the tree."""
    if fitted.model.interrupted_:
        write_tree_alone(fitted, folder)  # at once: who has interrupted may not wait for pictures
        _write_and_say(fitted, brief(fitted), folder)
        print("hyphc: interrupted; the best tree found until then was written.", file=sys.stderr)
        return TERMINATED if fitted.model._signal_ == signal.SIGTERM else INTERRUPTED
    try:
        judgement = judged(fitted, similarity)
        _write_and_say(fitted, judgement, folder)
    except KeyboardInterrupt as interrupt:
        write_tree_alone(fitted, folder)
        raise type(interrupt)(f"the tree was written to {folder}, without its gap and its pictures") from None
    except (MemoryError, ImportError, RuntimeError) as error:  # no room for arrays, libraries or threads
        write_tree_alone(fitted, folder)
        if isinstance(error, RuntimeError) and str(error) != NO_THREAD:
            raise
        told = "" if isinstance(error, RuntimeError) else str(error).removesuffix(".")
        why = told or "there is not enough memory"
        raise MemoryError(f"{why}; the tree was written to {folder}, without its gap and its pictures.") from None
    if judgement.sure is not None and judgement.sure.interrupted:
        done = judgement.sure.n_resamples
        print(f"hyphc: interrupted; support is that of the {done} refits done until then.", file=sys.stderr)
        return INTERRUPTED
    return None


def _write_and_say(fitted: Fitted, judgement: Judgement, folder: Path) -> None:
    print()
    print_rows(judgement.rows)
    names = write_all(fitted, judgement, folder)
    write_annotated(fitted.arguments, fitted.model, fitted.tree(judgement.sure))
    print(f"\nwrote {folder}: {', '.join(names)}")
    print(f"open {folder / 'explorer.html'} in a browser; {folder / 'report.md'} sums it up")


def _check_clusters(arguments: argparse.Namespace, n: int) -> None:
    """Tell before the work of clusters that no tree of n leaves has."""
    k, least = arguments.n_clusters, arguments.min_size or 1
    if k is not None and k > n:
        raise ValueError(f"--n-clusters {k} is more than the {n} rows; give at most {n}.")
    if least * (k or 1) > n:
        clusters = f"{k or 1} cluster{'s' * ((k or 1) > 1)}"
        raise ValueError(f"--min-size {least} is too large for {clusters} of {n} rows; give at most {n // (k or 1)}.")


def _fitted(arguments: argparse.Namespace, similarity: Similarity, known: Constraints | None) -> HypHC:
    verbose = int(sys.stderr.isatty())
    model = HypHC(
        arguments.n_clusters,
        criterion=arguments.criterion or CONDENSED,
        min_size=arguments.min_size,
        outliers=arguments.outliers,
        constraints=known,
        effort=arguments.effort,
        time_budget=arguments.time_budget,
        checkpoint=arguments.checkpoint,
        random_state=arguments.seed,
        verbose=verbose,
    )
    with collect_warnings(_say_unless_interrupted):
        return model.fit(similarity)


def _say_unless_interrupted(message: str) -> None:
    """``_written`` tells of an interrupt in its own words."""
    if not message.startswith("Interrupted"):
        say(message)


def _default_folder(file: str) -> str:
    return "hyphc-output" if file == "-" else f"{Path(file).stem}-hyphc"
