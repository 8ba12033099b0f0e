"""``hyphc verify``: best known costs checked against their data."""

from __future__ import annotations

import argparse

from ..io.best_known import BestKnown, DataNotAtHand, Verified, entry_paths, verify_all


def run_verify(arguments: argparse.Namespace) -> int:
    """Print a line for each entry; return 1 if one does not hold, or none could be checked."""
    failed, checked = 0, 0
    single = len(entry_paths(arguments.entry)) == 1
    for path, found in verify_all(arguments.entry, with_bound=not arguments.skip_bounds):
        if isinstance(found, Verified):
            checked += 1
            print(f"{found.entry.name}: {_describe(found)}", flush=True)
        elif isinstance(found, DataNotAtHand) and not single:
            print(f"{path.stem}: skipped: {found}", flush=True)
        elif single:
            raise found
        else:
            failed += 1
            print(f"{path.stem}: FAILED: {found}", flush=True)
    if not failed and not checked:
        raise ValueError(f"{arguments.entry}: the data of no entry are on this machine, so nothing was verified.")
    return 1 if failed else 0


def _describe(found: Verified) -> str:
    """Return what was confirmed: the cost, and the bound with how sure it is."""
    entry = found.entry
    text = f"cost {found.cost:.12g} confirmed"
    if found.bound is None:
        return f"{text}; bound not checked"
    return f"{text}; no tree costs less than {found.bound:.8g}, {entry.bound.words}{_source(entry)}; gap {_gap(entry)}"


def _source(entry: BestKnown) -> str:
    """Return how the bound was found again."""
    settings = entry.bound.settings
    if entry.bound.kind == "packing":
        return (
            " from the file, verified"
            if entry.bound.stored
            else f" made again with effort {settings['effort']:g}, verified"
        )
    if entry.bound.kind == "statistical":
        return f": recomputed from {settings['n_subsets']} subsets of {settings['k']} leaves, seed {settings['random_state']}"
    return ""


def _gap(entry: BestKnown) -> str:
    return f"at most {100 * entry.gap:.2f} %" if entry.gap <= 1.0 else "above 100 %, nothing of use is certified"
