"""Nodes, and what arranges, joins and reduces them: what their own methods and operators come to."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from .. import _convert, _native
from .._call import CData, Shorts, check, invoke, make
from .._failure import closed, dimension_mismatch, domain_error, index_out_of_bounds, renamed, type_mismatch
from .._hmath import ffi, lib
from .._owner import Handle, Owner, adopt
from .._result import owns
from .._signatures import operator, reduction, reduction_method, reshape_method
from ..errors import HMathError
from ..tensor import TensorDouble, _full_index, _within

if TYPE_CHECKING:
    from types import EllipsisType

    from .._signatures import Either, NodeT
    from .._typing import TensorLike
    from ._types import Axes, Indices, Operand, Value

_new = ffi.new
_HANDLES = ffi.typeof("hmath_value *[]")
_ALL_AXES = lib.HMATH_ALL_AXES


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
        from .._picture import svg

        return svg(self.to_dot())

    def _describe(self) -> str:
        text = _string(invoke(lib.hmath_autodiff_to_text, self._open()))
        shape = self.shape
        return f"<{type(self).__name__} {list(shape)}: {text}>" if shape else f"<Expr: {text}>"

    def __bool__(self) -> bool:
        raise TypeError("a node has no truth value before it is evaluated; see select()")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a node has no numbers before it is evaluated; see evaluate()")

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

    # Elements that are 1.0 where it holds, else 0.0: a node has no truth value.
    def __lt__(self, other: Operand) -> Either:
        return _binary("hmath_autodiff_less", self, other)

    def __le__(self, other: Operand) -> Either:
        return _binary("hmath_autodiff_less_equal", self, other)

    def __gt__(self, other: Operand) -> Either:
        return _binary("hmath_autodiff_less", other, self)

    def __ge__(self, other: Operand) -> Either:
        return _binary("hmath_autodiff_less_equal", other, self)

    def __abs__(self: NodeT) -> NodeT:
        return _like(self, invoke(lib.hmath_autodiff_absolute, self._open()))

    @reshape_method
    def reshape(self, *shape: int | Sequence[int]) -> Either:
        """The same elements under another shape. One extent may be -1: what is left over."""
        return reshape(self, _flat(shape))

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

    def __iter__(self) -> Iterator[Node]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: slice | EllipsisType) -> ADTensor: ...
    @overload
    def __getitem__(self, index: int | tuple[int | slice | EllipsisType, ...]) -> Either: ...
    def __getitem__(self, index: int | slice | EllipsisType | tuple[int | slice | EllipsisType, ...]) -> Node:
        """Integers, slices and ``...``; an Expr where every axis is given an integer."""
        return _slice(self, index)

    def transpose(self, *axes: int | Sequence[int]) -> ADTensor:
        """Axes in another order: axis i of the result is axis ``axes[i]``; by default, reversed."""
        return transpose(self, _flat(axes) or None)

    @property
    def T(self) -> ADTensor:
        """All axes in reverse."""
        return transpose(self)


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


def _gives_in_order(x: Any) -> bool:
    """Is x an iterable of values? Text and mappings are none, nor are sets, which have no order."""
    no_list = isinstance(x, (Mapping, set, frozenset, str, bytes, bytearray))
    return not no_list and hasattr(type(x), "__iter__") and getattr(x, "ndim", 1) != 0


def _listed(x: Any, argument: str) -> list[Any]:
    """What an iterable of operands gives; an array is one where its elements are doubles."""
    if isinstance(x, Owner) or not _gives_in_order(x) or not _convert.may_be_doubles(x):
        raise type_mismatch(argument, "List of Expr or ADTensor", x)
    return list(x)


def _names(x: Any) -> bool:
    """May x be an operand? What is not is left to the other operand's own operator."""
    return isinstance(x, Owner) or _is_number(x) or (hasattr(x, "ndim") and not isinstance(x, type))


def _is_number(x: Any) -> bool:
    """Has x the look of a number? Whether it may be one is for the conversion to say."""
    return hasattr(type(x), "__float__") or hasattr(type(x), "__index__")


def _binary(name: str, left: Any, right: Any) -> Node:
    node: Node | None = _binaries[name](left, right)
    if node is not None:
        return node
    if not (_names(left) and _names(right)):
        return NotImplemented  # type: ignore[no-any-return]
    return _node(invoke(getattr(lib, name), _operand(left, "left"), _operand(right, "right")))


_unaries, _binaries = Shorts("x"), Shorts("xx")


def _string(handle: CData) -> str:
    data, size = _new("const char **"), _new("size_t *")
    check(lib.hmath_string_get(handle, data, size))
    return str(ffi.buffer(data[0], size[0])[:].decode())


def _array(handles: list[CData]) -> CData:
    """Handles as a C array; `handles` has to outlive it."""
    return _new(_HANDLES, handles) if handles else ffi.NULL


def _owned(value: CData) -> CData:
    return ffi.gc(value, lib.hmath_release)


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
    shape, numbers = _convert.nested_ints(indices, "indices")
    return invoke(lib.hmath_tensor_create, len(shape), shape, [float(i) for i in numbers] or ffi.NULL)


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
