"""docs/notes/architecture.md is about this code: its map has every module, and its walks are calls that the sources make."""

from __future__ import annotations

import argparse
import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hyphc.cli import build_parser
from test_layers import MODULES, place

from calls import HOME, Target, parsed, reached, references

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "notes" / "architecture.md").read_text(encoding="utf-8")
MAP, WALKS, CHANGES = re.split(r"^## (?:Two walks|Changes, and).*$", PAGE, flags=re.MULTILINE)
HOP = re.compile(r"^- `([\w/]+\.py):(\w+)` → `([\w/]+\.py):(\w+)`", re.MULTILINE)
FIT_WALK, COMMAND_WALK = WALKS.split("\n### ")[1:]
# Where each walk begins; `embedding_` is an attribute of the model that is made when it is read.
BEGINNINGS = {
    "fit": (FIT_WALK, [Target("estimator.py", "fit"), Target("estimator.py", "embedding_")]),
    "command": (COMMAND_WALK, [Target("cli/__init__.py", "main"), Target("cli/fit.py", "run_fit")]),
}
BY_NAME = Target("cli/__init__.py", "_run")  # imports a module and calls a function by the names that the parser gives


def mapped() -> list[str]:
    """Paths of the map: those under the heading of a folder are seen from it."""
    found = []
    for section in re.split(r"^### ", MAP, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        folder = re.match(r"`(?!_kernels)(\w+/)`", heading)
        found += [(folder[1] if folder else "") + name for name in re.findall(r"`([\w/]+\.py)`", body)]
    return found


def commands() -> set[Target]:
    """The functions that the parser of the command line names."""
    subparsers = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    named = [parser._defaults for parser in subparsers.choices.values()]
    return {Target(f"cli/{names['module']}.py", names["function"]) for names in named}


def is_made(hop: tuple[str, str, str, str]) -> bool:
    """Whether the caller's body calls the callee, passes it on, or finds it in a table."""
    caller, callee = Target(*hop[:2]), Target(*hop[2:])
    return callee in (commands() if caller == BY_NAME else references(*caller))


def test_the_map_has_every_module_once():
    modules = {module for module in MODULES if not module.endswith("__init__.py")}
    assert sorted(mapped()) == sorted(modules)


def test_the_folders_of_the_map_stand_in_the_order_of_the_layers():
    layers = [place((folder,)) for folder in re.findall(r"^### `(?!_kernels)(\w+)/`", MAP, re.MULTILINE)]
    assert len(layers) > 5
    assert all(one < two for one, two in pairwise(layers))


def test_every_hop_of_the_walks_is_a_call_in_the_callers_body_and_is_listed_once():
    hops = HOP.findall(WALKS)
    assert len(hops) == WALKS.count("\n- ") == len(set(hops)) > 40
    assert [hop for hop in hops if not is_made(hop)] == []


def test_the_walk_of_a_fit_has_at_most_25_hops():
    assert 15 < len(HOP.findall(FIT_WALK)) <= 25


@pytest.mark.parametrize("walk", BEGINNINGS)
def test_a_walk_goes_only_where_its_beginning_leads(walk):
    text, beginnings = BEGINNINGS[walk]
    found = set().union(*map(reached, beginnings))
    assert [hop for hop in HOP.findall(text) if Target(*hop[:2]) not in found] == []


@pytest.mark.parametrize(
    "hop",
    [
        ("estimator.py", "fit", "tree/newick.py", "to_newick"),  # neither there nor called
        ("continuous/solver.py", "_plan", "continuous/sampling.py", "Blocks"),  # a word of a comment
        ("cli/fit.py", "run_fit", "estimator.py", "HypHC"),  # called elsewhere in the file
        ("cli/fit.py", "_fitted", "bootstrap_support.py", "HypHC"),  # defined in another file
        ("estimator.py", "_validate_rows", "similarity/base.py", "Similarity"),  # asked for by isinstance, not made
        ("out_of_core/labels.py", "labels", "tree/core.py", "Tree"),  # an annotation
        ("cli/__init__.py", "_run", "cli/fit.py", "_fitted"),  # no command
    ],
    ids=":".join,
)
def test_a_hop_that_is_no_call_is_refused(hop):
    assert not is_made(hop)


@pytest.mark.parametrize(
    "hop",
    [
        ("estimator.py", "fit", "_runtime/run_control.py", "Clock"),  # a class that is constructed
        (
            "estimator.py",
            "_set_fitted_attributes",
            "fit/flat_cut.py",
            "find_clusters",
        ),  # a method of what a method returns
        (
            "cli/trees.py",
            "_chosen_clusters",
            "tree/cut.py",
            "cut",
        ),  # a function that a parameter's class has as a method
        ("cli/__init__.py", "_run", "cli/report.py", "run_score"),  # by the name that the parser gives
        ("tree/core.py", "explore", "_runtime/lazy_import.py", "import_lazily"),
    ],
    ids=":".join,
)
def test_calls_of_every_kind_are_followed(hop):
    assert is_made(hop)


def test_what_runs_a_command_takes_both_names_from_the_parser():
    (run,) = [node for node in parsed(BY_NAME.file).body if getattr(node, "name", "") == BY_NAME.name]
    read = {ast.unparse(node) for node in ast.walk(run) if isinstance(node, ast.Attribute)}
    assert {"arguments.module", "arguments.function"} <= read


ONLY_HERE = re.compile(r"^- `(\w+)/.*; only here(?: and in `(\w+)/`)? (\w+)$", re.MULTILINE)


def test_packages_that_the_map_gives_to_a_folder_are_imported_only_there():
    claims = ONLY_HERE.findall(MAP)
    assert len(claims) == MAP.count("only here") == 3
    for folder, also, package in claims:
        importing = {module.partition("/")[0] for module in MODULES if package in packages_of(parsed(module))}
        if package == "dask":
            importing |= {
                module.partition("/")[0] for module in MODULES if "distributed" in packages_of(parsed(module))
            }
        assert importing == {folder, also} - {""}, package


def packages_of(module: ast.Module) -> set[str]:
    """Packages of others that a module imports, also within functions."""
    nodes = list(ast.walk(module))
    imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imported += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in imported}


def test_kernels_raise_no_errors_and_lie_in_folders_named_as_their_callers():
    kernels = [module for module in MODULES if module.startswith("_kernels/") and not module.endswith("__init__.py")]
    assert {module.split("/")[1] for module in kernels} <= {folder.name for folder in HOME.iterdir()}
    raising = [m for m in kernels if any(isinstance(node, ast.Raise | ast.Assert) for node in ast.walk(parsed(m)))]
    assert raising == []


def test_no_hop_goes_to_a_folder_below_the_callers():
    for caller, _, callee, _ in HOP.findall(WALKS):
        one, two = (Path(module).with_suffix("").parts for module in (caller, callee))
        assert place(two) <= place(one), f"{caller} → {callee}"


def test_the_files_to_open_for_a_change_exist():
    files = re.findall(r"`((?:tests|docs)/[\w/]+\.\w+|[\w/]+\.py|\w+/)`", CHANGES)
    files = [file for file in files if file != "__init__.py"]
    assert len(files) > 30
    assert [f for f in files if not ((ROOT if f.startswith(("tests/", "docs/")) else HOME) / f).exists()] == []
    assert CHANGES.count("\n| ") >= 13
