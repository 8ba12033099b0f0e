"""Fits killed (SIGKILL) at random moments and taken up again until one ends: with the same tree, bit for bit.

Moments are processor seconds since the fit began, drawn over all of it: whatever the machine does, a kill hits a fit that runs.
"""

from __future__ import annotations

import json
import os
import signal
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
_TICK = os.sysconf("SC_CLK_TCK")
_PAUSE = 0.005  # seconds between two looks at a process


def trials(case: str, count: int) -> Iterator[Trial]:
    """Kills, each with the stage that the process had kept before it."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        for name in ("cold", "alone"):  # the first compiles, or loads, what the second has at hand
            _begun(case, home / name).wait()
        expected = np.load(home / "alone.npy")
        seconds = _noted(home / "alone", "ended") - _noted(home / "alone", "begun")
        seed, done = 0, 0
        while done < count:
            kills = _chain(case, home / str(seed), seconds, seed, min(IN_A_ROW, count - done))
            same = np.array_equal(np.load(home / f"{seed}.npy"), expected)
            complaints = [] if same else ["another tree"]
            complaints += [f"a draft {path.name}" for path in (home / str(seed)).rglob("*") if is_draft(path)]
            for at, stage in kills:
                yield judged(seed, complaints, at=round(at / seconds, 3), seconds=round(at, 2), stage=stage)
            seed, done = seed + 1, done + len(kills)


def _begun(case: str, folder: Path) -> subprocess.Popen[bytes]:
    """A process that fits into the folder, and puts the tree and its times beside it."""
    for name in ("begun", "ended"):
        Path(f"{folder}.npy.{name}").unlink(missing_ok=True)
    asked = {"data": case, "checkpoint": str(folder), "result": f"{folder}.npy"}
    return subprocess.Popen([sys.executable, "-m", "tests.system.faults.child", json.dumps(asked)])


def _noted(folder: Path, name: str) -> float:
    """The processor seconds at which the last process began or ended its fit; infinite before."""
    path = Path(f"{folder}.npy.{name}")
    return float(path.read_text()) if path.exists() else float("inf")


def _chain(case: str, folder: Path, seconds: float, seed: int, most: int) -> list[tuple[float, str]]:
    """One fit, killed at so many moments drawn from all of it; when it was killed, and what it had kept by then.

    A process goes on where the one before stood, so that the time it is given is that from the last moment to its own.
    """
    kills: list[tuple[float, str]] = []
    last = 0.0
    for moment in np.sort(np.random.default_rng(seed).uniform(0.0, seconds, most)).tolist():
        process = _begun(case, folder)
        _wait_until_spent(process, folder, moment - last)
        process.kill()
        if process.wait() == -signal.SIGKILL and _noted(folder, "ended") == float("inf"):
            kills.append((moment, _kept(folder)))
        last = moment
    while not Path(f"{folder}.npy").exists():
        if _begun(case, folder).wait() != 0:
            raise RuntimeError(f"a fit of {case} failed after {len(kills)} kills, seed {seed}")
    return kills


def _wait_until_spent(process: subprocess.Popen[bytes], folder: Path, seconds: float) -> None:
    """Until the fit has had so many processor seconds, or has ended."""
    while process.poll() is None and _spent(process.pid) < _noted(folder, "begun") + seconds:
        time.sleep(_PAUSE)


def _spent(pid: int) -> float:
    """Processor seconds of a process, as Linux counts them."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICK


def _kept(folder: Path) -> str:
    """The innermost level of the last state in a checkpoint."""
    records = sorted(folder.glob("state/*.json"))
    names = json.loads(records[-1].read_text())["files"] if records else ["nothing yet"]
    return max((name.rpartition(".")[0] for name in names), key=lambda path: path.count(".")) or "nothing yet"
