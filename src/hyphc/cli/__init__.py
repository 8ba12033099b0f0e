"""Entry point of the command ``hyphc``: dispatch to commands, exit codes and error messages."""

from __future__ import annotations

import argparse
import io
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from .._runtime.sanitize import truncate, visible
from .._runtime.signals import NO_THREAD, Terminated, terminate
from .parsers import build_parser

# Exit codes; argparse ends with 2 when the command line cannot be parsed.
DONE, MISTAKE, INTERRUPTED, READER_GONE, TERMINATED = 0, 1, 130, 141, 143


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0: done. 1: an error, explained in one sentence. 2: a command line that cannot be parsed. 130: interrupted; ``fit`` has
    written its best tree if it prints that. 141: the reader of the output was closed. 143: terminated (SIGTERM), as 130.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a pipe on Windows encodes few characters: others are escaped, as Python does on stderr
        sys.stdout.reconfigure(errors="backslashreplace")
    parser = build_parser()
    if not words:
        parser.print_help()
        return DONE
    arguments = parser.parse_args(words)
    arguments.command_line = shlex.join(["hyphc", *words])
    try:
        with _handle_sigterm():
            return _run(arguments)
    except BrokenPipeError:
        # otherwise Python prints another error when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except KeyboardInterrupt as interrupt:
        print(f"hyphc: interrupted; {str(interrupt) or 'nothing was written'}.", file=sys.stderr)
        return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED
    except (ValueError, OSError, MemoryError, ImportError) as error:
        print(f"hyphc: {_sentence(error)}", file=sys.stderr)
        return MISTAKE
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        print(f"hyphc: {_sentence(MemoryError())}", file=sys.stderr)
        return MISTAKE


@contextmanager
def _handle_sigterm() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C: a fit writes its best tree, and no partial file is left."""
    own = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if own:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        if own:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(arguments: argparse.Namespace) -> int:
    """Import the command's module lazily, which may load numba and scikit-learn, and run it: help and usage errors stay fast."""
    module = import_module(f".{arguments.module}", __package__)
    code = getattr(module, arguments.function)(arguments)
    sys.stdout.flush()
    return DONE if code is None else int(code)


def _sentence(error: Exception) -> str:
    """Return the error in one line, with a full stop."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    else:
        text = " ".join(str(error).split()) or "there is not enough memory; close other programs or take fewer rows"
    text = visible(truncate(text))
    return text if text.endswith((".", "?", "!")) else f"{text}."
