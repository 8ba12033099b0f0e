"""Data flows one way through the folders: a module imports only from its own folder and from those above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2] / "src" / "hyphc"

LAYERS = ["_runtime", "similarity", "tree", "scores", "hyperbolic", "continuous", "baselines", "search"]
LAYERS += ["fit", "out_of_core"]
LAYERS += [
    "views",
    "estimator",
    "bootstrap_support",
    "datasets",
    "plot",
    "explorer",
    "io",
    "nn",
    "dask",
    "scanpy",
    "cli",
]
DOORS = {"__init__", "__main__", "geometry", "theory"}  # they lead into the house and hold nothing themselves
HOOK = ("_runtime", "lazy_import")  # the one way to call what lies below: by name, from a method of convenience
CONVENIENCE = {("tree/core.py", "explorer"), ("views.py", "explorer"), ("views.py", "plot")}

MODULES = sorted(path.relative_to(HOME).as_posix() for path in HOME.rglob("*.py"))


def place(parts: tuple[str, ...]) -> tuple[int, int]:
    """The layer of a module, and whether it is a kernel (0) or not (1): kernels of a layer stand above the layer itself."""
    if parts[0] == "_kernels":
        return (LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else 0), 0
    return LAYERS.index(parts[0]), 1


def imported(text: str, module: str) -> Iterator[tuple[str, ...]]:
    """The modules of the package that a module imports, anywhere in its text, as tuples of names."""
    package = Path(module).parent.parts
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "hyphc":
                    yield tuple(alias.name.split(".")[1:])
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "hyphc"):
            base = package[: len(package) - node.level + 1] if node.level else ()
            named = (node.module or "").split(".") if node.module else []
            start = (*base, *(named if node.level else named[1:]))
            for alias in node.names:
                yield (*start, alias.name)


def wrong_imports(text: str, module: str) -> list[str]:
    own = Path(module).with_suffix("").parts
    if own[0] in DOORS:
        return []
    found = []
    for target in imported(text, module):
        if target[0] in DOORS or target == ("__version__",):
            continue
        if target[0] not in (*LAYERS, "_kernels"):
            found.append(f"{module} imports {'.'.join(target)}, which is in no layer")
        elif place(target) > place(own) or (own[0] == "_kernels" and target[0] not in ("_kernels", "_runtime")):
            found.append(f"{module} imports {'.'.join(target)} from below")
    return found


def called_later(text: str) -> list[str]:
    """Folders named in calls of the hook."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "import_lazily"]
    return [ast.literal_eval(call.args[0]) for call in named]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_above(module):
    assert wrong_imports((HOME / module).read_text(), module) == []


def test_every_module_has_a_layer():
    assert {Path(module).with_suffix("").parts[0] for module in MODULES} <= {*LAYERS, *DOORS, "_kernels"}
    kernels = [Path(module).parts for module in MODULES if module.startswith("_kernels/")]
    assert {parts[1] for parts in kernels if len(parts) > 2} <= set(LAYERS)
    assert [parts for parts in kernels if len(parts) == 2] == [("_kernels", "__init__.py")]


def test_the_hook_is_used_only_by_methods_of_convenience():
    used = {(module, folder) for module in MODULES for folder in called_later((HOME / module).read_text())}
    assert used == CONVENIENCE


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("tree/core.py", "from ..scores.costs import split_weights"),
        ("tree/core.py", "    from ..explorer import explore"),
        ("similarity/base.py", "import hyphc.tree"),
        ("_runtime/validation.py", "from .._kernels.tree import passes"),
        ("_kernels/tree/lca.py", "from ..scores import triplets"),
        ("_kernels/continuous/paper_steps.py", "from ...continuous.adam import RiemannianAdam"),
        ("search/state.py", "from hyphc.estimator import HypHC"),
    ],
)
def test_an_import_turned_round_is_found(module, line):
    indented = line.startswith(" ")
    text = f"def f():\n{line}\n" if indented else line
    assert wrong_imports(text, module)
