"""Colours of clusters, of columns and of tables, assigned in one place for the plots and for the explorer's page.

Clusters have a palette of their own. Every other column (labels first, then annotations, in order) has the next of
``COLUMNS``, or a ramp of one hue if it holds numbers. What is missing is grey. Colours are sRGB, from 0 to 1, chosen for white
ground; ``on_dark`` makes them lighter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Ints


class Palette(NamedTuple):
    """Seven colours that colour-blind readers tell apart, and the grey (0 black, 1 white) towards which they come again."""

    base: tuple[str, ...]
    towards: float


# Okabe and Ito's colours; wine instead of yellow, which does not show on white, and of black.
CLUSTERS = Palette(("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255"), 0.0)
# Deep, muted, bright and pastel colours. Found by a random search for the largest smallest difference (OKLab, normal, red-blind
# and green-blind vision) among the seven and, at 1.7 times the value, to all colours above.
COLUMNS = (
    Palette(("#391B7C", "#3A874C", "#682C00", "#0063C8", "#5D5E20", "#00586B", "#4F1724"), 1.0),
    Palette(("#A78858", "#2D657F", "#C4AAAA", "#4C6C54", "#8293C4", "#817196", "#A9A66F"), 0.0),
    Palette(("#8266FE", "#DEBF00", "#B4211F", "#00E4AF", "#AA1C77", "#009900", "#3CA3E3"), 0.0),
    Palette(("#E79B8D", "#AAE8FE", "#EBBA67", "#C2BCFF", "#BEEBC5", "#D79BC6", "#EDE280"), 0.0),
)
# From the eighth class on the seven colours come again, mixed with the palette's grey.
SHARES = (0.0, 0.5, 0.25)
MOST_CLASSES = len(CLUSTERS.base) * len(SHARES)
# Greys of branches above what is coloured, of classes too rare for a colour, of missing values; the last two on dark ground.
BRANCH, OTHERS, MISSING = 0.45, 0.6, 0.82
# The grey of areas that stand for several clusters.
MIXED = 0.86
OTHERS_ON_DARK, MISSING_ON_DARK = 0.5, 0.32
# Hues of ramps in degrees of OKLCH, and the steps of a ramp.
RAMP_HUES = (300.0, 195.0, 60.0, 0.0, 130.0, 255.0)
STEPS = 24
DIVERGING_STEPS = 256
# Relative luminance that a colour has at least on dark ground.
LEAST_ON_DARK = 0.2


def cluster_colors(count: int) -> Floats:
    """Return the colours of the clusters 0, 1, … that have one of their own, (count, 3)."""
    return _colors(CLUSTERS, count)


def class_colors(column: int, count: int) -> Floats:
    """Return the colours of the classes of a column, (count, 3); ``column`` counts labels and annotations from 0."""
    return _colors(COLUMNS[column % len(COLUMNS)], count)


def _colors(palette: Palette, count: int) -> Floats:
    base = rgb(palette.base)
    k = np.arange(count)
    share = np.array(SHARES)[k // len(base) % len(SHARES), None]
    return np.asarray((1.0 - share) * base[k % len(base)] + share * palette.towards)


def slots(counts: npt.ArrayLike) -> Ints:
    """Return which colour of its palette each class has: the ``MOST_CLASSES`` largest in their order, −2 for the others.

    Examples
    --------
    >>> slots([3, 0, 2]).tolist()
    [0, -2, 1]
    """
    sizes = np.asarray(counts)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:MOST_CLASSES])
    largest = largest[sizes[largest] > 0]
    found = np.full(len(sizes), -2)
    found[largest] = np.arange(len(largest))
    return found


def ramp(column: int, dark: bool = False) -> Floats:
    """Return the colours of a column of numbers, (STEPS, 3): one hue, from near the ground's lightness to far from it."""
    t = np.linspace(0.0, 1.0, STEPS)
    lightness = 0.35 + 0.53 * t if dark else 0.88 - 0.53 * t
    return oklch(lightness, 0.05 + 0.09 * t, np.full(STEPS, RAMP_HUES[column % len(RAMP_HUES)]))


def diverging(dark: bool = False) -> Floats:
    """Return the colours of a table from low (blue) over the ground's own to high (red), (256, 3)."""
    away = np.linspace(-1.0, 1.0, DIVERGING_STEPS)
    far = np.abs(away)
    lightness = 0.24 + 0.46 * far if dark else 0.97 - 0.5 * far
    return oklch(lightness, 0.17 * far**0.8, np.where(away < 0, 250.0, 28.0))


def on_dark(colors: Floats) -> Floats:
    """Return the colours, lightened until they show on dark ground."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    # brighter first, which keeps the hue, as far as the strongest channel allows; then white
    brighter = np.clip(LEAST_ON_DARK / np.maximum(luminance, 1e-9), 1.0, 1.0 / np.maximum(linear.max(axis=1), 1e-9))
    linear, luminance = linear * brighter[:, None], luminance * brighter
    share = np.maximum(0.0, (LEAST_ON_DARK - luminance) / (1.0 - luminance))[:, None]
    return _gamma((1.0 - share) * linear + share)


def oklch(lightness: npt.ArrayLike, chroma: npt.ArrayLike, degrees: npt.ArrayLike) -> Floats:
    """Return colours of OKLCH (Ottosson 2020) as sRGB, (m, 3), clipped to what a screen can show."""
    hue = np.radians(degrees)
    a, b, light = np.asarray(chroma) * np.cos(hue), np.asarray(chroma) * np.sin(hue), np.asarray(lightness)
    cones = np.stack(
        [
            light + 0.3963377774 * a + 0.2158037573 * b,
            light - 0.1055613458 * a - 0.0638541728 * b,
            light - 0.0894841775 * a - 1.291485548 * b,
        ],
        axis=-1,
    )
    to_linear = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.707614701],
        ]
    )
    return _gamma(np.clip(cones**3 @ to_linear.T, 0.0, 1.0))


def _gamma(linear: Floats) -> Floats:
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def themed(light: Floats, dark: Floats | None = None) -> dict[str, list[str]]:
    """Return colours as "#rrggbb" for both grounds; for dark ground lighter, unless its colours are given."""
    return {"light": hexes(light), "dark": hexes(on_dark(light) if dark is None else dark)}


def rgb(hexes: Sequence[str]) -> Floats:
    """Return "#rrggbb" as numbers from 0 to 1, (m, 3)."""
    return np.array([[int(text[at : at + 2], 16) for at in (1, 3, 5)] for text in hexes]) / 255.0


def hexes(colors: Floats) -> list[str]:
    """Return colours (m, 3) as "#rrggbb"."""
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in np.round(255.0 * colors).astype(int).tolist()]
