"""Dual numbers: forward mode without a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _convert
from .._call import CData, check, invoke, make
from .._hmath import ffi, lib
from .._owner import Owner, adopt
from .._result import owns
from ._nodes import _is_number

if TYPE_CHECKING:
    pass

_new = ffi.new


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

    def __bool__(self) -> bool:
        return self.value != 0.0

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
