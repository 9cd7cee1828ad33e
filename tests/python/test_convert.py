"""Conversion of arguments: what each kind of parameter takes, what it refuses, and what it says then."""

from __future__ import annotations

import contextlib
import decimal
import fractions
import math
import re
import threading
import time
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hmath
from hmath import _convert, _result, autodiff, tensor
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_metrics as metrics
from hmath._call import make
from hmath._hmath import ffi, lib
from hmath._result import plain
from hmath.errors import DimensionMismatch, HMathError, Overflow, TypeMismatch

NAN = float("nan")


def value_of(argument: tuple[Any, ...]) -> Any:
    """What the library gets from an argument, read back."""
    result = ffi.new("bridge_result *")
    lib.bridge_describe(lib.hmath_retain(make(argument)), result)
    if result.kind == lib.HMATH_KIND_TENSOR_DOUBLE:
        return "tensor", _result.numpy_array(_result.handle(result)).tolist()
    return plain(result, object)


class Index:
    """An object that is an integer."""

    def __index__(self) -> int:
        return 7


class Float:
    """An object that is a number."""

    def __float__(self) -> float:
        return 2.5


# ---------------------------------------------------------------- scalars


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (0.5, 0.5),
        (3, 3.0),
        (np.float64(1.5), 1.5),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.int8(-3), -3.0),
        (Index(), 7.0),
        (Float(), 2.5),
        (decimal.Decimal("0.25"), 0.25),
        (fractions.Fraction(1, 3), 1 / 3),
        (np.array(4.0), 4.0),
        (-(2**53) - 1, float(-(2**53) - 1)),
        (math.inf, math.inf),
    ],
)
def test_double(given: Any, got: float) -> None:
    assert value_of(_convert.double(given, "x")) == got


@pytest.mark.parametrize(
    "given", [True, False, np.True_, "1.0", b"1", None, [1.0], 1j, np.array([1.0]), np.array([]), object()]
)
def test_double_refuses(given: Any) -> None:
    with pytest.raises(hmath.TypeMismatch) as caught:
        _convert.double(given, "margin")
    error = caught.value.math_error
    assert (error.argument, error.expected, error.index) == ("margin", "Double", None)
    assert isinstance(caught.value, TypeError)


def test_double_too_large() -> None:
    with pytest.raises(hmath.Overflow, match="margin") as caught:
        _convert.double(10**400, "margin")
    assert isinstance(caught.value, OverflowError)


@pytest.mark.parametrize(
    ("given", "got"),
    [(0, 0), (-5, -5), (Index(), 7), (np.int64(9), 9), (np.uint8(200), 200), (2**63 - 1, 2**63 - 1)],
)
def test_integer(given: Any, got: int) -> None:
    assert value_of(_convert.integer(given, "axis")) == got


@pytest.mark.parametrize("given", [2.0, True, np.False_, "2", None, np.float64(2), np.array([1, 2]), Float()])
def test_integer_refuses(given: Any) -> None:
    with pytest.raises(hmath.TypeMismatch, match="axis") as caught:
        _convert.integer(given, "axis")
    assert caught.value.math_error.expected == "Int"


@pytest.mark.parametrize("given", [2**63, -(2**63) - 1, 10**30, np.uint64(2**63)])
def test_integer_beyond_64_bits(given: Any) -> None:
    with pytest.raises(hmath.Overflow):
        _convert.integer(given, "axis")


@pytest.mark.parametrize(
    ("given", "got"), [(True, True), (False, False), (np.True_, True), (np.False_, False)]
)
def test_boolean(given: Any, got: bool) -> None:
    assert value_of(_convert.boolean(given, "similar")) is got


@pytest.mark.parametrize("given", [0, 1, 1.0, "True", None, [True]])
def test_boolean_refuses(given: Any) -> None:
    with pytest.raises(hmath.TypeMismatch, match="similar"):
        _convert.boolean(given, "similar")


# ---------------------------------------------------------------- lists


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([], []),
        ([1, 2.5], [1.0, 2.5]),
        ((0.1, -0.0), [0.1, -0.0]),
        (range(3), [0.0, 1.0, 2.0]),
        ([np.float64(1.5), Float()], [1.5, 2.5]),
    ],
)
def test_doubles_from_sequences(given: Any, got: list[float]) -> None:
    assert value_of(_convert.doubles(given, "values")) == got


@pytest.mark.parametrize(
    "given",
    [
        array("d", [1, 2, 3]),
        np.array([1.0, 2.0, 3.0]),
        np.array([9.0, 1.0, 9.0, 2.0, 9.0, 3.0])[1::2],
        np.array([1.0, 2.0, 3.0], dtype=">f8"),
        memoryview(array("d", [1, 2, 3])),
        memoryview(array("d", [3, 2, 1]))[::-1],
    ],
)
def test_doubles_from_memory(given: Any) -> None:
    """Rank-1 memory is lent as a tensor, which a [Double] parameter takes like a list."""
    assert value_of(_convert.doubles(given, "values")) == ("tensor", [1.0, 2.0, 3.0])


def test_doubles_are_lent_without_a_copy() -> None:
    numbers = np.arange(5.0)
    form, _, data, length = _convert.doubles(numbers, "values")
    assert form == lib.BRIDGE_VECTOR
    assert int(ffi.cast("intptr_t", data)) == numbers.ctypes.data
    assert length == 5


@pytest.mark.parametrize(
    "given",
    [
        "abc",
        b"abc",
        {1.0: 2.0},
        {1.0},
        5,
        None,
        iter([1.0]),
        np.ones(3, np.float32),
        np.ones(3, np.int64),
        np.ones(3, bool),
        array("f", [1]),
        array("i", [1]),
        np.ma.masked_array([1.0, 2.0], [False, True]),
    ],
)
def test_doubles_refuses(given: Any) -> None:
    """Nothing is widened silently, and what has no order or no length is no list."""
    with pytest.raises(hmath.TypeMismatch) as caught:
        _convert.doubles(given, "values")
    error = caught.value.math_error
    assert (error.argument, error.index, error.expected) == ("values", None, "List of Double")


@pytest.mark.parametrize("bad", [True, "2", None, [2.0], 2j])
def test_doubles_names_the_element(bad: Any) -> None:
    with pytest.raises(hmath.TypeMismatch, match=r"values\[2\]") as caught:
        _convert.doubles([1.0, 2.0, bad], "values")
    error = caught.value.math_error
    assert (error.argument, error.index, error.expected) == ("values", 2, "Double")


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([], []),
        ([1, -2], [1, -2]),
        (range(3), [0, 1, 2]),
        (array("b", [1, 2]), [1, 2]),
        (np.array([1, 2], np.int64), [1, 2]),
        (np.array([1, 2, 3, 4], np.int64)[::2], [1, 3]),
        (np.array([1, 200], np.uint8), [1, 200]),
        (np.array([1, 2], np.uint64), [1, 2]),
        (np.array([1, 2], ">i4"), [1, 2]),
        ([Index(), np.int16(3)], [7, 3]),
    ],
)
def test_integers(given: Any, got: list[int]) -> None:
    assert value_of(_convert.integers(given, "labels")) == got


@pytest.mark.parametrize("given", ["12", [1, 2.0], [True], np.ones(2), np.ones(2, bool), array("d", [1]), 3])
def test_integers_refuses(given: Any) -> None:
    with pytest.raises(hmath.TypeMismatch, match="labels"):
        _convert.integers(given, "labels")


@pytest.mark.parametrize("given", [[1, 2**63], np.array([2**63], np.uint64)])
def test_integers_beyond_64_bits(given: Any) -> None:
    with pytest.raises(hmath.Overflow):
        _convert.integers(given, "labels")


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([], []),
        ([True, False], [True, False]),
        (np.array([True, False]), [True, False]),
        ([np.True_], [True]),
    ],
)
def test_booleans(given: Any, got: list[bool]) -> None:
    assert value_of(_convert.booleans(given, "mask")) == got


@pytest.mark.parametrize("given", [[1], [0.0], "ab", np.array([1, 0]), None])
def test_booleans_refuses(given: Any) -> None:
    with pytest.raises(hmath.TypeMismatch, match="mask"):
        _convert.booleans(given, "mask")


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([True, False], [True, False]),
        ([1, 0], [1, 0]),
        ([1.0, 0.0], [1.0, 0.0]),
        ([1, 0.0], [1.0, 0.0]),
        (np.array([True]), [True]),
        (np.array([1, 0]), [1, 0]),
    ],
)
def test_labels(given: Any, got: list[Any]) -> None:
    assert value_of(_convert.labels(given, "truth")) == got


# ---------------------------------------------------------------- rows


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ([], []),
        ([[], []], [[], []]),
        ([[1, 2], [3, 4.5]], [[1.0, 2.0], [3.0, 4.5]]),
        (([1, 2], (3, 4)), [[1.0, 2.0], [3.0, 4.0]]),
        ([np.array([1.0, 2.0]), [3, 4]], [[1.0, 2.0], [3.0, 4.0]]),
        ([array("d", [1, 2])], [[1.0, 2.0]]),
    ],
)
def test_double_rows(given: Any, got: list[list[float]]) -> None:
    assert value_of(_convert.double_rows(given, "scores")) == got


def test_double_rows_from_an_array() -> None:
    given = np.array([[1.0, 2.0], [3.0, 4.0]]).T
    assert value_of(_convert.double_rows(given, "scores")) == ("tensor", [[1.0, 3.0], [2.0, 4.0]])


def test_ragged_rows_are_the_library_s_to_refuse() -> None:
    """They reach it as they are, since their place in the order of checks is behind the scalars."""
    assert value_of(_convert.double_rows([[1, 2], [3]], "scores")) == [[1.0, 2.0], [3.0]]


@pytest.mark.parametrize("given", ["ab", [1.0], [[1.0], "a"], [np.ones(2, np.float32)], np.ones((2, 2), int)])
def test_double_rows_refuses(given: Any) -> None:
    with pytest.raises(hmath.TypeMismatch, match="scores"):
        _convert.double_rows(given, "scores")


def test_boolean_rows() -> None:
    rows = [[True, False], [False, True]]
    assert value_of(_convert.boolean_rows(rows, "mask")) == rows
    assert value_of(_convert.boolean_rows(np.array(rows), "mask")) == rows
    assert value_of(_convert.maybe(_convert.boolean_rows, rows, "mask")) == rows
    assert _convert.maybe(_convert.boolean_rows, None, "mask") == _convert.NONE
    for bad in ([[1, 0]], np.ones((2, 2)), np.ones(2, bool), 3):
        with pytest.raises(hmath.TypeMismatch, match="mask"):
            _convert.boolean_rows(bad, "mask")


# ---------------------------------------------------------------- tensors and handles


def test_tensor_arguments() -> None:
    for shape in ((), (0,), (3,), (2, 3), (2, 1, 3), (2, 0)):
        numbers = np.arange(float(np.prod(shape))).reshape(shape)
        assert value_of(_convert.tensor(numbers, "input")) == ("tensor", numbers.tolist())
    owned = tensor.zeros([2])
    assert _convert.tensor(owned, "input") == (lib.BRIDGE_VALUE, 0.0, owned._handle)


@pytest.mark.parametrize(
    "given", [[1.0], 1.0, np.ones(2, np.float32), np.ones(2, np.int64), None, "a", array("d", [1])]
)
def test_tensor_refuses(given: Any) -> None:
    with pytest.raises(hmath.TypeMismatch, match="input") as caught:
        _convert.tensor(given, "input")
    assert caught.value.math_error.expected == "Tensor Double"


def test_closed_owners_are_a_value_error() -> None:
    closed = tensor.zeros([2])
    closed.close()
    for converter in (_convert.tensor, _convert.doubles, _convert.double_rows):
        with pytest.raises(ValueError, match="input is closed"):
            converter(closed, "input")


def test_memory_that_was_lent_may_go(no_leak: None) -> None:
    """An argument made from an array outlives nothing: its copy in a list of rows does not depend on it."""
    row = np.array([1.0, 2.0])
    argument = _convert.double_rows([row, [3.0, 4.0]], "scores")
    row[:] = NAN
    del row
    assert value_of(argument) == [[1.0, 2.0], [3.0, 4.0]]


# ---------------------------------------------------------------- short cuts


@pytest.mark.parametrize("count", [1, 7, 256, 257])
def test_short_and_long_ways_give_the_same_bits(count: int) -> None:
    """Short lists, long ones, arrays and tensors reach the library in different ways."""
    from hmath import deeplearning_core as core

    target, prediction = np.linspace(0.0, 1.0, count), np.linspace(0.3, 0.9, count)
    method, reduction = core.BinaryCrossEntropy, core.Mean
    expected = core.loss(method, reduction, tensor.from_numpy(target), tensor.from_numpy(prediction))
    assert core.loss(method, reduction, target, prediction) == expected
    assert core.loss(method, reduction, target.tolist(), prediction.tolist()) == expected
    assert core.loss(method, reduction, target[::-1][::-1], prediction.tolist()) == expected


def test_the_short_way_fails_like_the_long_one() -> None:
    from hmath import deeplearning_core as core
    from hmath import deeplearning_layers as layers

    for target in ([1.0, NAN], np.array([1.0, NAN])):
        with pytest.raises(hmath.NonFinite, match=r"core.loss: target\[1\] = nan is not finite"):
            core.loss(core.MeanSquaredError, core.Sum, target, [0.0, 0.0])
    inputs, weights = tensor.zeros([1, 2]), tensor.zeros([3, 2])
    with pytest.raises(hmath.DimensionMismatch, match=r"layers\.dense: bias"):
        layers.dense(inputs, weights, [0.0, 0.0])
    weights.close()
    with pytest.raises(ValueError, match="weights is closed"):
        layers.dense(inputs, weights, [0.0] * 3)


def test_what_is_handed_on_does_not_depend_on_lent_memory(no_leak: None) -> None:
    """Dropout in inference gives its input back: a copy of it, where the input was only lent."""
    from hmath import deeplearning_layers as layers
    from hmath import random

    numbers = np.array([[1.0, 2.0], [3.0, 4.0]])
    with random.pcg32() as generator, random.seed_rng(generator, 1) as rng:
        output, mask, advanced = layers.dropout(layers.Inference, 0.5, rng, numbers)
        advanced.close()
    numbers[:] = NAN
    assert output.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert mask.tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "sparsemax"])
@pytest.mark.parametrize("count", [1, 5, 256, 257])
def test_short_and_long_maps_give_the_same_bits(name: str, count: int) -> None:
    from hmath import deeplearning_core as core

    function, numbers = getattr(core, name), np.linspace(-3.0, 2.0, count)
    expected = function(tensor.from_numpy(numbers)).values
    assert function(numbers.tolist()) == function(tuple(numbers.tolist())) == expected
    as_array = function(numbers)
    assert isinstance(as_array, np.ndarray) and as_array.tolist() == expected
    assert numbers.tolist() == np.linspace(-3.0, 2.0, count).tolist()
    for bad in ([], np.array([])):
        with pytest.raises(hmath.EmptyInput):
            function(bad)
    with pytest.raises(hmath.NonFinite, match=r"values\[0\] = nan"):
        function([NAN] * count)


# ---------------------------------------------------------------- what only looks like an argument


_MATRIX = tensor.tensor([2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
_NODE = autodiff.variable("node", [2, 3])


@pytest.mark.parametrize(
    "number",
    [
        np.str_("1.5"),
        np.bytes_(b"1.5"),
        np.complex128(1 + 2j),
        np.timedelta64(5, "s"),
        np.ma.masked,
        np.array("1", object),
        np.array(True),
    ],
    ids=lambda x: type(x).__name__,
)
def test_numpy_scalars_with_float_are_no_doubles(number: object) -> None:
    with pytest.raises(TypeMismatch, match=r"core\.activation: value is an? .*; required Double"):
        core.activation(core.Sigmoid, number)  # type: ignore[call-overload]
    with pytest.raises(TypeMismatch, match=r"core\.softmax: values\[1\] is an? "):
        core.softmax([1.0, number])  # type: ignore[list-item]


_ZERO_RANK = [np.array(1), memoryview(np.array(1)), tensor.tensor([], [1.0])]


@pytest.mark.parametrize("shape", _ZERO_RANK, ids=lambda x: type(x).__name__)
def test_what_has_no_axis_is_no_list(shape: Any) -> None:
    for function in (tensor.zeros, lambda s: tensor.full(s, 1.0), lambda s: autodiff.variable("x", s)):
        with pytest.raises(TypeMismatch, match=r"shape is an? .*; required List of Int"):
            function(shape)
    with pytest.raises(
        TypeMismatch, match=r"tensor\.concatenate: tensors is an? .*; required List of Tensor"
    ):
        tensor.concatenate(shape)
    with pytest.raises(TypeMismatch, match=r"autodiff\.norm: values is an? "):
        autodiff.norm(shape)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tensor.concatenate(None), TypeMismatch, "tensor.concatenate: tensors is a NoneType"),
        (lambda: tensor.stack(iter([_MATRIX])), TypeMismatch, "tensor.stack: tensors is a list_iterator"),
        (lambda: tensor.broadcast_to(None, [2]), TypeMismatch, "tensor.broadcast_to: input is a NoneType"),
        (lambda: _MATRIX.sum(0, 1), TypeMismatch, "tensor.sum: keep is an int; required Bool"),
        (lambda: _MATRIX.var_mean(0, 0, "no"), TypeMismatch, "tensor.var_mean: keep is a str"),
        (lambda: 1.0 - tensor.demote(_MATRIX), TypeMismatch, "tensor.subtract: right is a Tensor Float"),
        (lambda: autodiff.element(_NODE, "a"), TypeMismatch, "autodiff.element: index is a str"),
        (lambda: autodiff.element(_NODE, 2**70), Overflow, "autodiff.element: index is not representable"),
        (lambda: autodiff.softmax(_NODE, None), TypeMismatch, "autodiff.softmax: axis is a NoneType"),
        (lambda: autodiff.gather(_NODE, [0], 0.0), TypeMismatch, "autodiff.gather: axis is a float"),
        (lambda: autodiff.sum(_NODE, True), TypeMismatch, "autodiff.sum: axis[0] is a bool"),
        (lambda: autodiff.sum(_NODE, 0, "yes"), TypeMismatch, "autodiff.sum: keepdims is a str"),
        (lambda: autodiff.less(autodiff.Dual(1.0), 1.0), TypeMismatch, "autodiff.less: left is a Dual"),
        (lambda: autodiff.evaluate(None), TypeMismatch, "autodiff.evaluate: output is a NoneType"),
        (
            lambda: autodiff.value_and_gradient(autodiff.variable("x"), {}, 5),
            TypeMismatch,
            "autodiff.value_and_gradient: wrt is an int",
        ),
        (
            lambda: autodiff.jvp(autodiff.variable("x"), {}, None),
            TypeMismatch,
            "autodiff.jvp: tangents is a NoneType",
        ),
        (
            lambda: autodiff.evaluate(autodiff.custom([1.0], lambda values: None)),
            TypeMismatch,
            "autodiff.custom: forward is a NoneType",
        ),
        (
            lambda: core.softmax(np.ones([1] * 9)),
            DimensionMismatch,
            "core.softmax: values has dimension rank 9",
        ),
        (
            lambda: tensor.from_numpy(np.ones([1] * 9)),
            DimensionMismatch,
            "tensor.from_numpy: array has dimension rank 9",
        ),
    ],
)
def test_the_operation_and_the_argument_are_named(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_a_step_beyond_any_integer_takes_the_first_position() -> None:
    sliced = autodiff.evaluate(_NODE[:: 10**30, :: -(10**30)], {_NODE: _MATRIX})
    assert sliced.tolist() == [[3.0]]


def test_the_gradient_of_a_number_is_zero() -> None:
    x = autodiff.variable("x")
    assert autodiff.value_and_gradient(2.0, {x: 1.0}, [x]) == (2.0, [0.0])  # type: ignore[arg-type]


# ---------------------------------------------------------------- arrays that another thread writes to


_SIDE = 300
_FLICKERING = np.ones((_SIDE, _SIDE))
_BIAS = np.zeros(_SIDE)
_ONE_HOT = np.eye(_SIDE)[0]


@pytest.mark.parametrize(
    "operation",
    [
        lambda: layers.layer_norm(1, 1e-5, _FLICKERING),
        lambda: core.sparsemax(_FLICKERING[0]),
        lambda: core.categorical_cross_entropy_logits(_ONE_HOT, _FLICKERING[0]),
        lambda: layers.dense(_FLICKERING, _FLICKERING, _BIAS),
        lambda: core.softmax(_FLICKERING[0]),
    ],
)
def test_a_lent_array_that_changes_is_a_result_or_a_failure(operation: Callable[[], object]) -> None:
    """What one look finds not finite the next may not find: never an answer without a value, never a crash."""
    done = threading.Event()

    def flicker() -> None:
        numbers = np.random.default_rng(1)
        while not done.is_set():
            _FLICKERING[0] = numbers.random(_SIDE) * numbers.choice([1.0, NAN])

    writer = threading.Thread(target=flicker)
    writer.start()
    try:
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            with contextlib.suppress(HMathError):
                operation()
    finally:
        done.set()
        writer.join()
        _FLICKERING[:] = 1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: layers.causal_mask(2**62, 0, 0),
        lambda: layers.alibi_bias(1.0, 2**48, 0, 0),
        lambda: tensor.zeros([2**48, 0]).tolist(),
    ],
)
def test_more_empty_rows_than_memory_are_refused_at_once(call: Callable[[], object]) -> None:
    with pytest.raises(MemoryError):
        call()


def test_empty_rows_are_lists_of_their_own() -> None:
    for rows in (layers.causal_mask(2, 0, 0), tensor.zeros([2, 0]).tolist()):
        assert rows == [[], []]
        assert rows[0] is not rows[1]
    assert tensor.zeros([2, 0, 3]).tolist() == [[], []]
    assert tensor.zeros([0, 2]).tolist() == []


# ---------------------------------------------------------------- scalars of other libraries


class _Foreign:
    """A scalar as PyTorch's are: a number to Python whatever it holds, with a dtype that is not NumPy's."""

    ndim = 0

    def __init__(self, dtype: str, held: complex | bool) -> None:
        self.dtype, self.held = type("dtype", (), {"__str__": lambda _: f"torch.{dtype}"})(), held

    def __float__(self) -> float:
        if isinstance(self.held, complex) and self.held.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return float(self.held.real)

    def __index__(self) -> int:
        return int(self.held.real)


@pytest.mark.parametrize(
    "scalar", [_Foreign("bool", True), _Foreign("complex128", 1j), _Foreign("complex64", 1 + 0j)]
)
def test_scalars_of_other_libraries_that_are_no_doubles(scalar: _Foreign) -> None:
    """A bool was taken as 1.0, a complex number raised its own error, or lost its imaginary zero in silence."""
    for call in (
        lambda: core.activation(core.Sigmoid, scalar),  # type: ignore[call-overload]
        lambda: core.softmax([1.0, scalar]),  # type: ignore[call-overload]
        lambda: tensor.full([1], scalar),  # type: ignore[arg-type]
        lambda: autodiff.constant(scalar),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeMismatch, match=r"required (Double|Expr)"):
            call()
    assert core.activation(core.ReLU, _Foreign("float64", 2.0)) == 2.0  # type: ignore[call-overload]


def test_bools_of_other_libraries_are_no_integers() -> None:
    scalar: Any = _Foreign("bool", True)
    for call in (
        lambda: layers.causal_mask(scalar, 1, 0),
        lambda: tensor.zeros([scalar]),
        lambda: tensor.zeros([2])[scalar],
    ):
        with pytest.raises(TypeMismatch):
            call()


def test_a_signalling_nan_is_a_nan() -> None:
    """``float`` refuses it with a ValueError of its own."""
    number = decimal.Decimal("sNaN")
    for call in (lambda: core.activation(core.Sigmoid, number), lambda: core.softmax([1.0, number])):  # type: ignore[call-overload]
        with pytest.raises(hmath.NonFinite):
            call()
    assert math.isnan(tensor.tensor([1], [number])[0])  # type: ignore[list-item]


class _Boastful(list[Any]):
    """A list that says it is longer than it is."""

    def __len__(self) -> int:
        return 1000


def test_a_list_is_as_long_as_its_elements() -> None:
    one = _Boastful([1.0])
    assert core.softmax(one) == [1.0]
    assert core.loss(core.MeanSquaredError, core.Sum, one, [3.0]) == 4.0
    assert layers.embedding(np.array([[5.0]]), _Boastful([0])).tolist() == [[5.0]]
    assert metrics.roc_auc(_Boastful([True, False]), [0.75, 0.25]) == 1.0
    assert metrics.top_k_accuracy(1, [0], _Boastful([[1.0, 0.5]])) == 1.0
    assert metrics.top_k_accuracy(1, [0], [_Boastful([1.0, 0.5])]) == 1.0


class _Misleading(np.ndarray[Any, Any]):
    """An array whose class says that it is longer, of another type and in order in memory."""

    shape = property(lambda self: (1000,))  # type: ignore[assignment]
    size = property(lambda self: 1000)  # type: ignore[assignment]
    ndim = property(lambda self: 1)  # type: ignore[assignment]
    dtype = property(lambda self: np.dtype("float64"))  # type: ignore[assignment]

    def __len__(self) -> int:
        return 1000


def _misleading(x: Any) -> Any:
    return np.array(x).view(_Misleading)


def test_an_array_is_what_its_memory_holds() -> None:
    """The shape, length and type that a class tells were believed, and memory beyond the array was read."""
    numbers = _misleading([1.0, 3.0])
    assert tensor.from_numpy(numbers).values == [1.0, 3.0]
    assert tensor.tensor([2], numbers).values == [1.0, 3.0]
    assert np.asarray(tensor.square(numbers)).tolist() == [1.0, 9.0]
    assert np.asarray(core.softmax(numbers)).tolist() == core.softmax([1.0, 3.0])
    assert np.asarray(layers.layer_norm(1, 1e-5, numbers)).shape == (2,)
    assert autodiff.constant(numbers).shape == (2,)
    assert metrics.confusion_matrix(2, _misleading([0, 1]), [0, 1]) == [[1, 0], [0, 1]]
    assert metrics.roc_auc(_misleading([True, False]), [0.75, 0.25]) == 1.0
    assert metrics.top_k_accuracy(1, [0], _misleading([[1.0, 0.5]])) == 1.0
    floats = np.array([1.0, 2.0], np.float32).view(_Misleading)
    assert tensor.tensor_float([2], floats).values == [1.0, 2.0]
    for wrong in (floats, _misleading([1, 2])):
        with pytest.raises(TypeMismatch):
            core.softmax(wrong)


def test_arrays_of_the_array_module_are_what_their_memory_holds() -> None:
    class Misleading(array):  # type: ignore[type-arg]
        typecode = property(lambda self: "f")  # type: ignore[assignment]

        def __len__(self) -> int:
            return 1000

    assert list(core.softmax(Misleading("d", [1.0, 1.0]))) == [0.5, 0.5]
    assert tensor.tensor_float([2], Misleading("d", [1.0, 2.0])).values == [1.0, 2.0]
    with pytest.raises(TypeMismatch):
        metrics.confusion_matrix(2, Misleading("d", [0.0]), [0])


def test_shapes_rows_and_masks_are_as_long_as_their_elements() -> None:
    class Pair(tuple[Any, ...]):
        def __len__(self) -> int:
            return 1000

    assert core.softmax(Pair([1.0, 1.0])) == [0.5, 0.5]
    for kind in (_Boastful, Pair):
        assert tensor.tensor(kind([2]), kind([1.0, 2.0])).values == [1.0, 2.0]
        assert tensor.zeros(kind([2])).shape == (2,)
        assert autodiff.variable("x", kind([2])).shape == (2,)
        assert layers.embedding(np.array([[5.0], [7.0]]), kind([1])).tolist() == [[7.0]]
        mask, row = kind([kind([True])]), np.array([[1.0]])
        assert layers.multihead_attention(1, row, row, row, mask).tolist() == [[1.0]]


def test_what_only_says_it_is_an_array_is_none() -> None:
    class Pretender:
        __class__ = np.ndarray  # type: ignore[assignment]

    for call in (core.softmax, tensor.square, tensor.from_numpy):
        with pytest.raises(TypeMismatch):
            call(Pretender())  # type: ignore[operator]


def test_memory_between_two_numbers_is_copied() -> None:
    """It was refused, as a ValueError of the function that lends memory."""
    memory = bytearray(8 * 6 + 1)

    def numbers(dtype: str) -> Any:
        array = np.frombuffer(memory, dtype, offset=1, count=48 // np.dtype(dtype).itemsize)
        array[:] = range(len(array))
        return array

    expected = [float(i) for i in range(6)]
    doubles = numbers("f8")
    assert not doubles.flags.aligned
    assert tensor.from_numpy(doubles).values == tensor.tensor([6], doubles).values == expected
    assert np.asarray(tensor.square(doubles)).tolist() == [x * x for x in expected]
    assert np.asarray(core.softmax(doubles)).tolist() == core.softmax(expected)
    assert tensor.from_dlpack(doubles[::-1]).values == expected[::-1]
    assert tensor.from_dlpack(doubles).values == expected
    view = memoryview(memory)[1:].cast("d")
    assert core.softmax(view) == core.softmax(expected)  # type: ignore[comparison-overlap]
    assert tensor.tensor([6], view).values == expected
    assert tensor.tensor_float([12], numbers("f4")).values == [float(i) for i in range(12)]
    identity = [[int(i == j) for j in range(6)] for i in range(6)]
    assert metrics.confusion_matrix(6, numbers("i8"), list(range(6))) == identity
