"""Try what may go wrong, at length. The tests of this folder try short forms of it. Run from the root of the repository.

    python -m tests.system                 table of suites: how many results are stored, fresh, stale and missing
    python -m tests.system faults          run a suite: try what is missing, print its tables, rewrite the pages
    python -m tests.system faults kills    run one group of it; fuzzing csv: one reader (an unknown NAME lists them)
    python -m tests.system fuzzing csv --again    try it again
    python -m tests.system stale [SUITE]   list stale results by commit, or those of a suite one by one

Results are stored in tests/system/results; docs/notes/reliability.md shows them. Faults, fuzzing and soak take hours.
Guided fuzzing needs: pip install atheris.
"""

from __future__ import annotations

from benchmarks.harness.command import main
from benchmarks.suites import SYSTEM

if __name__ == "__main__":
    main("tests.system", str(__doc__), SYSTEM, {})
