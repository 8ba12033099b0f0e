"""A page for every public name: stubs written before Sphinx reads, filled by autodoc from the docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Container
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import hyphc
from sphinx.application import Sphinx

FOLDER = "reference"  # below docs/, written anew by each build, not kept in git

# Doors in the order of the index. What two of them open has its page under the first.
DOORS = [
    "hyphc",
    "hyphc.similarity",
    "hyphc.tree",
    "hyphc.plot",
    "hyphc.explorer",
    "hyphc.io",
    "hyphc.datasets",
    "hyphc.baselines",
    "hyphc.grouping",
    "hyphc.ordering",
    "hyphc.geometry",
    "hyphc.theory",
    "hyphc.nn",
    "hyphc.dask",
    "hyphc.scanpy.tl",
    "hyphc.scanpy.get",
]
# Modules whose functions are public elsewhere: here are the records that these return.
RESULTS = {
    "hyphc.search": ["Progress"],
    "hyphc.stability": ["Support"],
    "hyphc.tree.compare": ["Comparison", "Difference"],
    "hyphc.search.alternatives": ["Alternatives"],
    "hyphc.continuous.solver": ["EmbedResult"],
    "hyphc.scores.bounds": ["CostBounds"],
    "hyphc.scores.certificate": ["OptimalityGap"],
    "hyphc.scores.cluster_number": ["ClusterNumber"],
    "hyphc.scores.gap_by_level": ["LooseLevel"],
    "hyphc.scores.spreading_metrics": ["SpreadingBound"],
    "hyphc.scores.path_packing": ["Packing", "load_packings", "save_packings", "verify"],
    "hyphc.scores.heights": ["with_similarity_heights", "with_split_weights"],
}
RESULTS_TITLE = "Results and certificates"


class Entry(NamedTuple):
    """A public name: how it is called, where its page is, and what stands behind it."""

    name: str
    page: str
    found: Any


def opened(door: str) -> ModuleType:
    """The module of that name; some are attributes of the package and lie elsewhere."""
    try:
        return import_module(door)
    except ModuleNotFoundError as error:
        if error.name != door:
            raise
        package, _, name = door.rpartition(".")
        found: ModuleType = getattr(import_module(package), name)
        return found


def public_names(door: str) -> list[str]:
    """``__all__`` of a door, without modules and ``__version__``."""
    module = opened(door)
    names = [name for name in module.__all__ if not name.startswith("__")]
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


def entries() -> tuple[dict[str, list[Entry]], dict[str, str]]:
    """Names under each door, and the doors that cannot be opened here with the reason."""
    pages: dict[int, str] = {}
    found: dict[str, list[Entry]] = {}
    closed: dict[str, str] = {}
    for door in [*DOORS, *RESULTS]:
        try:
            module, names = opened(door), RESULTS.get(door) or public_names(door)
        except ImportError as error:  # an optional package is not installed
            closed[door] = str(error)
            continue
        found[door] = []
        for name in names:
            thing = getattr(module, name)
            # Numbers and type aliases may be equal by chance: only classes and functions are one thing under two names.
            key = id(thing) if inspect.isclass(thing) or callable(thing) else id(found[door]) + len(found[door])
            found[door].append(Entry(f"{door}.{name}", pages.setdefault(key, f"{door}.{name}"), thing))
    return found, closed


def stub(entry: Entry) -> str:
    """The source of a name's page."""
    title = entry.name.rpartition(".")[2]
    return "\n".join([title, "=" * len(title), "", *directive(entry), ""])


def directive(entry: Entry) -> list[str]:
    if inspect.isclass(entry.found):
        kind = "exception" if issubclass(entry.found, BaseException) else "class"
        return [f".. auto{kind}:: {entry.name}", "   :members:", ""]
    if inspect.isroutine(entry.found):
        return [f".. autofunction:: {entry.name}"]
    # Numbers have the docstring of their type: the comment above them tells more.
    door, _, name = entry.name.rpartition(".")
    value, words = assigned(opened(door), name)
    return [f".. py:data:: {entry.name}", f"   :value: {value}", "", f"   {escaped(words)}"]


def assigned(module: ModuleType, name: str) -> tuple[str, str]:
    """What a constant is set to, and the comment above it or beside it, in the module that defines it."""
    text = Path(module.__file__ or "").read_text(encoding="utf-8")
    found = re.search(
        rf"(?P<above>(?:^# .*\n)*)^{name} = (?P<value>[^#\n]+?)(?:  # (?P<beside>.*))?$", text, re.MULTILINE
    )
    if found:
        return found["value"], found["beside"] or re.sub(r"^# ", "", found["above"], flags=re.MULTILINE).replace(
            "\n", " "
        )
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and {name, "*"} & {alias.name for alias in node.names}:
            return assigned(import_module("." * node.level + (node.module or ""), module.__package__), name)
    raise LookupError(f"{name} is set neither in {module.__name__} nor where it is imported from.")


def summary(thing: Any) -> str:
    """The first sentence of a docstring, for the index."""
    text = inspect.getdoc(thing) if inspect.isclass(thing) or inspect.isroutine(thing) else None
    return escaped((text or "").partition("\n\n")[0].replace("\n", " "))


def door_page(door: str, names: list[Entry]) -> str:
    module = opened(door)
    rows = [
        f"   * - :doc:`{entry.name.rpartition('.')[2]} <{entry.page}>`\n     - {summary(entry.found)}"
        for entry in names
    ]
    own = [entry.page for entry in names if entry.page == entry.name]
    return "\n".join(
        [door, "=" * len(door), "", escaped(inspect.getdoc(module) or ""), "", *table(rows), *toctree(own)]
    )


def results_page(found: dict[str, list[Entry]]) -> str:
    rows = [
        f"   * - :doc:`{entry.name} <{entry.page}>`\n     - {summary(entry.found)}"
        for door in RESULTS
        for entry in found[door]
    ]
    own = [entry.page for door in RESULTS for entry in found[door] if entry.page == entry.name]
    words = "What functions return, and how a certificate is checked."
    return "\n".join([RESULTS_TITLE, "=" * len(RESULTS_TITLE), "", words, "", *table(rows), *toctree(own)])


def closed_page(door: str, reason: str) -> str:
    return "\n".join([door, "=" * len(door), "", "Not installed where this site was built:", "", f"   {reason}", ""])


def table(rows: list[str]) -> list[str]:
    return [".. list-table::", "   :widths: 30 70", "   :class: names", "", *rows, ""]


def toctree(pages: list[str]) -> list[str]:
    return [".. toctree::", "   :hidden:", "", *(f"   {page}" for page in pages), ""]


def sources() -> dict[str, str]:
    """File names of the reference and their text."""
    found, closed = entries()
    pages = {
        f"{entry.name}.rst": stub(entry) for names in found.values() for entry in names if entry.page == entry.name
    }
    pages |= {f"{door}.index.rst": door_page(door, found[door]) for door in DOORS if door in found}
    pages |= {f"{door}.index.rst": closed_page(door, reason) for door, reason in closed.items()}
    pages["results.rst"] = results_page(found)
    title = "API reference"
    words = (
        "Every public name, from its docstring. ``import hyphc`` is quick: names are loaded when they are first used."
    )
    doors = [".. toctree::", "   :maxdepth: 1", "", *(f"   {door}.index" for door in DOORS), "   results", ""]
    pages["index.rst"] = "\n".join([title, "=" * len(title), "", words, "", *doors])
    return pages


def write_sources(app: Sphinx) -> None:
    """Write what changed and remove what is gone, so that a second build reads little."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    wanted = sources()
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


CODE = re.compile(r"(``.+?``|`[^`]+`|^\s*(?:>>>|\.\.\. ).*$)")
PAGE = re.compile(r"(?:``)?docs/(\w+)\.md(?:``)?")
NAME = re.compile(r"`?`(\w+)(?:\(\))?``?$")
HEADER = re.compile(r"^[\w, ]+ : ")
# |v| is a size, x_ a fitted attribute and * a product or a star: none is markup in our docstrings.
MARKUP = re.compile(r"(\||(?<=\w)_(?!\w)|(?<!\*)\*(?!\*))")


def escaped(text: str, own: Container[str] = ()) -> str:
    """A line of a docstring whose sizes, attributes and stars are no markup; pages and public names become links.

    ``own`` are parameters and members of what is described: there ``support`` is the attribute and not the function.
    """
    header = HEADER.match(text)  # of a parameter: numpydoc escapes its name
    name, text = (header[0], text[header.end() :]) if header else ("", text)
    parts = CODE.split(PAGE.sub(r":doc:`\1 </\1>`", text))
    return name + "".join(code(part, own) if k % 2 else MARKUP.sub(r"\\\1", part) for k, part in enumerate(parts))


def code(part: str, own: Container[str]) -> str:
    """Code between backticks, as a link where it is a public name of the package."""
    name = NAME.match(part)
    if name and name[1] not in own and name[1] in hyphc.__all__ and not inspect.ismodule(getattr(hyphc, name[1])):
        return f":py:obj:`{name[1]} <hyphc.{name[1]}>`"
    return f"`{part}`" if re.fullmatch(r"`[^`<\s]+`", part) else part


def own_names(name: str, thing: Any) -> set[str]:
    """Parameters of what is described, and members of it or of its class."""
    try:
        owner = thing if inspect.isclass(thing) else reduce(getattr, name.split(".")[1:-1], hyphc)
        return set(inspect.signature(thing).parameters) | set(dir(owner) if inspect.isclass(owner) else ())
    except (AttributeError, TypeError, ValueError):  # no signature, or a module that lies elsewhere
        return set()


def escape_docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    own = own_names(name, thing)
    lines[:] = [escaped(line, own) for line in lines]


def skip_member(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Left out: scikit-learn's methods of metadata routing, torch's of printing, and fields that the class's docstring tells."""
    foreign = re.fullmatch(r"set_\w+_request|extra_repr", name)
    return True if foreign or (getattr(thing, "__doc__", None) or "").startswith("Alias for field") else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_sources)
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)  # before numpydoc
    app.connect("autodoc-skip-member", skip_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
