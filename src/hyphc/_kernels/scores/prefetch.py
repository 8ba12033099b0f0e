"""Ask for a row of a matrix before it is needed: rows in the order of a tree lie all over memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from ..._shared.compiled import kernel

FLOATS_PER_LINE = 16  # float32 entries of a 64-byte cache line
AHEAD = 8  # rows: about what arrives while as many others are added up


@intrinsic
def _prefetch(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """LLVM's prefetch of one cache line, for reading, to be kept in all caches."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = make_array(kind)(context, builder, arguments[0])
        address = cgutils.get_item_pointer(context, builder, kind, view, list(arguments[1:]), wraparound=False)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        call = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], call)
        builder.call(function, [builder.bitcast(address, byte), word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


@kernel
def _prefetch_row(X: Any, row: int, begin: int, end: int) -> None:
    for column in range(begin, end, FLOATS_PER_LINE):
        _prefetch(X, np.intp(row), column)


def _no_prefetch(X: Any, row: int, begin: int, end: int) -> None:
    """Plain Python has no use for it."""


prefetch_row = _no_prefetch if config.DISABLE_JIT else _prefetch_row
