"""Helpers of all estimators: constructors that name a mistaken parameter, and fits that reset fitted attributes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Self = TypeVar("Self")


def check_parameter_names(
    init: Callable[Concatenate[Self, Given], None],
) -> Callable[Concatenate[Self, Given], None]:
    """Return a constructor whose TypeErrors name the estimator and the parameter that was perhaps meant."""
    parameters = list(inspect.signature(init).parameters.values())[1:]
    names = [parameter.name for parameter in parameters]
    by_place = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]

    @wraps(init)
    def construct(self: Self, /, *given: Given.args, **named: Given.kwargs) -> None:
        kind = type(self).__name__
        for name in named:
            if name not in names:
                near = get_close_matches(name, names, 1)
                remedy = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}."
                raise TypeError(f"{kind} has no parameter {name!r}; {remedy}")
        if len(given) > len(by_place):
            raise TypeError(
                f"{kind} takes {' and '.join(by_place)} by place, and got {len(given)} values; give the others by name."
            )
        init(self, *given, **named)

    return construct


@contextmanager
def fresh_fit(estimator: Any) -> Iterator[None]:
    """Begin a fit without the attributes of one before, and leave the estimator unfitted if it raises."""
    _delete_fitted_attributes(estimator)
    try:
        yield
    except BaseException:
        _delete_fitted_attributes(estimator)
        raise


def _delete_fitted_attributes(estimator: Any) -> None:
    """Remove all fitted attributes: by scikit-learn's convention those, and only those, whose names end with an underscore."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def default_parameters(kind: type) -> dict[str, Any]:
    """Return the defaults of an estimator's parameters."""
    return {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}
