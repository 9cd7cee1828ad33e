"""Tensors: immutable, row-major blocks of doubles, and of floats on their way in and out.

    >>> from hmath import tensor
    >>> a = tensor.tensor([2, 2], [1, 2, 3, 4])
    >>> (a @ a + 1).values
    [8.0, 11.0, 16.0, 23.0]

A :class:`TensorDouble` is what operations work on. A :class:`TensorFloat` carries binary32 data: it can be
moved, read and promoted; given to an operation it is a ``TypeMismatch``, since nothing is ever widened
silently. Both may hold any number, infinities and NaN included; arithmetic checks its operands and its
result.

Operators and functions take NumPy arrays of float64 too, and operators numbers; shapes broadcast as NumPy's
do. Negative axes and indices count from the end. Functions of one argument give an array for an array.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from . import _convert, _native
from ._call import Argument, CData, Shorts, call, check, context, invoke, reduction, short
from ._failure import dimension_mismatch, index_out_of_bounds, renamed, type_mismatch
from ._hmath import ffi, lib
from ._owner import Owner, adopt
from ._result import elements, like, numpy_array, owner, owns, plain, rows_of, shape_of
from ._surface import shown
from .errors import HMathError

if TYPE_CHECKING:
    from types import EllipsisType

    from ._typing import ArrayT, Doubles, Float32Array, FloatArray, Integers, TensorLike

__all__ = [
    "Tensor",
    "TensorDouble",
    "TensorFloat",
    "absolute",
    "broadcast_to",
    "concatenate",
    "cos",
    "demote",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "from_dlpack",
    "from_numpy",
    "full",
    "log",
    "log1p",
    "log_sigmoid",
    "matmul",
    "maximum",
    "minimum",
    "promote",
    "reciprocal",
    "sigmoid",
    "sign",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "stack",
    "tan",
    "tanh",
    "tensor",
    "tensor_float",
    "zeros",
]

__dir__ = shown(__all__)

Self = TypeVar("Self", bound="Tensor")
Number = float | int

_CPU = 1  # kDLCPU of DLPack
_SHOWN = 16  # elements in a repr


class Tensor(Owner):
    """Base of the two kinds of tensors: what moves data, and reads it."""

    __slots__ = ()

    # NumPy's arrays leave operators with a tensor to the tensor.
    __array_ufunc__ = None

    # ------------------------------------------------------------ reading

    @property
    def kind(self) -> int:
        """161 for a TensorDouble, 162 for a TensorFloat."""
        return self.KIND

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        shape = _native.shape(self)
        return shape_of(self._open()) if shape is None else shape

    @property
    def rank(self) -> int:
        """The number of axes, 0 to 8."""
        return len(self.shape)

    ndim = rank

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def values(self) -> list[float]:
        """The elements in row-major order, as a flat list."""
        values = _native.values(self)
        return cast(list[float], elements(self._open()).tolist()) if values is None else values

    def tolist(self) -> Any:
        """The elements as nested lists, as deep as there are axes; a number for rank 0."""
        nested: Any = self.values
        shape = self.shape
        for axis in range(len(shape) - 1, 0, -1):
            nested = rows_of(nested, prod(shape[:axis]), shape[axis])
        return nested if shape else nested[0]

    def item(self) -> float:
        """The element of a tensor that has exactly one."""
        if self.size != 1:
            raise dimension_mismatch("self", 1, self.size)
        return self.values[0]

    def numpy(self) -> FloatArray | Float32Array:
        """A read-only NumPy array over the same memory."""
        shared: FloatArray | Float32Array = numpy_array(self._open())
        return shared

    def identical(self, other: Tensor) -> bool:
        """Same kind, shape and bits? So 0.0 is not -0.0, and a NaN is itself."""
        if not isinstance(other, Tensor):
            raise type_mismatch("other", "Tensor", other)
        return bool(lib.hmath_tensor_identical(self._open(), other._open("other")) == 1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        shared = self.numpy()
        if copy is False and dtype is not None and shared.dtype != dtype:
            raise ValueError("another dtype needs a copy")
        return (
            shared.copy() if copy and dtype is None else shared.astype(dtype or shared.dtype, copy=bool(copy))
        )

    def __buffer__(self, flags: int) -> memoryview:
        """The elements as a read-only buffer (Python 3.12 and later ask for it)."""
        if flags & 1:  # PyBUF_WRITABLE
            raise BufferError("a tensor is immutable")
        if not self.size:  # a memoryview of several axes cannot be empty
            raise BufferError("a tensor without elements has no memory")
        view: Any = elements(self._open())
        return cast(memoryview, view.cast("B").cast(view.format, self.shape))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule: without a copy and read-only where the consumer knows DLPack 1.

        Older consumers cannot be told that the memory is read-only: they get a copy.
        """
        if stream is not None:
            raise BufferError("a tensor is in the memory of the CPU, which has no streams")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"a tensor is in the memory of the CPU, not of {dl_device}")
        versioned = max_version is not None and max_version[0] >= 1 and not copy
        if copy is False and not versioned:
            raise BufferError("a consumer that does not know DLPack 1 needs a copy")
        if versioned:
            out = ffi.new("struct DLManagedTensorVersioned **")
            check(lib.hmath_tensor_to_dlpack_versioned(context(), self._open(), out))
        else:
            out = ffi.new("struct DLManagedTensor **")
            check(lib.hmath_tensor_to_dlpack(context(), self._open(), out))
        return _native.capsule(int(ffi.cast("uintptr_t", out[0])), versioned)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CPU, 0

    def __len__(self) -> int:
        if not self.rank:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"the truth of a tensor of {self.size} elements is ambiguous")
        return bool(self.item())

    def __float__(self) -> float:
        if self.rank:
            raise TypeError("only a tensor of rank 0 is a number; see item()")
        return self.item()

    def _describe(self) -> str:
        maker = "tensor" if self.kind == lib.HMATH_KIND_TENSOR_DOUBLE else "tensor_float"
        shape, size = list(self.shape), self.size
        if size <= _SHOWN:
            return f"{maker}({shape}, {self.values})"
        first = ", ".join(map(repr, elements(self._open())[:_SHOWN].tolist()))
        return f"<{type(self).__name__} {shape}: {first}, ...>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.kind, self.shape, elements(self._open()).tobytes())

    # ------------------------------------------------------------ movement

    def reshape(self: Self, *shape: int | Sequence[int]) -> Self:
        """The same elements under another shape, shared. One extent may be -1: what is left over."""
        reshaped: Self | None = _native.reshaped(self, shape)
        if reshaped is not None:
            return reshaped
        extents = _integers(shape, "shape")
        if extents.count(-1) == 1:
            rest = -prod(extents)
            if rest > 0 and self.size % rest == 0:
                extents[extents.index(-1)] = self.size // rest
        return self._same(invoke(lib.hmath_tensor_reshape, self._open(), len(extents), extents))

    def transpose(self: Self, *axes: int | Sequence[int]) -> Self:
        """Axes in another order: axis i of the result is axis ``axes[i]``; by default, reversed."""
        handle = self._open()
        if not axes:
            return self._same(invoke(lib.hmath_tensor_transpose, handle, ffi.NULL))
        order = _integers(axes, "axes")
        if len(order) != self.rank:
            raise dimension_mismatch("axes", self.rank, len(order))
        order = [_axis(axis, len(order), "axes", i) for i, axis in enumerate(order)]
        return self._same(invoke(lib.hmath_tensor_transpose, handle, order))

    @property
    def T(self: Self) -> Self:
        """All axes in reverse."""
        return self.transpose()

    def broadcast_to(self: Self, shape: Sequence[int]) -> Self:
        """Repeated to a larger shape; shapes are aligned at their last axes."""
        extents = _integers((shape,), "shape")
        return self._same(invoke(lib.hmath_tensor_broadcast_to, self._open(), len(extents), extents))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self: Self, index: slice | EllipsisType) -> Self: ...
    @overload
    def __getitem__(self, index: int | tuple[int | slice | EllipsisType, ...]) -> Any: ...
    def __getitem__(self, index: Any) -> Any:
        """Integers, slices and ``...``; a number where every axis is given an integer."""
        found = _native.picked(self, index)
        return self._picked(index) if found is None else found

    def _picked(self, index: Any) -> Any:
        shape = self.shape
        parts = _full_index(index, len(shape))
        if all(type(part) is not slice for part in parts):
            position = [
                _within(part, extent, "index", axis)
                for axis, (part, extent) in enumerate(zip(parts, shape, strict=True))
            ]
            number = ffi.new("double *")
            check(lib.hmath_tensor_element(context(), self._open(), position, number))
            return number[0]
        start, stop, step, kept = [], [], [], []
        for axis, (part, extent) in enumerate(zip(parts, shape, strict=True)):
            if isinstance(part, slice):
                first, last, stride = part.indices(extent)
                kept.append(len(range(first, last, stride)))
                # A step beyond the axis takes the first position only, however long it is.
                stride = max(-max(extent, 1), min(stride, max(extent, 1)))
            else:
                first = _within(part, extent, "index", axis)
                last, stride = first + 1, 1
            start.append(first)
            stop.append(last)
            step.append(stride)
        sliced = invoke(lib.hmath_tensor_slice, self._open(), start, stop, step)
        if len(kept) == len(shape):
            return self._same(sliced)
        return self._same(invoke(lib.hmath_tensor_reshape, sliced, len(kept), kept))

    def _same(self: Self, handle: CData) -> Self:
        """Another tensor of the same kind."""
        return adopt(type(self), handle)

    # ------------------------------------------------------------ arithmetic

    def __add__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_add", self, other)

    def __radd__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_add", other, self)

    def __sub__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_subtract", self, other)

    def __rsub__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_subtract", other, self)

    def __mul__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_multiply", self, other)

    def __rmul__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_multiply", other, self)

    def __truediv__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_divide", self, other)

    def __rtruediv__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_divide", other, self)

    def __pow__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_power", self, other)

    def __rpow__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_power", other, self)

    def __matmul__(self, other: TensorLike) -> TensorDouble:
        return matmul(cast(TensorDouble, self), other) if _is_array(other) else NotImplemented

    def __rmatmul__(self, other: TensorLike) -> TensorDouble:
        return matmul(other, cast(TensorDouble, self)) if _is_array(other) else NotImplemented

    def __neg__(self) -> TensorDouble:
        return _unary("hmath_tensor_negate", cast(TensorDouble, self))

    def __pos__(self: Self) -> Self:
        return self.__copy__()

    def __abs__(self) -> TensorDouble:
        return _unary("hmath_tensor_absolute", cast(TensorDouble, self))

    # Comparisons are made element by element and give 1.0 and 0.0; see identical() for the whole.

    def __eq__(self, other: object) -> Any:
        return _operator("hmath_tensor_equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _operator("hmath_tensor_not_equal", self, other)

    def __lt__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_less", self, other)

    def __le__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_less_equal", self, other)

    def __gt__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_greater", self, other)

    def __ge__(self, other: TensorLike | Number) -> TensorDouble:
        return _operator("hmath_tensor_greater_equal", self, other)

    __hash__ = object.__hash__

    # ------------------------------------------------------------ along axes

    def sum(self, axis: int | Sequence[int] | None = None, keep: bool = False) -> TensorDouble:
        """The sum over one axis, several, or all (None); `keep` leaves them with extent 1."""
        return self._reduced("hmath_tensor_sum", axis, keep)

    def mean(self, axis: int | Sequence[int] | None = None, keep: bool = False) -> TensorDouble:
        """The mean; never an Overflow, whatever the sum is. Of nothing it is EmptyInput."""
        return self._reduced("hmath_tensor_mean", axis, keep)

    def max(self, axis: int | Sequence[int] | None = None, keep: bool = False) -> TensorDouble:
        """The largest element; of nothing it is EmptyInput."""
        return self._reduced("hmath_tensor_max", axis, keep)

    def min(self, axis: int | Sequence[int] | None = None, keep: bool = False) -> TensorDouble:
        """The smallest element; of nothing it is EmptyInput."""
        return self._reduced("hmath_tensor_min", axis, keep)

    def var_mean(
        self, axis: int | Sequence[int] | None = None, correction: int = 0, keep: bool = False
    ) -> tuple[TensorDouble, TensorDouble]:
        """``(variance, mean)``: squared deviations over the number of elements less `correction`.

        A correction of 0 is for a population, 1 for a sample (PyTorch's default). It is a DomainError
        where it is negative or leaves nothing to divide by.
        """
        handle, given = self._open("input"), _convert.integer(correction, "correction")[3]
        count, axes = self._axes(axis)
        keep = _convert.boolean(keep, "keep")[3]
        out, result = ffi.new("hmath_value **"), ffi.new("bridge_result *")
        try:
            check(lib.hmath_tensor_var_mean(context(), handle, count, axes, given, keep, out))
        except HMathError as error:
            raise renamed(error, axes="axis") from None
        lib.bridge_describe(out[0], result)
        return plain(result, tuple[TensorDouble, TensorDouble])

    def argmax(self, axis: int = -1) -> list[int]:
        """Where the largest element along `axis` stands, the first of equal ones; row-major order."""
        found = _axis(axis, self.rank, "axis")
        result = ffi.new("hmath_value **")
        check(lib.hmath_tensor_argmax(context(), self._open(), found, result))
        described = ffi.new("bridge_result *")
        lib.bridge_describe(result[0], described)
        return plain(described, list[int])

    def _reduced(self, name: str, axis: int | Sequence[int] | None, keep: bool) -> TensorDouble:
        if keep is False and (result := _reductions[name](self, axis)) is not None:
            return result  # type: ignore[no-any-return]
        handle = self._open("input")
        count, axes = self._axes(axis)
        kept = _convert.boolean(keep, "keep")[3]
        try:
            return adopt(TensorDouble, invoke(getattr(lib, name), handle, count, axes, kept))
        except HMathError as error:
            raise renamed(error, axes="axis") from None

    def _axes(self, axis: int | Sequence[int] | None) -> tuple[int, Any]:
        """How many axes, and which, as the C functions take them."""
        if axis is None:
            return lib.HMATH_ALL_AXES, ffi.NULL
        rank = self.rank
        axes = [_axis(item, rank, "axis", i) for i, item in enumerate(_integers((axis,), "axis"))]
        return len(axes), axes


_reductions = {name: reduction(name) for name in map("hmath_tensor_{}".format, ("sum", "mean", "max", "min"))}


@owns(lib.HMATH_KIND_TENSOR_DOUBLE)
class TensorDouble(Tensor):
    """A tensor of doubles (kind 161)."""

    __slots__ = ()

    if TYPE_CHECKING:

        def numpy(self) -> FloatArray: ...


@owns(lib.HMATH_KIND_TENSOR_FLOAT)
class TensorFloat(Tensor):
    """A tensor of binary32 floats (kind 162): data to move, read and promote."""

    __slots__ = ()

    if TYPE_CHECKING:

        def numpy(self) -> Float32Array: ...

        # Arithmetic is refused when it is tried; None lets type checkers say so before.
        __add__ = __radd__ = __sub__ = __rsub__ = None  # type: ignore[assignment]
        __mul__ = __rmul__ = __truediv__ = __rtruediv__ = None  # type: ignore[assignment]
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = None  # type: ignore[assignment]
        __neg__ = __abs__ = None  # type: ignore[assignment]
        __lt__ = __le__ = __gt__ = __ge__ = None  # type: ignore[assignment]
        sum = mean = max = min = var_mean = argmax = None  # type: ignore[assignment]


# ---------------------------------------------------------------- making tensors


def tensor(shape: Integers, values: Doubles) -> TensorDouble:
    """A tensor of a copy of `values`, as many as `shape` says, in row-major order. Any number is taken.

    Raises DomainError (a negative extent), DimensionMismatch (another number of values; more than eight
    axes), MemoryError.
    """
    if (made := _native.tensor(shape, values)) is not None:
        return made  # type: ignore[no-any-return]
    extents, data = _convert.int_list(shape, "shape"), _convert.double_data(values, "values")
    _check_count(extents, len(data))
    return adopt(TensorDouble, invoke(lib.hmath_tensor_create, len(extents), extents, data))


def tensor_float(shape: Integers, values: Doubles) -> TensorFloat:
    """A tensor of binary32 floats: an array of float32 as it is, other numbers rounded once to nearest.

    Raises Overflow where a finite number rounds beyond the largest float, else as :func:`tensor`.
    """
    extents = _convert.int_list(shape, "shape")
    data = _convert.float_data(values, "values")
    _check_count(extents, len(data))
    return adopt(TensorFloat, invoke(lib.hmath_tensor_from_floats, len(extents), extents, data))


def zeros(shape: Integers) -> TensorDouble:
    """A tensor of zeros."""
    if (made := _native.zeros(shape)) is not None:
        return made  # type: ignore[no-any-return]
    extents = _convert.int_list(shape, "shape")
    return adopt(TensorDouble, invoke(lib.hmath_tensor_zeros, len(extents), extents))


def full(shape: Integers, value: float) -> TensorDouble:
    """A tensor whose every element is `value`, which may be any number."""
    extents = _convert.int_list(shape, "shape")
    number = _convert.double(value, "value")[1]
    return adopt(TensorDouble, invoke(lib.hmath_tensor_full, len(extents), extents, number))


@overload
def from_numpy(array: FloatArray) -> TensorDouble: ...  # type: ignore[overload-overlap, unused-ignore]
@overload
def from_numpy(array: Float32Array) -> TensorFloat: ...
def from_numpy(array: FloatArray | Float32Array) -> TensorDouble | TensorFloat:
    """A copy of a NumPy array: float64 as a TensorDouble, float32 as a TensorFloat, and no other."""
    data = _convert.numpy_floats(array, "array")
    shape = list(data.shape)
    if data.dtype.char == "d":
        pointer = ffi.from_buffer("double[]", data)
        return adopt(TensorDouble, invoke(lib.hmath_tensor_create, len(shape), shape, pointer))
    pointer = ffi.from_buffer("float[]", data)
    return adopt(TensorFloat, invoke(lib.hmath_tensor_from_floats, len(shape), shape, pointer))


def from_dlpack(source: Any) -> Tensor:
    """A tensor over the memory of another library's array, by DLPack: float64 or float32, on the CPU.

    Where the memory is contiguous, row-major and aligned it is shared: then it may not change while the tensor
    lives. Else it is copied.
    """
    if not hasattr(source, "__dlpack__") or isinstance(source, type):
        raise type_mismatch("source", "object with __dlpack__", source)
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer of before DLPack 1
        capsule = source.__dlpack__()
    for versioned, take in (
        (True, lib.hmath_tensor_from_dlpack_versioned),
        (False, lib.hmath_tensor_from_dlpack),
    ):
        address = _native.take(capsule, versioned)
        if not address:
            continue
        structure = "DLManagedTensorVersioned" if versioned else "DLManagedTensor"
        try:
            handle = invoke(take, ffi.cast(f"struct {structure} *", address))
        except BaseException as error:
            _native.give_back(capsule, versioned)
            if isinstance(error, HMathError):
                raise renamed(error, managed="source") from None
            raise
        is_double = lib.hmath_kind(handle) == lib.HMATH_KIND_TENSOR_DOUBLE
        return adopt(TensorDouble if is_double else TensorFloat, handle)
    raise type_mismatch("source", "DLPack capsule", capsule)


def promote(input: TensorFloat) -> TensorDouble:
    """A TensorFloat as a TensorDouble of the same shape; exact."""
    return owner(TensorDouble, call("hmath_tensor_promote", _convert.value(input, "input", "Tensor Float")))


def demote(input: TensorLike) -> TensorFloat:
    """A TensorDouble as a TensorFloat, each element rounded once to nearest, ties to even.

    Raises NonFinite, Overflow (an element rounds beyond the largest float).
    """
    return owner(TensorFloat, call("hmath_tensor_demote", _convert.tensor(input, "input")))


def concatenate(tensors: Sequence[Self], axis: int = 0) -> Self:
    """Tensors of one kind one behind the other, along an axis they have."""
    return _joined(lib.hmath_tensor_concatenate, tensors, axis, 0)


def stack(tensors: Sequence[Self], axis: int = 0) -> Self:
    """Tensors of one kind and shape side by side, along a new axis."""
    return _joined(lib.hmath_tensor_stack, tensors, axis, 1)


def _joined(function: Any, tensors: Sequence[Self], axis: int, more: int) -> Self:
    tensors = _convert.sequence(tensors, "tensors", "List of Tensor")
    handles = [_convert.value(item, "tensors", "Tensor")[2] for item in tensors]
    first: Tensor | None = tensors[0] if handles else None
    # Of no tensors there is no rank; the library says what is wrong with them.
    rank = 1 if first is None else first.rank + more
    found = _axis(axis, rank, "axis")
    handle = invoke(function, handles, len(handles), found)
    return adopt(type(tensors[0]), handle)


def broadcast_to(input: Self, shape: Sequence[int]) -> Self:
    """A tensor repeated to a larger shape; shapes are aligned at their last axes."""
    if not isinstance(input, Tensor):
        raise type_mismatch("input", "Tensor", input)
    return input.broadcast_to(shape)


# ---------------------------------------------------------------- functions, element by element


_matmul = short("hmath_tensor_matmul", "vv")


def matmul(left: TensorLike, right: TensorLike) -> TensorDouble:
    """The matrix product, as NumPy and PyTorch define it for every rank; leading axes broadcast."""
    result: TensorDouble | None = _matmul(left, right)
    if result is not None:
        return result
    arguments = _convert.tensor(left, "left"), _convert.tensor(right, "right")
    return owner(TensorDouble, call("hmath_tensor_matmul", *arguments))


def maximum(left: TensorLike | Number, right: TensorLike | Number) -> TensorDouble:
    """The larger of the two, element by element."""
    return _binary("hmath_tensor_maximum", left, right)


def minimum(left: TensorLike | Number, right: TensorLike | Number) -> TensorDouble:
    """The smaller of the two, element by element."""
    return _binary("hmath_tensor_minimum", left, right)


def absolute(input: ArrayT) -> ArrayT:
    """\\|x\\|, exact."""
    return _unary("hmath_tensor_absolute", input)


def sign(input: ArrayT) -> ArrayT:
    """-1, 0 or 1; a zero keeps its sign."""
    return _unary("hmath_tensor_sign", input)


def square(input: ArrayT) -> ArrayT:
    """x*x. Raises Overflow."""
    return _unary("hmath_tensor_square", input)


def reciprocal(input: ArrayT) -> ArrayT:
    """1/x. Raises DomainError (x is 0), Overflow (x is subnormal and too small)."""
    return _unary("hmath_tensor_reciprocal", input)


def sqrt(input: ArrayT) -> ArrayT:
    """The square root, correctly rounded. Raises DomainError (x < 0)."""
    return _unary("hmath_tensor_sqrt", input)


def exp(input: ArrayT) -> ArrayT:
    """e^x, to 1 ulp. Raises Overflow (x > 709.78...)."""
    return _unary("hmath_tensor_exp", input)


def expm1(input: ArrayT) -> ArrayT:
    """e^x - 1, to 1.5 ulp, also near 0. Raises Overflow."""
    return _unary("hmath_tensor_expm1", input)


def log(input: ArrayT) -> ArrayT:
    """The natural logarithm, to 1 ulp. Raises DomainError (x <= 0)."""
    return _unary("hmath_tensor_log", input)


def log1p(input: ArrayT) -> ArrayT:
    """log(1 + x), to 1 ulp, also near 0. Raises DomainError (x <= -1)."""
    return _unary("hmath_tensor_log1p", input)


def sin(input: ArrayT) -> ArrayT:
    """The sine of x radians, to 1 ulp for every finite x."""
    return _unary("hmath_tensor_sin", input)


def cos(input: ArrayT) -> ArrayT:
    """The cosine of x radians, to 1 ulp for every finite x."""
    return _unary("hmath_tensor_cos", input)


def tan(input: ArrayT) -> ArrayT:
    """The tangent of x radians, to 2.5 ulp for every finite x."""
    return _unary("hmath_tensor_tan", input)


def tanh(input: ArrayT) -> ArrayT:
    """The hyperbolic tangent, to 1.5 ulp."""
    return _unary("hmath_tensor_tanh", input)


def sigmoid(input: ArrayT) -> ArrayT:
    """1 / (1 + e^-x), to 1 ulp, also where it is subnormal."""
    return _unary("hmath_tensor_sigmoid", input)


def log_sigmoid(input: ArrayT) -> ArrayT:
    """log sigmoid(x) = -softplus(-x), to 4 ulp."""
    return _unary("hmath_tensor_log_sigmoid", input)


def softplus(input: ArrayT) -> ArrayT:
    """log(1 + e^x), to 4 ulp, without overflow."""
    return _unary("hmath_tensor_softplus", input)


def erf(input: ArrayT) -> ArrayT:
    """The error function, to 1 ulp."""
    return _unary("hmath_tensor_erf", input)


def erfc(input: ArrayT) -> ArrayT:
    """1 - erf(x) without cancellation, to 1.5 ulp."""
    return _unary("hmath_tensor_erfc", input)


# ---------------------------------------------------------------- operands, axes, indices


_unaries, _binaries = Shorts("v"), Shorts("tt")


def _operand(x: Any, argument: str) -> Argument:
    """A Tensor, an array, or a number, which is a tensor of rank 0."""
    if _is_array(x):
        return _convert.tensor(x, argument)
    number = ffi.new("double[1]", [_convert.double(x, argument)[1]])
    return (lib.BRIDGE_TENSOR, 0.0, number, 0, 0, ffi.NULL)


def _unary(name: str, input: ArrayT) -> ArrayT:
    """A function of one tensor; the result is in the argument's container."""
    output: ArrayT | None = _unaries[name](input)
    if output is not None:
        return output
    return like(call(name, _convert.tensor(input, "input")), input)


def _binary(name: str, left: Any, right: Any) -> TensorDouble:
    if (result := _binaries[name](left, right)) is not None:
        return result  # type: ignore[no-any-return]
    return owner(TensorDouble, call(name, _operand(left, "left"), _operand(right, "right")))


def _operator(name: str, left: Any, right: Any) -> TensorDouble:
    """An operator: what is no operand at all is left to the other side, as Python's own operators do."""
    if (result := _binaries[name](left, right)) is not None:
        return result  # type: ignore[no-any-return]
    if _is_operand(left) and _is_operand(right):
        return _binary(name, left, right)
    return NotImplemented  # type: ignore[no-any-return]


def _is_operand(x: Any) -> bool:
    return _is_array(x) or hasattr(x, "dtype") or (isinstance(x, (float, int)) and not isinstance(x, bool))


def _is_array(x: Any) -> bool:
    """NumPy's scalars have a dtype, too, but no length: they are numbers."""
    return isinstance(x, Tensor) or (hasattr(x, "dtype") and hasattr(type(x), "__len__"))


def _integers(given: tuple[Any, ...], argument: str) -> list[int]:
    """Integers that were given one by one or as one sequence."""
    if len(given) == 1 and not hasattr(type(given[0]), "__index__"):
        return _convert.int_list(given[0], argument)
    return _convert.int_list(given, argument)


def _axis(axis: Any, rank: int, argument: str, index: int | None = None) -> int:
    axis = _convert.integer(axis, argument)[3]
    return _within(axis, rank, argument, index)


def _within(position: int, extent: int, argument: str, index: int | None = None) -> int:
    """A position that may count from the end, counted from the start."""
    if not -extent <= position < extent:
        raise index_out_of_bounds(argument, position, extent, index)
    return position + extent if position < 0 else position


def _full_index(index: Any, rank: int) -> list[Any]:
    """One integer or slice an axis."""
    parts = list(index) if isinstance(index, tuple) else [index]
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    missing = rank - len(parts) + len(dots[:1])
    if missing < 0 or len(dots) > 1:
        raise dimension_mismatch("index", rank, len(parts))
    whole = [slice(None)] * missing
    if dots:
        parts[dots[0] : dots[0] + 1] = whole
    else:
        parts += whole
    return [part if isinstance(part, slice) else _index(part, i) for i, part in enumerate(parts)]


def _index(part: Any, axis: int) -> int:
    if type(part) is int:
        return part
    if _convert.is_boolean(part) or not hasattr(type(part), "__index__"):
        raise type_mismatch("index", "Int or slice", part, axis)
    try:
        return operator.index(part)
    except TypeError:  # an array of several integers
        raise type_mismatch("index", "Int or slice", part, axis) from None


def _check_count(extents: list[int], count: int) -> None:
    """Only Python knows how many values there are; the library checks the shape itself."""
    if len(extents) <= lib.HMATH_TENSOR_MAX_RANK and all(extent >= 0 for extent in extents):
        size = prod(extents)
        if size != count:
            raise dimension_mismatch("values", size, count)


def _restore(kind: int, shape: tuple[int, ...], data: bytes) -> Tensor:
    """Unpickle."""
    if kind == lib.HMATH_KIND_TENSOR_DOUBLE:
        return tensor(shape, array("d", data))
    return tensor_float(shape, array("f", data))
