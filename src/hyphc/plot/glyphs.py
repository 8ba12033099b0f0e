"""Names as matplotlib can write them: abbreviated, with another font for letters that its own lacks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from .._runtime.abbreviate import abbreviate
from .._runtime.sanitize import visible
from .figure_style import longest_name

LONGEST_NAME = 28  # letters
BOX = "\u25a1"
# Fonts tried, in this order: they cover most letters of most scripts.
FALLBACKS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans",
    "Source Han Sans",
    "WenQuanYi Micro Hei",
    "Microsoft YaHei",
    "Yu Gothic",
    "Arial Unicode MS",
    "Hiragino Sans",
    "FreeSans",
    "Unifont",
)


def printable(texts: Sequence[str], longest: int | None = LONGEST_NAME) -> tuple[list[str], dict[str, Any]]:
    """Return texts without missing glyphs, and font options for matplotlib's texts, which avoid its warnings.

    Texts have at most ``longest`` letters, if that is a number, and fewer in a narrow figure. Letters that the present font lacks
    come from another that is installed; where none has them a box stands for them. Dollars are dollars and open no formula; what
    a picture cannot hold, as control characters, is spelled out.
    """
    texts = [visible(text) for text in (texts if longest is None else abbreviate(texts, longest_name(longest)))]
    families = list(matplotlib.rcParams["font.family"])
    missing = {letter for text in texts for letter in text} - _letters(tuple(families), True)
    for family in FALLBACKS if missing else ():
        if found := missing & _letters((family,)):
            families, missing = [*families, family], missing - found
    table = {ord(letter): BOX for letter in missing}
    return [text.translate(table) for text in texts], {"fontfamily": families, "parse_math": False}


@cache
def _letters(families: tuple[str, ...], some: bool = False) -> frozenset[str]:
    """Return the letters of the first of these fonts that is installed; if none is, those of matplotlib's own where ``some``
    is set."""
    wanted = font_manager.FontProperties(family=list(families))
    try:
        path = font_manager.findfont(wanted, fallback_to_default=some)
    except ValueError:
        return frozenset()
    return frozenset(chr(code) for code in FT2Font(path).get_charmap())
