"""The sources that a result was measured with: the commit, and a hash of the code that its suite runs.

Hashed are the top-level statements of the modules as syntax trees: without comments, docstrings and texts of messages, and
without the modules of the package that names come from. Prose can be rewritten and modules renamed, moved, split or merged, and
results stay fresh. The hash assumes that a name has one definition: it does not change if an import leads to another definition
of the same name.
"""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "hyphc"
# what no tree and no score depends on: pictures, files, the command line, other frameworks, and what is fitted many times
_OTHERS = {
    "__init__.py",
    "__main__.py",
    "__pycache__",
    "cli",
    "dask",
    "explorer",
    "io",
    "nn",
    "plot",
    "bootstrap_support.py",
    "views.py",
}
METHOD = tuple(sorted(path.name for path in PACKAGE.iterdir() if path.name not in _OTHERS))
_PROSE = re.compile(r"[^\W\d_]{2,} [^\W\d_]{2,}")  # two words in a row, which no name, key, option or format has


def digest(sources: tuple[str, ...], home: Path = PACKAGE) -> str:
    """Return a hash of the code in these files and in all files of these folders."""
    lines = {line for path in _files(sources, home) for line in _statements(path)}
    return _sha256("\n".join(sorted(lines)).encode())[:16]


def _files(sources: tuple[str, ...], home: Path) -> Iterator[Path]:
    for source in sources:
        path = home / source
        if not path.exists():
            raise ValueError(f"A suite names {source!r}, which is not in {home.name}; correct its SOURCES.")
        inside = [path] if path.is_file() else path.rglob("*")
        yield from (file for file in inside if file.is_file() and "__pycache__" not in file.parts)


def _statements(path: Path) -> frozenset[str]:
    """Return a hash of each top-level statement of a module; of any other file, one of its bytes."""
    content = path.read_bytes()
    return _statements_of(path, content) if path.suffix == ".py" else frozenset({_sha256(content)})


@cache
def _statements_of(path: Path, content: bytes) -> frozenset[str]:
    code = _WithoutProse(path).visit(ast.parse(content))
    return frozenset(_sha256(repr(_structure(statement)).encode()) for statement in code.body)


class _WithoutProse(ast.NodeTransformer):
    """Removes from a syntax tree what does not change what the code computes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._modules: set[str] = set()  # names that stand for modules of the package

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_docstring = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_docstring else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.Raise(node.exc.func if isinstance(node.exc, ast.Call) else node.exc, None)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        return ast.Call(node.func, [], []) if name == "warn" else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) and _PROSE.search(node.value) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        texts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
        if any(map(_PROSE.search, texts)):
            return ast.Constant("")
        node.values = [part for part in node.values if getattr(part, "value", None) != ""]  # Python 3.12 has empty ones
        return self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.AST]:
        """Keep names from elsewhere one by one; of those from the package, new names that they are given."""
        if node.level == 0:
            return [ast.ImportFrom(node.module, [name], 0) for name in node.names]
        folder = self._path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        modules = [
            name for name in node.names if (folder / name.name).is_dir() or (folder / f"{name.name}.py").is_file()
        ]
        self._modules |= {name.asname or name.name for name in modules}
        renamed = [name for name in node.names if name not in modules and name.asname not in (None, name.name)]
        return [ast.ImportFrom(None, [name], 0) for name in renamed]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        is_of_module = isinstance(node.value, ast.Name) and node.value.id in self._modules
        return ast.Name(node.attr, node.ctx) if is_of_module else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if getattr(node.test, "id", None) == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if getattr(node.targets[0], "id", None) == "__all__" else self.generic_visit(node)


def _structure(node: Any) -> Any:
    """Return a syntax tree as nested tuples, without empty fields: releases of Python differ in which of them they have."""
    if isinstance(node, list):
        return tuple(map(_structure, node))
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
    return type(node).__name__, *((name, _structure(value)) for name, value in fields if name != "kind")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def commit() -> str | None:
    """Return the commit that is checked out, with a plus if the package differs from it; None outside a repository."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD")
        return f"{name}+" if _git("status", "--porcelain", "--", str(PACKAGE)) else name
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
