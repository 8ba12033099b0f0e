"""Fingerprints of fits: data and all parameters that decide the tree, as values that JSON can hold.

Nothing here lists the fields of a class. Objects are taken apart as ``pickle`` would (dataclasses, slots, plain attributes and
extension types alike), arrays by dtype, shape and bytes, functions by code, defaults, closure and the globals that they read.
What cannot be taken apart is refused: an object that two problems could share by name would give one the other's tree.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._runtime.shard_store import Facts
from ..similarity import Similarity

_CUT = "decides where the tree is cut, after the fit"
# Parameters of ``HypHC`` that leave the tree as it is, and why. All others are part of the fingerprint.
WITHOUT_EFFECT = {
    "n_clusters": _CUT,
    "distance_threshold": _CUT,
    "criterion": _CUT,
    "min_size": _CUT,
    "outliers": _CUT,
    "n_jobs": "chunks and their order do not depend on the number of threads",
    "verbose": "shows progress alone",
    "callback": "receives progress; a fit that it ends early is not saved as finished",
    "memory_limit": "decides whether rows are fitted out of core; such a fit has the sizes that follow in its own fingerprint",
    "checkpoint": "is where the fingerprint is kept",
}
_NEW_ROWS = "says how new rows are compared; a fit reads only the similarities"
# Fields that leave the tree as it is, by class and name, and why.
FIELDS_WITHOUT_EFFECT: dict[type, dict[str, str]] = {Similarity: {"metric": _NEW_ROWS, "source": _NEW_ROWS}}

_PLAIN = bool | int | float | str


def compute_fingerprint(parameters: Mapping[str, Any], X: Any, sample_weight: Any) -> Facts:
    """Return data and parameters of a fit, what is not plain by its checksum. O(size of the data).

    Raises
    ------
    TypeError
        The content of a parameter cannot be determined.

    Examples
    --------
    >>> facts = compute_fingerprint({"effort": 1.0, "n_jobs": 2, "init": np.eye(2)}, np.eye(3), None)
    >>> sorted(facts), facts["effort"], len(facts["init"])
    (['data', 'effort', 'init', 'sample_weight'], 1.0, 64)
    """
    decisive = {name: value for name, value in parameters.items() if name not in WITHOUT_EFFECT}
    given = {"data": X, "sample_weight": sample_weight, **decisive}
    return {name: _fact(name, value) for name, value in given.items()}


def _fact(name: str, value: Any) -> Any:
    """Return numbers, words and short lists of them as they are, anything else by its checksum."""
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | tuple) and len(value) <= 2 and all(isinstance(one, int | float) for one in value):
        return list(value)
    try:
        return checksum(value)
    except _NoContentError as error:
        raise TypeError(
            f"checkpoint= must tell {name} from any other, and the content of {error} cannot be determined; define functions "
            f"and classes in a module that is imported, pass {name} as plain data or arrays, or leave checkpoint out."
        ) from None


class _NoContentError(Exception):
    """Raised for an object whose content cannot be determined."""


def checksum(value: Any) -> str:
    """Return the SHA-256 of the content of arrays, sparse matrices, objects, functions or containers of these."""
    return _digest(value, {}).hex()


def _digest(value: Any, open_: dict[int, int]) -> bytes:
    """Hash a kind and the digests of its parts; ``open_`` holds what is being taken apart, for values within themselves."""
    if id(value) in open_:
        return _hash_parts(b"itself", (str(open_[id(value)]).encode(),))
    open_[id(value)] = len(open_)
    try:
        kind, parts = _decompose(value)
        digests = [part if isinstance(part, _Raw) else _digest(part, open_) for part in parts]
        return _hash_parts(kind.encode(), sorted(digests) if kind in _WITHOUT_ORDER else digests)
    finally:
        del open_[id(value)]


class _Raw(bytes):
    """Bytes that are hashed as they are."""


def _hash_parts(kind: bytes, parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256(b"%d:%s" % (len(kind), kind))
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def _decompose(value: Any) -> tuple[str, Iterable[Any]]:
    """Return the kind of a value as a word, and its parts."""
    for kind, take_apart in _KINDS:
        if isinstance(value, kind):
            return take_apart(value)
    if isinstance(getattr(value, "py_func", None), FunctionType):  # compiled by numba
        return _decompose(value.py_func)
    if sp.issparse(value):
        matrix: Any = value
        rows = matrix.tocsr()
        return "sparse", (rows.shape, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data)
    if hasattr(value, "__array__"):  # of other packages: frames, series, tensors
        return "array-like", (np.asarray(value), *(getattr(value, name, None) for name in ("columns", "index", "name")))
    return _object(value)


def _array(array: Any) -> tuple[str, Iterable[Any]]:
    if type(array) not in (np.ndarray, np.memmap):  # with a mask, say
        return _object(array)
    if array.dtype.hasobject:
        return "objects", (array.shape, array.tolist())
    content = hashlib.sha256(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return "array", (str(array.dtype.descr), array.shape, _Raw(content.digest()))


def _function(function: FunctionType) -> tuple[str, Iterable[Any]]:
    """Return the name and code of an importable function, else all that its result can depend on."""
    own = (function.__code__, function.__defaults__, function.__kwdefaults__)
    if _is_importable(function):
        return "imported function", (_name(function), *own)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    read = {name: function.__globals__.get(name) for name in sorted(set(_globals_read(function.__code__)))}
    return "function", (*own, cells, read)


def _code(code: CodeType) -> tuple[str, Iterable[Any]]:
    """Return the instructions and constants of code, without file and line numbers."""
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return "code", (_Raw(code.co_code), code.co_consts, *names, counts, _Raw(code.co_exceptiontable))


def _globals_read(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_read(constant)


def _named(value: Any) -> tuple[str, Iterable[Any]]:
    """Return the name of an importable class or extension function."""
    if not _is_importable(value):
        raise _NoContentError(repr(value))
    return "name", (_Raw(_name(value).encode()),)


def _builtin(value: Any) -> tuple[str, Iterable[Any]]:
    owner = value.__self__
    return _named(value) if owner is None or isinstance(owner, ModuleType) else ("method", (owner, value.__name__))


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _is_importable(value: Any) -> bool:
    """Return whether a module other than ``__main__`` has this object under its name."""
    module = getattr(value, "__module__", None)
    if module in (None, "__main__") or module not in sys.modules:
        return False
    found: Any = sys.modules[module]
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _object(value: Any) -> tuple[str, Iterable[Any]]:
    """Return the class and the pickled state of an object, without cached properties."""
    kind = type(value)
    try:
        reduce = copyreg.dispatch_table.get(kind)
        reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception:  # each class has its own way to say that it has no content
        raise _NoContentError(f"{kind.__name__!r} objects") from None
    if isinstance(reduced, str):  # a name, as of pandas.NA
        return "name", (f"{kind.__module__}.{reduced}",)
    make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    if isinstance(state, dict):
        state = {name: one for name, one in state.items() if not _is_exempt(kind, name)}
    return "object", (kind, make, arguments, state, list(items or ()), list(pairs or ()))


def _is_exempt(kind: type, name: str) -> bool:
    exempt = any(name in names for base, names in FIELDS_WITHOUT_EFFECT.items() if issubclass(kind, base))
    return exempt or isinstance(getattr(kind, name, None), functools.cached_property)


def _scalar(value: Any) -> tuple[str, Iterable[Any]]:
    """Return a NumPy number as Python's, other scalars as arrays."""
    is_number = value.dtype.kind in "biuf" and value.dtype.itemsize <= 8
    return _decompose(value.item()) if is_number else _array(np.asarray(value))


_WITHOUT_ORDER = ("set", "dict")
# How values are taken apart, the first kind that fits: a word for it, and its parts.
_KINDS: tuple[tuple[Any, Callable[[Any], tuple[str, Iterable[Any]]]], ...] = (
    (np.generic, _scalar),
    (type(None) | bool | int | float | complex, lambda value: (type(value).__name__, (_Raw(repr(value).encode()),))),
    (str, lambda value: ("text", (_Raw(value.encode("utf-8", "surrogatepass")),))),
    (bytes | bytearray, lambda value: ("bytes", (_Raw(value),))),
    (np.ndarray, _array),
    (list | tuple, lambda value: ("list", value)),
    (set | frozenset, lambda value: ("set", value)),
    (dict, lambda value: ("dict", value.items())),
    (np.random.RandomState, lambda value: ("RandomState", (value.get_state(legacy=False),))),
    (type, _named),
    (ModuleType, lambda value: ("module", (value.__name__,))),
    (FunctionType, _function),
    (CodeType, _code),
    (MethodType, lambda value: ("method", (value.__self__, value.__func__))),
    (BuiltinFunctionType, _builtin),
    (functools.partial, lambda value: ("partial", (value.func, value.args, value.keywords))),
)
