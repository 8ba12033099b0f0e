"""Compilation of kernels with numba: decorators for kernels and their helper functions, and dispatch on types.

Each function that Python can call carries a wrapper that takes its arguments apart, which takes longer to compile than most
functions themselves. So only kernels have one; to call a part of them from Python would crash.

Compiled code is cached beside the sources; if these cannot be written to, in the user's cache directory or in NUMBA_CACHE_DIR; if
nothing can be written, not at all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from numba import config, njit
from numba.core import event
from numba.extending import overload as provide

Function = TypeVar("Function", bound=Callable[..., Any])
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result", covariant=True)

WARN_AFTER = 0.5  # seconds of compilation before the message: one or two kernels need none
MESSAGE = (
    "hyphc: compiling kernels, once for each kind of input, some ten seconds; `hyphc compile` compiles all at once …"
)

_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_UNWRAPPED: Any = {**_OPTIONS, "no_cpython_wrapper": True}


class _Decorator(Protocol):
    """With or without further options of numba."""

    @overload
    def __call__(self, function: Function, /) -> Function: ...
    @overload
    def __call__(self, **options: Any) -> Callable[[Function], Function]: ...


def _compiled(function: Any = None, /, **options: Any) -> Any:
    """Compile with numba, with an on-disk cache where a directory is writable."""
    if function is None:
        return partial(_compiled, **options)
    compiled: Any = njit(function, **options)
    if not config.DISABLE_JIT:  # type: ignore[attr-defined]
        with suppress(RuntimeError):  # no directory to write to
            compiled.enable_caching()
    return compiled


kernel: _Decorator = partial(_compiled, **_OPTIONS)
part: _Decorator = partial(_compiled, **_UNWRAPPED)


class TypeDispatched(Protocol[Arguments, Result]):
    """A function whose body depends on the class of its first argument."""

    def __call__(self, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Call the body of that class."""

    def of(self, *classes: type) -> Callable[[Function], Function]:
        """Decorate the body for these classes."""


def dispatch_on_type(verb: Callable[Arguments, Result]) -> TypeDispatched[Arguments, Result]:
    """Return a function whose body is chosen by the class of its first argument, a named tuple, at compile time.

    Bodies are given by ``verb.of(*classes)``; other classes have the body of ``verb`` itself. Nothing is compiled for unused
    classes, and nothing is dispatched at run time.
    """
    bodies: dict[type, Callable[..., Any]] = {}

    @wraps(verb)
    def plain(state: Any, *others: Any) -> Any:
        return bodies.get(type(state), verb)(state, *others)

    @provide(plain, jit_options=_UNWRAPPED, strict=False)  # annotations differ
    @wraps(verb)
    def choose(state: Any, *others: Any) -> Any:
        return bodies.get(state.instance_class, verb)

    def of(*classes: type) -> Callable[[Function], Function]:
        def register(body: Function) -> Function:
            bodies.update(dict.fromkeys(classes, body))
            return body

        return register

    plain.of = of  # type: ignore[attr-defined]
    return plain  # type: ignore[return-value]


class _Compilation(event.Listener):
    """Log once that the package's own kernels are being compiled; compilations of other packages are not counted."""

    def __init__(self) -> None:
        self.started: list[float] = []  # of the compilations under way: parts are compiled while their kernel is
        self.seconds, self.has_warned = 0.0, False

    def on_start(self, event: Any) -> None:
        """Log the message if compilation has taken longer than ``WARN_AFTER``."""
        if not _is_package_kernel(event):
            return
        self.started.append(time.monotonic())
        if not self.has_warned and self.seconds + self.started[-1] - self.started[0] > WARN_AFTER:
            self.has_warned = True
            logging.getLogger("hyphc").warning(MESSAGE)

    def on_end(self, event: Any) -> None:
        """Add the time of this compilation."""
        if _is_package_kernel(event):
            started = self.started.pop()
            if not self.started:
                self.seconds += time.monotonic() - started


def _is_package_kernel(event: Any) -> bool:
    module = event.data["dispatcher"].py_func.__module__ or ""  # functions made by ``exec`` have none
    return bool(module.startswith("hyphc."))


event.register("numba:compile", _Compilation())  # type: ignore[no-untyped-call]
