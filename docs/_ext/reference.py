"""Write a page for every public name, grouped by task: stubs before Sphinx reads, filled by autodoc from the docstrings."""

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

# Public modules in the order in which their names are listed. What two of them export has its page under the first.
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
    "hyphc.bootstrap_support": ["Support"],
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
# Tasks in the order of the index, each with the modules whose public names serve it. The longest name that a module begins
# with counts. A public name from a module without a task is an error, so that no name is missing from the index.
TASKS = {
    "Cluster data": ["estimator", "fit", "dask", "scanpy", "_runtime.progress"],
    "Choose a similarity": ["similarity"],
    "Choose the number of clusters": ["scores.cluster_number", "tree.prunings"],
    "Improve a tree": ["search"],
    "Score a tree": ["scores.costs", "scores.bounds", "scores.heights"],
    "Prove how good a tree is": [
        "scores.certificate",
        "scores.exact_tree",
        "scores.gap_by_level",
        "scores.path_packing",
        "scores.spreading_metrics",
    ],
    "Measure how often groups recur": ["bootstrap_support"],
    "Name groups and tell them apart": ["scores.describe", "scores.differences", "scores.group_differences"],
    "Compare and combine trees": ["tree.compare", "tree.consensus", "tree.distances", "tree.multifurcating"],
    "Work with trees": ["tree", "fit.weighted_leaves"],
    "Draw and explore": ["plot", "explorer"],
    "Read and write files": ["io"],
    "Get data and baselines": ["datasets", "baselines"],
    "Embed trees in hyperbolic space": ["continuous", "hyperbolic", "geometry"],
    "Check the theory of the paper": ["hyperbolic.theory", "hyperbolic.high_precision", "theory"],
    "Train with PyTorch": ["nn"],
}


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


def task_of(entry: Entry) -> str:
    """Return the task of a public name: that of the module which defines it; aliases and numbers have only their door."""
    home = getattr(entry.found, "__module__", None) or ""
    task = task_of_module(home if home.startswith("hyphc.") else entry.name.rpartition(".")[0])
    if task is None:
        raise LookupError(f"{entry.name}, of {home}, has no task: add its module to TASKS in docs/_ext/reference.py.")
    return task


def task_of_module(name: str) -> str | None:
    modules = {f"hyphc.{module}": task for task, modules in TASKS.items() for module in modules}
    fitting = [module for module in modules if f"{name}.".startswith(f"{module}.")]
    return modules[max(fitting, key=len)] if fitting else None


def link(entry: Entry) -> str:
    return f":doc:`{entry.name.rpartition('.')[2]} <{entry.page}>`"


def slug(task: str) -> str:
    """Return the file name of a task's page, without its ending."""
    return "task-" + task.lower().replace(" ", "-")


def task_page(task: str, names: list[Entry], closed: dict[str, str]) -> str:
    """Return the page of a task: the names of each module in a table, and the modules that cannot be imported here."""
    lines = [task, "=" * len(task), ""]
    for door in dict.fromkeys(entry.name.rpartition(".")[0] for entry in names):
        own = [entry for entry in names if entry.name.rpartition(".")[0] == door]
        rows = [f"   * - {link(entry)}\n     - {summary(entry.found)}" for entry in own]
        about = escaped(inspect.getdoc(opened(door)) or "") if door in DOORS and door != "hyphc" else ""
        lines += [door, "-" * len(door), "", about, "", *table(rows)]
    for door, reason in closed.items():
        if task_of_module(door) == task:
            lines += [door, "-" * len(door), "", "Not installed where this site was built:", "", f"   {reason}", ""]
    pages = [entry.page for entry in names if entry.page == entry.name]
    return "\n".join([*lines, *toctree(pages)] if pages else lines)


def table(rows: list[str], kind: str = "names") -> list[str]:
    return [".. list-table::", "   :widths: 30 70", f"   :class: {kind}", "", *rows, ""]


def toctree(pages: list[str]) -> list[str]:
    return [".. toctree::", "   :hidden:", "", *(f"   {page}" for page in pages), ""]


def sources() -> dict[str, str]:
    """File names of the reference and their text."""
    found, closed = entries()
    pages = {
        f"{entry.name}.rst": stub(entry) for names in found.values() for entry in names if entry.page == entry.name
    }
    tasks: dict[str, list[Entry]] = {task: [] for task in TASKS}
    for names in found.values():
        for entry in names:
            if entry.page == entry.name:  # under its other name it is listed once
                tasks[task_of(entry)].append(entry)
    for task, names in tasks.items():
        pages[f"{slug(task)}.rst"] = task_page(task, names, closed)
    title = "API reference by task"
    words = (
        "Every public name, from its docstring. ``import hyphc`` is quick: names are loaded when they are first used."
    )
    rows = [
        f"   * - :doc:`{task} <{slug(task)}>`\n     - {', '.join(link(entry) for entry in names[:6])}"
        + (", …" if len(names) > 6 else "")
        for task, names in tasks.items()
    ]
    index = [".. toctree::", "   :hidden:", "", *(f"   {slug(task)}" for task in tasks), ""]
    pages["index.rst"] = "\n".join([title, "=" * len(title), "", words, "", *table(rows, "tasks"), *index])
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
PAGE = re.compile(r"(?:``)?docs/([\w/]+)\.md(?:``)?")
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


def hide_edit_link(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave out "edit this page" where the page is generated: its source is the docstring."""
    if page.startswith(f"{FOLDER}/"):
        context["page_source_suffix"] = ""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_sources)
    app.connect("autodoc-process-docstring", escape_docstring, priority=100)  # before numpydoc
    app.connect("autodoc-skip-member", skip_member)
    app.connect("html-page-context", hide_edit_link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
