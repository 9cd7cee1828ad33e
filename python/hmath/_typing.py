"""Types of parameters, for annotations only: nothing here exists at run time but the names."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from .tensor import Tensor, TensorDouble

    FloatArray: TypeAlias = NDArray[numpy.float64]
    Float32Array: TypeAlias = NDArray[numpy.float32]
    IntArray: TypeAlias = NDArray[numpy.integer[Any]]
    BoolArray: TypeAlias = NDArray[numpy.bool_]

    # What a [Double] parameter takes, and [[Double]], [Int], [Bool], [[Bool]], a Tensor.
    Doubles: TypeAlias = Sequence[float] | array[float] | FloatArray | TensorDouble
    DoubleRows: TypeAlias = Sequence[Sequence[float] | array[float] | FloatArray] | FloatArray | TensorDouble
    Integers: TypeAlias = Sequence[int] | array[int] | IntArray
    Booleans: TypeAlias = Sequence[bool] | BoolArray
    BooleanRows: TypeAlias = Sequence[Sequence[bool] | BoolArray] | BoolArray
    TensorLike: TypeAlias = TensorDouble | FloatArray

    # What a [Double] result comes in.
    Numbers: TypeAlias = list[float] | array[float] | FloatArray | TensorDouble


# The container of a result follows the argument: of a Tensor parameter a Tensor or an array, of a [Double]
# parameter also an array.array, or else a list. (An array.array is a Sequence, too; that the overload which names it
# wins has to be said to mypy.)
ArrayT = TypeVar("ArrayT", "TensorDouble", "FloatArray")
NumbersT = TypeVar("NumbersT", "TensorDouble", "FloatArray", "array[float]")
# Rows of any type, which are only moved.
RowsT = TypeVar("RowsT", bound="Tensor | NDArray[Any]")
