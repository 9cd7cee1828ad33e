"""hmath.tensor against NumPy, and everything it refuses."""

from __future__ import annotations

import contextlib
import copy
import math
import pickle
import sys
import threading
from array import array
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hmath
from hmath import tensor
from hmath.tensor import Tensor, TensorDouble, TensorFloat

INF, NAN = math.inf, math.nan


def of(numbers: np.ndarray) -> TensorDouble:
    """A tensor of the same shape and elements."""
    made = tensor.from_numpy(np.asarray(numbers, dtype=np.float64))
    assert isinstance(made, TensorDouble)
    return made


def same(got: Tensor, expected: np.ndarray) -> None:
    """Equal in shape and bits: moving data changes none."""
    array_of = got.numpy()
    assert array_of.shape == expected.shape
    assert array_of.tobytes() == np.ascontiguousarray(expected).tobytes()


# ---------------------------------------------------------------- making and reading


def test_the_reference_s_way() -> None:
    with tensor.tensor([1, 2], [1, 2]) as made:
        assert made.shape == (1, 2)
        assert made.values == [1.0, 2.0]
        assert made.kind == 161
        assert type(made) is TensorDouble and isinstance(made, Tensor)
    assert made.closed


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        (1, 2, 3, 4, 5, 6),
        range(1, 7),
        array("d", [1, 2, 3, 4, 5, 6]),
        np.arange(1.0, 7.0),
        np.arange(1.0, 7.0).reshape(3, 2),
        [np.float64(1), 2, 3.0, 4, 5, 6],
    ],
)
def test_values_of_every_container(values: Any) -> None:
    same(tensor.tensor([2, 3], values), np.arange(1.0, 7.0).reshape(2, 3))


@pytest.mark.parametrize("shape", [[2, 3], (2, 3), np.array([2, 3]), array("q", [2, 3])])
def test_shapes_of_every_container(shape: Any) -> None:
    assert tensor.zeros(shape).shape == (2, 3)


def test_any_number_is_carried() -> None:
    values = [INF, -INF, NAN, -0.0, 5e-324, 1.7976931348623157e308]
    same(tensor.tensor([6], values), np.array(values))
    same(tensor.full([2], NAN), np.array([NAN, NAN]))


@pytest.mark.parametrize("shape", [[], [0], [2, 0, 3], [1] * 8, [3]])
def test_ranks_and_empty_axes(shape: list[int]) -> None:
    made = tensor.zeros(shape)
    assert made.shape == tuple(shape)
    assert made.rank == made.ndim == len(shape)
    assert made.size == math.prod(shape)
    same(made, np.zeros(shape))
    assert made.tolist() == np.zeros(shape).tolist()
    assert np.asarray(made).shape == tuple(shape)
    assert pickle.loads(pickle.dumps(made)).identical(made)


def test_float_tensors() -> None:
    made = tensor.tensor_float([3], [0.1, INF, -0.0])
    assert type(made) is TensorFloat and made.kind == 162
    same(made, np.array([0.1, INF, -0.0], np.float32))
    same(tensor.tensor_float([2], np.array([1.5, 2.5], np.float32)), np.array([1.5, 2.5], np.float32))
    same(tensor.tensor_float([1], array("f", [2.5])), np.array([2.5], np.float32))


@given(st.lists(st.floats(width=64), max_size=20))
def test_float_tensors_round_once(values: list[float]) -> None:
    """NumPy's conversion rounds to nearest, ties to even; only its silent overflow is a failure here."""
    with np.errstate(over="ignore"):
        expected = np.array(values, np.float64).astype(np.float32)
    if np.any(np.isinf(expected) & np.isfinite(values)):
        with pytest.raises(hmath.Overflow):
            tensor.tensor_float([len(values)], values)
    else:
        got = tensor.tensor_float([len(values)], values).numpy()
        assert np.array_equal(got, expected, equal_nan=True)


def test_promote_and_demote() -> None:
    floats = np.array([[0.1, 2.5], [1e-45, -0.0]], np.float32)
    double = tensor.promote(tensor.from_numpy(floats))
    same(double, floats.astype(np.float64))
    same(tensor.demote(double), floats)
    with pytest.raises(hmath.Overflow):
        tensor.demote(tensor.full([1], 1e300))
    with pytest.raises(hmath.NonFinite):
        tensor.demote(tensor.full([1], NAN))
    with pytest.raises(hmath.TypeMismatch):
        tensor.promote(double)  # type: ignore[arg-type]


def test_item_and_float() -> None:
    assert tensor.full([1, 1], 2.5).item() == 2.5
    assert float(tensor.full([], 2.5)) == 2.5
    with pytest.raises(hmath.DimensionMismatch):
        tensor.zeros([2]).item()
    with pytest.raises(TypeError):
        float(tensor.zeros([1]))
    assert bool(tensor.full([1], 3.0)) and not bool(tensor.zeros([]))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tensor.zeros([2]))


def test_a_tensor_of_rank_0_is_a_number() -> None:
    same(tensor.full([2], tensor.full([], 2.5)), np.array([2.5, 2.5]))  # type: ignore[arg-type]
    with pytest.raises(hmath.TypeMismatch):
        tensor.full([2], tensor.full([1], 2.5))  # type: ignore[arg-type]


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("make", "error", "argument", "index"),
    [
        (lambda: tensor.tensor([2], [1.0]), hmath.DimensionMismatch, "values", None),
        (lambda: tensor.tensor([2, 2], [1.0] * 3), hmath.DimensionMismatch, "values", None),
        (lambda: tensor.tensor([], []), hmath.DimensionMismatch, "values", None),
        (lambda: tensor.tensor([2**40, 2**40], []), hmath.DimensionMismatch, "values", None),
        (lambda: tensor.tensor([-1], []), hmath.DomainError, "shape", 0),
        (lambda: tensor.tensor([2, -3], [1.0]), hmath.DomainError, "shape", 1),
        (lambda: tensor.zeros([1] * 9), hmath.DimensionMismatch, "shape", None),
        (lambda: tensor.tensor(2, [1.0, 2.0]), hmath.TypeMismatch, "shape", None),
        (lambda: tensor.tensor([2.0], [1.0, 2.0]), hmath.TypeMismatch, "shape", 0),
        (lambda: tensor.tensor([True], [1.0]), hmath.TypeMismatch, "shape", 0),
        (lambda: tensor.tensor("2", [1.0]), hmath.TypeMismatch, "shape", None),
        (lambda: tensor.tensor([2], [1.0, "x"]), hmath.TypeMismatch, "values", 1),
        (lambda: tensor.tensor([2], np.ones(2, np.float32)), hmath.TypeMismatch, "values", None),
        (lambda: tensor.tensor([2], [[1.0], [2.0]]), hmath.TypeMismatch, "values", 0),
        (lambda: tensor.full([2], "x"), hmath.TypeMismatch, "value", None),
        (lambda: tensor.from_numpy([1.0]), hmath.TypeMismatch, "array", None),
        (lambda: tensor.from_numpy(np.ones(2, int)), hmath.TypeMismatch, "array", None),
        (lambda: tensor.zeros([2]).reshape(3), hmath.DimensionMismatch, "shape", None),
        (lambda: tensor.zeros([2]).reshape(-1, -1), hmath.DomainError, "shape", 0),
        (lambda: tensor.zeros([2, 3]).transpose(0, 0), hmath.DomainError, "axes", 1),
        (lambda: tensor.zeros([2, 3]).transpose(0, 2), hmath.IndexOutOfBounds, "axes", 1),
        (lambda: tensor.zeros([2, 3]).transpose(0), hmath.DimensionMismatch, "axes", None),
        (lambda: tensor.concatenate([]), hmath.EmptyInput, "tensors", None),
        (
            lambda: tensor.concatenate([tensor.zeros([2]), tensor.zeros([2, 2])]),
            hmath.DimensionMismatch,
            "tensors",
            None,
        ),
        (
            lambda: tensor.stack([tensor.zeros([2]), tensor.zeros([3])]),
            hmath.DimensionMismatch,
            "tensors",
            None,
        ),
        (lambda: tensor.concatenate([tensor.zeros([2])], 1), hmath.IndexOutOfBounds, "axis", None),
        (lambda: tensor.concatenate([tensor.zeros([2]), 3]), hmath.TypeMismatch, "tensors", None),
        (lambda: tensor.zeros([2]).broadcast_to([3]), hmath.DimensionMismatch, None, None),
        (lambda: tensor.zeros([2])[2], hmath.IndexOutOfBounds, "index", 0),
        (lambda: tensor.zeros([2])[-3], hmath.IndexOutOfBounds, "index", 0),
        (lambda: tensor.zeros([2, 3])[0, 3], hmath.IndexOutOfBounds, "index", 1),
        (lambda: tensor.zeros([2])[0, 0], hmath.DimensionMismatch, "index", None),
        (lambda: tensor.zeros([2])[1.0], hmath.TypeMismatch, "index", 0),
        (lambda: tensor.zeros([2])[True], hmath.TypeMismatch, "index", 0),
        (lambda: tensor.zeros([2])[[0, 1]], hmath.TypeMismatch, "index", 0),
        (lambda: tensor.zeros([2]).identical([0.0]), hmath.TypeMismatch, "other", None),
    ],
)
def test_refused(
    make: Any, error: type[hmath.HMathError], argument: str | None, index: int | None, no_leak: None
) -> None:
    with pytest.raises(error) as caught:
        make()
    found = caught.value.math_error
    assert found.constructor == error.__name__
    if argument is not None:
        assert (found.argument, found.index) == (argument, index)
        assert argument in str(caught.value)
    assert found.operation.startswith("tensor.")


def test_memory_that_cannot_be_had() -> None:
    with pytest.raises(MemoryError):
        tensor.zeros([2**50])
    with pytest.raises(MemoryError):
        tensor.zeros([2**40, 2**40])


def test_index_error_names_what_stood_there() -> None:
    with pytest.raises(IndexError, match=r"index\[1\] = -4 .* >= -3 and < 3") as caught:
        tensor.zeros([2, 3])[0, -4]
    error = caught.value.math_error  # type: ignore[attr-defined]
    assert (error.value, error.bound) == (-4, 3)


# ---------------------------------------------------------------- movement

SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=4)


@st.composite
def arrays(draw: Any) -> np.ndarray:
    shape = draw(SHAPES)
    return np.arange(float(math.prod(shape))).reshape(shape)


@given(arrays(), st.data())
def test_indexing_is_numpy_s(numbers: np.ndarray, data: Any) -> None:
    parts: list[Any] = []
    for extent in numbers.shape[: data.draw(st.integers(0, numbers.ndim))]:
        choices = [st.slices(extent)] + ([st.integers(-extent, extent - 1)] if extent else [])
        parts.append(data.draw(st.one_of(choices)))
    if data.draw(st.booleans()):
        parts.insert(data.draw(st.integers(0, len(parts))), Ellipsis)
        # What follows the dots belongs to the last axes, whose extents differ from those drawn for.
        try:
            expected = numbers[tuple(parts)]
        except IndexError:
            with pytest.raises(IndexError):
                of(numbers)[tuple(parts)]
            return
    else:
        expected = numbers[tuple(parts)]
    got = of(numbers)[tuple(parts)]
    if isinstance(got, float):
        assert got == expected
    else:
        same(got, np.asarray(expected))


@given(arrays(), st.randoms())
def test_transpose_and_reshape_are_numpy_s(numbers: np.ndarray, random: Any) -> None:
    axes = list(range(numbers.ndim))
    random.shuffle(axes)
    made = of(numbers)
    same(made.transpose(*axes), numbers.transpose(axes))
    same(made.transpose([axis - numbers.ndim for axis in axes]), numbers.transpose(axes))
    same(made.T, numbers.T)
    same(made.reshape(-1) if numbers.size else made, numbers.reshape(-1) if numbers.size else numbers)
    same(made.reshape([*numbers.shape, 1]), numbers.reshape([*numbers.shape, 1]))


@given(arrays(), st.integers(1, 3), st.data())
def test_joining_is_numpy_s(numbers: np.ndarray, count: int, data: Any) -> None:
    axis = data.draw(st.integers(-numbers.ndim, numbers.ndim - 1))
    same(tensor.concatenate([of(numbers)] * count, axis), np.concatenate([numbers] * count, axis))
    axis = data.draw(st.integers(-numbers.ndim - 1, numbers.ndim))
    same(tensor.stack([of(numbers)] * count, axis), np.stack([numbers] * count, axis))


def test_broadcast_to() -> None:
    numbers = np.arange(3.0).reshape(3, 1)
    same(tensor.broadcast_to(of(numbers), [2, 3, 4]), np.broadcast_to(numbers, [2, 3, 4]))


def test_movement_keeps_the_kind() -> None:
    floats = tensor.tensor_float([2, 2], [1, 2, 3, 4])
    for moved in (floats.T, floats.reshape(4), floats[0], floats[:, ::-1], tensor.stack([floats]), +floats):
        assert type(moved) is TensorFloat


def test_iteration() -> None:
    made = of(np.arange(6.0).reshape(2, 3))
    assert len(made) == 2
    assert [row.values for row in made] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert list(made[0]) == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError):
        len(tensor.zeros([]))


# ---------------------------------------------------------------- other libraries


def test_numpy_shares_and_cannot_write(no_leak: None) -> None:
    made = of(np.arange(3.0))
    view = made.numpy()
    assert not view.flags.writeable
    made.close()
    assert view.tolist() == [0.0, 1.0, 2.0]  # the array keeps the memory


def test_array_protocol() -> None:
    made = of(np.arange(3.0))
    assert np.asarray(made).dtype == np.float64
    assert np.array(made, copy=True).flags.writeable
    assert np.asarray(made, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError):
        made.__array__(np.float32, copy=False)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="buffers made in Python came with 3.12")
def test_buffer_protocol() -> None:
    view = memoryview(of(np.arange(6.0).reshape(2, 3)))  # type: ignore[arg-type]
    assert view.readonly and view.format == "d" and view.shape == (2, 3)
    assert view[1, 2] == 5.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 1, 4)])
def test_dlpack_round_trip(dtype: Any, shape: tuple[int, ...], no_leak: None) -> None:
    numbers = np.arange(float(math.prod(shape))).reshape(shape).astype(dtype)
    taken = tensor.from_dlpack(numbers)
    same(taken, numbers)
    same(tensor.from_dlpack(taken), numbers)
    back = np.from_dlpack(taken)
    assert np.array_equal(back, numbers)
    del taken, back


def test_dlpack_shares_what_is_in_order_and_copies_what_is_not() -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    shared = tensor.from_dlpack(numbers)
    assert shared.numpy().__array_interface__["data"][0] == numbers.__array_interface__["data"][0]
    copied = tensor.from_dlpack(numbers.T)
    same(copied, numbers.T)


def test_dlpack_keeps_the_lender_alive() -> None:
    taken = tensor.from_dlpack(np.arange(4.0))
    assert taken.values == [0.0, 1.0, 2.0, 3.0]


def test_dlpack_capsules() -> None:
    made = of(np.arange(3.0))
    assert made.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(made.__dlpack__(max_version=(1, 0)))
    assert "dltensor_versioned" not in repr(made.__dlpack__())  # a copy, which nobody takes
    for wrong in ({"stream": 1}, {"dl_device": (2, 0)}, {"copy": False}):
        with pytest.raises(BufferError):
            made.__dlpack__(**wrong)
    with pytest.raises(hmath.TypeMismatch):
        tensor.from_dlpack([1.0])
    with pytest.raises(hmath.TypeMismatch):
        tensor.from_dlpack(np.arange(3))


def test_dlpack_capsule_is_taken_once() -> None:
    capsule = of(np.arange(3.0)).__dlpack__(max_version=(1, 0))

    class Lender:
        def __dlpack__(self, **_: Any) -> Any:
            return capsule

    assert tensor.from_dlpack(Lender()).values == [0.0, 1.0, 2.0]
    with pytest.raises(hmath.TypeMismatch, match="capsule"):
        tensor.from_dlpack(Lender())


def test_a_dlpack_capsule_that_was_refused_is_still_its_own() -> None:
    """It was marked as taken only afterwards; what is refused has to be as it was."""
    capsule = np.arange(3).__dlpack__()

    class Lender:
        def __dlpack__(self, **_: Any) -> Any:
            return capsule

    for _ in range(2):
        with pytest.raises(hmath.TypeMismatch, match="source is a tensor of other elements"):
            tensor.from_dlpack(Lender())
    assert "used" not in repr(capsule)


def test_of_several_threads_one_takes_a_dlpack_capsule(no_leak: None) -> None:
    """Its structure was freed by each thread that had read its address before another one marked it."""
    for _ in range(100):
        capsule, start, taken = of(np.arange(3.0)).__dlpack__(max_version=(1, 0)), threading.Barrier(4), []

        class Lender:
            def __dlpack__(self, capsule: Any = capsule, start: threading.Barrier = start, **_: Any) -> Any:
                start.wait()
                return capsule

        def take(lender: Lender, taken: list[Any]) -> None:
            with contextlib.suppress(hmath.TypeMismatch):
                taken.append(tensor.from_dlpack(lender).values)

        threads = [threading.Thread(target=take, args=(Lender(), taken)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert taken == [[0.0, 1.0, 2.0]]


# ---------------------------------------------------------------- owners


def test_close_and_use_after_it(no_leak: None) -> None:
    made = tensor.zeros([2])
    made.close()
    made.close()
    assert made.closed and repr(made) == "<closed TensorDouble>"
    for use in (
        lambda: made.shape,
        lambda: made.values,
        lambda: made[0],
        lambda: made.numpy(),
        lambda: made.T,
        lambda: copy.copy(made),
        lambda: pickle.dumps(made),
        lambda: tensor.demote(made),
        lambda: tensor.concatenate([made]),
        made.__enter__,
    ):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_copies_close_on_their_own(no_leak: None) -> None:
    made = tensor.full([2], 1.5)
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.identical(made)
        other.close()
    assert made.values == [1.5, 1.5]


def test_the_class_makes_nothing() -> None:
    with pytest.raises(TypeError, match="functions"):
        TensorDouble([2])


def test_repr() -> None:
    assert repr(tensor.tensor([1, 2], [1, 2.5])) == "tensor([1, 2], [1.0, 2.5])"
    assert repr(tensor.tensor_float([1], [1])) == "tensor_float([1], [1.0])"
    large = repr(tensor.zeros([100, 100]))
    assert large.startswith("<TensorDouble [100, 100]: 0.0, ") and len(large) < 200


def test_close_while_another_thread_uses_it() -> None:
    """The handle lives as long as a call does: closing only lets go of the reference."""
    for _ in range(50):
        shared = tensor.zeros([64])
        done: list[BaseException] = []

        def read(shared: Tensor = shared, done: list[BaseException] = done) -> None:
            try:
                while True:
                    assert shared.reshape(8, 8).shape == (8, 8)
            except ValueError as closed:
                done.append(closed)

        thread = threading.Thread(target=read)
        thread.start()
        shared.close()
        thread.join()
        assert "closed" in str(done[0])


# ---------------------------------------------------------------- arithmetic


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
LEFT = np.array([[1.0, -2.0, 3.5], [0.5, 4.0, -0.25]])
RIGHT = np.array([2.0, -2.0, 0.125])


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_numpy_s(name: str) -> None:
    """One rounding each, so that the bits are IEEE's and NumPy's."""
    apply = OPERATORS[name]
    expected = apply(LEFT, RIGHT).astype(np.float64)
    same(apply(of(LEFT), of(RIGHT)), expected)
    same(apply(of(LEFT), RIGHT), expected)
    same(apply(LEFT, of(RIGHT)), expected)
    same(apply(of(LEFT), 2.0), apply(LEFT, 2.0).astype(np.float64))
    same(apply(2, of(LEFT)), apply(2, LEFT).astype(np.float64))


def test_unary_and_power() -> None:
    same(-of(LEFT), -LEFT)
    same(abs(of(LEFT)), abs(LEFT))
    same(of(LEFT) ** 2, LEFT**2)  # a square is exact to one rounding
    same(2 ** of(np.array([1.0, -3.0])), np.array([2.0, 0.125]))


@pytest.mark.parametrize(
    ("left", "right"),
    [((3,), (3,)), ((2, 3), (3, 4)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 0), (0, 3))],
)
def test_matmul_of_small_integers_is_exact(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a = np.arange(float(math.prod(left))).reshape(left)
    b = np.arange(float(math.prod(right))).reshape(right)
    expected = np.asarray(a @ b)
    for got in (of(a) @ of(b), of(a) @ b, a @ of(b), tensor.matmul(a, b)):
        same(got, expected)


def test_operands_that_are_none() -> None:
    made = of(LEFT)
    for other in ([1.0], "a", None, True):
        with pytest.raises(TypeError):
            made + other  # type: ignore[operator]
        with pytest.raises(TypeError):
            other @ made  # type: ignore[operator]
        assert made != other and not made == other
    for other in (np.ones(3, np.float32), np.ones(3, int), tensor.tensor_float([3], [1, 1, 1])):
        with pytest.raises(hmath.TypeMismatch):
            made * other


@pytest.mark.parametrize(
    ("make", "error", "argument", "index"),
    [
        (lambda: of(LEFT) + INF, hmath.NonFinite, "right", 0),
        (lambda: tensor.tensor([2], [1.0, NAN]) * 2, hmath.NonFinite, "left", 1),
        (lambda: of(LEFT) / 0, hmath.DomainError, "right", 0),
        (lambda: tensor.full([1], 1e308) * 10, hmath.Overflow, None, None),
        (lambda: of(LEFT) + of(np.ones(2)), hmath.DimensionMismatch, "right", None),
        (lambda: of(LEFT) @ of(LEFT), hmath.DimensionMismatch, "right", None),
        (lambda: of(LEFT).sum(2), hmath.IndexOutOfBounds, "axis", 0),
        (lambda: of(LEFT).sum([0, 0]), hmath.DomainError, "axis", 1),
        (lambda: of(LEFT).var_mean(2), hmath.IndexOutOfBounds, "axis", 0),
        (lambda: of(LEFT).var_mean(0, -1), hmath.DomainError, "correction", None),
        (lambda: of(LEFT).var_mean(0, LEFT.shape[0]), hmath.DomainError, "correction", None),
        (lambda: of(LEFT).var_mean(0, 1.0), hmath.TypeMismatch, "correction", None),
        (lambda: of(np.empty((0, 3))).var_mean(0), hmath.EmptyInput, "input", None),
        (lambda: of(np.array([1.0, np.nan])).var_mean(), hmath.NonFinite, "input", 1),
        (lambda: of(np.array([-1.7e308, 1.7e308])).var_mean(), hmath.Overflow, None, None),
        (lambda: of(LEFT).sum([0.0]), hmath.TypeMismatch, "axis", 0),
        (lambda: tensor.zeros([0]).mean(), hmath.EmptyInput, "input", None),
        (lambda: tensor.zeros([2, 0]).max(1), hmath.EmptyInput, "input", None),
        (lambda: tensor.log(of(LEFT)), hmath.DomainError, "input", 1),
        (lambda: tensor.exp(of(LEFT) * 1000), hmath.Overflow, None, None),
        (lambda: tensor.exp([1.0]), hmath.TypeMismatch, "input", None),
        (lambda: tensor.exp(1.0), hmath.TypeMismatch, "input", None),
    ],
)
def test_arithmetic_refuses(
    make: Any, error: type[hmath.HMathError], argument: str | None, index: int | None
) -> None:
    with pytest.raises(error) as caught:
        make()
    found = caught.value.math_error
    assert (found.argument, found.index) == (argument, index)


@given(arrays(), st.data())
def test_reductions_of_small_integers_are_exact(numbers: np.ndarray, data: Any) -> None:
    axis = data.draw(
        st.one_of(
            st.none(),
            st.integers(-numbers.ndim, numbers.ndim - 1),
            st.lists(st.integers(0, numbers.ndim - 1), unique=True).map(tuple),
        )
    )
    keep = data.draw(st.booleans())
    made = of(numbers)
    same(made.sum(axis, keep), np.asarray(numbers.sum(axis=axis, keepdims=keep)))
    if numbers.size:
        same(made.max(axis, keep), np.asarray(numbers.max(axis=axis, keepdims=keep)))
        same(made.min(axis, keep), np.asarray(numbers.min(axis=axis, keepdims=keep)))
        # Sums and counts this small are exact, so that the quotient has one rounding.
        same(made.mean(axis, keep), np.asarray(numbers.mean(axis=axis, keepdims=keep)))
        last = data.draw(st.integers(-numbers.ndim, numbers.ndim - 1))
        assert made.argmax(last) == numbers.argmax(last).reshape(-1).tolist()


# Documented errors in units in the last place.
FUNCTIONS = {
    "absolute": 0.0,
    "sign": 0.0,
    "square": 0.5,
    "reciprocal": 0.5,
    "sqrt": 0.5,
    "exp": 1.0,
    "expm1": 1.5,
    "log": 1.0,
    "log1p": 1.0,
    "sin": 1.0,
    "cos": 1.0,
    "tan": 2.0,
    "tanh": 1.5,
    "sigmoid": 1.0,
    "log_sigmoid": 4.0,
    "softplus": 4.0,
    "erf": 1.0,
    "erfc": 1.5,
}


@pytest.mark.parametrize(("name", "ulp"), FUNCTIONS.items())
def test_functions(name: str, ulp: float) -> None:
    """Against mpmath at 60 digits, whose error is nothing beside a unit in the last place."""
    exact_of = {
        "absolute": abs,
        "square": lambda x: x * x,
        "reciprocal": lambda x: 1 / x,
        "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
        "log_sigmoid": lambda x: -mpmath.log1p(mpmath.exp(-x)),
        "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    }
    numbers = np.linspace(0.01, 3.0, 50).reshape(5, 10)
    function = getattr(tensor, name)
    got = function(of(numbers))
    assert isinstance(got, TensorDouble) and got.shape == (5, 10)
    with mpmath.workdps(60):
        for x, y in zip(numbers.reshape(-1).tolist(), got.values, strict=True):
            exact = exact_of.get(name, getattr(mpmath, name, None))(mpmath.mpf(x))
            assert abs(y - exact) <= ulp * math.ulp(float(exact)), x
    as_array = function(numbers)
    assert isinstance(as_array, np.ndarray) and as_array.flags.writeable
    assert np.array_equal(as_array, got.numpy())


def test_maximum_and_minimum() -> None:
    same(tensor.maximum(of(LEFT), 0.5), np.maximum(LEFT, 0.5))
    same(tensor.minimum(LEFT, of(RIGHT)), np.minimum(LEFT, RIGHT))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 2), (2, 0), (0, 1, 2), ()], ids=repr)
@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("keep", [False, True])
def test_var_mean(axis, correction, keep):
    numbers = np.random.default_rng(4).standard_normal((7, 5, 33)) + 1e8
    if axis == () and correction:
        with pytest.raises(hmath.DomainError):
            of(numbers).var_mean(axis, correction)
        return
    variance, mean = of(numbers).var_mean(axis, correction, keep)
    wanted = numbers.astype(np.longdouble)
    # In the longer format NumPy's two-pass variance is right to all digits of a double. The mean of the
    # data, 1e8, is held to 2^-26 of the deviation; what its error adds to the variance is its square.
    assert mean.numpy() == pytest.approx(np.mean(wanted, axis, keepdims=keep).astype(float), rel=4e-16)
    assert variance.numpy() == pytest.approx(
        np.var(wanted, axis, ddof=correction, keepdims=keep).astype(float), rel=1e-13, abs=1e-30
    )
    assert variance.shape == mean.shape == np.var(numbers, axis, keepdims=keep).shape


def test_var_mean_of_nothing_kept():
    variance, mean = of(np.empty((0, 3))).var_mean(1)
    assert variance.shape == mean.shape == (0,)


@pytest.mark.usefixtures("no_leak")
def test_numbers_on_either_side_and_their_failures() -> None:
    """Operators take a short way first; what it cannot do is told as by the long one."""
    made = of(LEFT)
    for number in (2.0, 2, np.float64(2.0), np.float32(2.0), np.int64(2), np.array(2.0), True):
        if number is True:
            with pytest.raises(TypeError):
                made + number
            continue
        same(made - number, LEFT - 2.0)
        same(number - made, 2.0 - LEFT)
    with pytest.raises(hmath.NonFinite) as caught:
        made + float("inf")
    assert caught.value.math_error.argument == "right"
    with pytest.raises(hmath.NonFinite) as caught:
        float("nan") * made
    assert caught.value.math_error.argument == "left"
    with pytest.raises(hmath.DomainError):
        made / 0.0
    with pytest.raises(OverflowError):
        made * 10**400
    with pytest.raises(hmath.TypeMismatch):
        made * np.True_
    with pytest.raises(hmath.TypeMismatch):
        made * np.ones(3, np.float32)
    closed = of(LEFT)
    closed.close()
    for act in (lambda: closed + made, lambda: made @ closed, lambda: closed * 2.0, lambda: -closed):
        with pytest.raises(ValueError, match="closed"):
            act()
    made.close()


def test_reshape_and_reductions_by_the_short_way_and_the_long_one() -> None:
    made = of(np.arange(24.0).reshape(2, 3, 4))
    for shape in [(24,), (4, 6), (-1,), (2, -1, 2), (1, 24, 1, -1)]:
        expected = np.arange(24.0).reshape(shape)
        same(made.reshape(*shape), expected)
        same(made.reshape(shape), expected)
        same(made.reshape(*map(np.int64, shape)), expected)
    for shape in [(5, -1), (-1, -1), (25,), (0, -1), (10**30,), (-(2**70),), ()]:
        with pytest.raises((hmath.HMathError, OverflowError)):
            made.reshape(*shape)
    empty = tensor.zeros([0, 3])
    assert empty.reshape(3, 0).shape == (3, 0)
    with pytest.raises(hmath.HMathError):
        empty.reshape(-1, 0)
    for axis in [0, 2, -1, -3, np.int64(1), (0,), None]:
        same(made.sum(axis), np.asarray(np.arange(24.0).reshape(2, 3, 4).sum(axis)))
    for axis in [3, -4, 10**30]:
        with pytest.raises((hmath.IndexOutOfBounds, OverflowError)):
            made.max(axis)
    floats = made.reshape(24)
    floats = tensor.demote(floats)
    with pytest.raises(hmath.TypeMismatch):
        floats.sum()


def test_none_is_no_list_of_values() -> None:
    """It stood for zeros between this function and its short way."""
    for shape in ([2], (2,), [], np.array([2])):
        with pytest.raises(hmath.TypeMismatch, match=r"tensor\.tensor: values is a NoneType"):
            tensor.tensor(shape, None)  # type: ignore[arg-type]
