"""``hyphc fit``: from a file to a folder with the tree, its clusters, its plots and a report."""

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
from .common import build_similarity, check_usage, cluster_parameters, nuisance_notes, read_data
from .constraints import build_constraints, constraint_columns, constraint_note
from .fit_files import Assessment, Fitted, assess, assess_cost, check_h5ad, write_all, write_tree_alone
from .fit_out_of_core import run_fit_out_of_core
from .outputs import print_note, print_notes, print_warning, report_kept_checkpoint, require_writable_folder
from .pictures import can_plot, read_annotations, style_of
from .report import describe_cluster_number, describe_joined, print_rows

INTERRUPTED, TERMINATED = 130, 143


def run_fit(arguments: argparse.Namespace) -> int | None:
    """Read, fit, score and write; return the exit code."""
    check_usage(arguments)
    if arguments.resample is not None and arguments.support is None:
        arguments.parser.error("--resample is about --support; say how many refits, for instance --support 100")
    folder = arguments.output or Path("hyphc-output" if arguments.file == "-" else f"{Path(arguments.file).stem}-hyphc")
    require_writable_folder(folder)
    if arguments.h5ad is not None:
        check_h5ad(arguments)
    if can_plot():
        style_of(arguments)  # errors before the work
    if arguments.scheduler or arguments.workers or arguments.memory:
        run_fit_out_of_core(arguments, folder)
        return None
    points = read_data(arguments, arguments.file, constraint_columns(arguments) | _text_column(arguments))
    beside = read_annotations(arguments, arguments.file)
    _check_clusters(arguments, points.n)
    known = build_constraints(arguments, points)
    similarity, notes = build_similarity(points, arguments)
    if points.kind == "features" and not arguments.features:
        notes += tuple(nuisance_notes(points.columns, points.data))
    if known is not None:
        notes += (constraint_note(known, points.n),)
    print_notes(points, notes)
    with report_kept_checkpoint(arguments.checkpoint):
        model = _fit_model(arguments, similarity, known)
    plan = replace(model.plan_, rows="")  # in the notes already
    fitted = Fitted(arguments, points, (*points.notes, *notes), f"plan: {plan}", model, beside, known)
    print_note(fitted.plan)
    print_note(f"clusters: {describe_cluster_number(model)}{describe_joined(model)}")
    return _write_results(fitted, similarity, folder)


def _write_results(fitted: Fitted, similarity: Similarity, folder: Path) -> int | None:
    """Write everything; slow parts are skipped on an interrupt or when memory is short, but never the tree."""
    if fitted.model.interrupted_:
        write_tree_alone(fitted, folder)  # at once: plots take long after an interrupt
        _write_and_report(fitted, assess_cost(fitted), folder)
        print("hyphc: interrupted; the best tree found until then was written.", file=sys.stderr)
        return TERMINATED if fitted.model._signal_ == signal.SIGTERM else INTERRUPTED
    try:
        assessment = assess(fitted, similarity)
        _write_and_report(fitted, assessment, folder)
    except KeyboardInterrupt as interrupt:
        write_tree_alone(fitted, folder)
        raise type(interrupt)(f"the tree was written to {folder}, without its gap and its pictures") from None
    except (MemoryError, ImportError, RuntimeError) as error:  # no room for arrays, libraries or threads
        write_tree_alone(fitted, folder)
        if isinstance(error, RuntimeError) and str(error) != NO_THREAD:
            raise
        reason = "" if isinstance(error, RuntimeError) else str(error).removesuffix(".")
        why = reason or "there is not enough memory"
        raise MemoryError(f"{why}; the tree was written to {folder}, without its gap and its pictures.") from None
    if assessment.sure is not None and assessment.sure.interrupted:
        done = assessment.sure.n_resamples
        print(f"hyphc: interrupted; support is that of the {done} refits done until then.", file=sys.stderr)
        return INTERRUPTED
    return None


def _write_and_report(fitted: Fitted, assessment: Assessment, folder: Path) -> None:
    print()
    print_rows(assessment.rows)
    names = write_all(fitted, assessment, folder)
    print(f"\nwrote {folder}: {', '.join(names)}")
    print(f"open {folder / 'explorer.html'} in a browser; {folder / 'report.md'} sums it up")


def _text_column(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the column whose texts name the clusters, if there is one."""
    return {} if arguments.texts is None else {"texts": arguments.texts}


def _check_clusters(arguments: argparse.Namespace, n: int) -> None:
    """Raise before the fit for a number or size of clusters that n leaves cannot have."""
    k, least = arguments.n_clusters, arguments.min_size or 1
    if k is not None and k > n:
        raise ValueError(f"--n-clusters {k} is more than the {n} rows; give at most {n}.")
    if least * (k or 1) > n:
        clusters = f"{k or 1} cluster{'s' * ((k or 1) > 1)}"
        raise ValueError(f"--min-size {least} is too large for {clusters} of {n} rows; give at most {n // (k or 1)}.")


def _fit_model(arguments: argparse.Namespace, similarity: Similarity, known: Constraints | None) -> HypHC:
    model = HypHC(
        constraints=known,
        time_budget=arguments.time_budget,
        checkpoint=arguments.checkpoint,
        verbose=int(sys.stderr.isatty()),
        **cluster_parameters(arguments),
    )
    with collect_warnings(_report_unless_interrupted):
        return model.fit(similarity)


def _report_unless_interrupted(message: str) -> None:
    """Print a warning, unless it is the interrupt that ``_write_results`` reports itself."""
    if not message.startswith("Interrupted"):
        print_warning(message)
