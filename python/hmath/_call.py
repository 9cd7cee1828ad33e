"""Calling the library: the context of this thread, one foreign call an operation, status to exception.

How a new wrapper is bound
--------------------------

A public function is a typed signature, a docstring and one call::

    def log_softmax(values: Doubles) -> Any:
        \"\"\"...\"\"\"
        return like(call("hmath_neural_core_log_softmax", doubles(values, "values")), values)

1. Each argument goes through its converter from ``_convert`` (``double``, ``integer``, ``boolean``,
   ``doubles``, ``double_rows``, ``integers``, ``tensor``, ``value``, ...; ``maybe(converter, ...)`` for a
   Maybe; ``record`` of ``_record``), in the order of the parameters, with the parameter's name. A converter
   returns a small tuple that describes the argument to the bridge (``_bridge.h``); it makes no Value, so
   that nothing can leak. What Python must refuse it refuses there (TypeMismatch, Overflow, closed owners);
   everything else, shapes and ragged lists included, is the library's to check, in its documented order.
2. ``call`` names the C function. Values are made, the function is called and the Values are given back in
   one foreign call. ``call_double`` is for wrappers that return a Double.
3. A reader from ``_result`` makes the Python object: ``like(result, data)`` a list, a NumPy array or a
   Tensor as `data` was; ``plain(result, type)`` numbers, bools, lists and tuples of them; ``owner(cls,
   result)`` an owned handle; ``items(result)`` the parts of a tuple, each a result; ``record_result``.

Functions that take natural C types (tensors, random numbers, graphs) are called by ``invoke``.

Where small calls are to be cheap, the function tries the ``short`` way first, which makes no Python object
but the result, and goes on as above where that returns None.

Contexts
--------

Each thread has one context, made at its first call and freed with the thread. The GIL is released while
the library works, but for short ways of little work. An exception raised inside a callback is kept by
``callback_failed`` and raised again by the call that the callback belonged to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import _native
from ._failure import from_status
from ._hmath import ffi, lib
from ._owner import view_of

__all__ = [
    "Shorts",
    "call",
    "call_double",
    "callback_failed",
    "check",
    "context",
    "invoke",
    "make",
    "reduction",
    "short",
]

# A cdata object: its type is generated and has no stub.
CData = Any
# What a converter returns: the leading members of a bridge_argument.
Argument = tuple[Any, ...]

_ISA_NAMES = {
    lib.HMATH_ISA_BASELINE: "baseline",
    lib.HMATH_ISA_AVX2: "avx2",
    lib.HMATH_ISA_AVX512: "avx512",
    lib.HMATH_ISA_NEON: "neon",
}

_new = ffi.new
_gc = ffi.gc
_release = lib.hmath_release
_RESULT = ffi.typeof("bridge_result *")
_VALUE_OUT = ffi.typeof("hmath_value **")


# ---------------------------------------------------------------- contexts

_default_threads = 0


class _Thread(threading.local):
    context: CData = None
    exception: BaseException | None = None


_thread = _Thread()


def _options(threads: int) -> CData:
    options = _new("hmath_options *")
    options.struct_size = ffi.sizeof("hmath_options")
    options.threads = threads
    return options


def context() -> CData:
    """The context of this thread."""
    return _thread.context or _make_context()


def _make_context() -> CData:
    address = _native.context()
    if not address:
        out = _new("hmath_context **")
        status = lib.hmath_context_create(_options(_default_threads), out)
        if status:
            raise from_status(status, ffi.NULL)
        address = int(ffi.cast("uintptr_t", out[0]))
        _native.use_context(address)
    _thread.context = ffi.cast("hmath_context *", address)
    return _thread.context


def set_num_threads(threads: int) -> None:
    """Let one call use up to `threads` threads; 0 means the default again.

    Holds for calls from this thread and from threads that call hmath for the first time afterwards.
    The default is ``HMATH_NUM_THREADS`` from the environment, else the cores this process may use.
    Results never depend on it, to the last bit.
    """
    global _default_threads
    if isinstance(threads, bool) or not hasattr(type(threads), "__index__"):
        raise TypeError(f"threads must be an integer, not {type(threads).__name__}")
    threads = threads.__index__()
    if not 0 <= threads < 2**31:
        raise ValueError(f"threads = {threads}; required >= 0 and < 2**31")
    status = lib.hmath_context_configure(context(), _options(threads))
    if status:
        raise from_status(status, lib.hmath_last_error(context()))
    _default_threads = threads


def _options_in_force() -> CData:
    options = _options(0)
    status = lib.hmath_context_options(context(), options)
    if status:
        raise from_status(status, ffi.NULL)
    return options


def get_num_threads() -> int:
    """How many threads one call from this thread may use."""
    return int(_options_in_force().threads)


def instruction_set() -> str:
    """``"baseline"``, ``"avx2"``, ``"avx512"`` or ``"neon"``: the kernels in use.

    ``HMATH_ISA`` in the environment caps the choice. Results never depend on it, to the last bit.
    """
    return _ISA_NAMES[_options_in_force().isa]


# ---------------------------------------------------------------- calls


class _Functions(dict[str, CData]):
    """C functions by name, as pointers that the bridge can call."""

    def __missing__(self, name: str) -> CData:
        pointer = ffi.cast("bridge_function", ffi.addressof(lib, name))
        self[name] = pointer
        return pointer


_functions = _Functions()


def call(name: str, *arguments: Argument) -> CData:
    """Call a wrapper; returns a ``bridge_result *`` whose value is the caller's to take.

    Hand it to exactly one reader of ``_result`` at once: until then nobody owns the value.
    """
    result = _new(_RESULT)
    status = lib.bridge_call(
        _thread.context or _make_context(), _functions[name], arguments, len(arguments), result
    )
    if status:
        raise _failure(status, result)
    return result


def call_double(name: str, *arguments: Argument) -> float:
    """Call a wrapper that returns a Double."""
    number: float = lib.bridge_call_double(
        _thread.context or _make_context(), _functions[name], arguments, len(arguments)
    )
    if number == number:
        return number
    # No checked operation returns a NaN: it failed, and does so again to say how.
    result = call(name, *arguments)
    _native.own(_native.Handle, result.value)._drop()
    return float(result.number)


def make(argument: Argument) -> CData:
    """The Value that an argument describes, as an owned handle."""
    result = _new(_RESULT)
    status = lib.bridge_make(context(), (argument,), result)
    if status:
        raise _failure(status, result)
    return view_of(result.value)


def invoke(function: Any, *arguments: Any) -> CData:
    """Call ``function(context, *arguments, hmath_value **out)``; returns an owned handle."""
    out = _new(_VALUE_OUT)
    check(function(context(), *arguments, out))
    return _gc(out[0], _release)


def check(status: int) -> None:
    """Raise what the latest call with this thread's context failed with, if it did."""
    if status:
        raise _pending(status) or from_status(status, lib.hmath_last_error(context()))


def _failure(status: int, result: CData) -> BaseException:
    """The exception for a failed bridge call; gives its MathError back."""
    pending = _pending(status)
    if pending is not None:
        return pending
    if not result.value:
        return from_status(status, lib.hmath_last_error(context()))
    math_error, error = view_of(result.value), _new("hmath_error **")
    lib.hmath_math_error_get(math_error, error)
    return from_status(status, error[0])


# ---------------------------------------------------------------- short ways


def _address(name: str) -> int:
    return int(ffi.cast("uintptr_t", ffi.addressof(lib, name)))


def short(name: str, form: str) -> Callable[..., Any]:
    """The short way into a function of Values, for the arguments that `form` says are usual.

    It takes the public function's arguments and returns its result, or None where anything is not usual,
    failures included: then ``call`` finds out what. The forms are listed in ``native/short.c``.
    """
    return _native.short(_address(name), form)


class Shorts(dict[str, Callable[..., Any]]):
    """The short ways of one form by the names of the functions, made when they are asked for."""

    def __init__(self, form: str) -> None:
        self._form = form

    def __missing__(self, name: str) -> Callable[..., Any]:
        self[name] = way = short(name, self._form)
        return way


def reduction(name: str) -> Callable[..., Any]:
    """The short way into a reduction of a tensor: over one axis, or with None over all."""
    return _native.reduction(_address(name))


# ---------------------------------------------------------------- callbacks


def callback_failed(exception: BaseException) -> int:
    """Called by a callback that raised; its C side returns this status."""
    _thread.exception = exception
    return int(lib.HMATH_CALLBACK)


def _pending(status: int) -> BaseException | None:
    """The exception of the callback that failed, once."""
    if status != lib.HMATH_CALLBACK:
        return None
    exception, _thread.exception = _thread.exception, None
    return exception
