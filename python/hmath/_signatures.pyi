# Signatures of graph functions, whose results depend on what they are given; each said once.
#
# The decorators change nothing: they tell a type checker the signature that a function has. What types cannot
# know, the ranks, decides at times between an Expr and an ADTensor: that is Either.
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

from ._typing import TensorLike
from .autodiff import ADTensor, Dual, Expr, Node
from .autodiff._types import Axes, Operand
from .optim import Number, Scalar, State
from .tensor import TensorDouble

# An Expr or an ADTensor. (As a union it would have to be taken apart before every use.)
Either: TypeAlias = Any

NodeT = TypeVar("NodeT", bound="Node")
NumberT = TypeVar("NumberT", bound="Node | Dual")
ValueT = TypeVar("ValueT", covariant=True, bound="TensorDouble | float")

class Evaluated(Protocol[ValueT]):
    """A node, by the type of its value: a float for an Expr, a TensorDouble for an ADTensor."""

    def _evaluated(self) -> ValueT: ...

class Elementwise(Protocol):
    """A function of every element of one operand."""

    @overload
    def __call__(self, value: NodeT) -> NodeT: ...
    @overload
    def __call__(self, value: float) -> Expr: ...
    @overload
    def __call__(self, value: TensorLike) -> Either: ...

class ElementwiseOrDual(Protocol):
    """A function of every element of one operand, or of a Dual."""

    @overload
    def __call__(self, value: NumberT) -> NumberT: ...
    @overload
    def __call__(self, value: float) -> Expr: ...
    @overload
    def __call__(self, value: TensorLike) -> Either: ...

class Comparison(Protocol):
    """A function of every element of two operands."""

    @overload
    def __call__(self, left: ADTensor, right: Operand) -> ADTensor: ...
    @overload
    def __call__(self, left: Operand, right: ADTensor) -> ADTensor: ...
    @overload
    def __call__(self, left: Expr | float, right: Expr | float) -> Expr: ...
    @overload
    def __call__(self, left: Node | float, right: Node | float) -> Node: ...
    @overload
    def __call__(self, left: Operand, right: Operand) -> Either: ...

class Choice(Protocol):
    """A function of every element of two operands, or of Duals."""

    @overload
    def __call__(self, left: Dual, right: Dual | float) -> Dual: ...
    @overload
    def __call__(self, left: float, right: Dual) -> Dual: ...
    @overload
    def __call__(self, left: ADTensor, right: Operand) -> ADTensor: ...
    @overload
    def __call__(self, left: Operand, right: ADTensor) -> ADTensor: ...
    @overload
    def __call__(self, left: Expr | float, right: Expr | float) -> Expr: ...
    @overload
    def __call__(self, left: Node | float, right: Node | float) -> Node: ...
    @overload
    def __call__(self, left: Operand, right: Operand) -> Either: ...

class Power(Protocol):
    """The same with the names of its operands."""

    @overload
    def __call__(self, base: Dual, exponent: Dual | float) -> Dual: ...
    @overload
    def __call__(self, base: float, exponent: Dual) -> Dual: ...
    @overload
    def __call__(self, base: ADTensor, exponent: Operand) -> ADTensor: ...
    @overload
    def __call__(self, base: Operand, exponent: ADTensor) -> ADTensor: ...
    @overload
    def __call__(self, base: Expr | float, exponent: Expr | float) -> Expr: ...
    @overload
    def __call__(self, base: Node | float, exponent: Node | float) -> Node: ...
    @overload
    def __call__(self, base: Operand, exponent: Operand) -> Either: ...

class Operator(Protocol):
    """A method for a binary operator of nodes."""

    @overload
    def __get__(self, node: Expr, cls: Any) -> OperatorOfExpr: ...
    @overload
    def __get__(self, node: ADTensor, cls: Any) -> OperatorOfADTensor: ...
    @overload
    def __get__(self, node: Node, cls: Any) -> OperatorOfNode: ...

class OperatorOfExpr(Protocol):
    @overload
    def __call__(self, other: Expr | float, /) -> Expr: ...
    @overload
    def __call__(self, other: ADTensor, /) -> ADTensor: ...
    @overload
    def __call__(self, other: Node, /) -> Node: ...
    @overload
    def __call__(self, other: TensorLike, /) -> Either: ...

class OperatorOfADTensor(Protocol):
    def __call__(self, other: Operand, /) -> ADTensor: ...

class OperatorOfNode(Protocol):
    @overload
    def __call__(self, other: ADTensor, /) -> ADTensor: ...
    @overload
    def __call__(self, other: Operand, /) -> Node: ...

class Reduction(Protocol):
    """A reduction of an operand, along all axes or some."""

    @overload
    def __call__(self, value: Operand, axis: None = None, keepdims: Literal[False] = False) -> Expr: ...
    @overload
    def __call__(self, value: NodeT, axis: Axes = None, *, keepdims: Literal[True]) -> NodeT: ...
    @overload
    def __call__(self, value: Operand, axis: Axes = None, keepdims: bool = False) -> Either: ...

class ReductionMethod(Protocol):
    """The same as a method of a node."""

    @overload
    def __get__(self, node: ADTensor, cls: Any) -> ReductionOfADTensor: ...
    @overload
    def __get__(self, node: Expr, cls: Any) -> ReductionOfExpr: ...
    @overload
    def __get__(self, node: Node, cls: Any) -> ReductionOfNode: ...

class ReductionOfExpr(Protocol):
    def __call__(self, axis: Axes = None, keepdims: bool = False) -> Expr: ...

class ReductionOfNode(Protocol):
    def __call__(self, axis: Axes = None, keepdims: bool = False) -> Node: ...

class ReductionOfADTensor(Protocol):
    @overload
    def __call__(self, axis: None = None, keepdims: Literal[False] = False) -> Expr: ...
    @overload
    def __call__(self, axis: Axes = None, *, keepdims: Literal[True]) -> ADTensor: ...
    @overload
    def __call__(self, axis: Axes = None, keepdims: bool = False) -> Either: ...

class Reshape(Protocol):
    """The method ``reshape`` of a node."""

    def __get__(self, node: Node, cls: Any) -> ReshapeOfNode: ...

class ReshapeOfNode(Protocol):
    @overload
    def __call__(self, shape: tuple[()], /) -> Expr: ...  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    @overload
    def __call__(self, shape: int | Sequence[int], /, *shape_: int) -> ADTensor: ...

class Descent(Protocol):
    """``sgd``: of nodes, of Tensors and arrays, of anything."""

    @overload
    def __call__(
        self,
        parameters: Sequence[NodeT],
        gradients: Sequence[Operand],
        state: Sequence[Operand] | None = None,
        *,
        rate: Scalar,
        momentum: Scalar = 0.0,
        nesterov: bool = False,
        weight_decay: Scalar = 0.0,
    ) -> tuple[list[NodeT], State]: ...
    @overload
    def __call__(
        self,
        parameters: Sequence[TensorLike],
        gradients: Sequence[TensorLike],
        state: Sequence[TensorLike] | None = None,
        *,
        rate: Number,
        momentum: Number = 0.0,
        nesterov: bool = False,
        weight_decay: Number = 0.0,
    ) -> tuple[list[TensorDouble], State]: ...
    @overload
    def __call__(
        self,
        parameters: Sequence[Operand],
        gradients: Sequence[Operand],
        state: Sequence[Operand] | None = None,
        *,
        rate: Scalar,
        momentum: Scalar = 0.0,
        nesterov: bool = False,
        weight_decay: Scalar = 0.0,
    ) -> tuple[list[Either], State]: ...

class Moments(Protocol):
    """``adam`` and ``adamw``, likewise."""

    @overload
    def __call__(
        self,
        parameters: Sequence[NodeT],
        gradients: Sequence[Operand],
        state: Sequence[Operand],
        *,
        rate: Scalar,
        beta1: Scalar = 0.9,
        beta2: Scalar = 0.999,
        epsilon: Scalar = 1e-8,
        weight_decay: Scalar = ...,
    ) -> tuple[list[NodeT], State]: ...
    @overload
    def __call__(
        self,
        parameters: Sequence[TensorLike],
        gradients: Sequence[TensorLike],
        state: Sequence[TensorLike | float],
        *,
        rate: Number,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        weight_decay: Number = ...,
    ) -> tuple[list[TensorDouble], State]: ...
    @overload
    def __call__(
        self,
        parameters: Sequence[Operand],
        gradients: Sequence[Operand],
        state: Sequence[Operand],
        *,
        rate: Scalar,
        beta1: Scalar = 0.9,
        beta2: Scalar = 0.999,
        epsilon: Scalar = 1e-8,
        weight_decay: Scalar = ...,
    ) -> tuple[list[Either], State]: ...

class Clipping(Protocol):
    """``clip_by_global_norm``: gradients and their norm."""

    @overload
    def __call__(self, gradients: Sequence[NodeT], maximum: Number) -> tuple[list[NodeT], Expr]: ...
    @overload
    def __call__(
        self, gradients: Sequence[TensorLike], maximum: Number
    ) -> tuple[list[TensorDouble], float]: ...
    @overload
    def __call__(self, gradients: Sequence[Operand], maximum: Number) -> tuple[list[Either], Either]: ...

class Schedule(Protocol):
    """``cosine``: a number of numbers, a node where there is one among them."""

    @overload
    def __call__(self, step: Expr, rate: Scalar, steps: Number, final: Scalar = 0.0) -> Expr: ...
    @overload
    def __call__(self, step: Number, rate: Number, steps: Number, final: Number = 0.0) -> float: ...
    @overload
    def __call__(self, step: Scalar, rate: Scalar, steps: Number, final: Scalar = 0.0) -> Either: ...

class Ramp(Protocol):
    """``warm_up``, likewise."""

    @overload
    def __call__(self, step: Expr, rate: Scalar, steps: Number) -> Expr: ...
    @overload
    def __call__(self, step: Number, rate: Number, steps: Number) -> float: ...
    @overload
    def __call__(self, step: Scalar, rate: Scalar, steps: Number) -> Either: ...

def elementwise(function: Callable[[Any], Any]) -> Elementwise: ...
def elementwise_or_dual(function: Callable[[Any], Any]) -> ElementwiseOrDual: ...
def comparison(function: Callable[[Any, Any], Any]) -> Comparison: ...
def choice(function: Callable[[Any, Any], Any]) -> Choice: ...
def power_(function: Callable[[Any, Any], Any]) -> Power: ...
def operator(method: Callable[[Any, Any], Any]) -> Operator: ...
def reduction(function: Callable[..., Any]) -> Reduction: ...
def reduction_method(method: Callable[..., Any]) -> ReductionMethod: ...
def reshape_method(method: Callable[..., Any]) -> Reshape: ...
def descent(function: Callable[..., Any]) -> Descent: ...
def moments(function: Callable[..., Any]) -> Moments: ...
def clipping(function: Callable[..., Any]) -> Clipping: ...
def schedule(function: Callable[..., Any]) -> Schedule: ...
def ramp(function: Callable[..., Any]) -> Ramp: ...
