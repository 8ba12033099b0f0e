"""The child: measures one task and sends its records, one by one, with the memory it has needed so far."""

from __future__ import annotations

from multiprocessing.connection import Connection

from ..suites import SUITES
from .memory import peak_bytes
from .task import Task


def measure(task: Task, pipe: Connection) -> None:
    """Send (record, peak memory in MB) for each record of the task, at last (None, peak) or (the error's name, peak)."""
    try:
        for record in SUITES[task.suite].records(task):
            pipe.send((record, peak_mb()))
        pipe.send((None, peak_mb()))
    except Exception as error:
        pipe.send((type(error).__name__, peak_mb()))
    finally:
        pipe.close()


def peak_mb() -> float:
    """The most memory this process has held so far."""
    return round(peak_bytes() / (1 << 20), 1)
