"""Which functions of the package a function refers to, found by reading the sources and never by running them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).resolve().parents[1] / "src" / "hyphc"
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Imports = dict[str, tuple[tuple[str, ...], str]]  # local names: the module below the package, and the name in it
_TESTS_OF_KIND = {"isinstance", "issubclass"}


class Target(NamedTuple):
    """A name in a file of the package; without a name, the file itself."""

    file: str
    name: str = ""


@cache
def parsed(file: str) -> ast.Module:
    return ast.parse((HOME / file).read_text(encoding="utf-8"))


@cache
def file_of(parts: tuple[str, ...]) -> str | None:
    """The file of a module or package, given as names below the package."""
    candidates = ("/".join((*parts, "__init__.py")), "/".join(parts) + ".py")
    return next((file for file in candidates if (HOME / file).is_file()), None)


@cache
def _index(file: str) -> dict[str, list[Definition]]:
    """Functions, methods and classes by name, wherever in the file they are."""
    found: dict[str, list[Definition]] = {}
    for node in ast.walk(parsed(file)):
        if isinstance(node, Definition):
            found.setdefault(node.name, []).append(node)
    return found


def definitions(file: str, name: str) -> list[Definition]:
    return _index(file).get(name, [])


@cache
def _class_of(file: str, definition: Definition) -> str:
    """The name of the class that a method belongs to, or of the class itself; nothing for a function."""
    if isinstance(definition, ast.ClassDef):
        return definition.name
    owners = [node for node in ast.walk(parsed(file)) if isinstance(node, ast.ClassDef) and definition in node.body]
    return owners[0].name if owners else ""


@cache
def references(file: str, name: str) -> set[Target]:
    """Return what the bodies of a function or class refer to: called, passed on, or looked up in a table of the module.

    Names are followed through imports of any kind, packages that export them again, ``self``, and the annotations that say
    of which class a parameter or a result is.
    """
    return {
        target
        for definition in definitions(file, name)
        for node in _used(definition.body)
        for target in Scope(file, definition).targets(node)
    }


def reached(start: Target) -> set[Target]:
    """Return everything that a function leads to, call by call."""
    found, waiting = {start}, [start]
    while waiting:
        new = references(*waiting.pop()) - found
        found |= new
        waiting += new
    return found


def _used(nodes: Iterable[ast.AST]) -> Iterator[ast.Name | ast.Attribute]:
    """Names and attributes that are read. Annotations and the classes of ``isinstance`` and ``except`` use nothing."""
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute):
            yield node
        skipped: list[ast.AST | None] = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.ExceptHandler):
            skipped.append(node.type)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TESTS_OF_KIND:
            skipped += node.args[1:]
        yield from _used(child for child in ast.iter_child_nodes(node) if child not in skipped)


class Scope(NamedTuple):
    """Where names are looked up: in a file, and in a function of it."""

    file: str
    definition: Definition | None = None

    def targets(self, node: ast.AST) -> set[Target]:
        """Return the definitions that an expression may lead to."""
        if isinstance(node, ast.Name):
            return _named(self.file, node.id, self.definition)
        if isinstance(node, ast.Attribute):
            return {found for owner in self._owners(node.value) for found in _attribute(owner, node.attr)}
        return set()

    def _owners(self, node: ast.AST) -> set[Target]:
        """Return the modules and classes that an expression is, or is an object of."""
        if isinstance(node, ast.Name) and node.id in ("self", "cls"):
            return {Target(self.file, _class_of(self.file, self.definition))} if self.definition else set()
        if isinstance(node, ast.Name) and (annotation := self._parameters().get(node.id)):
            return self._classes(annotation)
        if isinstance(node, ast.Call):
            called = self.targets(node.func)
            return called | {owner for target in called for owner in _returned(target)}
        return self.targets(node)

    def _parameters(self) -> dict[str, ast.AST]:
        if self.definition is None or isinstance(self.definition, ast.ClassDef):
            return {}
        given = self.definition.args
        return {arg.arg: arg.annotation for arg in (*given.args, *given.kwonlyargs) if arg.annotation}

    def _classes(self, annotation: ast.AST) -> set[Target]:
        names = [node for node in ast.walk(annotation) if isinstance(node, ast.Name | ast.Attribute)]
        return {target for node in names for target in self.targets(node)}


def _returned(target: Target) -> set[Target]:
    """Return the classes that the annotation of a function's result names."""
    return {
        owner
        for definition in definitions(*target)
        if not isinstance(definition, ast.ClassDef) and definition.returns
        for owner in Scope(target.file)._classes(definition.returns)
    }


@cache
def _imports(file: str, within: ast.AST | None = None) -> Imports:
    """What a file imports from the package outside of functions, and within this one."""
    package, found = Path(file).parent.parts, {}
    for node in [*_outside_of_functions(parsed(file)), *(ast.walk(within) if within else ())]:
        if isinstance(node, ast.ImportFrom) and node.level:
            module = (*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else ()))
            found |= {alias.asname or alias.name: (module, alias.name) for alias in node.names}
    return found


def _outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _outside_of_functions(child)


@cache
def _named(file: str, name: str, within: ast.AST | None = None) -> set[Target]:
    """Return what a name is in a file, or in a function of it."""
    imports = _imports(file, within)
    imported = _exported(*imports[name]) if name in imports else set()
    return _defined(file, name) | imported | _assigned(file, name, parsed(file))


def _defined(file: str, name: str) -> set[Target]:
    return {Target(file, name)} if definitions(file, name) else set()


def _assigned(file: str, name: str, owner: ast.Module | ast.ClassDef) -> set[Target]:
    """Return what the value of a name refers to: a table of functions stands for all of them."""
    values = [
        node.value
        for node in owner.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id == name
    ]
    used = [node for node in _used(values) if not (isinstance(node, ast.Name) and node.id == name)]
    return {target for node in used for target in Scope(file).targets(node)}


@cache
def _exported(module: tuple[str, ...], name: str) -> set[Target]:
    """Return where a name of a module is defined, through any number of modules that pass it on."""
    below, file = file_of((*module, name)), file_of(module)
    found = {Target(below)} if below else set()
    if file is None:
        return found
    source = _imports(file).get(name)
    passed_on = _exported(*source) if source not in (None, (module, name)) else set()
    return found | _defined(file, name) | passed_on


@cache
def _attribute(owner: Target, name: str) -> set[Target]:
    """Return what a name of a module, or an attribute of a class or of its bases, is."""
    if not owner.name:
        module = Path(owner.file).with_suffix("").parts
        return _exported(module[:-1] if module[-1] == "__init__" else module, name)
    found: set[Target] = set()
    for node in definitions(*owner):
        if isinstance(node, ast.ClassDef):
            own = any(isinstance(member, Definition) and member.name == name for member in node.body)
            found |= {Target(owner.file, name)} if own else _assigned(owner.file, name, node)
            found |= {
                target
                for base in node.bases
                for up in Scope(owner.file).targets(base)
                for target in _attribute(up, name)
            }
    return found
