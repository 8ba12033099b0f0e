"""How the package's kernels are compiled: what Python calls, what only kernels call, and what depends on types.

Each function that Python can call carries a wrapper that takes its arguments apart, which takes longer to compile than most
functions themselves. So only kernels have one; to call a part of them from Python would crash.

What is compiled is kept beside the sources, or where they cannot be written to in the user's cache directory, or where
NUMBA_CACHE_DIR says. Where nothing can be written, each process compiles for itself.
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

PATIENCE = 0.5  # seconds of compilation before the user is told: a kernel or two are no news
NEWS = "hyphc: compiling kernels, once per installation and kind of input; some ten seconds …"

_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_UNWRAPPED: Any = {**_OPTIONS, "no_cpython_wrapper": True}


class _Decorator(Protocol):
    """With or without further options of numba."""

    @overload
    def __call__(self, function: Function, /) -> Function: ...
    @overload
    def __call__(self, **options: Any) -> Callable[[Function], Function]: ...


def _compiled(function: Any = None, /, **options: Any) -> Any:
    """numba's compiler with a cache, if there is a place for one."""
    if function is None:
        return partial(_compiled, **options)
    compiled: Any = njit(function, **options)
    if not config.DISABLE_JIT:  # type: ignore[attr-defined]
        with suppress(RuntimeError):  # no directory to write to
            compiled.enable_caching()
    return compiled


kernel: _Decorator = partial(_compiled, **_OPTIONS)
part: _Decorator = partial(_compiled, **_UNWRAPPED)


class Verb(Protocol[Arguments, Result]):
    """A function whose body depends on the class of its first argument."""

    def __call__(self, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        """Call the body of that class."""

    def of(self, *classes: type) -> Callable[[Function], Function]:
        """Decorate the body for these classes."""


def by_kind(verb: Callable[Arguments, Result]) -> Verb[Arguments, Result]:
    """A function of kernels whose body is chosen by the class of its first argument, a named tuple, when they are compiled.

    Bodies are given by ``verb.of(*classes)``. What one class does not need is neither compiled nor asked for at run time.
    """
    bodies: dict[type, Callable[..., Any]] = {}

    @wraps(verb)
    def plain(state: Any, *others: Any) -> Any:
        return bodies[type(state)](state, *others)

    @provide(plain, jit_options=_UNWRAPPED, strict=False)  # annotations differ
    @wraps(verb)
    def choose(state: Any, *others: Any) -> Any:
        return bodies[state.instance_class]

    def of(*classes: type) -> Callable[[Function], Function]:
        def register(body: Function) -> Function:
            bodies.update(dict.fromkeys(classes, body))
            return body

        return register

    plain.of = of  # type: ignore[attr-defined]
    return plain  # type: ignore[return-value]


class _Compilation(event.Listener):
    """Tell the user once why the package's own kernels take long to compile; compilations of other packages are not counted."""

    def __init__(self) -> None:
        self.started: list[float] = []  # of the compilations under way: parts are compiled while their kernel is
        self.seconds, self.is_told = 0.0, False

    def on_start(self, event: Any) -> None:
        """Tell the user if kernels have been compiled for some time."""
        if not _is_ours(event):
            return
        self.started.append(time.monotonic())
        if not self.is_told and self.seconds + self.started[-1] - self.started[0] > PATIENCE:
            self.is_told = True
            logging.getLogger("hyphc").warning(NEWS)

    def on_end(self, event: Any) -> None:
        """Add up the time it took."""
        if _is_ours(event):
            started = self.started.pop()
            if not self.started:
                self.seconds += time.monotonic() - started


def _is_ours(event: Any) -> bool:
    module = event.data["dispatcher"].py_func.__module__ or ""  # functions made by ``exec`` have none
    return bool(module.startswith("hyphc."))


event.register("numba:compile", _Compilation())  # type: ignore[no-untyped-call]
