"""Measure the package, and write the tables and figures of the documentation. Run from the root of the repository.

    python -m benchmarks                   table of suites: how many results are stored, fresh, stale and missing
    python -m benchmarks tables            run a suite: measure what is missing, print its tables, rewrite the pages
    python -m benchmarks tables zoo        run one case of it, or one kind or method (an unknown NAME lists them)
    python -m benchmarks tables zoo.cosine.ward --again    measure one result again; a suite or a case likewise
    python -m benchmarks small             the small data sets of some suites: minutes
    python -m benchmarks all               all suites: hours
    python -m benchmarks report            rewrite tables and figures from the stored results
    python -m benchmarks stale [SUITE]     list stale results by commit, or those of a suite one by one

A result is fresh if the code that its suite runs has not changed since, and stale otherwise; prose does not count. Results are
stored in benchmarks/results, one file a suite, one line a result. Needs the extras [bench], [torch] and [plot], and the UCI files
in the folder that the environment variable HYPHC_DATA names.
"""

from __future__ import annotations

from .harness.command import main
from .suites import BENCHMARKS, PLANS

if __name__ == "__main__":
    main("benchmarks", str(__doc__), BENCHMARKS, PLANS)
