"""Graphs of operations, their derivatives, and programs made of them.

    >>> from hmath import autodiff as ad
    >>> x, y = ad.variable("x"), ad.variable("y")
    >>> z = ad.sin(x) * y + x**2
    >>> ad.value_and_gradient(z, {x: 0.0, y: 3.0}, [x, y])
    (0.0, [3.0, 0.0])

An :class:`Expr` is a scalar node, an :class:`ADTensor` a node with a shape. Nodes are immutable; shapes are
checked when a node is made, numbers when it is evaluated. Operands broadcast as NumPy's do; a number, a
:class:`~hmath.tensor.Tensor` or an array of float64 among them is a constant.

:func:`gradient` gives nodes, which can be differentiated again. :func:`compile` makes a :class:`Program`,
which runs a whole training step in one call; :func:`evaluate` and its relatives compile once and remember
the program on the output.

A failure while numbers are computed is the operation's own error, with the node's operation and formula named:
``autodiff.log: value[3] = -1.0; required > 0; in log(x - y)``.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _convert, _native
from . import deeplearning_layers as layers
from ._call import CData, Shorts, call, callback_failed, check, context, invoke, make
from ._failure import (
    closed,
    dimension_mismatch,
    domain_error,
    index_out_of_bounds,
    placed,
    renamed,
    type_mismatch,
)
from ._hmath import ffi, lib
from ._owner import Handle, Owner, adopt
from ._record import record
from ._result import owns, plain
from ._signatures import (
    choice,
    comparison,
    elementwise,
    elementwise_or_dual,
    operator,
    power_,
    reduction,
    reduction_method,
    reshape_method,
)
from ._surface import shown
from .errors import HMathError
from .tensor import TensorDouble

if TYPE_CHECKING:
    from types import EllipsisType
    from typing import TypeAlias

    from ._signatures import Either, Evaluated, NodeT, ValueT
    from ._typing import BooleanRows, IntArray, TensorLike
    from .deeplearning_core import Activation
    from .deeplearning_layers import ConvOptions, PoolMode

    Operand: TypeAlias = "Node | TensorLike | float"
    Value: TypeAlias = "TensorDouble | float"
    Axes: TypeAlias = "int | Sequence[int] | None"
    Bias: TypeAlias = "Operand | Sequence[Expr | float]"
    Indices: TypeAlias = "ADTensor | TensorLike | IntArray | Sequence[int]"
    # Variables to values. (Both are free: a Mapping is invariant in its keys, and of a dict of numbers and tensors
    # that stands by itself mypy only knows that its values are objects.)
    Bindings: TypeAlias = Mapping[Any, Any]
    WantedT = TypeVar("WantedT", bound=Value)
    # What a custom node's functions are given is floats for scalars, TensorDoubles for others: it is theirs to know.
    Forward: TypeAlias = "Callable[[list[Any]], TensorLike | float]"
    Reverse: TypeAlias = "Callable[[list[Any], Any], Sequence[TensorLike | float]]"

__all__ = [
    "ADTensor",
    "Dual",
    "Expr",
    "Node",
    "Program",
    "absolute",
    "activation",
    "batch_norm",
    "broadcast_to",
    "compile",
    "concatenate",
    "constant",
    "convolution",
    "cos",
    "custom",
    "dense",
    "dropout",
    "element",
    "embedding",
    "equal",
    "erf",
    "evaluate",
    "exp",
    "expm1",
    "gather",
    "gradient",
    "group_norm",
    "instance_norm",
    "jacobian",
    "jvp",
    "layer_norm",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_softmax",
    "matmul",
    "max",
    "maximum",
    "mean",
    "minimum",
    "multihead_attention",
    "norm",
    "pooling",
    "power",
    "pull_back",
    "push_forward",
    "reciprocal",
    "reshape",
    "rms_norm",
    "select",
    "sign",
    "sin",
    "softmax",
    "sparsemax",
    "sqrt",
    "square",
    "stack",
    "sum",
    "tan",
    "tanh",
    "to_dot",
    "transpose",
    "transposed_convolution",
    "value_and_gradient",
    "variable",
]

__dir__ = shown(__all__)

_new = ffi.new
_gc = ffi.gc
_release = lib.hmath_release
_HANDLES = ffi.typeof("hmath_value *[]")
_ALL_AXES = lib.HMATH_ALL_AXES

# ---------------------------------------------------------------- nodes


class Node(Owner):
    """A node of a graph: an :class:`Expr` or an :class:`ADTensor`."""

    __slots__ = ("_programs",)

    _programs: dict[Any, tuple[Handle, Any]]

    # NumPy's arrays leave operators with a node to the node.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents; ``()`` for an Expr."""
        handle = self._open()
        rank = lib.hmath_autodiff_rank(handle)
        return tuple(ffi.unpack(lib.hmath_autodiff_shape(handle), rank)) if rank else ()

    @property
    def rank(self) -> int:
        """The number of axes; 0 for an Expr."""
        return int(lib.hmath_autodiff_rank(self._open()))

    ndim = rank

    @property
    def operation(self) -> str:
        """What computes the node: ``"autodiff.add"``."""
        return str(ffi.string(lib.hmath_autodiff_operation(self._open())).decode())

    @property
    def name(self) -> str | None:
        """A variable's name; None for other nodes."""
        name = lib.hmath_autodiff_name(self._open())
        return str(ffi.string(name).decode()) if name else None

    def to_dot(self) -> str:
        """The graph in Graphviz's language."""
        return to_dot(self)

    def _repr_svg_(self) -> str:
        """The picture that notebooks show."""
        from ._picture import svg

        return svg(self.to_dot())

    def _describe(self) -> str:
        text = _string(invoke(lib.hmath_autodiff_to_text, self._open()))
        shape = self.shape
        return f"<{type(self).__name__} {list(shape)}: {text}>" if shape else f"<Expr: {text}>"

    def __bool__(self) -> bool:
        raise TypeError("a node has no truth value before it is evaluated; see select()")

    def __hash__(self) -> int:
        return hash(self._address())

    # Nodes are keys of bindings, so == asks whether it is the same node; see equal() for elements.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._address() == other._address("other")

    def _address(self, argument: str = "self") -> int:
        """What tells nodes apart."""
        address = _native.address(self)
        if address is None:
            raise closed(argument)
        return address

    @operator
    def __add__(self, other: Operand) -> Node:
        return _binary("hmath_autodiff_add", self, other)

    @operator
    def __radd__(self, other: Operand) -> Node:  # type: ignore[misc]
        return _binary("hmath_autodiff_add", other, self)

    @operator
    def __sub__(self, other: Operand) -> Node:
        return _binary("hmath_autodiff_subtract", self, other)

    @operator
    def __rsub__(self, other: Operand) -> Node:  # type: ignore[misc]
        return _binary("hmath_autodiff_subtract", other, self)

    @operator
    def __mul__(self, other: Operand) -> Node:
        return _binary("hmath_autodiff_multiply", self, other)

    @operator
    def __rmul__(self, other: Operand) -> Node:  # type: ignore[misc]
        return _binary("hmath_autodiff_multiply", other, self)

    @operator
    def __truediv__(self, other: Operand) -> Node:
        return _binary("hmath_autodiff_divide", self, other)

    @operator
    def __rtruediv__(self, other: Operand) -> Node:  # type: ignore[misc]
        return _binary("hmath_autodiff_divide", other, self)

    @operator
    def __pow__(self, other: Operand) -> Node:
        return _binary("hmath_autodiff_power", self, other)

    @operator
    def __rpow__(self, other: Operand) -> Node:  # type: ignore[misc]
        return _binary("hmath_autodiff_power", other, self)

    def __matmul__(self, other: Operand) -> Either:
        return _binary("hmath_autodiff_matmul", self, other)

    def __rmatmul__(self, other: Operand) -> Either:
        return _binary("hmath_autodiff_matmul", other, self)

    def __neg__(self: NodeT) -> NodeT:
        return _like(self, invoke(lib.hmath_autodiff_negate, self._open()))

    def __pos__(self: NodeT) -> NodeT:
        return self

    def __abs__(self: NodeT) -> NodeT:
        return _like(self, invoke(lib.hmath_autodiff_absolute, self._open()))

    if TYPE_CHECKING:

        def _evaluated(self) -> Value: ...


@owns(lib.HMATH_KIND_AD_EXPR)
class Expr(Node):
    """A scalar node (kind 287)."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _evaluated(self) -> float: ...


@owns(lib.HMATH_KIND_AD_TENSOR)
class ADTensor(Node):
    """A node with a shape of rank 1 or more (kind 288)."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _evaluated(self) -> TensorDouble: ...

    def __len__(self) -> int:
        return self.shape[0]

    @overload
    def __getitem__(self, index: slice | EllipsisType) -> ADTensor: ...
    @overload
    def __getitem__(self, index: int | tuple[int | slice | EllipsisType, ...]) -> Either: ...
    def __getitem__(self, index: int | slice | EllipsisType | tuple[int | slice | EllipsisType, ...]) -> Node:
        """Integers, slices and ``...``; an Expr where every axis is given an integer."""
        return _slice(self, index)

    @reshape_method
    def reshape(self, *shape: int | Sequence[int]) -> Either:
        """The same elements under another shape. One extent may be -1: what is left over."""
        return reshape(self, _flat(shape))

    def transpose(self, *axes: int | Sequence[int]) -> ADTensor:
        """Axes in another order: axis i of the result is axis ``axes[i]``; by default, reversed."""
        return transpose(self, _flat(axes) or None)

    @property
    def T(self) -> ADTensor:
        """All axes in reverse."""
        return transpose(self)

    @reduction_method
    def sum(self, axis: Axes = None, keepdims: bool = False) -> Either:
        """See :func:`hmath.autodiff.sum`."""
        return sum(self, axis, keepdims)

    @reduction_method
    def mean(self, axis: Axes = None, keepdims: bool = False) -> Either:
        """See :func:`hmath.autodiff.mean`."""
        return mean(self, axis, keepdims)

    @reduction_method
    def max(self, axis: Axes = None, keepdims: bool = False) -> Either:
        """See :func:`hmath.autodiff.max`."""
        return max(self, axis, keepdims)


_KIND_EXPR = lib.HMATH_KIND_AD_EXPR


def _node(handle: CData) -> Node:
    """The owner of a handle of either kind."""
    return adopt(Expr if lib.hmath_kind(handle) == _KIND_EXPR else ADTensor, handle)


def _like(node: NodeT, handle: CData) -> NodeT:
    """The owner of a handle of the same kind as a node's."""
    return adopt(type(node), handle)


def _operand(x: Any, argument: str) -> CData:
    """The handle of a node, or of a number, Tensor or array that becomes a constant."""
    cls = type(x)
    if cls is Expr or cls is ADTensor:
        return x._open(argument)
    if cls is float or cls is int:
        return make(_convert.double(x, argument))
    if isinstance(x, Owner):
        return x._open(argument)
    if _convert.has_axes(x):
        return make(_convert.tensor(x, argument))
    if _is_number(x):
        return make(_convert.double(x, argument))
    raise type_mismatch(argument, "Expr or ADTensor", x)


def _operands(x: Any, argument: str) -> list[CData]:
    """The handles of a sequence of operands."""
    return [_operand(item, argument) for item in _listed(x, argument)]


def _listed(x: Any, argument: str) -> list[Any]:
    """What an iterable of operands gives.

    Text and mappings are none, nor are sets, which have no order. An array is one where its elements are doubles.
    """
    no_list = isinstance(x, (Owner, Mapping, set, frozenset, str, bytes, bytearray))
    can_be_walked = hasattr(type(x), "__iter__") and getattr(x, "ndim", 1) != 0
    if no_list or not can_be_walked or not _convert.may_be_doubles(x):
        raise type_mismatch(argument, "List of Expr or ADTensor", x)
    return list(x)


def _names(x: Any) -> bool:
    """May x be an operand? What is not is left to the other operand's own operator."""
    return isinstance(x, Owner) or _is_number(x) or (hasattr(x, "ndim") and not isinstance(x, type))


def _is_number(x: Any) -> bool:
    """Has x the look of a number? Whether it may be one is for the conversion to say."""
    return hasattr(type(x), "__float__") or hasattr(type(x), "__index__")


_unaries, _binaries = Shorts("x"), Shorts("xx")


def _binary(name: str, left: Any, right: Any) -> Node:
    node: Node | None = _binaries[name](left, right)
    if node is not None:
        return node
    if not (_names(left) and _names(right)):
        return NotImplemented  # type: ignore[no-any-return]
    return _node(invoke(getattr(lib, name), _operand(left, "left"), _operand(right, "right")))


def _unary(name: str, x: Any) -> Node | Dual:
    """A function of one operand: of a node, or of a Dual."""
    node: Node | None = _unaries[f"hmath_autodiff_{name}"](x)
    if node is not None:
        return node
    if type(x) is Dual:
        return adopt(Dual, invoke(getattr(lib, f"hmath_dual_{name}"), x._open("value")))
    return _node(invoke(getattr(lib, f"hmath_autodiff_{name}"), _operand(x, "value")))


def _pair(name: str, left: Any, right: Any, names: tuple[str, str] = ("left", "right")) -> Node | Dual:
    node: Node | None = _binaries[f"hmath_autodiff_{name}"](left, right)
    if node is not None:
        return node
    try:
        if type(left) is Dual or type(right) is Dual:
            a, b = _dual_operand(left, names[0]), _dual_operand(right, names[1])
            return adopt(Dual, invoke(getattr(lib, f"hmath_dual_{name}"), a, b))
        function = getattr(lib, f"hmath_autodiff_{name}")
        return _node(invoke(function, _operand(left, names[0]), _operand(right, names[1])))
    except HMathError as error:
        raise renamed(error, left=names[0], right=names[1]) from None


def _compared(name: str, left: Any, right: Any) -> Node:
    """A comparison, which Duals have none of."""
    node: Node | None = _binaries[name](left, right)
    if node is not None:
        return node
    return _node(invoke(getattr(lib, name), _operand(left, "left"), _operand(right, "right")))


def _string(handle: CData) -> str:
    data, size = _new("const char **"), _new("size_t *")
    check(lib.hmath_string_get(handle, data, size))
    return str(ffi.buffer(data[0], size[0])[:].decode())


def _array(handles: list[CData]) -> CData:
    """Handles as a C array; `handles` has to outlive it."""
    return _new(_HANDLES, handles) if handles else ffi.NULL


# ---------------------------------------------------------------- variables and constants


@overload
def variable(name: str) -> Expr: ...
@overload
def variable(name: str, shape: tuple[()]) -> Expr: ...  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
@overload
def variable(name: str, shape: Sequence[int]) -> ADTensor: ...
def variable(name: str, shape: Sequence[int] = ()) -> Any:
    """A value that comes when the graph is evaluated: an Expr, or an ADTensor of a shape.

    Two variables of one name are two variables.
    """
    if not isinstance(name, str):
        raise type_mismatch("name", "str", name)
    if "\0" in name:
        raise domain_error("name", "holds a NUL", "text without one")
    extents = _convert.int_list(shape, "shape")
    handle = invoke(lib.hmath_autodiff_variable, name.encode(errors="replace"), len(extents), extents)
    return adopt(ADTensor if extents else Expr, handle)


@overload
def constant(value: float) -> Expr: ...
@overload
def constant(value: TensorLike) -> Either: ...
def constant(value: TensorLike | float) -> Node:
    """Finite numbers as a node: an Expr of a number, an ADTensor of a Tensor or array."""
    return _node(invoke(lib.hmath_autodiff_constant, _operand(value, "value")))


def to_dot(*outputs: Node) -> str:
    """The graph of some outputs in Graphviz's language."""
    handles = [_operand(output, "outputs") for output in outputs]
    return _string(invoke(lib.hmath_autodiff_to_dot, _array(handles), len(handles)))


# ---------------------------------------------------------------- elementwise


@elementwise_or_dual
def exp(value: Operand | Dual) -> Node | Dual:
    """eˣ, to 1 ulp. ``Overflow``."""
    return _unary("exp", value)


@elementwise_or_dual
def expm1(value: Operand | Dual) -> Node | Dual:
    """eˣ − 1, to 1.5 ulp, also near 0. ``Overflow``."""
    return _unary("expm1", value)


@elementwise_or_dual
def log(value: Operand | Dual) -> Node | Dual:
    """ln x, to 1 ulp. ``DomainError`` unless x > 0."""
    return _unary("log", value)


@elementwise_or_dual
def log1p(value: Operand | Dual) -> Node | Dual:
    """ln(1 + x), to 1 ulp, also near 0. ``DomainError`` unless x > −1."""
    return _unary("log1p", value)


@elementwise_or_dual
def sqrt(value: Operand | Dual) -> Node | Dual:
    """√x, correctly rounded. ``DomainError`` unless x ≥ 0; its derivative needs x > 0."""
    return _unary("sqrt", value)


@elementwise_or_dual
def sin(value: Operand | Dual) -> Node | Dual:
    """sin x, to 1 ulp for every finite x."""
    return _unary("sin", value)


@elementwise_or_dual
def cos(value: Operand | Dual) -> Node | Dual:
    """cos x, to 1 ulp for every finite x."""
    return _unary("cos", value)


@elementwise_or_dual
def tan(value: Operand | Dual) -> Node | Dual:
    """tan x, to 2.5 ulp for every finite x."""
    return _unary("tan", value)


@elementwise_or_dual
def tanh(value: Operand | Dual) -> Node | Dual:
    """tanh x, to 1.5 ulp; its derivative never saturates."""
    return _unary("tanh", value)


@elementwise_or_dual
def erf(value: Operand | Dual) -> Node | Dual:
    """The error function, to 1 ulp."""
    return _unary("erf", value)


@elementwise_or_dual
def absolute(value: Operand | Dual) -> Node | Dual:
    """|x|; the derivative at 0 is 0."""
    return _unary("absolute", value)


@elementwise
def sign(value: Operand) -> Node:
    """−1, 0 or 1; the derivative is 0."""
    return _node(invoke(lib.hmath_autodiff_sign, _operand(value, "value")))


@elementwise
def square(value: Operand) -> Node:
    """x². ``Overflow``."""
    return _node(invoke(lib.hmath_autodiff_square, _operand(value, "value")))


@elementwise
def reciprocal(value: Operand) -> Node:
    """1/x. ``DomainError`` for x = 0, ``Overflow``."""
    return _node(invoke(lib.hmath_autodiff_reciprocal, _operand(value, "value")))


@power_
def power(base: Operand | Dual, exponent: Operand | Dual) -> Node | Dual:
    """xʸ, to 2 ulp; x⁰ = 1. ``DomainError``: x < 0 with y no integer, x = 0 with y < 0."""
    return _pair("power", base, exponent, ("base", "exponent"))


@choice
def maximum(left: Operand | Dual, right: Operand | Dual) -> Node | Dual:
    """The larger of two; in a tie each gets half of the cotangent."""
    return _pair("maximum", left, right)


@choice
def minimum(left: Operand | Dual, right: Operand | Dual) -> Node | Dual:
    """The smaller of two; in a tie each gets half of the cotangent."""
    return _pair("minimum", left, right)


@comparison
def equal(left: Operand, right: Operand) -> Node:
    """1.0 where the two are equal, else 0.0; the derivative is 0."""
    return _compared("hmath_autodiff_equal", left, right)


@comparison
def less(left: Operand, right: Operand) -> Node:
    """1.0 where left < right, else 0.0; the derivative is 0."""
    return _compared("hmath_autodiff_less", left, right)


@comparison
def less_equal(left: Operand, right: Operand) -> Node:
    """1.0 where left ≤ right, else 0.0; the derivative is 0."""
    return _compared("hmath_autodiff_less_equal", left, right)


@overload
def select(condition: ADTensor, a: Operand, b: Operand) -> ADTensor: ...
@overload
def select(condition: Operand, a: ADTensor, b: Operand) -> ADTensor: ...
@overload
def select(condition: Operand, a: Operand, b: ADTensor) -> ADTensor: ...
@overload
def select(condition: Expr | float, a: Expr | float, b: Expr | float) -> Expr: ...
@overload
def select(condition: Operand, a: Operand, b: Operand) -> Either: ...
def select(condition: Operand, a: Operand, b: Operand) -> Node:
    """a where the condition is not 0, else b. No derivative flows into the condition.

    Both sides are computed, so that both have to be in their domains.
    """
    handles = _operand(condition, "condition"), _operand(a, "a"), _operand(b, "b")
    return _node(invoke(lib.hmath_autodiff_select, *handles))


@overload
def activation(method: Activation, value: NodeT) -> NodeT: ...
@overload
def activation(method: Activation, value: float) -> Expr: ...
@overload
def activation(method: Activation, value: TensorLike) -> Either: ...
def activation(method: Activation, value: Operand) -> Node:
    """An activation of every element, with the derivative and kinks of :mod:`~hmath.deeplearning_core`, to 4 ulp.

    ``NonFinite`` and ``DomainError``: ``method.parameter``.
    """
    how = _convert.value(method, "method", "Activation")[2]
    return _node(invoke(lib.hmath_autodiff_activation, how, _operand(value, "value")))


# ---------------------------------------------------------------- arrangement


def _flat(numbers: Any) -> Any:
    """``(2, 3)`` from ``f(2, 3)`` and from ``f((2, 3))``."""
    return numbers[0] if len(numbers) == 1 and hasattr(numbers[0], "__iter__") else numbers


def _axis(axis: int, rank: int, argument: str, index: int | None = None) -> int:
    """An axis that may count from the end."""
    axis = _convert.integer(axis, argument)[3]
    if not -rank <= axis < rank:
        raise index_out_of_bounds(argument, axis, rank, index)
    return axis % rank


def _shape_of(handle: CData) -> tuple[int, ...]:
    rank = lib.hmath_autodiff_rank(handle)
    if rank < 0:  # an operand that becomes a constant
        rank = lib.hmath_tensor_rank(handle)
        return tuple(ffi.unpack(lib.hmath_tensor_shape(handle), rank)) if rank > 0 else ()
    return tuple(ffi.unpack(lib.hmath_autodiff_shape(handle), rank)) if rank else ()


@overload
def reshape(value: Operand, shape: tuple[()]) -> Expr: ...  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
@overload
def reshape(value: Operand, shape: Sequence[int]) -> ADTensor: ...
def reshape(value: Operand, shape: Sequence[int]) -> Node:
    """The same elements, row-major, under another shape. One extent may be −1: what is left over."""
    handle, extents = _operand(value, "value"), _convert.int_list(shape, "shape")
    if extents.count(-1) == 1:
        size = known = 1
        for extent in _shape_of(handle):
            size *= extent
        for extent in extents:
            known *= extent
        if known < 0 and size % known == 0:
            extents[extents.index(-1)] = size // -known
    return _node(invoke(lib.hmath_autodiff_reshape, handle, len(extents), extents))


@overload
def transpose(value: NodeT, axes: Sequence[int] | None = None) -> NodeT: ...
@overload
def transpose(value: Operand, axes: Sequence[int] | None = None) -> Either: ...
def transpose(value: Operand, axes: Sequence[int] | None = None) -> Node:
    """Axes in another order: axis i of the result is axis ``axes[i]``; by default, reversed."""
    handle = _operand(value, "value")
    if axes is None:
        return _node(invoke(lib.hmath_autodiff_transpose, handle, ffi.NULL))
    rank, order = len(_shape_of(handle)), _convert.int_list(axes, "axes")
    if len(order) != rank:
        raise dimension_mismatch("axes", rank, len(order))
    order = [_axis(axis, rank, "axes", i) for i, axis in enumerate(order)]
    return _node(invoke(lib.hmath_autodiff_transpose, handle, order))


@overload
def broadcast_to(value: Operand, shape: tuple[()]) -> Expr: ...  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
@overload
def broadcast_to(value: Operand, shape: Sequence[int]) -> ADTensor: ...
def broadcast_to(value: Operand, shape: Sequence[int]) -> Node:
    """Repeated to a larger shape. ``DimensionMismatch``."""
    extents = _convert.int_list(shape, "shape")
    handle = _operand(value, "value")
    return _node(invoke(lib.hmath_autodiff_broadcast_to, handle, len(extents), extents))


def element(value: Operand, index: int) -> Expr:
    """Element `index` of a tensor, counted row-major, as an Expr. ``IndexOutOfBounds``."""
    return adopt(
        Expr,
        invoke(lib.hmath_autodiff_element, _operand(value, "value"), _convert.integer(index, "index")[3]),
    )


def _slice(value: ADTensor, index: Any) -> Node:
    from .tensor import _full_index, _within  # the same index, of another kind of tensor

    handle, shape = value._open(), value.shape
    parts = _full_index(index, len(shape))
    start, stop, step, kept = [], [], [], []
    for axis, (part, extent) in enumerate(zip(parts, shape, strict=True)):
        if isinstance(part, slice):
            first, last, stride = part.indices(extent)
            kept.append(len(range(first, last, stride)))
            # A step beyond the axis takes the first position only, however long it is.
            stride = builtins.max(-builtins.max(extent, 1), builtins.min(stride, builtins.max(extent, 1)))
        else:
            first = _within(part, extent, "index", axis)
            last, stride = first + 1, 1
        start.append(first)
        stop.append(last)
        step.append(stride)
    if not kept:
        position = 0
        for first, extent in zip(start, shape, strict=True):
            position = position * extent + first
        return element(value, position)
    sliced = invoke(lib.hmath_autodiff_slice, handle, start, stop, step)
    if len(kept) == len(shape):
        return _node(sliced)
    return _node(invoke(lib.hmath_autodiff_reshape, sliced, len(kept), kept))


def concatenate(values: Sequence[Operand], axis: int = 0) -> ADTensor:
    """Along an axis that all have. ``EmptyInput`` of nothing, ``DimensionMismatch``."""
    handles = _operands(values, "values")
    rank = len(_shape_of(handles[0])) if handles else 0
    where = _axis(axis, rank, "axis") if rank else _convert.integer(axis, "axis")[3]
    return adopt(ADTensor, invoke(lib.hmath_autodiff_concatenate, _array(handles), len(handles), where))


@overload
def stack(values: Sequence[Operand], shape: tuple[()]) -> Expr: ...  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
@overload
def stack(values: Sequence[Operand], shape: Sequence[int] | None = None, axis: int = 0) -> ADTensor: ...
def stack(values: Sequence[Operand], shape: Sequence[int] | None = None, axis: int = 0) -> Node:
    """Scalars as a tensor of `shape`; without one, nodes of one shape side by side along a new axis.

    ``stack([a, b, c, d], (2, 2))`` is the matrix of four scalars.
    """
    handles = _operands(values, "values")
    if shape is not None:
        extents = _convert.int_list(shape, "shape")
        return _node(invoke(lib.hmath_autodiff_stack, _array(handles), len(handles), len(extents), extents))
    rank = len(_shape_of(handles[0])) + 1 if handles else 1
    where = _axis(axis, rank, "axis")
    return _node(invoke(lib.hmath_autodiff_stack_along, _array(handles), len(handles), where))


@overload
def gather(value: Operand, indices: Indices, axis: int = 0) -> ADTensor: ...
@overload
def gather(value: Operand, indices: Node, axis: int = 0) -> Either: ...
def gather(value: Operand, indices: Node | Indices, axis: int = 0) -> Node:
    """Along an axis, the slices that `indices` name: whole numbers, or a node of them.

    The axis gives way to the axes of `indices`. ``IndexOutOfBounds`` and ``DomainError`` (no whole number)
    come when the graph is evaluated.
    """
    handle = _operand(value, "value")
    where = _axis(axis, len(_shape_of(handle)), "axis")
    return _gathered(handle, indices, where)


def _gathered(handle: CData, indices: Any, axis: int) -> Node:
    return _node(invoke(lib.hmath_autodiff_gather, handle, _indices(indices), axis))


@overload
def embedding(weights: Operand, indices: Indices) -> ADTensor: ...
@overload
def embedding(weights: Operand, indices: Node) -> Either: ...
def embedding(weights: Operand, indices: Node | Indices) -> Node:
    """Rows of [vocabulary, features] weights, as :func:`gather` along axis 0."""
    handle = _operand(weights, "weights")
    if not _shape_of(handle):
        raise dimension_mismatch("weights", "rank 1 or more", "rank 0")
    try:
        return _gathered(handle, indices, 0)
    except HMathError as error:
        raise renamed(error, "autodiff.gather", value="weights") from None


def _indices(indices: Any) -> CData:
    """Whole numbers as a node, a Tensor or a constant list of them."""
    if isinstance(indices, Owner):
        return indices._open("indices")
    if getattr(getattr(indices, "dtype", None), "kind", "f") in "iu":
        indices = indices.astype("float64")
    if _convert.has_axes(indices):
        return make(_convert.tensor(indices, "indices"))
    numbers = [float(i) for i in _convert.int_list(indices, "indices")]
    return invoke(lib.hmath_tensor_create, 1, [len(numbers)], numbers or ffi.NULL)


# ---------------------------------------------------------------- reductions and products


def _axes(axis: Axes, rank: int) -> tuple[int, Any]:
    """How many axes, and which; none given means all."""
    if axis is None:
        return _ALL_AXES, ffi.NULL
    given = [axis] if hasattr(type(axis), "__index__") else axis
    numbers = [_axis(a, rank, "axis") for a in _convert.int_list(given, "axis")]
    return len(numbers), numbers


def _reduce(function: Any, value: Any, axis: Axes, keepdims: bool) -> Node:
    handle = _operand(value, "value")
    count, axes = _axes(axis, len(_shape_of(handle)))
    try:
        return _node(invoke(function, handle, count, axes, _convert.boolean(keepdims, "keepdims")[3]))
    except HMathError as error:
        raise renamed(error, axes="axis") from None


@reduction
def sum(value: Operand, axis: Axes = None, keepdims: bool = False) -> Node:
    """Along one axis, several, or all; 0 of nothing. With `keepdims` they stay with extent 1.

    The order of summation is the numerics contract's.
    """
    return _reduce(lib.hmath_autodiff_sum, value, axis, keepdims)


@reduction
def mean(value: Operand, axis: Axes = None, keepdims: bool = False) -> Node:
    """Along one axis, several, or all. ``EmptyInput`` of nothing."""
    return _reduce(lib.hmath_autodiff_mean, value, axis, keepdims)


@reduction
def max(value: Operand, axis: Axes = None, keepdims: bool = False) -> Node:
    """Along one axis, several, or all; equal maxima share the cotangent alike. ``EmptyInput`` of nothing."""
    return _reduce(lib.hmath_autodiff_max, value, axis, keepdims)


def norm(values: Node | Sequence[Operand]) -> Expr:
    """Euclidean norm over all elements of one node or several, without overflow on the way; derivative 0 at 0."""
    handles = _operands([values] if isinstance(values, Node) else values, "values")
    return adopt(Expr, invoke(lib.hmath_autodiff_norm, _array(handles), len(handles)))


def matmul(left: Operand, right: Operand) -> Either:
    """left @ right as in NumPy: matrices on the last two axes, the others broadcast. ``DimensionMismatch``."""
    return _node(invoke(lib.hmath_autodiff_matmul, _operand(left, "left"), _operand(right, "right")))


# ---------------------------------------------------------------- layers


def _along(function: Any, value: Any, axis: int) -> Any:
    handle = _operand(value, "value")
    rank = len(_shape_of(handle))
    try:
        return _node(invoke(function, handle, _axis(axis, rank, "axis") if rank else 0))
    except HMathError as error:
        raise renamed(error, values="value") from None


def softmax(value: Operand, axis: int = -1) -> ADTensor:
    """Along an axis. First-order. ``EmptyInput`` of nothing."""
    return _along(lib.hmath_autodiff_softmax, value, axis)  # type: ignore[no-any-return]


def log_softmax(value: Operand, axis: int = -1) -> ADTensor:
    """Along an axis. First-order. ``EmptyInput`` of nothing."""
    return _along(lib.hmath_autodiff_log_softmax, value, axis)  # type: ignore[no-any-return]


def sparsemax(value: Operand, axis: int = -1) -> ADTensor:
    """Along an axis. First-order. ``EmptyInput`` of nothing."""
    return _along(lib.hmath_autodiff_sparsemax, value, axis)  # type: ignore[no-any-return]


def dense(input: Operand, weights: Operand, bias: Bias) -> ADTensor:
    """:func:`hmath.deeplearning_layers.dense_ad`."""
    return layers.dense_ad(input, weights, bias)


def convolution(options: ConvOptions, input: Operand, weights: Operand, bias: Bias) -> ADTensor:
    """:func:`hmath.deeplearning_layers.convolution_ad`."""
    return layers.convolution_ad(options, input, weights, bias)


def transposed_convolution(
    output_padding: Sequence[int], options: ConvOptions, input: Operand, weights: Operand, bias: Bias
) -> ADTensor:
    """:func:`hmath.deeplearning_layers.transposed_convolution` as a node."""
    return plain(
        call(
            "hmath_autodiff_transposed_convolution",
            _convert.integers(output_padding, "output_padding"),
            record(options, layers.ConvOptions, "options"),
            _convert.node(input, "input"),
            _convert.node(weights, "weights"),
            _convert.nodes(bias, "bias"),
        ),
        ADTensor,
    )


def pooling(
    mode: PoolMode, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], input: Operand
) -> ADTensor:
    """:func:`hmath.deeplearning_layers.pooling` as a node; the first of equal maxima gets the cotangent."""
    return plain(
        call(
            "hmath_autodiff_pooling",
            _convert.value(mode, "mode", "PoolMode"),
            _convert.integers(kernel, "kernel"),
            _convert.integers(stride, "stride"),
            _convert.integers(padding, "padding"),
            _convert.node(input, "input"),
        ),
        ADTensor,
    )


def layer_norm(axes: int, epsilon: float, input: Operand) -> ADTensor:
    """:func:`hmath.deeplearning_layers.layer_norm_ad`."""
    return layers.layer_norm_ad(axes, epsilon, input)


def rms_norm(axes: int, epsilon: float, input: Operand) -> ADTensor:
    """:func:`hmath.deeplearning_layers.rms_norm_ad`."""
    return layers.rms_norm_ad(axes, epsilon, input)


def group_norm(groups: int, epsilon: float, input: Operand) -> ADTensor:
    """:func:`hmath.deeplearning_layers.group_norm` as a node."""
    return plain(
        call(
            "hmath_autodiff_group_norm",
            _convert.integer(groups, "groups"),
            _convert.double(epsilon, "epsilon"),
            _convert.node(input, "input"),
        ),
        ADTensor,
    )


def instance_norm(epsilon: float, input: Operand) -> ADTensor:
    """:func:`hmath.deeplearning_layers.instance_norm` as a node."""
    return plain(
        call(
            "hmath_autodiff_instance_norm",
            _convert.double(epsilon, "epsilon"),
            _convert.node(input, "input"),
        ),
        ADTensor,
    )


def batch_norm(
    epsilon: float, gamma: Operand, beta: Operand, input: Operand
) -> tuple[ADTensor, ADTensor, ADTensor]:
    """Training form: ``(output, mean, variance)``, by the batch's own population statistics per channel.

    Running statistics are the caller's: ``(1 - momentum) * running + momentum * mean``, and the same with the
    unbiased variance, ``variance * n / (n - 1)`` for n elements a channel.
    """
    handles = [
        make(_convert.double(epsilon, "epsilon")),
        _operand(gamma, "gamma"),
        _operand(beta, "beta"),
        _operand(input, "input"),
    ]
    out = [_new("hmath_value **") for _ in range(3)]
    check(lib.hmath_autodiff_batch_norm(context(), *handles, *out))
    output, average, variance = (adopt(ADTensor, _owned(value[0])) for value in out)
    return output, average, variance


@overload
def dropout(mask: ADTensor, input: Operand) -> ADTensor: ...
@overload
def dropout(mask: Operand, input: ADTensor) -> ADTensor: ...
@overload
def dropout(mask: Operand, input: Operand) -> Either: ...
def dropout(mask: Operand, input: Operand) -> Node:
    """input * mask, for a mask of :func:`hmath.deeplearning_layers.dropout`: drawn outside, replayed here."""
    factor, factored = _operand(mask, "mask"), _operand(input, "input")
    try:
        return _node(invoke(lib.hmath_autodiff_multiply, factored, factor))
    except HMathError as error:
        raise renamed(error, "autodiff.multiply", left="input", right="mask") from None


def multihead_attention(
    heads: int, query: Operand, key: Operand, value: Operand, mask: BooleanRows | None = None
) -> ADTensor:
    """:func:`hmath.deeplearning_layers.multihead_attention` as a node. First-order.

    Query ``[..., N, D]``, key ``[..., M, D]``, value ``[..., M, F]`` with the same leading axes.
    """
    return plain(
        call(
            "hmath_autodiff_multihead_attention",
            _convert.integer(heads, "heads"),
            _convert.node(query, "query"),
            _convert.node(key, "key"),
            _convert.node(value, "value"),
            _convert.maybe(_convert.boolean_rows, mask, "mask"),
        ),
        ADTensor,
    )


# ---------------------------------------------------------------- derivatives


@overload
def gradient(output: Operand, wrt: NodeT) -> NodeT: ...
@overload
def gradient(output: Operand, wrt: Sequence[NodeT]) -> list[NodeT]: ...
def gradient(output: Operand, wrt: Node | Sequence[Node]) -> Node | list[Any]:
    """The gradient of a node of one element with respect to others, as nodes.

    Zeros where it does not depend on them. Gradients can be differentiated again, except through softmax,
    log_softmax, sparsemax, CTC, attention and custom nodes: there a ``DomainError`` names the operation.
    ``DimensionMismatch``: `output` has other than one element.
    """
    of, one = _operand(output, "output"), isinstance(wrt, Node)
    asked = _operands([wrt] if one else wrt, "wrt")
    out = _new(_HANDLES, len(asked))
    check(lib.hmath_autodiff_gradient(context(), of, _array(asked), len(asked), out))
    found = [_node(_owned(out[i])) for i in range(len(asked))]
    return found[0] if one else found


def pull_back(outputs: Sequence[Operand], seeds: Sequence[Operand], wrt: Sequence[NodeT]) -> list[NodeT]:
    """Σᵢ (∂outputs[i]/∂wrt)ᵀ seeds[i] as nodes: reverse mode from outputs of any shape."""
    of, by, asked = _operands(outputs, "outputs"), _operands(seeds, "seeds"), _operands(wrt, "wrt")
    if len(of) != len(by):
        raise dimension_mismatch("seeds", len(of), len(by))
    out = _new(_HANDLES, len(asked))
    check(
        lib.hmath_autodiff_pull_back(
            context(), _array(of), _array(by), len(of), _array(asked), len(asked), out
        )
    )
    found: list[Any] = [_node(_owned(out[i])) for i in range(len(asked))]
    return found


@overload
def push_forward(output: NodeT, wrt: Sequence[Node], tangents: Sequence[Operand]) -> NodeT: ...
@overload
def push_forward(output: Operand, wrt: Sequence[Node], tangents: Sequence[Operand]) -> Either: ...
def push_forward(output: Operand, wrt: Sequence[Node], tangents: Sequence[Operand]) -> Node:
    """Σⱼ (∂output/∂wrt[j]) tangents[j] as a node: forward mode."""
    of, asked, along = _operand(output, "output"), _operands(wrt, "wrt"), _operands(tangents, "tangents")
    if len(asked) != len(along):
        raise dimension_mismatch("tangents", len(asked), len(along))
    return _node(invoke(lib.hmath_autodiff_push_forward, of, _array(asked), _array(along), len(asked)))


# ---------------------------------------------------------------- programs


def _owned(value: CData) -> CData:
    return ffi.gc(value, lib.hmath_release)


def _value(value: CData) -> Value:
    """A float for a Double, a TensorDouble for a Tensor; takes the reference over."""
    if lib.hmath_kind(value) == lib.HMATH_KIND_DOUBLE:
        number = _new("double *")
        lib.hmath_double_get(value, number)
        lib.hmath_release(value)
        return number[0]  # type: ignore[no-any-return]
    return adopt(TensorDouble, _owned(value))


def _bound(x: Any, argument: str) -> CData:
    """The handle of what a variable stands for."""
    if type(x) is TensorDouble and x._handle is not None:  # nearly always
        return x._handle
    if isinstance(x, Owner):
        return x._open(argument)
    if _convert.has_axes(x):
        return make(_convert.tensor(x, argument))
    if not _is_number(x):
        raise type_mismatch(argument, "Double or Tensor Double", x)
    return make(_convert.double(x, argument))


def _bound_at(i: int, x: Any, argument: str, variables: Iterable[Any]) -> CData:
    """The same for input `i`, which a failure names: by its variable where `variables` are known."""
    try:
        return _bound(x, argument)
    except HMathError as error:
        variable = next(itertools.islice(variables, i, None), None)
        name = variable.name if isinstance(variable, Node) else None
        raise placed(error, f"for input {name or f'number {i}'}") from None


@owns(lib.HMATH_KIND_PROGRAM)
class Program(Owner):
    """A compiled graph (kind 300): call it with one value per input, in the order of the inputs.

    Immutable: any number of threads may run it at once.
    """

    __slots__ = ("_single",)

    _single: bool

    def __call__(self, *inputs: Value | TensorLike) -> Any:
        """The outputs, floats for Exprs, TensorDoubles for ADTensors; a list where a list was compiled."""
        results = _run(self, inputs, "inputs")
        return results[0] if self._single else results

    def _numbers(self) -> tuple[int, int, int, int]:
        numbers = [_new("int64_t *") for _ in range(4)]
        check(lib.hmath_program_describe(self._open(), *numbers))
        return tuple(number[0] for number in numbers)

    @property
    def steps(self) -> int:
        """How many steps a run takes; elementwise chains are one."""
        return self._numbers()[1]

    @property
    def workspace(self) -> int:
        """Bytes that a run needs besides its results."""
        return self._numbers()[3]

    def _describe(self) -> str:
        nodes, steps, groups, workspace = self._numbers()
        handle = self._open()
        inputs, outputs = lib.hmath_program_inputs(handle), lib.hmath_program_outputs(handle)
        numbers = ", ".join(
            f"{n} {noun if n == 1 else noun + 's'}"
            for n, noun in ((inputs, "input"), (outputs, "output"), (steps, "step"))
        )
        return f"<Program of {nodes} nodes: {numbers} (groups: {groups}), {workspace} bytes of workspace>"

    def __copy__(self) -> Program:
        copy = super().__copy__()
        copy._single = self._single
        return copy


def _run(
    program: Handle, inputs: tuple[Any, ...], argument: str, variables: Iterable[Any] = ()
) -> list[Value]:
    """The outputs: floats for Exprs, TensorDoubles for ADTensors."""
    results = _native.run(program, inputs)
    if results is None:  # an array, or no input at all; or this thread has no context yet
        if program._dropped:
            raise closed("self")
        context()
        bound = [_bound_at(i, x, argument, variables) for i, x in enumerate(inputs)]
        results = _native.run(program, tuple(adopt(Handle, handle) for handle in bound))
    if not isinstance(results, list):
        try:
            check(lib.HMATH_NO_MEMORY if results is None else results)
        except HMathError as error:
            raise renamed(error, "autodiff.Program", inputs=argument) from None
        raise AssertionError("a failure raises")
    return results


def _compile(outputs: list[CData], inputs: list[CData]) -> CData:
    return invoke(lib.hmath_autodiff_compile, _array(outputs), len(outputs), _array(inputs), len(inputs))


def compile(outputs: Node | Sequence[Node], inputs: Sequence[Node]) -> Program:
    """A :class:`Program` that computes the outputs from values for the inputs, which are variables.

    Variables on which no output depends may be among them.
    ``DomainError``: a variable of the graph is missing, or an input is no variable.
    """
    one = isinstance(outputs, Node)
    of = _operands([outputs] if one else outputs, "outputs")
    program = adopt(Program, _compile(of, _operands(inputs, "inputs")))
    program._single = one
    return program


# ---------------------------------------------------------------- evaluation

# Programs kept on a node: a program may keep other nodes alive, of which there may be ever new ones.
_REMEMBERED = 8


def _program(
    node: Node, kind: str, groups: tuple[Iterable[Any], ...], build: Callable[[], tuple[CData, Any]]
) -> Handle:
    """The program for some groups of nodes, kept on the node, of the latest few.

    What `build` returns beside it is kept, too: nodes, whose addresses may not become those of others.
    """
    key = (kind, *(tuple(map(_native.address, group)) for group in groups))
    if any(None in group for group in key[1:]):  # numbers, which have none, and what is to be refused
        return adopt(Handle, build()[0])
    try:
        programs = node._programs
    except AttributeError:
        programs = node._programs = {}
    found = programs.pop(key, None)
    if found is None:
        program, kept = build()
        found = adopt(Handle, program), kept
    programs[key] = found  # the latest stands last
    for oldest in list(programs)[:-_REMEMBERED]:
        programs.pop(oldest, None)
    return found[0]


def _mapping(bindings: Any) -> Bindings:
    if not isinstance(bindings, Mapping):
        raise type_mismatch("bindings", "Mapping from variables to values", bindings)
    return bindings


def _bindings(bindings: Bindings) -> tuple[list[CData], list[CData]]:
    """The handles of the variables and of what they stand for."""
    variables = [_operand(v, "bindings") for v in _mapping(bindings)]
    return variables, _bound_all(bindings, bindings, "bindings")


def _bound_all(values: Bindings, variables: Iterable[Any], argument: str) -> list[CData]:
    """What variables stand for; NULL for those without a value."""
    return [
        _bound_at(i, values[v], argument, variables) if v in values else ffi.NULL
        for i, v in enumerate(variables)
    ]


@overload
def evaluate(output: Evaluated[WantedT], bindings: Bindings | None = None) -> WantedT: ...
@overload
def evaluate(output: Sequence[Evaluated[WantedT]], bindings: Bindings | None = None) -> list[WantedT]: ...
def evaluate(output: Any, bindings: Bindings | None = None) -> Value | list[Any]:
    """The value of a node, or of several: a float for an Expr, a TensorDouble for an ADTensor.

    `bindings` maps each variable of the graph to a number, a Tensor or an array of float64; one that takes no part
    is let be. ``DomainError``: a variable is missing. ``DimensionMismatch``, ``TypeMismatch``, ``NonFinite``: a value.
    """
    one = isinstance(output, Node)
    owners = [output] if one else _listed(output, "output")
    given = _mapping({} if bindings is None else bindings)

    def build() -> tuple[CData, Any]:
        outputs, (variables, _) = _operands(owners, "output"), _bindings(given)
        try:
            return _compile(outputs, variables), outputs
        except HMathError as error:
            raise renamed(error, "autodiff.compile", outputs="output", inputs="bindings") from None

    if owners and isinstance(owners[0], Node):
        program = _program(owners[0], "value", (owners, given), build)
    else:
        program = adopt(Handle, build()[0])
    results = _run(program, tuple(given.values()), "bindings", given)
    return results[0] if one else results


@overload
def value_and_gradient(
    output: Evaluated[ValueT], bindings: Bindings, wrt: Evaluated[WantedT]
) -> tuple[ValueT, WantedT]: ...
@overload
def value_and_gradient(
    output: Evaluated[ValueT], bindings: Bindings, wrt: Sequence[Evaluated[WantedT]]
) -> tuple[ValueT, list[WantedT]]: ...
@overload
def value_and_gradient(
    output: Evaluated[ValueT], bindings: Bindings, wrt: None = None
) -> tuple[ValueT, list[Value]]: ...
def value_and_gradient(output: Any, bindings: Bindings, wrt: Any = None) -> tuple[Value, Value | list[Any]]:
    """The value of a node of one element and its gradient: ``(value, [gradients])``.

    `wrt` is a list of nodes (by default the variables in `bindings`, in their order); for a single node the
    gradient is single too.
    """
    if not isinstance(output, Node):
        handle = _operand(output, "output")
        try:
            output = _node(invoke(lib.hmath_autodiff_constant, handle))
        except HMathError as error:
            raise renamed(error, "autodiff.constant", value="output") from None
    output._open("output")
    _mapping(bindings)
    asked = [wrt] if isinstance(wrt, Node) else _listed(list(bindings) if wrt is None else wrt, "wrt")

    def build() -> tuple[CData, Any]:
        of, (variables, _), by = output._open("output"), _bindings(bindings), _operands(asked, "wrt")
        arguments = of, _array(variables), len(variables), _array(by), len(by)
        try:
            return invoke(lib.hmath_autodiff_compile_gradient, *arguments), (variables, by)
        except HMathError as error:
            raise renamed(error, inputs="bindings") from None

    program = _program(output, "gradient", (asked, bindings), build)
    results = _run(program, tuple(bindings.values()), "bindings", bindings)
    return results[0], results[1] if isinstance(wrt, Node) else results[1:]


def jacobian(output: Operand, bindings: Bindings, wrt: Node) -> TensorDouble:
    """∂output/∂wrt as a Tensor of shape (*output.shape, *wrt.shape): a row of reverse mode per element."""
    of, by = _operand(output, "output"), _operand(wrt, "wrt")
    variables, values = _bindings(bindings)
    try:
        handle = invoke(lib.hmath_autodiff_jacobian, of, _array(variables), _array(values), len(values), by)
    except HMathError as error:
        raise renamed(error, inputs="bindings", values="bindings") from None
    return adopt(TensorDouble, handle)


@overload
def jvp(output: Evaluated[ValueT], bindings: Bindings, tangents: Bindings) -> tuple[ValueT, ValueT]: ...
@overload
def jvp(output: Operand, bindings: Bindings, tangents: Bindings) -> tuple[Value, Value]: ...
def jvp(output: Any, bindings: Bindings, tangents: Bindings) -> tuple[Value, Value]:
    """Value and tangent of a node where variables move along `tangents` (those left out stand still)."""
    of = _operand(output, "output")
    variables, values = _bindings(bindings)
    if not isinstance(tangents, Mapping):
        raise type_mismatch("tangents", "Mapping from variables to values", tangents)
    for moving in tangents:
        if moving not in bindings:
            raise type_mismatch("tangents", "variables of bindings", moving)
    along = _bound_all(tangents, bindings, "tangents")
    value, tangent = _new("hmath_value **"), _new("hmath_value **")
    given = _array(variables), _array(values), _array(along), len(values)
    try:
        check(lib.hmath_autodiff_jvp(context(), of, *given, value, tangent))
    except HMathError as error:
        raise renamed(error, inputs="bindings", values="bindings") from None
    return _value(value[0]), _value(tangent[0])


# ---------------------------------------------------------------- custom nodes

# The functions of custom nodes and the shapes of their values.
_customs: dict[int, tuple[Callable[..., Any], Callable[..., Any] | None, tuple[int, ...]]] = {}
_custom_numbers = itertools.count(1)


@overload
def custom(  # type: ignore[overload-overlap]
    inputs: Sequence[Operand], forward: Forward, reverse: Reverse | None = None, shape: tuple[()] = ()
) -> Expr: ...
@overload
def custom(
    inputs: Sequence[Operand], forward: Forward, reverse: Reverse | None = None, *, shape: Sequence[int]
) -> ADTensor: ...
@overload
def custom(
    inputs: Sequence[Operand], forward: Forward, reverse: Reverse | None, shape: Sequence[int]
) -> ADTensor: ...
def custom(
    inputs: Sequence[Operand],
    forward: Forward,
    reverse: Reverse | None = None,
    shape: Sequence[int] = (),
) -> Node:
    """A node whose value and derivative are Python functions.

    ``forward(values)`` gets one value per input (floats for scalars, Tensors for others) and returns a
    number, or a Tensor or array of `shape`. ``reverse(values, adjoint)`` returns one cotangent per input.
    First-order. Both live as long as any graph or program that holds the node: one that holds the node itself is
    never freed (let it hold a ``weakref.ref``). An exception in one ends the evaluation.
    """
    if not callable(forward):
        raise type_mismatch("forward", "callable", forward)
    if reverse is not None and not callable(reverse):
        raise type_mismatch("reverse", "callable", reverse)
    handles, extents = _operands(inputs, "inputs"), _convert.int_list(shape, "shape")
    number = next(_custom_numbers)
    _customs[number] = forward, reverse, tuple(extents)
    try:
        return _node(
            invoke(
                lib.hmath_autodiff_custom,
                _array(handles),
                len(handles),
                len(extents),
                extents,
                lib.hmath_python_forward,
                lib.hmath_python_reverse if reverse is not None else ffi.NULL,
                ffi.cast("void *", number),
                lib.bridge_custom_gone,
            )
        )
    except BaseException:
        _customs.pop(number, None)
        raise


def _lent(value: CData) -> Value:
    """A value that a callback gets: it may keep it."""
    return _value(lib.hmath_retain(value))


def _given(x: Any, argument: str, shape: tuple[int, ...], index: int | None = None) -> CData:
    """The handle of what a callback gives back."""
    fits = isinstance(x, Owner) or _convert.has_axes(x) or (not shape and _is_number(x))
    if not fits:
        expected = f"Tensor Double of shape {shape}" if shape else "Double"
        raise type_mismatch(argument, expected, x, index)
    return _bound(x, argument)


def _shape_of_value(value: CData) -> tuple[int, ...]:
    rank = lib.hmath_tensor_rank(value)
    return tuple(ffi.unpack(lib.hmath_tensor_shape(value), rank)) if rank > 0 else ()


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def hmath_python_forward(ctx: CData, user: CData, inputs: CData, n: int, out: CData) -> int:
    try:
        forward, _, shape = _customs[int(ffi.cast("intptr_t", user))]
        given = forward([_lent(inputs[i]) for i in range(n)])
        out[0] = lib.hmath_retain(_given(given, "forward", shape))
    except BaseException as error:
        return callback_failed(error)
    return 0


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def hmath_python_reverse(ctx: CData, user: CData, inputs: CData, n: int, adjoint: CData, out: CData) -> int:
    try:
        _, reverse, _ = _customs[int(ffi.cast("intptr_t", user))]
        assert reverse is not None
        given = reverse([_lent(inputs[i]) for i in range(n)], _lent(adjoint))
        if not hasattr(type(given), "__iter__"):
            raise type_mismatch("reverse", "one cotangent per input", given)
        shapes = [_shape_of_value(inputs[i]) for i in range(n)]
        # One too many, or too few, is for the library to say.
        cotangents = [_given(x, "reverse", shapes[i] if i < n else (), i) for i, x in enumerate(given)]
        check(lib.hmath_tuple_create(context(), _array(cotangents), len(cotangents), out))
    except BaseException as error:
        return callback_failed(error)
    return 0


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def hmath_python_destroy(user: CData, customs: Any = _customs, cast: Any = ffi.cast) -> None:
    # The defaults outlive the module: graphs may go while an interpreter takes its modules apart.
    customs.pop(int(cast("intptr_t", user)), None)


# ---------------------------------------------------------------- dual numbers


def _dual_operand(x: Any, argument: str) -> CData:
    return x._open(argument) if type(x) is Dual else make(_convert.double(x, argument))


def _dual_binary(function: Any, left: Any, right: Any) -> Any:
    if not all(type(x) is Dual or _is_number(x) for x in (left, right)):
        return NotImplemented
    return adopt(Dual, invoke(function, _dual_operand(left, "left"), _dual_operand(right, "right")))


@owns(lib.HMATH_KIND_DUAL)
class Dual(Owner):
    """A number with its derivative along one direction (kind 289): forward mode without a graph.

    >>> x = Dual(2.0, 1.0)
    >>> (x * x + 1).tangent
    4.0

    ``+ - * / **``, ``abs`` and the functions of this module (exp, log, sqrt, sin, ...) carry both along.
    """

    __slots__ = ()

    def __new__(cls, value: float, tangent: float = 0.0) -> Dual:
        numbers = (_convert.double(value, "value")[1], _convert.double(tangent, "tangent")[1])
        return adopt(cls, invoke(lib.hmath_dual_create, *numbers))

    def __init__(self, value: float, tangent: float = 0.0) -> None:
        """The number and its derivative."""

    def _parts(self) -> tuple[float, float]:
        value, tangent = _new("double *"), _new("double *")
        check(lib.hmath_dual_get(self._open(), value, tangent))
        return value[0], tangent[0]

    @property
    def value(self) -> float:
        """The number."""
        return self._parts()[0]

    @property
    def tangent(self) -> float:
        """Its derivative."""
        return self._parts()[1]

    def _describe(self) -> str:
        value, tangent = self._parts()
        return f"Dual({value!r}, {tangent!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dual, self._parts()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dual) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __add__(self, other: Dual | float) -> Dual:
        return _dual_binary(lib.hmath_dual_add, self, other)  # type: ignore[no-any-return]

    def __radd__(self, other: float) -> Dual:
        return _dual_binary(lib.hmath_dual_add, other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Dual | float) -> Dual:
        return _dual_binary(lib.hmath_dual_subtract, self, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: float) -> Dual:
        return _dual_binary(lib.hmath_dual_subtract, other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Dual | float) -> Dual:
        return _dual_binary(lib.hmath_dual_multiply, self, other)  # type: ignore[no-any-return]

    def __rmul__(self, other: float) -> Dual:
        return _dual_binary(lib.hmath_dual_multiply, other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Dual | float) -> Dual:
        return _dual_binary(lib.hmath_dual_divide, self, other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: float) -> Dual:
        return _dual_binary(lib.hmath_dual_divide, other, self)  # type: ignore[no-any-return]

    def __pow__(self, other: Dual | float) -> Dual:
        return _dual_binary(lib.hmath_dual_power, self, other)  # type: ignore[no-any-return]

    def __rpow__(self, other: float) -> Dual:
        return _dual_binary(lib.hmath_dual_power, other, self)  # type: ignore[no-any-return]

    def __neg__(self) -> Dual:
        return adopt(Dual, invoke(lib.hmath_dual_negate, self._open()))

    def __pos__(self) -> Dual:
        return self

    def __abs__(self) -> Dual:
        return adopt(Dual, invoke(lib.hmath_dual_absolute, self._open()))
