"""A real disk of a few pages, which is soon full: a tmpfs, if the process may mount one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOR_FILES = 64 << 10  # bytes: room for the files of an earlier fit, and not for those of a new one
FOR_STATES = 8 << 10  # bytes: room for a manifest, and for no state


class CannotMountError(RuntimeError):
    """The system does not let this process mount a disk."""


@contextmanager
def small_disk(folder: Path, n_bytes: int) -> Iterator[None]:
    """Mount an empty disk of so many bytes over a folder while the block runs."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CannotMountError(getattr(error, "stderr", None) or str(error)) from None
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
