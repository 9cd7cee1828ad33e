"""From a status to an exception, by one table; and the failures that Python notices by itself."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import FunctionType
from typing import Any

from . import errors
from ._hmath import ffi, lib
from ._native import Handle

_CONSTRUCTORS: dict[int, type[errors.HMathError]] = {
    lib.HMATH_DOMAIN_ERROR: errors.DomainError,
    lib.HMATH_NON_FINITE: errors.NonFinite,
    lib.HMATH_DIMENSION_MISMATCH: errors.DimensionMismatch,
    lib.HMATH_EMPTY_INPUT: errors.EmptyInput,
    lib.HMATH_INDEX_OUT_OF_BOUNDS: errors.IndexOutOfBounds,
    lib.HMATH_OVERFLOW: errors.Overflow,
    lib.HMATH_TYPE_MISMATCH: errors.TypeMismatch,
}

# Which constructors carry `value` as a double; IndexOutOfBounds carries `integer`.
_HAS_VALUE = (lib.HMATH_DOMAIN_ERROR, lib.HMATH_NON_FINITE)


def from_status(status: int, error: Any) -> BaseException:
    """The exception for a status that is not HMATH_OK; `error` is a ``hmath_error *``, or NULL."""
    if status == lib.HMATH_CHECKED:
        return _from_math_error(error)
    # An error of a constructor is that of an earlier call: this one failed before it reached the context.
    message = _text(error.message) if error and not error.constructor else None
    if status == lib.HMATH_NO_MEMORY:
        return MemoryError(message or "out of memory")
    if status == lib.HMATH_BUSY:
        return RuntimeError(message or "another thread is inside a call with this context")
    if status == lib.HMATH_CALLBACK:
        return RuntimeError(message or "a callback reported failure")
    return ValueError(message or "a null or malformed argument")


def _text(pointer: Any) -> str | None:
    return ffi.string(pointer).decode() if pointer else None


def _in_python(pointer: Any) -> str | None:
    """A text of kinds, by the names of their classes."""
    text = _text(pointer)
    return text and text.replace("ADExpr", "Expr")


def _from_math_error(error: Any) -> errors.HMathError:
    constructor = error.constructor
    index_out_of_bounds = constructor == lib.HMATH_INDEX_OUT_OF_BOUNDS
    value: float | int | None = None
    if index_out_of_bounds:
        value = error.integer
    elif constructor in _HAS_VALUE:
        # A parameter that is an Int is reported as one.
        value = error.integer if error.integer and error.integer == error.value else error.value
        if constructor == lib.HMATH_DOMAIN_ERROR and value != value:
            value = None  # a failure in words, with no number to blame
    cls = _CONSTRUCTORS[constructor]
    said = _in_python if constructor == lib.HMATH_TYPE_MISMATCH else _text
    return cls(
        errors.MathError(
            constructor=cls.__name__,
            operation=_text(error.operation) or "",
            message=said(error.message) or "",
            argument=_text(error.argument),
            index=error.index if error.index >= 0 else None,
            value=value,
            requirement=_text(error.requirement),
            expected=said(error.expected),
            actual=said(error.actual),
            bound=error.bound if index_out_of_bounds else None,
        )
    )


# ---------------------------------------------------------------- noticed in Python


_NESTED = 0x10  # inspect.CO_NESTED: a function inside of another, which is the one to name


def operation() -> str:
    """The public function that is being called, as messages name it: ``"core.softmax"``.

    Found on the stack: the innermost public function of a public module of this package. Failing is rare, so
    that functions need not carry their names along on the way that succeeds.
    """
    frame = sys._getframe(1)
    while frame is not None:
        package, module = (*frame.f_globals.get("__name__", "").split("."), "")[:2]
        function = frame.f_code.co_name
        helper = function.startswith(("_", "<")) and not function.startswith("__")
        helper |= bool(frame.f_code.co_flags & _NESTED)
        if package == "hmath" and module[:1] not in ("", "_") and not helper:
            return f"{module.removeprefix('deeplearning_')}.{_name(function)}"
        frame = frame.f_back  # type: ignore[assignment]
    return "hmath"


# What the library calls the operations of operators and other methods with names of Python's.
_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "pow": "power",
    "matmul": "matmul",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "neg": "negate",
    "abs": "absolute",
    "call": "Program",
    "init": "Dual",
}


def _name(function: str) -> str:
    """The operation of a public function, an operator (``__radd__`` adds, too) or a custom node's callback."""
    if function.startswith("hmath_python_"):
        return "custom"
    name = function.strip("_")
    if name == function:
        return name
    return _OPERATORS.get(name) or _OPERATORS.get(name.removeprefix("r"), name)


def type_mismatch(
    argument: str, expected: str, actual: object, index: int | None = None, ranked: bool = False
) -> errors.TypeMismatch:
    """`actual` is not of the kind that `argument` (or its element) needs.

    `ranked`: it is an array whose elements would do, so that its rank is to be told.
    """
    name, found = operation(), kind_of(actual)
    if ranked:
        found = f"{found} of rank {getattr(actual, 'ndim', 0)}"
    place, hint = _place(argument, index), _hint(actual, expected)
    message = f"{name}: {place} is {with_article(found)}; required {expected}{hint}"
    return errors.TypeMismatch(
        errors.MathError(
            "TypeMismatch",
            name,
            message,
            argument=argument,
            index=index,
            expected=expected,
            actual=found,
        )
    )


def _hint(actual: object, expected: str) -> str:
    """A function that makes what is required was perhaps not called."""
    if not isinstance(actual, FunctionType) or actual.__annotations__.get("return") != expected:
        return ""
    parameters = actual.__code__.co_varnames[: actual.__code__.co_argcount]
    return f", which {actual.__name__}({', '.join(parameters)}) makes"


def domain_error(argument: str, found: float | str, requirement: str) -> errors.DomainError:
    """A number, or in words something else, that no argument of the C function could carry."""
    name, number = operation(), None if isinstance(found, str) else found
    message = f"{name}: {argument} {found if number is None else f'= {number}'}; required {requirement}"
    return errors.DomainError(
        errors.MathError(
            "DomainError",
            name,
            message,
            argument=argument,
            value=number,
            requirement=requirement,
        )
    )


def non_finite(argument: str, number: float | None, index: int | None = None) -> errors.NonFinite:
    """A parameter of a function that is made of others of this package, or an element of one."""
    name = operation()
    message = f"{name}: {_place(argument, index)} = {number} is not finite"
    return errors.NonFinite(
        errors.MathError("NonFinite", name, message, argument=argument, index=index, value=number)
    )


def renamed(error: errors.HMathError, of: str = "", **names: str) -> errors.HMathError:
    """The failure of the library's operation `of` as one of the public function that is being called.

    `names`: the library's names of arguments and this function's. Other failures, of a callback's say, stay.
    """
    found, name = error.math_error, operation()
    if found.operation not in (of, name):
        return error
    argument = names.get(found.argument or "", found.argument)
    place = f": {found.argument}" if found.argument else ":"
    message = found.message.replace(
        f"{found.operation}{place}", f"{name}: {argument}" if found.argument else f"{name}:", 1
    )
    return type(error)(replace(found, operation=name, argument=argument, message=message))


def placed(error: errors.HMathError, where: str) -> errors.HMathError:
    """The same failure, saying where it stands: "...; for input x"."""
    found = error.math_error
    return type(error)(replace(found, message=f"{found.message}; {where}"))


def overflow(argument: str, index: int | None = None) -> errors.Overflow:
    """An integer that has no 64-bit (or, for a Double, no finite) form."""
    name = operation()
    message = f"{name}: {_place(argument, index)} is not representable"
    return errors.Overflow(errors.MathError("Overflow", name, message))


def dimension_mismatch(
    argument: str, expected: object, actual: object, index: int | None = None
) -> errors.DimensionMismatch:
    """A length that the library cannot see, since it is given a pointer; or the shape of a part of a list."""
    name = operation()
    message = f"{name}: {_place(argument, index)} has dimension {actual}; required {expected}"
    return errors.DimensionMismatch(
        errors.MathError(
            "DimensionMismatch",
            name,
            message,
            argument=argument,
            index=index,
            expected=str(expected),
            actual=str(actual),
        )
    )


def index_out_of_bounds(
    argument: str, value: int, bound: int, index: int | None = None
) -> errors.IndexOutOfBounds:
    """An index or axis that may be negative, which only Python knows: -bound <= value < bound."""
    name = operation()
    message = (
        f"{name}: {_place(argument, index)} = {value} is out of bounds; required >= {-bound} and < {bound}"
    )
    return errors.IndexOutOfBounds(
        errors.MathError(
            "IndexOutOfBounds", name, message, argument=argument, index=index, value=value, bound=bound
        )
    )


def made_by_functions(cls: type) -> TypeError:
    """For classes whose objects wrap what the library made."""
    return TypeError(f"{cls.__name__} objects are made by functions, not by their class")


def closed(argument: str) -> ValueError:
    return ValueError(f"{operation()}: {argument} is closed")


# How kinds begin that take "an": by the sound of it.
_VOWELS = (*"AEIOaeio", "RNG", "ndarray")


def with_article(kind: str) -> str:
    """``"an Int"``, ``"a Double"``; of a class or function there is one."""
    if kind.startswith(("class ", "function ")):
        return f"the {kind}"
    return f"{'an' if kind.startswith(_VOWELS) else 'a'} {kind}"


def _place(argument: str, index: int | None) -> str:
    return argument if index is None else f"{argument}[{index}]"


def kind_of(x: object) -> str:
    """The kind of a Python object, as messages name it."""
    if isinstance(x, type):
        return f"class {x.__name__}"
    if isinstance(x, FunctionType):
        return f"function {x.__name__}"
    handle = x._handle if isinstance(x, Handle) else None
    if handle is not None:
        return _in_python(lib.hmath_kind_name(lib.hmath_kind(handle))) or ""
    name, dtype = type(x).__name__, getattr(x, "dtype", None)
    # A NumPy scalar is its own dtype.
    return name if dtype is None or name == str(dtype) else f"{name} of {dtype}"
