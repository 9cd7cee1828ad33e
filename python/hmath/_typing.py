"""Types of parameters, for annotations only: nothing here exists at run time but the names."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from .tensor import Tensor

    FloatArray: TypeAlias = NDArray[numpy.float64]
    IntArray: TypeAlias = NDArray[numpy.integer[Any]]
    BoolArray: TypeAlias = NDArray[numpy.bool_]

    # What a [Double] parameter takes, and [[Double]], [Int], [Bool], [[Bool]], a Tensor.
    Doubles: TypeAlias = Sequence[float] | array[float] | FloatArray | Tensor
    DoubleRows: TypeAlias = Sequence[Sequence[float]] | FloatArray | Tensor
    Integers: TypeAlias = Sequence[int] | array[int] | IntArray
    Booleans: TypeAlias = Sequence[bool] | BoolArray
    BooleanRows: TypeAlias = Sequence[Sequence[bool]] | BoolArray
    TensorLike: TypeAlias = Tensor | FloatArray


# The container of a result follows the argument: a Tensor, an array, or else a list.
ArrayT = TypeVar("ArrayT", "Tensor", "FloatArray")
