"""Functions of every element of one operand or two; of Duals, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from .. import _convert
from .._call import invoke
from .._failure import renamed
from .._hmath import lib
from .._owner import adopt
from .._signatures import choice, comparison, elementwise, elementwise_or_dual, power_
from ..errors import HMathError
from ._dual import Dual, _dual_operand
from ._nodes import ADTensor, Expr, Node, _binaries, _node, _operand, _unaries

if TYPE_CHECKING:
    from .._signatures import Either, NodeT
    from .._typing import TensorLike
    from ..deeplearning_core import Activation
    from ._types import Operand


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
