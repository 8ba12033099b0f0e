"""Fits killed (SIGKILL) at random moments and resumed until one ends: with the same tree, bit for bit.

Moments are CPU time since the fit began, drawn over all of it: however busy the machine is, a kill hits a fit that runs.
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
from hyphc._runtime.atomic_write import is_draft

from .trial import Trial, make_trial

CASES = {
    "letter": "SIGKILL at random moments of a fit of 20 000 rows",
    "cora_ml": "SIGKILL at random moments of a fit of a graph of 2 810 nodes",
}
LONG = 50  # kills of each
LIMIT = 3 * 3600.0
IN_A_ROW = 5  # kills of one fit; then it may end
_TICK = os.sysconf("SC_CLK_TCK")
_PAUSE = 0.005  # seconds between two looks at a process


def trials(case: str, count: int) -> Iterator[Trial]:
    """Yield kills, each with the stage that the process had saved before it."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        for name in ("cold", "alone"):  # the first compiles, or loads, what the second has at hand
            _start(case, home / name).wait()
        expected = np.load(home / "alone.npy")
        seconds = _read_time(home / "alone", "ended") - _read_time(home / "alone", "begun")
        seed, done = 0, 0
        while done < count:
            kills = _kill_and_resume(case, home / str(seed), seconds, seed, min(IN_A_ROW, count - done))
            same = np.array_equal(np.load(home / f"{seed}.npy"), expected)
            complaints = [] if same else ["another tree"]
            complaints += [f"a draft {path.name}" for path in (home / str(seed)).rglob("*") if is_draft(path)]
            for at, stage in kills:
                yield make_trial(seed, complaints, at=round(at / seconds, 3), seconds=round(at, 2), stage=stage)
            seed, done = seed + 1, done + len(kills)


def _start(case: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a process that fits with a checkpoint, and writes the tree and its times beside the folder."""
    for name in ("begun", "ended"):
        Path(f"{folder}.npy.{name}").unlink(missing_ok=True)
    asked = {"data": case, "checkpoint": str(folder), "result": f"{folder}.npy"}
    return subprocess.Popen([sys.executable, "-m", "tests.system.faults.child", json.dumps(asked)])


def _read_time(folder: Path, name: str) -> float:
    """Return the CPU time at which the last process began or ended its fit; infinite before."""
    path = Path(f"{folder}.npy.{name}")
    return float(path.read_text()) if path.exists() else float("inf")


def _kill_and_resume(case: str, folder: Path, seconds: float, seed: int, most: int) -> list[tuple[float, str]]:
    """Kill one fit at random moments and resume it; return when it was killed, and what it had saved by then.

    A process continues where the one before stood, so it is given the time from the last moment to its own.
    """
    kills: list[tuple[float, str]] = []
    last = 0.0
    for moment in np.sort(np.random.default_rng(seed).uniform(0.0, seconds, most)).tolist():
        process = _start(case, folder)
        _wait_for_cpu_time(process, folder, moment - last)
        process.kill()
        if process.wait() == -signal.SIGKILL and _read_time(folder, "ended") == float("inf"):
            kills.append((moment, _last_stage(folder)))
        last = moment
    while not Path(f"{folder}.npy").exists():
        if _start(case, folder).wait() != 0:
            raise RuntimeError(f"a fit of {case} failed after {len(kills)} kills, seed {seed}")
    return kills


def _wait_for_cpu_time(process: subprocess.Popen[bytes], folder: Path, seconds: float) -> None:
    """Wait until the fit has had so much CPU time, or has ended."""
    while process.poll() is None and _cpu_time(process.pid) < _read_time(folder, "begun") + seconds:
        time.sleep(_PAUSE)


def _cpu_time(pid: int) -> float:
    """Return the CPU time of a process, as Linux counts it."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / _TICK


def _last_stage(folder: Path) -> str:
    """Return the innermost level of the last state in a checkpoint."""
    records = sorted(folder.glob("state/*.json"))
    names = json.loads(records[-1].read_text())["files"] if records else ["nothing yet"]
    return max((name.rpartition(".")[0] for name in names), key=lambda path: path.count(".")) or "nothing yet"
