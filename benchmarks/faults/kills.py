"""Fits killed (SIGKILL) at random moments of their lives and taken up again until one ends: with the same tree, bit for bit."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from hyphc._shared.files import is_draft

from .trial import Trial, judged

CASES = {
    "letter": "SIGKILL at random moments of a fit of 20 000 rows",
    "cora_ml": "SIGKILL at random moments of a fit of a graph of 2 810 nodes",
}
LONG = 50  # kills of each
LIMIT = 3 * 3600.0
IN_A_ROW = 5  # kills of one fit; then it is left in peace


def trials(case: str, count: int) -> Iterator[Trial]:
    """Kills, each with the stage that the process had kept before it."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        begin = time.monotonic()
        _begun(case, home / "alone", home / "alone.npy").wait()
        seconds, expected = time.monotonic() - begin, np.load(home / "alone.npy")
        seed, done = 0, 0
        while done < count:
            kills = _chain(case, home / str(seed), seconds, seed, min(IN_A_ROW, count - done))
            same = np.array_equal(np.load(home / f"{seed}.npy"), expected)
            complaints = [] if same else ["another tree"]
            complaints += [f"a draft {path.name}" for path in (home / str(seed)).rglob("*") if is_draft(path)]
            for after, stage in kills:
                yield judged(seed, complaints, after=round(after, 2), stage=stage)
            seed, done = seed + 1, done + len(kills)


def _begun(case: str, folder: Path, result: Path) -> subprocess.Popen[bytes]:
    asked = {"data": case, "checkpoint": str(folder), "result": str(result)}
    return subprocess.Popen([sys.executable, "-m", "benchmarks.faults.child", json.dumps(asked)])


def _chain(case: str, folder: Path, seconds: float, seed: int, most: int) -> list[tuple[float, str]]:
    """One fit, killed up to so often; when each process was killed, and what it had kept by then."""
    rng, kills = np.random.default_rng(seed), list[tuple[float, str]]()
    result = folder.with_suffix(".npy")
    while not result.exists():
        process = _begun(case, folder, result)
        after = float(rng.uniform(0.0, seconds)) if len(kills) < most else None
        try:
            if process.wait(after) != 0:
                raise RuntimeError(f"a fit of {case} failed after {len(kills)} kills, seed {seed}")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills.append((after or 0.0, _kept(folder)))
    return kills


def _kept(folder: Path) -> str:
    """The innermost level of the last state in a checkpoint."""
    records = sorted(folder.glob("state/*.json"))
    names = json.loads(records[-1].read_text())["files"] if records else ["nothing yet"]
    return max((name.rpartition(".")[0] for name in names), key=lambda path: path.count(".")) or "nothing yet"
