"""From a result of the library to a Python object. Each reader takes the result's value over."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from . import _native
from ._call import CData, Shorts, call, check, context
from ._convert import doubles
from ._failure import type_mismatch
from ._hmath import ffi, lib
from ._owner import Handle, Owner, adopt, own, view_of

if TYPE_CHECKING:
    from ._typing import Doubles, Numbers, NumbersT

Owned = TypeVar("Owned", bound=Owner)
T = TypeVar("T")

_gc = ffi.gc
_unpack = ffi.unpack
_TENSOR_DOUBLE = lib.HMATH_KIND_TENSOR_DOUBLE
_LIST = lib.HMATH_KIND_LIST
_DOUBLES = lib.BRIDGE_DOUBLES


# ---------------------------------------------------------------- owners

_OWNERS: dict[int, type[Owner]] = {}


def owns(kind: int) -> Callable[[type[Owned]], type[Owned]]:
    """Class decorator: the owner of values of this kind."""

    def register(cls: type[Owned]) -> type[Owned]:
        cls.KIND = kind
        _OWNERS[kind] = cls
        _native.owns(kind, cls)
        return cls

    return register


def owner(cls: type[Owned], result: CData) -> Owned:
    """An owned handle of a class that is known beforehand."""
    return own(cls, result.value)


def handle(result: CData) -> CData:
    """The value itself, owned."""
    return view_of(result.value)


# ---------------------------------------------------------------- plain Python


def plain(result: CData, _: type[T]) -> T:
    """Numbers, bools, strings, lists and tuples of them; owners where a part is no plain data.

    The type is what the wrapper is known to return: ``plain(call(...), list[int])``. It is there for
    the type checker.
    """
    return cast(T, _read(result))


def items(result: CData) -> list[CData]:
    """The parts of a tuple, each a result of its own."""
    return _items(result, own(Handle, result.value))


def _read(result: CData) -> Any:
    kind = result.kind
    if kind in _OWNERS:
        return own(_OWNERS[kind], result.value)
    keeper = own(Handle, result.value)
    if kind == _LIST:
        return _read_list(result, keeper)
    if kind == lib.HMATH_KIND_DOUBLE:
        return result.number
    if kind == lib.HMATH_KIND_INT:
        return result.length
    if kind == lib.HMATH_KIND_BOOL:
        return bool(result.length)
    if kind == lib.HMATH_KIND_STRING:
        return ffi.buffer(result.data, result.length)[:].decode()
    return tuple(map(_read, _items(result, keeper)))


# `keeper` owns the value meanwhile, and with it the memory that is read.


def _items(result: CData, keeper: Handle) -> list[CData]:
    parts = []
    for i in range(result.length):
        part = ffi.new("bridge_result *")
        check(lib.bridge_item(context(), result, i, part))
        parts.append(part)
    return parts


_ELEMENTS = {
    lib.BRIDGE_DOUBLES: ("double *", False),
    lib.BRIDGE_INTS: ("int64_t *", False),
    lib.BRIDGE_BOOLS: ("uint8_t *", False),
    lib.BRIDGE_INT8S: ("int8_t *", False),
    lib.BRIDGE_DOUBLE_ROWS: ("double *", True),
    lib.BRIDGE_INT_ROWS: ("int64_t *", True),
    lib.BRIDGE_BOOL_ROWS: ("uint8_t *", True),
}
_QUICK_ROWS = (lib.BRIDGE_DOUBLE_ROWS, lib.BRIDGE_BOOL_ROWS)
_BOOL_ELEMENTS = (lib.BRIDGE_BOOLS, lib.BRIDGE_BOOL_ROWS)


def _read_list(result: CData, keeper: Handle) -> list[Any]:
    """A packed list in one go."""
    element = result.element
    if element == _DOUBLES:
        return _unpack(result.doubles, result.length) if result.length else []
    if element == lib.BRIDGE_VALUES:
        return list(map(_read, _items(result, keeper)))
    ctype, rows = _ELEMENTS[element]
    length, columns = result.length, result.columns
    if columns and element in _QUICK_ROWS:
        address = int(ffi.cast("uintptr_t", result.data))
        return _native.unpacked(address, length, columns, element == lib.BRIDGE_BOOL_ROWS)
    count = length * columns if rows else length
    numbers = ffi.unpack(ffi.cast(ctype, result.data), count) if count else []
    if element in _BOOL_ELEMENTS:
        numbers = list(map(bool, numbers))
    return rows_of(numbers, length, columns) if rows else numbers


def rows_of(numbers: list[Any], rows: int, columns: int) -> list[Any]:
    """A flat list cut into rows.

    Rows without columns take no room in the library, so that there may be more of them than memory: the
    list of them is asked for at once, to be refused at once.
    """
    if not columns:
        return list(map(list, [()] * rows))
    return [numbers[i * columns : (i + 1) * columns] for i in range(rows)]


# ---------------------------------------------------------------- the container of the argument


@overload
def like(result: CData, data: NumbersT) -> NumbersT: ...
@overload
def like(result: CData, data: Sequence[float]) -> list[float]: ...
def like(result: CData, data: Any) -> Any:
    """A [Double] result in the container of the argument `data`.

    A Tensor gives a Tensor, a NumPy array an array, an ``array.array`` another one, any other sequence a
    list. So does a Tensor result of an argument that may be an array.
    """
    if result.kind != _TENSOR_DOUBLE:
        return _read(result)
    if isinstance(data, Owner):
        return own(_OWNERS[_TENSOR_DOUBLE], result.value)
    value = view_of(result.value)
    if isinstance(data, array):
        return array("d", elements(value))
    if isinstance(data, memoryview):
        return elements(value).tolist()
    return numpy_array(value, writable=True)


_mapped = Shorts("L")


def mapped(name: str, values: Doubles) -> Numbers:
    """A wrapper from a [Double] to another as long, in the container of `values`."""
    result: Numbers | None = _mapped[name](values)
    return like(call(name, doubles(values, "values")), values) if result is None else result


def elements(value: CData) -> memoryview[float]:
    """The elements of a Double or Float tensor as flat, read-only memory that keeps the value alive."""
    bytes_of, typecode = _memory(value)
    # Without elements there is no memory to look at.
    view: Any = memoryview(bytes_of if bytes_of is not None else b"").cast("B").cast(typecode)
    return view.toreadonly()  # type: ignore[no-any-return]


def numpy_array(value: CData, writable: bool = False) -> Any:
    """A NumPy array over the tensor's memory, which it keeps alive.

    `writable` is for a value that nothing else can reach: the result of a call that was given arrays.
    """
    import numpy

    bytes_of, typecode = _memory(value)
    result = numpy.ndarray(shape_of(value), typecode, bytes_of)
    if not writable:
        result.flags.writeable = False
    return result


def shape_of(value: CData) -> tuple[int, ...]:
    _check_tensor(value)
    rank = lib.hmath_tensor_rank(value)
    return tuple(ffi.unpack(lib.hmath_tensor_shape(value), rank)) if rank else ()


def _check_tensor(value: CData) -> None:
    """A method of tensors may be called with what is none."""
    if lib.hmath_tensor_rank(value) < 0:
        raise type_mismatch("self", "Tensor", adopt(Handle, value))


def _memory(value: CData) -> tuple[Any, Any]:
    """The memory of a tensor's elements, None where it has none, and the type code of one."""
    _check_tensor(value)
    if lib.hmath_kind(value) == lib.HMATH_KIND_TENSOR_FLOAT:
        data, typecode, width = lib.hmath_tensor_float_data(value), "f", 4
    else:
        data, typecode, width = lib.hmath_tensor_data(value), "d", 8
    size = lib.hmath_tensor_size(value) * width
    if not size:
        return None, typecode
    # The destructor is never asked to free anything: its closure is what keeps the value.
    return ffi.buffer(_gc(data, lambda _: value), size), typecode
