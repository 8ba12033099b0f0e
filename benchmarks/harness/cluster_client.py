"""A fit on worker processes of this machine, as a program of its own that can be killed.

    python -m benchmarks.harness.cluster_client ROWS STORAGE METRIC WORKERS MEMORY KILLS

KILLS is ``none``, a number of seconds after which one worker is killed, or ``stages``: one in each stage, at a random moment.
Prints JSON: seconds of the fit and of each stage, cost, clusters, the most memory that each worker held, the workers killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from .memory import peak_bytes


def peak_mb() -> float:
    """The most memory this process has held."""
    return peak_bytes() / (1 << 20)


class Killer:
    """Kills workers without warning, and remembers in which stage."""

    def __init__(self, client: Any, plan: str) -> None:
        self.client, self.killed, self.stage, self.random = client, [], "", random.Random(0)
        self.each_stage = plan == "stages"
        if not self.each_stage and plan != "none":
            self._after(float(plan))

    def begin(self, stage: str) -> None:
        """A stage begins."""
        if stage != self.stage:
            self.stage = stage
            if self.each_stage:
                self._after(self.random.uniform(0.0, 1.0))

    def _after(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._kill)
        timer.daemon = True
        timer.start()

    def _kill(self) -> None:
        pids = sorted(self.client.run(os.getpid).values())
        os.kill(self.random.choice(pids), signal.SIGKILL)
        self.killed.append(self.stage)


def listened(begin: Callable[[str], None], seconds: dict[str, list[float]]) -> None:
    """Let every fit tell when its stages begin, and note when each begins and ends."""
    from hyphc.dask import estimator

    original = estimator.make_dask_executor

    def make_dask_executor(client: Any, tell: Any) -> Any:
        def told(stage: str, done: int, count: int) -> None:
            begin(stage)
            seconds.setdefault(stage, [time.time(), 0.0])[1] = time.time()
            tell(stage, done, count)

        return original(client, told)

    estimator.make_dask_executor = make_dask_executor


def main() -> None:
    from distributed import Client, LocalCluster
    from hyphc.dask import DaskHypHC

    rows, storage, metric, workers, memory, kills = sys.argv[1:]
    stages: dict[str, list[float]] = {}
    with (
        LocalCluster(
            n_workers=int(workers), threads_per_worker=1, memory_limit=memory, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        killer = Killer(client, kills)
        listened(killer.begin, stages)
        begin = time.time()
        model = DaskHypHC(metric=metric, random_state=0, storage=storage, client=client).fit(rows)
        told = {"seconds": time.time() - begin, "cost": model.cost_, "clusters": model.n_clusters_}
        told |= {"peaks": sorted(client.run(peak_mb).values()), "killed": killer.killed}
        told["stages"] = [[name, end - start] for name, (start, end) in stages.items()]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
