"""The geometry of the Poincaré ball: alias of ``hyphc.hyperbolic.geometry``."""

from .hyperbolic.geometry import *  # noqa: F403
from .hyperbolic.geometry import __all__ as __all__
