"""The paper's definitions and bounds: alias of ``hyphc.hyperbolic.theory``."""

from .hyperbolic.theory import *  # noqa: F403
from .hyperbolic.theory import __all__ as __all__
