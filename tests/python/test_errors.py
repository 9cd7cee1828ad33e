"""Failures: the hierarchy, the parts of a MathError, and where the operation's name comes from."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import hmath
from hmath import _call, _convert, _failure, autodiff, errors, tensor
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath._hmath import ffi, lib

HIERARCHY = {
    errors.DomainError: ValueError,
    errors.NonFinite: ValueError,
    errors.DimensionMismatch: ValueError,
    errors.EmptyInput: ValueError,
    errors.IndexOutOfBounds: IndexError,
    errors.Overflow: OverflowError,
    errors.TypeMismatch: TypeError,
}


@pytest.mark.parametrize(("cls", "builtin"), HIERARCHY.items(), ids=lambda cls: cls.__name__)
def test_hierarchy(cls: type[errors.HMathError], builtin: type[Exception]) -> None:
    assert issubclass(cls, errors.HMathError) and issubclass(cls, builtin)
    assert getattr(hmath, cls.__name__) is cls
    assert cls in _failure._CONSTRUCTORS.values()


def refused() -> errors.HMathError:
    with pytest.raises(hmath.IndexOutOfBounds) as caught:
        tensor.concatenate([tensor.zeros([2])], 5)
    return caught.value


def test_math_error_is_complete_and_immutable() -> None:
    error = refused()
    found = error.math_error
    assert dataclasses.asdict(found) == {
        "constructor": "IndexOutOfBounds",
        "operation": "tensor.concatenate",
        "message": "tensor.concatenate: axis = 5 is out of bounds; required >= -1 and < 1",
        "argument": "axis",
        "index": None,
        "value": 5,
        "requirement": None,
        "expected": None,
        "actual": None,
        "bound": 1,
    }
    assert str(error) == found.message
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.argument = "other"  # type: ignore[misc]


def test_errors_travel_between_processes() -> None:
    error = refused()
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is type(error)
        assert other.math_error == error.math_error


def test_every_part_comes_from_the_library(no_leak: None) -> None:
    with pytest.raises(hmath.DomainError) as caught:
        tensor.zeros([2, -3])
    found = caught.value.math_error
    assert (found.operation, found.argument, found.index, found.value) == ("tensor.zeros", "shape", 1, -3)
    assert found.requirement == ">= 0"
    with pytest.raises(hmath.TypeMismatch) as caught:
        layers.batches_seen(layers.MaxPool)  # type: ignore[arg-type]
    found = caught.value.math_error
    assert (found.argument, found.expected, found.actual) == ("state", "BatchNormState", "PoolMode")


def test_a_record_s_field_is_named() -> None:
    options = layers.ConvOptions([1], [0], ["x"], 1)  # type: ignore[list-item]
    with pytest.raises(hmath.TypeMismatch) as caught:
        layers.convolution_stride(options)
    found = caught.value.math_error
    assert (found.operation, found.argument, found.index) == (
        "layers.convolution_stride",
        "options.dilation",
        0,
    )


def test_the_first_wrong_kind_is_reported_whoever_finds_it() -> None:
    """Python finds the second argument's kind, the library the first's; the first one counts."""
    floats = tensor.tensor_float([1], [1])
    with pytest.raises(hmath.TypeMismatch) as caught:
        layers.embedding(floats, ["x"])  # type: ignore[arg-type, list-item]
    assert caught.value.math_error.argument == "weights"


def test_kinds_have_the_names_of_their_classes() -> None:
    """The library's name of an Expr is ADExpr; a NumPy scalar was a "float64 of float64"."""
    x = autodiff.variable("x")
    with pytest.raises(hmath.TypeMismatch, match="bindings is an Expr; required Double; for input x"):
        autodiff.evaluate(x, {x: x})
    with pytest.raises(hmath.TypeMismatch, match=r"is an Expr; required List of Expr$") as caught:
        core.softmax_expr(x)  # type: ignore[call-overload]
    found = caught.value.math_error
    assert (found.expected, found.actual) == ("List of Expr", "Expr")
    with pytest.raises(hmath.TypeMismatch, match="is a float64; required"):
        tensor.exp(np.float64(1.0))  # type: ignore[type-var]


def test_statuses() -> None:
    table = {
        lib.HMATH_BAD_ARGUMENT: ValueError,
        lib.HMATH_NO_MEMORY: MemoryError,
        lib.HMATH_BUSY: RuntimeError,
        lib.HMATH_CALLBACK: RuntimeError,
    }
    for status, cls in table.items():
        assert type(_failure.from_status(status, ffi.NULL)) is cls


def test_a_callback_s_exception_is_raised_once() -> None:
    error = KeyError("mine")
    assert _call.callback_failed(error) == lib.HMATH_CALLBACK
    with pytest.raises(KeyError) as caught:
        _call.check(lib.HMATH_CALLBACK)
    assert caught.value is error
    with pytest.raises(RuntimeError):
        _call.check(lib.HMATH_CALLBACK)


def test_operation_outside_of_any() -> None:
    with pytest.raises(hmath.TypeMismatch, match=r"^hmath: x is a str; required Double$"):
        _convert.double("1", "x")


def test_too_many_arguments_are_a_status() -> None:
    """And no earlier call's failure."""
    with pytest.raises(hmath.TypeMismatch):
        core.softmax_expr(autodiff.variable("x"))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="malformed"):
        _call.call("hmath_neural_layers_embedding", *[_convert.NONE] * 9)
