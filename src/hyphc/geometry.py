"""The geometry of the Poincaré ball: the public door of ``hyphc.hyperbolic.geometry``."""

from .hyperbolic.geometry import *  # noqa: F403
