"""docs/architecture.md is about this code: its map has every module, its walks name functions that exist and never go down."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

from test_layers import MODULES, place

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "src" / "hyphc"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAP, WALKS, CHANGES = re.split(r"^## (?:Two walks|Twelve changes).*$", PAGE, flags=re.MULTILINE)
HOP = re.compile(r"^- `([\w/]+\.py):(\w+)` → `([\w/]+\.py):(\w+)`", re.MULTILINE)


def mapped() -> list[str]:
    """Paths of the map: those under the heading of a folder are seen from it."""
    found = []
    for section in re.split(r"^### ", MAP, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        folder = re.match(r"`(?!_kernels)(\w+/)`", heading)
        found += [(folder[1] if folder else "") + name for name in re.findall(r"`([\w/]+\.py)`", body)]
    return found


def names_in(module: str) -> set[str]:
    """Functions, methods and classes of a module."""
    tree = ast.parse((HOME / module).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def called_in(module: str) -> str:
    return (HOME / module).read_text(encoding="utf-8")


def test_the_map_has_every_module_once():
    modules = {module for module in MODULES if not module.endswith("__init__.py")}
    assert sorted(mapped()) == sorted(modules)


def test_the_folders_of_the_map_stand_in_the_order_of_the_layers():
    layers = [place((folder,)) for folder in re.findall(r"^### `(?!_kernels)(\w+)/`", MAP, re.MULTILINE)]
    assert len(layers) > 5
    assert all(one < two for one, two in pairwise(layers))


def test_every_hop_of_the_walks_exists_and_is_told_once():
    hops = HOP.findall(WALKS)
    assert len(hops) == WALKS.count("\n- ") == len(set(hops)) > 40
    missing = [f"{file}:{name}" for a, f, b, g in hops for file, name in ((a, f), (b, g)) if name not in names_in(file)]
    assert missing == []
    assert [f"{a} never says {g}" for a, _, _, g in hops if g not in called_in(a) and a != "cli/__init__.py"] == []


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
