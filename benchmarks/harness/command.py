"""The command line of a program that runs suites: ``python -m benchmarks`` and ``python -m tests.system``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence, Set

from ..suites import SUITES
from .report import write_report
from .runner import run_all
from .stale import overview, stale_lines
from .store import Store
from .task import Suite, Task

Plans = Mapping[str, Callable[[], list[Task]]]


def main(
    program: str, about: str, suites: Mapping[str, Suite], plans: Plans, argv: Sequence[str] | None = None
) -> None:
    """Run what the arguments ask for; without arguments, print a table of the suites."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    choices = [*suites, *plans, "report", "stale"]
    parser.add_argument("what", nargs="?", choices=choices, metavar="WHAT", help=", ".join(choices))
    parser.add_argument("names", nargs="*", help="run only what has one of these names", metavar="NAME")
    parser.add_argument("--again", action="store_true", help="measure again what is stored")
    arguments = parser.parse_args(argv)
    store = Store()
    if arguments.what is None:
        print(overview(store, suites))
    elif arguments.what == "stale":
        _require_known(parser, arguments.names, SUITES.keys())
        print(*stale_lines(store, SUITES, arguments.names), sep="\n")
    elif arguments.what == "report":
        write_report(store)
    else:
        tasks = plans.get(arguments.what) or suites[arguments.what].tasks
        run_all(_chosen(parser, tasks(), arguments.names), store, again=arguments.again)
        write_report(store)
        if arguments.what in suites:
            print(*(table(store) for table in suites[arguments.what].TABLES.values()), sep="\n\n")


def _chosen(parser: argparse.ArgumentParser, tasks: list[Task], names: list[str]) -> list[Task]:
    _require_known(parser, names, {name for task in tasks for name in task.names})
    return [task for task in tasks if not names or task.names & set(names)]


def _require_known(parser: argparse.ArgumentParser, names: list[str], known: Set[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown name {unknown[0]!r}; choose from {', '.join(sorted(known))}")
