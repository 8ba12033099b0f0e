"""``hyphc fit --h5ad``: results written to a copy of an AnnData file."""

from __future__ import annotations

import argparse

from ..estimator import HypHC
from ..io.h5ad import KEY, write_h5ad
from ..tree import Tree
from .outputs import require_writable_file


def check_h5ad_output(arguments: argparse.Namespace) -> None:
    """Raise before the fit if the copy cannot be written."""
    if arguments.h5ad is None:
        return
    if not arguments.file.lower().endswith(".h5ad"):
        arguments.parser.error("--h5ad writes a copy of an AnnData FILE, which ends in .h5ad")
    if arguments.drop_missing or arguments.transpose:
        arguments.parser.error("--h5ad has a place for each row of FILE; leave out --drop-missing and --transpose")
    if arguments.h5ad.suffix.lower() != ".h5ad":
        raise ValueError(f"{arguments.h5ad} ends in {arguments.h5ad.suffix or 'no extension'}; end it in .h5ad.")
    require_writable_file(arguments.h5ad)


def write_h5ad_output(arguments: argparse.Namespace, model: HypHC, tree: Tree) -> None:
    """Write the copy, if requested."""
    if arguments.h5ad is None:
        return
    facts = {"cost": model.cost_, "n_clusters": model.n_clusters_, "command": arguments.command_line}
    write_h5ad(arguments.h5ad, arguments.file, model.labels_, tree, facts)
    print(f"\nwrote {arguments.h5ad}: clusters in obs[{KEY!r}], the tree as linkage in uns[{KEY!r}]")
