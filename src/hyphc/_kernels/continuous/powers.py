"""Kernel of x^p for many positive numbers, for softmax shares of depths: exp(d/τ) = exp(2d)^(1/2τ).

log2 and exp2 by polynomials, to 1e-12, in loops that the compiler turns into vector instructions, as it cannot do with calls of
the C library. Nothing is reordered: every process and every thread computes the same digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._runtime.jit import kernel

_EXPONENT = np.uint64(52)  # where the exponent begins in the bits of a float64
_BIAS = np.uint64(1023 << 52)
# Added to the bits of x, brings mantissas from √2 on into the next exponent: what is left then lies within [√½, √2).
_TO_ROOT = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
# 1.5·2⁵²: a number added to it is rounded to an integer, which stands in the last bits of the sum.
_ROUNDER = 1.5 * 2.0**52
_ROUNDER_BITS = np.uint64(0x4338000000000000)
LARGEST = 1000.0
_LOG = tuple(2.0 / math.log(2.0) / (2 * k + 1) for k in range(8))  # log2 m = Σ a_k s^(2k+1), s = (m − 1)/(m + 1)
_EXP = tuple(math.log(2.0) ** k / math.factorial(k) for k in range(11))


@kernel(inline="always")
def powers(x: Any, bits: Any, whole: Any, whole_bits: Any, p: Any, count: Any) -> Any:
    """Set x[:count] to x^p, for positive normal numbers; powers are clipped to 2^±LARGEST.

    ``whole`` is scratch as long as x; ``bits`` and ``whole_bits`` are both arrays seen as uint64.
    """
    for t in range(count):
        exponent = (bits[t] + _TO_ROOT) >> _EXPONENT
        bits[t] -= (exponent << _EXPONENT) - _BIAS
        whole_bits[t] = exponent + _ROUNDER_BITS
    for t in range(count):
        s = (x[t] - 1.0) / (x[t] + 1.0)
        q = s * s
        log = _LOG[3] + q * (_LOG[4] + q * (_LOG[5] + q * (_LOG[6] + q * _LOG[7])))
        log = s * (_LOG[0] + q * (_LOG[1] + q * (_LOG[2] + q * log)))
        y = min(max(p * (whole[t] - (_ROUNDER + 1023.0) + log), -LARGEST), LARGEST)
        whole[t] = y + _ROUNDER
        f = y - (whole[t] - _ROUNDER)
        exp = _EXP[6] + f * (_EXP[7] + f * (_EXP[8] + f * (_EXP[9] + f * _EXP[10])))
        exp = _EXP[2] + f * (_EXP[3] + f * (_EXP[4] + f * (_EXP[5] + f * exp)))
        x[t] = _EXP[0] + f * (_EXP[1] + f * exp)
    for t in range(count):
        bits[t] += whole_bits[t] << _EXPONENT
