"""Custom nodes: functions of Python as parts of a graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from .. import _convert
from .._call import CData, callback_failed, check, context, invoke
from .._failure import type_mismatch
from .._hmath import ffi, lib
from .._owner import Owner
from ._nodes import ADTensor, Expr, Node, _array, _gives_in_order, _is_number, _node, _operands
from ._programs import _bound, _value

if TYPE_CHECKING:
    from ._types import Forward, Operand, Reverse, Value

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
        if not _gives_in_order(given):
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
