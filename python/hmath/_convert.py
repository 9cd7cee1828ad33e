"""From Python's objects to arguments: tuples that describe a Value to the bridge (see ``_bridge.h``).

The fields of a tuple are those of a ``bridge_argument``: form, number, data, length, columns, shape, as
far as the form needs them. Data in NumPy arrays and ``array.array`` is lent, not copied. No converter
computes anything, and none imports NumPy: who has an array to pass has imported it already.

Raised here: TypeMismatch where a kind is wrong, Overflow where an integer has no 64-bit form, ValueError
where an owner is closed. All other checks are the library's.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Sequence
from math import nan
from typing import Any
from weakref import WeakKeyDictionary

from . import _native
from ._call import Argument, make
from ._failure import closed, dimension_mismatch, overflow, type_mismatch
from ._hmath import ffi, lib
from ._native import Handle

NONE: Argument = (lib.BRIDGE_NONE,)

_VALUE = lib.BRIDGE_VALUE
_DOUBLE = lib.BRIDGE_DOUBLE
_INT = lib.BRIDGE_INT
_BOOL = lib.BRIDGE_BOOL
_DOUBLES = lib.BRIDGE_DOUBLES
_INTS = lib.BRIDGE_INTS
_BOOLS = lib.BRIDGE_BOOLS
_VALUES = lib.BRIDGE_VALUES
_DOUBLE_ROWS = lib.BRIDGE_DOUBLE_ROWS
_INT_ROWS = lib.BRIDGE_INT_ROWS
_BOOL_ROWS = lib.BRIDGE_BOOL_ROWS
_TENSOR = lib.BRIDGE_TENSOR
_VECTOR = lib.BRIDGE_VECTOR
_MATRIX = lib.BRIDGE_MATRIX

_NULL = ffi.NULL
_new = ffi.new
_from_buffer = ffi.from_buffer
_DOUBLE_ARRAY = ffi.typeof("double[]")
_FLOAT_ARRAY = ffi.typeof("float[]")
_INT_ARRAY = ffi.typeof("int64_t[]")
_BOOL_ARRAY = ffi.typeof("uint8_t[]")
_HANDLE_ARRAY = ffi.typeof("hmath_value *[]")

# Kinds by the names that messages give them.
_KINDS = {
    ffi.string(lib.hmath_kind_name(kind)).decode(): kind
    for kind in (getattr(lib, name) for name in dir(lib) if name.startswith("HMATH_KIND_"))
}
_TENSOR_DOUBLE = lib.HMATH_KIND_TENSOR_DOUBLE

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_TEXT = (str, bytes, bytearray)
# Kinds of elements that need no look of their own. A bool is an int to Python, but its type is not int.
_NUMBERS, _INTEGERS, _BOOLEANS = {float, int}, {int}, {bool}

# NumPy's flags of an array that is in order in memory and whose elements are where the processor wants them:
# NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED.
_READY = 0x0001 | 0x0100

# NumPy's array and its float64, from the first array on that was looked at: the common case, quickly.
_ndarray: Any = None
_float64: Any = None

# cffi keeps what an array lies in alive, not what its pointers point at.
_kept_alive: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()


# ---------------------------------------------------------------- objects of the library


def value(x: Any, argument: str, expected: str) -> Argument:
    """A selector or an owned handle of the kind that `expected` names, as messages name it.

    Kinds are checked here, too, though the library checks them: of two wrong arguments the first is
    reported, and the library would see none where Python finds the second.
    """
    if not isinstance(x, Handle):
        raise type_mismatch(argument, expected, x)
    handle = x._handle
    if handle is None:
        raise closed(argument)
    kind = _KINDS.get(expected)
    if kind is not None and type(x).KIND != kind:  # type: ignore[attr-defined]
        raise type_mismatch(argument, expected, x)
    return (_VALUE, 0.0, handle)


def _tensor_value(x: Any, argument: str, expected: str) -> Argument:
    """A handle where a tensor may stand for what is expected."""
    handle = x._handle
    if handle is None:
        raise closed(argument)
    if x.KIND != _TENSOR_DOUBLE:
        raise type_mismatch(argument, expected, x)
    return (_VALUE, 0.0, handle)


def has_axes(x: Any) -> bool:
    """Is x an array of rank 1 or more, of any library? (A class has no rank but a property of that name.)"""
    rank = getattr(x, "ndim", 0)
    return isinstance(rank, int) and rank > 0


def may_be_doubles(x: Any) -> bool:
    """Are the elements doubles, as far as x is an array of any library, which would be widened in silence?"""
    numpy_array = _numpy_array(x)
    if numpy_array is not None:
        return bool(numpy_array.dtype.char == "d")
    if isinstance(x, (array, memoryview)):
        return memoryview(x).format == "d"
    return not hasattr(x, "dtype")


def maybe(converter: Callable[..., Argument], x: Any, *details: Any) -> Argument:
    """A Maybe: None, or what the converter takes."""
    return NONE if x is None else converter(x, *details)


# ---------------------------------------------------------------- scalars


def double(x: Any, argument: str) -> Argument:
    """A Double: what has ``__float__`` or ``__index__``, but no bool and no text."""
    return (_DOUBLE, x if type(x) is float else _float(x, argument))


def integer(x: Any, argument: str) -> Argument:
    """An Int: what has ``__index__``, but no bool; 64 bits."""
    return (_INT, 0.0, _NULL, _int(x, argument))


def boolean(x: Any, argument: str) -> Argument:
    """A Bool: a bool or a NumPy bool."""
    return (_BOOL, 0.0, _NULL, _bool(x, argument))


# `index` is the position in the sequence `argument`, where x is an element of one.


def _float(x: Any, argument: str, index: int | None = None) -> float:
    cls = type(x)
    if cls is not float and cls is not int and not _is_number(x, cls, argument):
        raise type_mismatch(argument, "Double", x, index)
    try:
        return float(x)
    except OverflowError:
        raise overflow(argument, index) from None
    except (TypeError, ValueError, RuntimeError):  # whatever the object's own __float__ has to say
        if getattr(x, "is_snan", bool)():
            return nan  # a Decimal that signals is a NaN as well
        raise type_mismatch(argument, "Double", x, index) from None


def _is_number(x: Any, cls: type, argument: str) -> bool:
    """May x be a Double? NumPy's text, times, complex and masked scalars have ``__float__``, too.

    So has a Tensor of rank 0; where it is closed, it has no rank.
    """
    if isinstance(x, Handle) and x._dropped:
        raise closed(argument)
    if not (hasattr(cls, "__float__") or hasattr(cls, "__index__")) or is_boolean(x):
        return False
    if getattr(x, "ndim", False) or hasattr(x, "mask"):
        return False
    dtype = getattr(x, "dtype", None)
    return getattr(dtype, "kind", "f") in "iuf" and "complex" not in str(dtype or "")


def is_boolean(x: Any) -> bool:
    """A bool, or another library's scalar of bools, which may count as an integer to Python."""
    return isinstance(x, bool) or "bool" in str(getattr(x, "dtype", ""))


def _int(x: Any, argument: str, index: int | None = None) -> int:
    if type(x) is not int:
        if not hasattr(type(x), "__index__") or is_boolean(x) or getattr(x, "ndim", False):
            raise type_mismatch(argument, "Int", x, index)
        try:
            x = x.__index__()
        except TypeError:  # a NumPy array that is no integer scalar
            raise type_mismatch(argument, "Int", x, index) from None
    if not _fits(x):
        raise overflow(argument, index)
    return x  # type: ignore[no-any-return]


def _bool(x: Any, argument: str, index: int | None = None) -> bool:
    if x is True or x is False:
        return x
    if _is_numpy_bool(x):
        return bool(x)
    raise type_mismatch(argument, "Bool", x, index)


# ---------------------------------------------------------------- lists of numbers


def doubles(x: Any, argument: str) -> Argument:
    """A [Double]: a sequence of numbers, an array of float64, or a Tensor."""
    cls = type(x)
    if cls is list or cls is tuple:
        return _list_argument(_DOUBLES, _double_array(x, argument))
    if cls is _ndarray and x.dtype is _float64 and x.flags.num & _READY == _READY:
        return _tensor_argument(_from_buffer(_DOUBLE_ARRAY, x), x.shape, argument)
    array_like = _lend(x, argument, "List of Double")
    if array_like is not None:
        return array_like
    x = sequence(x, argument, "List of Double")
    return _list_argument(_DOUBLES, _double_array(x, argument))


def _list_argument(form: int, data: Any) -> Argument:
    """As long as the array that was made: a list may say otherwise, or be changed by another thread."""
    return (form, 0.0, data, len(data))


def integers(x: Any, argument: str) -> Argument:
    """An [Int]: a sequence of integers or an array of them, of any width."""
    cls = type(x)
    if cls is not list and cls is not tuple:
        if isinstance(x, Handle):
            raise type_mismatch(argument, "List of Int", x)
        numpy_array = _numpy_array(x)
        if numpy_array is not None:
            return _numpy_integers(numpy_array, argument)
        if isinstance(x, array) and memoryview(x).format in ("f", "d"):
            raise type_mismatch(argument, "List of Int", x)
        x = sequence(x, argument, "List of Int")
    return _list_argument(_INTS, _int_array(x, argument))


def booleans(x: Any, argument: str) -> Argument:
    """A [Bool]: a sequence of bools or a NumPy array of them."""
    if isinstance(x, Handle):
        raise type_mismatch(argument, "List of Bool", x)
    numpy_array = _numpy_array(x)
    if numpy_array is not None:
        if numpy_array.dtype.char != "?" or numpy_array.ndim != 1:
            raise type_mismatch(argument, "List of Bool", x, ranked=numpy_array.dtype.char == "?")
        data = _contiguous(numpy_array)
        return (_BOOLS, 0.0, _from_buffer(_BOOL_ARRAY, data), len(data))
    x = sequence(x, argument, "List of Bool")
    return _list_argument(_BOOLS, _bool_array(x, argument))


def labels(x: Any, argument: str) -> Argument:
    """Binary labels: a [Bool], or an [Int] or [Double] whose elements are exactly 0 or 1."""
    if isinstance(x, Handle):
        return _tensor_value(x, argument, "List of Bool")
    numpy_array = _numpy_array(x)
    if numpy_array is not None:
        kind = numpy_array.dtype.kind
        converter = booleans if kind == "b" else integers if kind in "iu" else doubles
        return converter(x, argument)
    x = sequence(x, argument, "List of Bool")
    kinds = set(map(type, x))
    converter = doubles if float in kinds else integers if int in kinds else booleans
    return converter(x, argument)


# ---------------------------------------------------------------- lists of rows


def double_rows(x: Any, argument: str) -> Argument:
    """A [[Double]]: a sequence of sequences of numbers, an array of rank 2, or a Tensor of rank 2."""
    if not isinstance(x, (list, tuple)):
        array_like = _lend(x, argument, "List of lists of Double")
        if array_like is not None:
            return array_like
    return _rows(x, argument, "List of lists of Double", doubles, _double_array, _DOUBLE_ROWS, _DOUBLE_ARRAY)


def boolean_rows(x: Any, argument: str) -> Argument:
    """A [[Bool]]: a sequence of sequences of bools, or a NumPy array of bools of rank 2."""
    numpy_array = _numpy_array(x)
    if numpy_array is not None:
        if numpy_array.dtype.char != "?" or numpy_array.ndim != 2:
            ranked = numpy_array.dtype.char == "?"
            raise type_mismatch(argument, "List of lists of Bool", x, ranked=ranked)
        data = _contiguous(numpy_array)
        return (_BOOL_ROWS, 0.0, _from_buffer(_BOOL_ARRAY, data), *data.shape)
    if isinstance(x, Handle):
        raise type_mismatch(argument, "List of lists of Bool", x)
    return _rows(x, argument, "List of lists of Bool", booleans, _bool_array, _BOOL_ROWS, _BOOL_ARRAY)


def integer_rows(x: Any, argument: str) -> Argument:
    """An [[Int]]: a sequence of sequences of integers, or a NumPy array of integers of rank 2."""
    numpy_array = _numpy_array(x)
    if numpy_array is not None:
        whole = numpy_array.dtype.kind in "iu"
        if not whole or numpy_array.ndim != 2:
            raise type_mismatch(argument, "List of lists of Int", x, ranked=whole)
        x = numpy_array.tolist()
    elif isinstance(x, Handle):
        raise type_mismatch(argument, "List of lists of Int", x)
    return _rows(x, argument, "List of lists of Int", integers, _int_array, _INT_ROWS)


def _rows(
    x: Any,
    argument: str,
    expected: str,
    row_converter: Callable[[Any, str], Argument],
    packed: Callable[[Any, str], Any],
    form: int,
    ctype: Any = None,
) -> Argument:
    """`ctype` is the array of elements that _native.packed can fill."""
    rows = sequence(x, argument, expected)
    plain = all(type(row) is list or type(row) is tuple for row in rows)
    count, columns = len(rows), len(rows[0]) if rows and plain else 0
    if plain and all(len(row) == columns for row in rows):
        if ctype is not None:
            data = _new(ctype, count * columns)
            address = int(ffi.cast("uintptr_t", data))
            if _native.packed(rows, count, columns, ctype is _BOOL_ARRAY, address):
                return (form, 0.0, data, count, columns)
        data = packed([x for row in rows for x in row], argument)
        if len(data) == count * columns:  # another thread may have changed the rows
            return (form, 0.0, data, count, columns)
    # Rows of arrays or Tensors, or ragged ones, which the library refuses in its documented order. (An
    # array that is a row is copied: bridge_make keeps nothing that was lent.)
    return _handles([make(_as_list(row_converter(row, argument))) for row in rows])


def _as_list(argument: Argument) -> Argument:
    """A row lent as a tensor of rank 1, as a list: rows are lists."""
    return (_DOUBLES, *argument[1:]) if argument[0] == _VECTOR else argument


# ---------------------------------------------------------------- lists of handles


def node(x: Any, argument: str) -> Argument:
    """A node of a graph, or a number, Tensor or array of float64 that becomes a constant of it."""
    if isinstance(x, Handle):
        return value(x, argument, "Expr or ADTensor")
    if has_axes(x):
        return tensor(x, argument)
    return double(x, argument)


def nodes(x: Any, argument: str) -> Argument:
    """A [ADExpr]: a sequence of scalar nodes and numbers, an ADTensor, or what becomes a constant one."""
    if isinstance(x, Handle) or has_axes(x):
        return node(x, argument)
    items = sequence(x, argument, "List of Expr")
    handles = [item._handle if isinstance(item, Handle) else make(double(item, argument)) for item in items]
    if None in handles:
        raise closed(argument)
    return _handles(handles)


def node_rows(x: Any, argument: str) -> Argument:
    """A [[ADExpr]]: a sequence of them, or an ADTensor of rank 2."""
    if isinstance(x, Handle) or has_axes(x):
        return node(x, argument)
    return _handles([make(nodes(row, argument)) for row in sequence(x, argument, "List of lists of Expr")])


def _handles(handles: list[Any]) -> Argument:
    array_of_handles = _new(_HANDLE_ARRAY, handles)
    _kept_alive[array_of_handles] = handles
    return (_VALUES, 0.0, array_of_handles, len(handles))


# ---------------------------------------------------------------- tensors


def tensor(x: Any, argument: str) -> Argument:
    """A Tensor, or a NumPy array of float64, lent for the call. Lists and scalars are refused."""
    if type(x) is _ndarray and x.dtype is _float64 and x.flags.num & _READY == _READY:
        return _tensor_argument(_from_buffer(_DOUBLE_ARRAY, x), x.shape, argument)
    numpy_array = _numpy_array(x)
    if numpy_array is not None and numpy_array.dtype.char == "d":
        return _lend_numpy(numpy_array, argument)
    if numpy_array is not None or not isinstance(x, Handle):
        raise type_mismatch(argument, "Tensor Double", x)
    return _tensor_value(x, argument, "Tensor Double")


def int_list(x: Any, argument: str) -> list[int]:
    """An [Int] that goes to a function as ``const int64_t *``: cffi takes the list as it is."""
    if type(x) is not list and type(x) is not tuple:
        numpy_array = _numpy_array(x)
        if isinstance(x, Handle) or (numpy_array is not None and numpy_array.ndim != 1):
            whole = numpy_array is not None and numpy_array.dtype.kind in "iu"
            raise type_mismatch(argument, "List of Int", x, ranked=whole)
        x = numpy_array.tolist() if numpy_array is not None else sequence(x, argument, "List of Int")
    return [
        item if type(item) is int and _fits(item) else _int(item, argument, i) for i, item in enumerate(x)
    ]


def nested_ints(x: Any, argument: str) -> tuple[list[int], list[int]]:
    """Integers in a list, or in lists of one length, to any depth: their shape, and all of them in order."""
    items = sequence(x, argument, "List of Int")
    shape = [len(items)]
    while items and all(isinstance(item, (list, tuple)) for item in items):
        rows = [sequence(item, argument, "List of Int") for item in items]
        for i, row in enumerate(rows):
            if len(row) != len(rows[0]):
                raise dimension_mismatch(argument, len(rows[0]), len(row), i)
        shape.append(len(rows[0]))
        _check_rank(len(shape), argument)
        items = [item for row in rows for item in row]
    return shape, int_list(items, argument)


def double_data(x: Any, argument: str) -> Any:
    """Doubles that go to a function as ``const double *``, with a length; order is row-major."""
    if type(x) is list or type(x) is tuple:
        return _double_array(x, argument)
    if isinstance(x, Handle):
        raise type_mismatch(argument, "List of Double", x)
    lent = _lend(x, argument, "List of Double")
    return lent[2] if lent is not None else _double_array(sequence(x, argument, "List of Double"), argument)


def float_data(x: Any, argument: str) -> Any:
    """Floats that go to a function as ``const float *``, with a length; doubles are rounded."""
    numpy_array = _numpy_array(x)
    if numpy_array is not None and numpy_array.dtype.char == "f":
        return _from_buffer(_FLOAT_ARRAY, _contiguous(numpy_array))
    if isinstance(x, array) and memoryview(x).format == "f":
        return _from_buffer(_FLOAT_ARRAY, x)
    numbers = ffi.unpack(data, len(data)) if len(data := double_data(x, argument)) else []
    try:
        return _from_buffer(_FLOAT_ARRAY, struct.pack(f"={len(numbers)}f", *numbers))
    except OverflowError:  # a finite number beyond the largest float
        raise overflow(argument) from None


def numpy_floats(x: Any, argument: str) -> Any:
    """A NumPy array of float64 or float32, in order in memory."""
    numpy_array = _numpy_array(x)
    if numpy_array is None or numpy_array.dtype.char not in "df":
        raise type_mismatch(argument, "array of float64 or float32", x)
    _check_rank(numpy_array.ndim, argument)
    return _contiguous(numpy_array)


def _fits(x: int) -> bool:
    return _INT_MIN <= x <= _INT_MAX


# ---------------------------------------------------------------- lending


def _lend(x: Any, argument: str, expected: str) -> Argument | None:
    """An object that holds doubles in one piece of memory; None where it is no such object."""
    numpy_array = _numpy_array(x)
    if numpy_array is not None:
        if numpy_array.dtype.char != "d":
            raise type_mismatch(argument, expected, x)
        return _lend_numpy(numpy_array, argument)
    if isinstance(x, Handle):
        return _tensor_value(x, argument, expected)
    if isinstance(x, (array, memoryview)):
        view = memoryview(x)
        if view.format != "d" or view.shape is None:
            raise type_mismatch(argument, expected, x)
        data = _from_buffer(_DOUBLE_ARRAY, view) if view.c_contiguous else None
        # What is not in order in memory, or begins between two doubles, is put in order, in a copy.
        if data is None or int(ffi.cast("uintptr_t", data)) % ffi.alignof("double"):
            data = _from_buffer(_DOUBLE_ARRAY, array("d", view.tobytes()))
        return _tensor_argument(data, view.shape, argument)
    return None


def _lend_numpy(x: Any, argument: str) -> Argument:
    data = _contiguous(x)
    return _tensor_argument(_from_buffer(_DOUBLE_ARRAY, data), data.shape, argument)


def _check_rank(rank: int, argument: str) -> None:
    """Arrays of other libraries may have more axes than a tensor; the library never sees those."""
    if rank > lib.HMATH_TENSOR_MAX_RANK:
        raise dimension_mismatch(argument, f"rank 0 to {lib.HMATH_TENSOR_MAX_RANK}", f"rank {rank}")


def _tensor_argument(data: Any, shape: tuple[int, ...], argument: str) -> Argument:
    if len(shape) == 2:
        return (_MATRIX, 0.0, data, *shape)
    if len(shape) == 1:
        return (_VECTOR, 0.0, data, shape[0])
    _check_rank(len(shape), argument)
    return (_TENSOR, 0.0, data, len(shape), 0, _new(_INT_ARRAY, shape))


def _numpy_array(x: Any) -> Any:
    """x where it is a NumPy array, else None. A masked array has elements that are none.

    An array of a subclass comes as one of NumPy's own over the same memory: what its class says of its shape,
    length or type need not be so.
    """
    global _ndarray, _float64
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if _ndarray is None:
        _ndarray, _float64 = numpy.ndarray, numpy.dtype("float64")
        _native.know_array(_ndarray)
    cls = type(x)
    if cls is _ndarray:
        return x
    if not issubclass(cls, _ndarray) or hasattr(x, "mask"):
        return None
    return _ndarray.view(x, _ndarray)


def _is_numpy_bool(x: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.bool_)


def _contiguous(x: Any) -> Any:
    """The array itself where its memory is in order, aligned and in the machine's byte order, else a copy."""
    if x.flags.num & _READY == _READY and x.dtype.isnative:
        return x
    return x.astype(x.dtype.newbyteorder("="), order="C")


def _numpy_integers(x: Any, argument: str) -> Argument:
    if x.dtype.kind not in "iu" or x.ndim != 1:
        raise type_mismatch(argument, "List of Int", x, ranked=x.dtype.kind in "iu")
    if x.dtype.char == "Q" or (x.dtype.kind == "u" and x.dtype.itemsize == 8):
        return integers(x.tolist(), argument)  # may hold what 64 signed bits cannot
    data = _contiguous(x if x.dtype.itemsize == 8 else x.astype("int64"))
    return (_INTS, 0.0, _from_buffer(_INT_ARRAY, data), len(data))


# ---------------------------------------------------------------- sequences, element by element


def sequence(x: Any, argument: str, expected: str) -> Sequence[Any]:
    """x as a sequence that can be walked twice: a list or tuple, which has as many elements as it says.

    Text, mappings and arrays of other libraries are none: the last would be widened in silence.
    """
    if type(x) is list or type(x) is tuple:
        return x
    if isinstance(x, (list, tuple)):
        return list(iter(x))  # without asking it how many they are
    sized = hasattr(x, "__len__") and hasattr(x, "__getitem__") and getattr(x, "ndim", 1) != 0
    if not sized or isinstance(x, (type, *_TEXT)) or hasattr(x, "keys") or hasattr(x, "dtype"):
        raise type_mismatch(argument, expected, x)
    return list(x)


def _double_array(x: Sequence[Any], argument: str) -> Any:
    if set(map(type, x)) <= _NUMBERS:
        try:
            return _new(_DOUBLE_ARRAY, x)
        except OverflowError:
            pass  # an int too large for a double: found below
    return _new(_DOUBLE_ARRAY, [_float(item, argument, i) for i, item in enumerate(x)])


def _int_array(x: Sequence[Any], argument: str) -> Any:
    if set(map(type, x)) <= _INTEGERS:
        try:
            return _new(_INT_ARRAY, x)
        except OverflowError:
            pass
    return _new(_INT_ARRAY, [_int(item, argument, i) for i, item in enumerate(x)])


def _bool_array(x: Sequence[Any], argument: str) -> Any:
    if set(map(type, x)) <= _BOOLEANS:
        return _new(_BOOL_ARRAY, x)
    return _new(_BOOL_ARRAY, [_bool(item, argument, i) for i, item in enumerate(x)])
