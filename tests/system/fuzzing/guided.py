"""Give one reader inputs that atheris finds by the lines they reach; needs `pip install atheris`.

    python -m tests.system.fuzzing.guided READER N [SEED]      prints the totals and every rule that was broken

Lines of the package are instrumented, and those of Python's own parsers below it. Kernels run as plain Python, instrumented too:
numba could not compile what atheris makes of them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

_INSTRUMENTED = ["hyphc", "json", "csv", "zipfile"]
LONGEST = 4096
_LONGEST_WORD = 64  # bytes of an entry of libFuzzer's dictionary


def main(name: str, n: int, seed: int = 0) -> None:
    """Run a campaign. libFuzzer ends the process itself, so the totals are printed after the last input."""
    import atheris  # type: ignore[import-not-found]

    os.environ["NUMBA_DISABLE_JIT"] = "1"
    with atheris.instrument_imports(include=_INSTRUMENTED):
        from .campaign import Totals, add_input, summarize
        from .mutation import TOKENS
        from .readers import READERS

    reader, totals, folder = READERS[name], Totals(), Path(mkdtemp())
    corpus = folder / "corpus"
    corpus.mkdir()
    for k, content in enumerate(reader.seeds()):
        (corpus / str(k)).write_bytes(content)
    words = folder / "words"
    words.write_text("".join(_entry(word) for word in (*TOKENS, *reader.tokens) if len(word) <= _LONGEST_WORD))

    def read_one(content: bytes) -> None:
        add_input(totals, reader, folder, content)
        if totals.inputs == n:
            print(summarize(name, totals), flush=True)

    options: list[Any] = [
        f"-runs={n}",
        f"-seed={seed + 1}",
        f"-max_len={LONGEST}",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, f"-dict={words}", str(corpus)], read_one)
    atheris.Fuzz()


def _entry(word: bytes) -> str:
    """Return a line of libFuzzer's dictionary."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n'


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:]))
