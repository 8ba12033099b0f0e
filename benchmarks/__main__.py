"""All measurements, from the repository's root.

    python -m benchmarks                        what there is
    python -m benchmarks SUITE [NAME ...]       measures a suite; with names, only these cases, kinds or methods
    python -m benchmarks small | all            the small sets, in minutes; everything, in hours
    python -m benchmarks report                 the tables and figures of docs/ and README.md, from the stored results
    python -m benchmarks stale                  which stored results were measured with other sources than those at hand

Needs the extras [bench], [torch] and [plot], and the UCI files in HYPHC_DATA. A result that is stored in
benchmarks/results is not measured again, unless by --again.
"""

from __future__ import annotations

import argparse

from .harness.report import write_report
from .harness.runner import run_all
from .harness.stale import stale_lines
from .harness.store import Store
from .harness.task import Task
from .suites import PLANS, SUITES, what_is_there


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=[*PLANS, *SUITES, "report", "stale"], metavar="WHAT")
    parser.add_argument("names", nargs="*", help="run only what has one of these names", metavar="NAME")
    parser.add_argument("--again", action="store_true", help="measure again what is stored")
    arguments = parser.parse_args()
    store = Store()
    if arguments.what is None:
        print(*(f"{name:<15} {line}" for name, line in what_is_there().items()), sep="\n")
        return
    if arguments.what not in ("report", "stale"):
        tasks = PLANS.get(arguments.what) or SUITES[arguments.what].tasks
        run_all(_chosen(parser, tasks(), arguments.names), store, again=arguments.again)
    if arguments.what in SUITES:
        print(*(table(store) for table in SUITES[arguments.what].TABLES.values()), sep="\n\n")
    if arguments.what != "stale":
        write_report(store)
    print(*stale_lines(store), sep="\n")


def _chosen(parser: argparse.ArgumentParser, tasks: list[Task], names: list[str]) -> list[Task]:
    known = {name for task in tasks for name in task.names}
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown name {unknown[0]!r}; choose from {', '.join(sorted(known))}")
    return [task for task in tasks if not names or task.names & set(names)]


if __name__ == "__main__":
    main()
