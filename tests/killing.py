"""A fit that is ended without warning after a given number of states were written, and taken up again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hyphc import HypHC
from hyphc.fit import resume


class Killed(BaseException):
    """Nothing in the package expects it, as nothing expects a SIGKILL."""


@contextmanager
def every_state_written(
    monkeypatch: Any, limit: float = float("inf"), share: float = float("inf")
) -> Iterator[list[set[str]]]:
    """States are written whenever they can be, and the fit is killed after ``limit`` of them; yields what each one held."""
    held: list[set[str]] = []
    save_if_due = resume.FitCheckpoint.save_if_due

    def counted(checkpoint: resume.FitCheckpoint, frame: Any, now: bool = False) -> None:
        save_if_due(checkpoint, frame, now)
        held.append(set(frame()))
        if len(held) >= limit:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(resume, "INTERVAL", 0.0)
        patch.setattr(resume, "TIME_SHARE", share)
        patch.setattr(resume.FitCheckpoint, "save_if_due", counted)
        yield held


def killed_and_resumed(model: HypHC, X: Any, folder: Path, after: int, monkeypatch: Any) -> HypHC:
    """The model after a fit that was killed when so many states were written, and another that went on."""
    shutil.rmtree(folder, ignore_errors=True)
    model.set_params(checkpoint=folder)
    with every_state_written(monkeypatch, after), suppress(Killed):
        model.fit(X)
    return HypHC(**model.get_params()).fit(X)
