"""Lazy imports: of modules in later folders, by methods of convenience only, and of optional packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_lazily(module: str, name: str) -> Any:
    """Return ``name`` of ``hyphc.module``, imported now. Only methods of convenience, such as ``Tree.explore``, may use it."""
    return getattr(import_module(f"hyphc.{module}"), name)


def require_package(module: str, what: str, extra: str) -> Any:
    """Return a module of an optional package; raise an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} need {module.split('.')[0]}; pip install 'hyphc[{extra}]'.") from error
