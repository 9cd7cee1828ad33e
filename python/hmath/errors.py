"""The exceptions of hmath: what was refused, where, and why.

Every checked failure is an :class:`HMathError`, and one of its seven subclasses, each of which is also
the built-in exception that a Python programmer would expect (``DomainError`` is a ``ValueError``).
``error.math_error`` holds the failure in its parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from ._surface import shown

__all__ = [
    "DimensionMismatch",
    "DomainError",
    "EmptyInput",
    "HMathError",
    "IndexOutOfBounds",
    "MathError",
    "NonFinite",
    "Overflow",
    "TypeMismatch",
]

__dir__ = shown(__all__)


@dataclass(frozen=True, slots=True)
class MathError:
    """A failure in its parts; what does not apply is None."""

    constructor: str
    """``"DomainError"``, ``"NonFinite"``, …: the name of the exception's class."""
    operation: str
    """``"core.loss"``."""
    message: str
    """One line with everything."""
    argument: str | None = None
    """Name of the parameter, ``"prediction"``, or a field of it, ``"options.stride"``."""
    index: int | None = None
    """Flat, row-major position of the offending element; None for a scalar."""
    value: float | int | None = None
    """What stood there."""
    requirement: str | None = None
    """``"> 0"``."""
    expected: str | None = None
    """A length, a shape or a kind, as text."""
    actual: str | None = None
    bound: int | None = None
    """The index had to be at least 0 and below this."""


class HMathError(Exception):
    """A checked failure. ``math_error`` is the complete, immutable :class:`MathError`."""

    math_error: MathError

    def __init__(self, math_error: MathError) -> None:
        super().__init__(math_error)
        self.math_error = math_error

    def __str__(self) -> str:
        return self.math_error.message


class DomainError(HMathError, ValueError):
    """A value outside the operation's domain: argument, index, value, requirement."""


class NonFinite(HMathError, ValueError):
    """An infinity or a NaN where a number is needed: argument, index, value."""


class DimensionMismatch(HMathError, ValueError):
    """Lengths, ranks or shapes that do not fit: argument, expected, actual."""


class EmptyInput(HMathError, ValueError):
    """No element where at least one is needed: argument."""


class IndexOutOfBounds(HMathError, IndexError):
    """An index or an axis that does not exist: argument, index, value, bound."""


class Overflow(HMathError, OverflowError):
    """A result that cannot be represented."""


class TypeMismatch(HMathError, TypeError):
    """An argument of another kind: argument, expected, actual."""
