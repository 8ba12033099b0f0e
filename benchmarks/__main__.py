"""The whole benchmark from the repository's root.

    python -m benchmarks small [CASE ...]     the small sets, in minutes
    python -m benchmarks classification       the paper's experiment on classes, in half an hour
    python -m benchmarks all [CASE ...]       everything, in hours; with names, only these cases
    python -m benchmarks report               the tables and figures of docs/ and README.md, from the stored results

Needs the extras [bench], [torch] and [plot], and the UCI files in HYPHC_DATA. A result that is stored in
benchmarks/results is not run again: delete its file to repeat it.
"""

from __future__ import annotations

import argparse

from .harness.plans import PLANS
from .harness.report import write_report
from .harness.runner import run_all
from .harness.store import Store


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*PLANS, "report"], help="what to run; report only rewrites the docs")
    parser.add_argument("cases", nargs="*", help="run only these data sets")
    arguments = parser.parse_args()
    store = Store()
    if arguments.what != "report":
        tasks = PLANS[arguments.what]()
        known = {task.case for task in tasks}
        unknown = [case for case in arguments.cases if case not in known]
        if unknown:
            parser.error(f"unknown case {unknown[0]!r}; choose from {', '.join(sorted(known))}")
        chosen = arguments.cases or known
        run_all([task for task in tasks if task.case in chosen], store)
    write_report(store)


if __name__ == "__main__":
    main()
