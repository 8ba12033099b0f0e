"""A process with a fault at a stage of its work: ``python -m tests.system.faults.child '{"at": …, "do": …}'``.

``argv`` runs the command ``hyphc`` with these words; ``data`` fits a data set into the folder ``checkpoint``.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

# the function at whose call a stage begins
STAGES = {
    "reading": "hyphc.cli.fit:read_data",
    "similarity": "hyphc.cli.fit:build_similarity",
    "start": "hyphc.fit.run:_make_start",
    "sweeps": "hyphc.search.refine:sweep_tree",
    "other starts": "hyphc.search.refine:fuse",
    "ratchet": "hyphc.search.refine:ratchet",
    "iterated": "hyphc.search.refine:run_iterated_search",
    "flat clusters": "hyphc.fit.flat_cut:number_of_clusters",
    "certificate": "hyphc.cli.fit:assess",
    "files": "hyphc.cli.fit:write_all",
}
SPARE_BYTES = 1 << 20  # bytes that are left when memory becomes short
EVERY = 0.5  # seconds between two states


def limit_memory(_: str) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + SPARE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def limit_files(size: str) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))


def remove(folder: str) -> None:
    shutil.rmtree(folder)


def wait(flag: str) -> None:
    """Create a file that says that the stage has begun, and give the parent time to act."""
    Path(flag).touch()
    end = time.monotonic() + 20
    while time.monotonic() < end and Path(flag).exists():
        time.sleep(0.01)


def set_clock_back(_: str) -> None:
    """Let every reading of the time of day be an hour before the last one."""
    seen = [time.time()]

    def back() -> float:
        seen.append(seen[-1] - 3600.0)
        return seen[-1]

    time.time = back


ACTIONS: dict[str, Callable[[str], None]] = {
    "limit memory": limit_memory,
    "limit files": limit_files,
    "remove": remove,
    "wait": wait,
    "set clock back": set_clock_back,
}


def inject(stage: str, action: Callable[[], None]) -> None:
    """Call ``action`` when the stage begins for the first time."""
    place, _, name = STAGES[stage].partition(":")
    module = importlib.import_module(place)
    function, done = getattr(module, name), []

    def faulty(*args: Any, **options: Any) -> Any:
        if not done:
            done.append(True)
            action()
        return function(*args, **options)

    setattr(module, name, faulty)


def fit(case: str, folder: str, result: str) -> None:
    """Fit a data set of the catalogue into a checkpoint, on one thread, and save the merges of the tree.

    ``result`` with ``.begun`` and ``.ended`` after it hold the CPU time at which the fit did.
    """
    import numpy as np
    from hyphc import HypHC, datasets
    from hyphc.fit import resume

    resume.INTERVAL, resume.TIME_SHARE = EVERY, math.inf
    found = datasets.load(case)
    metric = "auto" if isinstance(found.data, np.ndarray) else "precomputed"
    write_atomically(f"{result}.begun", lambda file: file.write(f"{time.process_time()}".encode()))
    model = HypHC(metric=metric, random_state=0, checkpoint=folder, n_jobs=1).fit(found.data)
    write_atomically(f"{result}.ended", lambda file: file.write(f"{time.process_time()}".encode()))
    write_atomically(result, lambda file: np.save(file, model.tree_.children))


def write_atomically(path: str, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file atomically."""
    half = Path(f"{path}.half")
    with half.open("wb") as file:
        write(file)
    os.replace(half, path)


def load_all(argv: list[str]) -> None:
    """Fit once, so that kernels are loaded: the compiler's own library ends the process when it finds no memory."""
    from hyphc.cli import main as hyphc

    with tempfile.TemporaryDirectory() as folder:
        hyphc([*argv, "--output", folder])


def main() -> int:
    request = json.loads(sys.argv[1])
    # shells let what they start in the background ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request.get("do") == "limit memory":
        load_all(request["argv"])
    if request.get("do"):
        inject(request["at"], lambda: ACTIONS[request["do"]](request.get("with", "")))
    if "data" in request:
        fit(request["data"], request["checkpoint"], request["result"])
        return 0
    from hyphc.cli import main as hyphc

    return hyphc(request["argv"])


if __name__ == "__main__":
    sys.exit(main())
