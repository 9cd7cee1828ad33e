"""Types of parameters, for annotations only: nothing here exists at run time but the names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias, TypeVar

    from .._typing import IntArray, TensorLike
    from ..tensor import TensorDouble
    from ._nodes import ADTensor, Expr, Node

    Operand: TypeAlias = "Node | TensorLike | float"
    Value: TypeAlias = "TensorDouble | float"
    Axes: TypeAlias = "int | Sequence[int] | None"
    Bias: TypeAlias = "Operand | Sequence[Expr | float]"
    Indices: TypeAlias = "ADTensor | TensorLike | IntArray | Sequence[int] | Sequence[Sequence[int]]"
    # Variables to values. (Both are free: a Mapping is invariant in its keys, and of a dict of numbers and tensors
    # that stands by itself mypy only knows that its values are objects.)
    Bindings: TypeAlias = Mapping[Any, Any]
    WantedT = TypeVar("WantedT", bound=Value)
    # What a custom node's functions are given is floats for scalars, TensorDoubles for others: it is theirs to know.
    Forward: TypeAlias = "Callable[[list[Any]], TensorLike | float]"
    Reverse: TypeAlias = "Callable[[list[Any], Any], Sequence[TensorLike | float]]"
