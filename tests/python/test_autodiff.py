"""Graphs from Python: values, derivatives at their kinks, programs, callbacks, duals and every failure."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import subprocess
import sys
import threading
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hmath
from hmath import autodiff as ad
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_precision as precision
from hmath import errors, optim, tensor
from hmath._hmath import lib
from hmath.autodiff import _custom


@pytest.fixture(autouse=True)
def nothing_leaks() -> Iterator[None]:
    gc.collect()
    alive = lib.hmath_live_values()
    yield
    gc.collect()
    assert lib.hmath_live_values() <= alive


def slope(build: Any, at: float) -> float:
    x = ad.variable("x")
    return float(ad.value_and_gradient(build(x), {x: at})[1][0])


def test_reference_example() -> None:
    x, y = ad.variable("x"), ad.variable("y")
    z = ad.sin(x) * y + x**2
    assert ad.value_and_gradient(z, {x: 0.0, y: 3.0}, [x, y]) == (0.0, [3.0, 0.0])
    assert repr(z) == "<Expr: sin(x) * y + square(x)>"
    assert "digraph" in z.to_dot()
    assert z._repr_svg_().startswith("<svg")


def test_operations_without_inputs_are_written_as_such() -> None:
    """They have no inputs, as variables have none, and no name either."""
    assert repr(ad.norm([])) == "<Expr: norm()>"
    assert repr(ad.custom([], lambda v: 1.0, lambda v, u: [])) == "<Expr: custom()>"
    assert repr(core.ctc_loss_expr(0, [], [])) == "<Expr: ctc_loss(stack())>"
    assert "norm" in ad.norm([]).to_dot()


def test_a_derivative_that_lost_its_variable_takes_it_all_the_same() -> None:
    """Newton's method on a quadratic: the second derivative is a constant."""
    x = ad.variable("x")
    f = 3 * x**2 - 12 * x
    slope = ad.gradient(f, x)
    curvature = ad.gradient(slope, x)
    at = {x: 5.0}
    assert ad.evaluate(curvature, at) == 6.0
    assert at[x] - ad.evaluate(slope, at) / ad.evaluate(curvature, at) == 2.0
    assert ad.compile([slope, curvature], [x])(5.0) == [18.0, 6.0]
    assert ad.jvp(ad.gradient(3 * x, x), at, {x: 1.0}) == (3.0, 0.0)


def test_another_variable_of_the_same_name_is_no_substitute() -> None:
    x, stranger = ad.variable("x"), ad.variable("x")
    with pytest.raises(errors.DomainError, match=r"leave out the variable x \(theirs is another one"):
        ad.evaluate(x * x, {stranger: 1.0})
    with pytest.raises(errors.DomainError, match="leave out the variable x;"):
        ad.evaluate(x * x, {ad.variable("y"): 1.0})
    with pytest.raises(errors.DimensionMismatch):
        ad.evaluate(x * x, {x: 1.0, stranger: np.ones(2)})


# The kinks of SEMANTICS sections 2 to 4: method, place, derivative there.
KINKS = [
    (core.ReLU, 0.0, 0.0),
    (core.LeakyReLU(0.25), 0.0, 0.25),
    (core.ELU(1.5), 0.0, 1.5),
    (core.HardSigmoid, 3.0, 0.0),
    (core.HardSigmoid, -3.0, 0.0),
    (core.HardSwish, 3.0, 1.0),
    (core.HardSwish, -3.0, 0.0),
]


@pytest.mark.parametrize(("method", "at", "expected"), KINKS, ids=repr)
def test_activation_kinks(method: Any, at: float, expected: float) -> None:
    assert slope(lambda x: core.activation_expr(method, x), at) == expected
    assert core.activation_derivative(method, at) == expected


def test_other_kinks() -> None:
    assert slope(abs, 0.0) == 0.0
    assert slope(lambda x: ad.maximum(x, 1.0), 1.0) == 0.5
    assert slope(lambda x: ad.minimum(x, 1.0), 1.0) == 0.5
    assert slope(lambda x: core.loss_expr(core.MeanAbsoluteError, core.Sum, [1.0], [x]), 1.0) == 0.0
    assert slope(lambda x: core.loss_expr(core.Huber(1.0), core.Sum, [0.0], [x]), 1.0) == 1.0
    assert slope(lambda x: core.loss_expr(core.Hinge(1.0), core.Sum, [1.0], [x]), 1.0) == 0.0
    assert slope(lambda x: x**0, 0.0) == 0.0
    x = ad.variable("x", (2, 2))
    pooled = ad.sum(ad.pooling(layers.MaxPool, [2], [2], [0], x.reshape(1, 2, 2)))
    _, [g] = ad.value_and_gradient(pooled, {x: np.array([[1.0, 1.0], [2.0, 3.0]])})
    assert g.values == [1.0, 0.0, 0.0, 1.0]
    at_boundary = core.sparsemax_expr([ad.variable("a"), ad.constant(0.0)])
    assert len(at_boundary) == 2


def test_pooling_rectifies_on_the_way_where_nobody_else_asks() -> None:
    """One step less, and the bits of both; ties and negative zeros are what could tell."""
    x = ad.variable("x", (2, 3, 7, 19))
    rectified = ad.activation(core.ReLU, x)
    pooled = ad.pooling(layers.MaxPool, [2, 2], [2, 2], [0, 0], rectified)
    slopes = ad.gradient(ad.sum(pooled * pooled), x)
    data = np.random.default_rng(1).integers(-3, 4, x.shape).astype(float)
    data[data == 0] = -0.0
    short = ad.compile([pooled, slopes], [x])
    asked = {"itself": rectified, "a view": ad.reshape(rectified, (-1,)), "a node": rectified + 1.0}
    for name, other in asked.items():
        long = ad.compile([pooled, slopes, other], [x])
        assert long.steps > short.steps, name
        results = [np.asarray(r) for r in long(data)]
        for wanted, got in zip(results, short(data), strict=False):
            assert np.asarray(got).tobytes() == wanted.tobytes(), name
        assert np.array_equal(results[2].reshape(data.shape) - (name == "a node"), np.maximum(data, 0.0))
    cells = np.maximum(data[:, :, :6, :18], 0.0).reshape(2, 3, 3, 2, 9, 2).max((3, 5))
    assert np.array_equal(np.asarray(short(data)[0]), cells)
    overlapping = ad.pooling(layers.MaxPool, [3, 3], [1, 1], [1, 1], rectified)
    assert ad.evaluate(overlapping, {x: data}).values[0] == max(0.0, data[0, 0, :2, :2].max())


def test_fully_masked_attention_row_is_zero() -> None:
    q, k, v = (ad.variable(n, (2, 3)) for n in "qkv")
    out = layers.scaled_dot_product_attention_ad(q, k, v, [[False, False], [True, False]])
    rng = np.random.default_rng(0)
    bindings = {x: rng.normal(size=(2, 3)) for x in (q, k, v)}
    assert ad.evaluate(out, bindings).values[:3] == [0.0, 0.0, 0.0]
    _, [gq, _, gv] = ad.value_and_gradient(ad.sum(out), bindings)
    assert gq.values[:3] == [0.0, 0.0, 0.0]
    assert gv.values[3:] == [0.0, 0.0, 0.0]


def test_second_order_and_its_limits() -> None:
    x = ad.variable("x")
    third = ad.gradient(ad.gradient(ad.gradient(x**4, x), x), x)
    assert ad.evaluate(third, {x: 2.0}) == 48.0
    w = ad.variable("w", (3,))
    for first_order, name in [
        (core.softmax_expr(w), "core.softmax"),
        (core.log_softmax_expr(w), "core.log_softmax"),
        (core.sparsemax_expr(w), "core.sparsemax"),
        (core.ctc_loss_expr(0, [1], ad.log_softmax(w.reshape(1, 3))), "core.log_softmax|core.ctc_loss"),
        (
            layers.scaled_dot_product_attention_ad(w.reshape(3, 1), w.reshape(3, 1), w.reshape(3, 1)),
            "layers.scaled_dot_product_attention",
        ),
        (ad.custom([w], lambda v: v[0], lambda v, u: [u], (3,)), "autodiff.custom"),
    ]:
        gradient = ad.gradient(ad.sum(ad.square(first_order)), w)
        with pytest.raises(errors.DomainError, match=name) as caught:
            ad.gradient(ad.sum(gradient), w)
        assert caught.value.math_error.operation == "autodiff.gradient"


def test_indexing_and_joining() -> None:
    x = ad.variable("x", (3, 4))
    array = np.arange(12.0).reshape(3, 4)
    part = (slice(1, 3), slice(0, 4, 3))
    for index in [(0,), (slice(None), 1), (slice(None, None, -2),), (..., -1), (1, 2), part]:
        got = ad.evaluate(x[index], {x: array})
        assert np.array_equal(np.asarray(got), array[index])
    both = ad.concatenate([x, x[:1]], 0)
    assert both.shape == (4, 4)
    assert ad.stack([x, x], axis=1).shape == (3, 2, 4)
    corners = ad.stack([x[0, 0], x[2, 3]], (2,))
    assert ad.evaluate(corners, {x: array}).values == [0.0, 11.0]
    assert x.T.shape == (4, 3)
    assert x.reshape(-1).shape == (12,)
    assert (x @ np.ones((4, 2))).shape == (3, 2)


@pytest.mark.parametrize(
    ("cuts", "joined"),
    [
        ([(0, 2), (2, 5), (5, 6)], True),
        ([(5, 6), (0, 2), (2, 5)], True),
        ([(0, 2), (2, 6), (2, 6)], False),  # one part twice
        ([(0, 3), (2, 6)], False),  # an overlap
        ([(0, 2), (3, 6)], False),  # a gap
    ],
)
def test_slices_that_tile_a_tensor_are_joined(cuts: list[tuple[int, int]], joined: bool) -> None:
    """d/dx of sums of squares over slices, each with a factor of its own: exact in small integers."""
    x = ad.variable("x", (2, 6))
    output = sum(
        (ad.sum(ad.square(x[:, a:b])) * float(i + 2) for i, (a, b) in enumerate(cuts)), start=ad.constant(0.0)
    )
    expected = np.zeros((2, 6))
    for i, (a, b) in enumerate(cuts):
        expected[:, a:b] += 2 * (i + 2) * 3.0
    [gradient] = ad.gradient(output, [x])
    assert np.array_equal(ad.evaluate(gradient, {x: np.full((2, 6), 3.0)}).numpy(), expected)
    assert ("concatenate" in gradient.to_dot()) is joined


def test_a_tensor_taken_apart_row_by_row_costs_its_own_size() -> None:
    """Its cotangent was a sum of n tensors as large as itself: quadratic in time and memory."""
    n = 2000
    rows = ad.variable("rows", (n, 4))
    total = ad.constant(0.0)
    for i in range(1, n):
        total = total + ad.sum(rows[i] * rows[i - 1])
    step = ad.compile(ad.gradient(total, rows), [rows])
    assert step.workspace < 10 * n * 4 * 8


@pytest.mark.parametrize("scaled", [False, True])
def test_contributions_to_a_gradient_are_added_a_few_at_a_time(scaled: bool) -> None:
    """One pass summed them all, after all of them had been computed: n tensors as large as the variable."""
    n = 1500
    x = ad.variable("x", (n,))
    total = ad.constant(0.0)
    for i in range(n):
        picked = ad.gather(x * float(i + 1) if scaled else x, [i])
        total = total + ad.sum(ad.square(picked))
    step = ad.compile(ad.gradient(total, x), [x])
    assert step.workspace < 100 * n * 8
    factors = np.arange(1.0, n + 1.0) if scaled else np.ones(n)
    assert np.array_equal(step(np.full(n, 3.0)).numpy(), 2 * factors**2 * 3.0)


def test_blocks_are_summed_with_the_bits_of_sums_of_tensors() -> None:
    """Down to the sign of zero: blocks apart, overlapping, the same; alone and between other contributions."""
    rng = np.random.default_rng(11)
    cuts = [np.s_[0:2, 1:3], np.s_[1:3, 1:4], np.s_[1:3, 1:4], np.s_[2:4, 0:5], np.s_[1:3, 1:2]]
    x = ad.variable("x", (4, 5))
    for trial in range(40):
        chosen = [cuts[i] for i in rng.integers(0, len(cuts), size=rng.integers(2, 6))]
        factors = [rng.choice([-1.0, -0.0, 0.0, 0.3, 1e16], size=x[cut].shape) for cut in chosen]
        whole = rng.choice([-1.0, -0.0, 0.0, 0.3, 1e16], size=(4, 5))
        where = int(rng.integers(-1, len(chosen)))  # where the whole tensor is used; -1: nowhere
        terms = [ad.sum(x[cut] * factor) for cut, factor in zip(chosen, factors, strict=True)]
        padded = []
        for cut, factor in zip(chosen, factors, strict=True):
            padded.append(np.zeros((4, 5)))
            padded[-1][cut] = factor
        if where >= 0:
            terms.insert(where, ad.sum(x * whole))
            padded.insert(where, whole)
        output = terms[0]
        for term in terms[1:]:
            output = output + term
        # The products are as old as the terms' order says, so the youngest contribution comes first.
        made = sorted(range(len(terms)), key=lambda i: (where >= 0 and i == where, i))
        expected = None
        for i in reversed(made):
            expected = padded[i] if expected is None else expected + padded[i]
        got = ad.evaluate(ad.gradient(output, x), {x: np.ones((4, 5))}).numpy()
        assert got.tobytes() == np.asarray(expected).tobytes(), trial


def test_forward_mode_through_a_deep_graph_is_linear() -> None:
    """Each node's tangent looked at everything that the node is made of: 250 s for this one."""
    x = ad.variable("x")
    y = x
    for _ in range(100_000):
        y = ad.cos(y)
    value, tangent = ad.jvp(y, {x: 1.0}, {x: 1.0})
    assert value == ad.evaluate(y, {x: 1.0})
    assert abs(tangent) < 1e-300  # (-sin(0.739...))^100000


def test_jacobian_and_jvp() -> None:
    x = ad.variable("x", (3,))
    y = ad.stack([x[0] * x[1], ad.exp(x[2])], (2,))
    at = {x: [2.0, 3.0, 0.0]}
    with pytest.raises(errors.TypeMismatch):  # a list is no tensor
        ad.jacobian(y, at, x)
    at = {x: tensor.tensor([3], [2.0, 3.0, 0.0])}
    assert ad.jacobian(y, at, x).values == [3.0, 2.0, 0.0, 0.0, 0.0, 1.0]
    value, tangent = ad.jvp(y, at, {x: np.array([1.0, 0.0, 2.0])})
    assert value.values == [6.0, 1.0] and tangent.values == [3.0, 2.0]


FUNCTIONS = [ad.exp, ad.expm1, ad.log, ad.log1p, ad.sqrt, ad.sin, ad.cos, ad.tan, ad.tanh, ad.erf, abs]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_dual_against_reverse_mode(function: Any) -> None:
    for at in (0.25, 1.0, 3.5):
        dual = function(ad.Dual(at, 1.0))
        x = ad.variable("x")
        value, [gradient] = ad.value_and_gradient(function(x), {x: at})
        assert dual.value == value
        assert dual.tangent == pytest.approx(gradient, rel=4e-16)  # a rounding or two apart


def test_dual_arithmetic() -> None:
    x = ad.Dual(3.0, 1.0)
    assert (x * x + 1 / x - 2).tangent == 6.0 - 1.0 / 9.0
    assert (x**2).tangent == 6.0 and (2**x).tangent == pytest.approx(8 * np.log(2.0), rel=1e-15)
    assert ad.maximum(x, 3.0).tangent == 0.5
    assert pickle.loads(pickle.dumps(x)) == x and copy.copy(x).value == 3.0
    assert repr(-x) == "Dual(-3.0, -1.0)"
    with pytest.raises(errors.DomainError, match=r"autodiff.divide: right = 0.0"):
        x / ad.Dual(0.0)
    with pytest.raises(errors.TypeMismatch):
        ad.Dual("1")  # type: ignore[arg-type]


def test_programs_give_the_bits_of_plain_evaluation() -> None:
    """One program of everything against each node alone, on one to four threads."""
    rng = np.random.default_rng(1)
    x, w, b = ad.variable("x", (64, 80)), ad.variable("w", (70, 80)), ad.variable("b", (70,))
    h = ad.activation(core.GELU, layers.dense_ad(x, w, b))
    n = layers.layer_norm_ad(1, 1e-5, h) * 2.0 + b
    s = ad.softmax(n)
    loss = -ad.mean(ad.log(s + 1e-9) * n)
    nodes = [h, n, s, loss, *ad.gradient(loss, [x, w, b])]
    bindings = {x: rng.normal(size=(64, 80)), w: rng.normal(size=(70, 80)), b: rng.normal(size=70)}
    program = ad.compile(nodes, [x, w, b])
    alone = [np.asarray(ad.evaluate(node, bindings)) for node in nodes]
    try:
        for threads in (1, 2, 3, 4):
            hmath.set_num_threads(threads)
            for got, wanted in zip(program(*bindings.values()), alone, strict=True):
                assert np.asarray(got).tobytes() == wanted.tobytes()
    finally:
        hmath.set_num_threads(0)


# Of positive numbers: what a link makes of y, the tensor x and an earlier result z, in NumPy and in a graph alike.
LINKS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "y + x": lambda y, x, z: y + x,
    "y * x": lambda y, x, z: y * x,
    "y / x": lambda y, x, z: y / x,
    "x / y": lambda y, x, z: x / y,
    "0.75 * y": lambda y, x, z: 0.75 * y,
    "y / 1.25": lambda y, x, z: y / 1.25,
    "1.5 / y": lambda y, x, z: 1.5 / y,
    "y + 0.75 * z": lambda y, x, z: y + 0.75 * z,
    "y + z": lambda y, x, z: y + z,
    "sqrt(y)": lambda y, x, z: np.sqrt(y) if isinstance(y, np.ndarray) else ad.sqrt(y),
}


def follow(links: list[str], x: Any, back: int) -> Any:
    """Link after link from x; an earlier result is `back` links old."""
    results = [x]
    for link in links:
        results.append(LINKS[link](results[-1], x, results[-min(back, len(results))]))
    return results[-1]


def check_chain(links: list[str], size: int, back: int = 5) -> None:
    x = ad.variable("x", (size,))
    numbers = np.random.default_rng(size).uniform(0.5, 2.0, size)
    got = ad.evaluate(follow(links, x, back), {x: numbers})
    # IEEE arithmetic, one rounding an operation: the same bits wherever it is done.
    assert got.numpy().tobytes() == follow(links, numbers, back).tobytes(), links


@pytest.mark.parametrize("last", list(LINKS))
@pytest.mark.parametrize("link", ["y + x", "y / x", "1.5 / y", "y + 0.75 * z"])
def test_arithmetic_is_cut_into_chains_of_any_length(link: str, last: str) -> None:
    """Wherever the longest chain that runs in registers ends: before, at and behind a result that is looked at."""
    for count in range(110):
        check_chain([link] * count + [last], 5)


@given(
    st.lists(st.sampled_from(list(LINKS)), max_size=150),
    st.sampled_from([1, 7, 1024, 2500]),
    st.integers(1, 60),
)
def test_arithmetic_of_any_order(links: list[str], size: int, back: int) -> None:
    check_chain(links, size, back)


def on_threads(call: Callable[[], list[Any]]) -> Iterator[list[Any]]:
    """The results of a call, as arrays, on one to four threads."""
    try:
        for threads in (1, 2, 3, 4):
            hmath.set_num_threads(threads)
            yield [np.asarray(x) for x in call()]
    finally:
        hmath.set_num_threads(0)


@pytest.mark.parametrize("shape", [(3,), (7, 11), (40, 130), (129, 512)])
def test_value_and_slope_in_one_pass(shape: tuple[int, ...]) -> None:
    """A program computes GELU and its derivative together where nobody else reads their input."""
    rng = np.random.default_rng(5)
    x, w = ad.variable("x", shape), ad.variable("w", shape)
    a, b = rng.normal(size=shape) * 3, rng.normal(size=shape)
    h = x * w
    value = ad.activation(core.GELU, h)
    [slope] = ad.gradient(ad.sum(value), [h])
    # in one group with all that reads them; and with products between them, the slope much later
    within = ad.compile([value * slope], [x, w])
    square = value.reshape(-1, shape[-1])
    product = ad.sum(ad.matmul(square, ad.transpose(square)))
    apart = ad.compile([value, product, *ad.gradient(product, [x, w])], [x, w])
    known = core.activation(core.GELU, a * b)
    derivative = core.activation_derivative(core.GELU, a * b)
    rows = known.reshape(-1, shape[-1])
    upstream = np.asarray(tensor.matmul(np.ones((len(rows), len(rows))), rows)).reshape(shape)
    for [got] in on_threads(lambda: within(a, b)):
        assert got.tobytes() == (known * derivative).tobytes()
    for got, _, in_x, in_w in on_threads(lambda: apart(a, b)):
        assert got.tobytes() == known.tobytes()
        assert in_x.tobytes() == ((upstream + upstream) * derivative * b).tobytes()
        assert in_w.tobytes() == ((upstream + upstream) * derivative * a).tobytes()


@pytest.mark.parametrize(
    "shape, row",
    [
        ((37, 128), (128,)),
        ((5, 16, 64), (16, 64)),
        ((5, 16, 64), (1, 64)),
        ((9, 2048), (2048,)),
        ((70, 48), (48,)),
        ((3, 1024), (3, 1)),
        ((2, 7, 1), (7, 1)),
    ],
)
def test_rows_that_begin_anew_with_each_tile(shape: tuple[int, ...], row: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    x, w, c = ad.variable("x", shape), ad.variable("w", row), ad.variable("c", row)
    program = ad.compile([x * (1.0 + w) + c], [x, w, c])
    a, scale, shift = rng.normal(size=shape), rng.normal(size=row), rng.normal(size=row)
    for [got] in on_threads(lambda: program(a, scale, shift)):
        assert got.tobytes() == (a * (1.0 + scale) + shift).tobytes()


@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize(
    "shape, kernel, stride, padding",
    [
        ((3, 5, 28, 28), [2, 2], [2, 2], [0, 0]),
        ((2, 3, 9, 7), [2, 2], [2, 2], [0, 0]),  # a row and a column that no window reads
        ((2, 3, 12, 10), [3, 3], [2, 1], [1, 1]),  # windows that overlap
        ((70, 2, 6), [2], [2], [0]),  # short planes
        ((1, 2, 70, 70), [2, 2], [2, 2], [0, 0]),  # more than one block of a sum
        ((2, 2, 4, 6, 8), [1, 2, 2], [1, 2, 2], [0, 0, 0]),
    ],
)
def test_pooling_sums_what_it_scatters(
    shape: tuple[int, ...], kernel: list[int], stride: list[int], padding: list[int], rectified: bool
) -> None:
    """The gradient of a bias under pooling: the bits of the sum of what is scattered, taken by itself."""
    rng = np.random.default_rng(7)
    channels, axes = (1, shape[1], *(1 for _ in shape[2:])), tuple(i for i in range(len(shape)) if i != 1)
    x, bias = ad.variable("x", shape), ad.variable("bias", channels)
    h = x + bias
    pooled = ad.pooling(
        layers.MaxPool, kernel, stride, padding, ad.activation(core.ReLU, h) if rectified else h
    )
    [scattered, summed] = ad.gradient(ad.sum(ad.square(pooled)), [h, bias])
    planes = ad.sum(scattered, axes[1:])
    a, b = rng.normal(size=shape), rng.normal(size=channels)
    u = ad.variable("u", shape)
    wanted = np.asarray(ad.evaluate(scattered, {x: a, bias: b}))
    known = {u: wanted}
    for got in on_threads(lambda: ad.compile([summed, scattered], [x, bias])(a, b)):
        assert got[0].ravel().tobytes() == np.asarray(ad.evaluate(ad.sum(u, axes), known)).tobytes()
        assert got[1].tobytes() == wanted.tobytes()
    # the sums of planes alone, an output; and both of them, where only one can have them on the way
    for got in on_threads(lambda: ad.compile([planes, summed], [x, bias])(a, b)):
        assert got[0].tobytes() == np.asarray(ad.evaluate(ad.sum(u, axes[1:]), known)).tobytes()
        assert got[1].ravel().tobytes() == np.asarray(ad.evaluate(ad.sum(u, axes), known)).tobytes()
    for [got] in on_threads(lambda: ad.compile([planes], [x, bias])(a, b)):
        assert got.tobytes() == np.asarray(ad.evaluate(ad.sum(u, axes[1:]), known)).tobytes()


def test_pooling_sums_beyond_the_range_of_a_double() -> None:
    """A sum of a plane whose parts overflow is right; one that is no double is refused by the sum."""
    x, w = ad.variable("x", (2, 1, 4, 40)), ad.variable("w", (2, 1, 2, 20))
    pooled = ad.pooling(layers.MaxPool, [2, 2], [2, 2], [0, 0], ad.activation(core.ReLU, x))
    [scattered] = ad.gradient(ad.sum(pooled * w), [x])
    program = ad.compile([scattered, ad.sum(scattered, (0, 2, 3))], [x, w])
    large = np.where(np.arange(80).reshape(2, 1, 2, 20) % 40 < 20, 2.0**1023, -(2.0**1023))
    large[0, 0, 1, 19] += 2.0**990  # no partial sum rounds it away
    _, got = program(np.ones((2, 1, 4, 40)), large)
    assert got.values == [2.0**990]
    with pytest.raises(hmath.Overflow, match=r"autodiff\.sum"):
        program(np.ones((2, 1, 4, 40)), np.abs(large))


@pytest.mark.parametrize("heads", [2, 3, 4, 5, 9])
def test_heads_on_any_number_of_threads(heads: int) -> None:
    """Whether threads share each head's products or take whole heads, the bits are those of one thread."""
    rng = np.random.default_rng(8)
    shape = (96, heads * 16)
    q, k, v = (ad.variable(name, shape) for name in "qkv")
    out = ad.multihead_attention(heads, q, k, v)
    program = ad.compile([out, *ad.gradient(ad.sum(ad.square(out)), [q, k, v])], [q, k, v])
    values = [rng.normal(size=shape) for _ in range(3)]
    alone, *others = on_threads(lambda: program(*values))
    for got in others:
        assert [x.tobytes() for x in got] == [x.tobytes() for x in alone]


def test_one_program_in_several_threads() -> None:
    x = ad.variable("x", (300,))
    program = ad.compile(ad.sum(ad.exp(ad.sin(x) * 0.5)), [x])
    inputs = [np.random.default_rng(i).normal(size=300) for i in range(8)]
    wanted = [program(a) for a in inputs]
    got: list[Any] = [None] * 8

    def work(i: int) -> None:
        for _ in range(50):
            got[i] = program(inputs[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == wanted


def test_arrays_are_lent_for_a_run() -> None:
    """Results and what callbacks get have memory of their own, and nothing holds the array afterwards."""
    x, given = ad.variable("x", (3,)), []
    program = ad.compile([x, ad.reshape(x, (3, 1)), ad.custom([x], lambda v: given.append(v[0]) or 1.0)], [x])
    lent = np.array([1.0, 2.0, 3.0])
    before = sys.getrefcount(lent)
    results = [*program(lent)[:2], *given]
    assert sys.getrefcount(lent) == before
    lent[:] = 0.0
    assert [result.reshape((3,)).values for result in results] == [[1.0, 2.0, 3.0]] * 3
    with pytest.raises(errors.NonFinite, match=r"inputs\[1\] = nan is not finite; for input x"):
        program(np.array([0.0, np.nan, 0.0]))
    assert sys.getrefcount(lent) == before


def test_arrays_are_not_copied_for_a_run() -> None:
    """The largest memory that a process ever had, in KiB, before and after a run on 160 MB; it was 160 MB more."""
    script = """
import resource, numpy as np
from hmath import autodiff as ad
x = ad.variable("x", (20_000_000,))
program, array = ad.compile(ad.sum(x), [x]), np.ones(20_000_000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert program(array) == 2e7
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(grown.stdout) < 50_000


def test_long_chain_is_no_problem() -> None:
    x = ad.variable("x")
    y = x
    for _ in range(100_000):
        y = y * 0.5 + x
    value, [gradient] = ad.value_and_gradient(y, {x: 1.0})
    assert value == 2.0 and gradient == 2.0


def test_custom() -> None:
    x, t = ad.variable("x"), ad.variable("t", (2,))
    seen: list[Any] = []

    def forward(values: list[Any]) -> Any:
        seen.append([type(v) for v in values])
        return values[0] * values[1]  # a callback may call hmath

    def reverse(values: list[Any], adjoint: Any) -> list[Any]:
        return [(values[1] * adjoint).sum(), adjoint * values[0]]

    y = ad.custom([x, t], forward, reverse, (2,))
    value, [gx, gt] = ad.value_and_gradient(ad.sum(y), {x: 2.0, t: tensor.tensor([2], [3.0, 4.0])})
    assert (value, gx, gt.values) == (14.0, 7.0, [2.0, 2.0])
    assert seen[0] == [float, tensor.TensorDouble]


def test_custom_failures() -> None:
    x = ad.variable("x")

    class Surprise(Exception):
        pass

    def raises(*_: Any) -> Any:
        raise Surprise("here")

    with pytest.raises(Surprise, match="here"):
        ad.evaluate(ad.custom([x], raises), {x: 1.0})
    with pytest.raises(Surprise):
        ad.value_and_gradient(ad.custom([x], lambda v: v[0], raises), {x: 1.0})
    with pytest.raises(errors.DimensionMismatch, match="forward"):
        ad.evaluate(ad.custom([x], lambda v: np.ones(3), shape=(2,)), {x: 1.0})
    with pytest.raises(errors.DimensionMismatch, match="reverse"):
        ad.value_and_gradient(ad.custom([x], lambda v: v[0], lambda v, u: [u, u]), {x: 1.0})
    with pytest.raises(errors.NonFinite, match="forward"):
        ad.evaluate(ad.custom([x], lambda v: float("nan")), {x: 1.0})
    with pytest.raises(errors.DomainError, match=r"tensor\.|autodiff|log"):  # the callback's own failure
        ad.evaluate(ad.custom([x], lambda v: tensor.log(tensor.tensor([1], [v[0]])).item()), {x: -1.0})
    with pytest.raises(errors.TypeMismatch, match="forward"):
        ad.custom([x], 3)  # type: ignore[arg-type]


def test_callbacks_live_as_long_as_their_graph() -> None:
    x = ad.variable("x")
    kept = ad.gradient(ad.custom([x], lambda v: v[0] ** 3, lambda v, u: [3 * v[0] ** 2 * u]) * 1.0, x)
    gc.collect()
    assert ad.evaluate(kept, {x: 2.0}) == 12.0
    before = len(_custom._customs)
    kept.close()
    del kept
    gc.collect()
    assert len(_custom._customs) == before - 1


def test_failures_name_node_argument_and_place() -> None:
    x = ad.variable("x", (3,))
    at = {x: np.array([1.0, -1.0, 0.0])}
    with pytest.raises(errors.DomainError) as caught:
        ad.evaluate(ad.log(x), at)
    error = caught.value.math_error
    assert (error.operation, error.argument, error.index, error.value) == ("autodiff.log", "value", 1, -1.0)
    with pytest.raises(errors.DomainError, match=r"autodiff.divide: right\[2\] = 0.0"):
        ad.evaluate(1.0 / x, at)
    with pytest.raises(errors.Overflow, match=r"autodiff.exp"):
        ad.evaluate(ad.exp(x * 1e4), at)
    with pytest.raises(errors.DomainError, match=r"core.loss: prediction\[1\] = -1.0"):
        ad.evaluate(core.loss_expr(core.BinaryCrossEntropy, core.Mean, [0.0, 1.0, 1.0], x), at)
    with pytest.raises(errors.IndexOutOfBounds, match=r"autodiff\.gather: indices"):
        ad.evaluate(ad.gather(x, [3]), at)


@pytest.mark.parametrize(
    ("call", "error", "operation"),
    [
        (lambda: core.softmax_expr([]), errors.EmptyInput, "core.softmax_expr"),
        (
            lambda: core.activation_expr(core.ELU(-1.0), ad.variable("x")),
            errors.DomainError,
            "core.activation_expr",
        ),
        (
            lambda: core.loss_expr(core.MeanSquaredError, core.Mean, [1.0], ad.variable("v", (3,))),
            errors.DimensionMismatch,
            "core.loss_expr",
        ),
        (
            lambda: layers.dense_ad(ad.variable("v", (3,)), ad.variable("w", (2, 4)), [0.0, 0.0]),
            errors.DimensionMismatch,
            "layers.dense_ad",
        ),
        (
            lambda: layers.layer_norm_ad(0, 1e-5, ad.variable("v", (3,))),
            errors.DomainError,
            "layers.layer_norm_ad",
        ),
        (lambda: ad.activation(core.ELU(-1.0), ad.variable("x")), errors.DomainError, "autodiff.activation"),
        (lambda: ad.variable("a", (2,)) + ad.variable("b", (3,)), errors.DimensionMismatch, "autodiff.add"),
    ],
)
def test_what_a_call_refuses_bears_its_name(call: Any, error: Any, operation: str) -> None:
    """The graph is not there yet: the operation that fails is the call that was to make a node."""
    with pytest.raises(error) as caught:
        call()
    assert caught.value.math_error.operation == operation


def test_what_a_run_refuses_bears_the_name_of_its_node() -> None:
    """SEMANTICS of graphs: the operation's own MathError, as the plain operation would give it."""
    x, v = ad.variable("x"), ad.variable("v", (3,))
    at = np.array([1.0, 0.0, 2.0])
    with pytest.raises(errors.Overflow, match=r"core\.log_softmax"):
        ad.evaluate(core.log_softmax_expr(v)[0], {v: np.array([1e308, -1e308, 0.0])})
    with pytest.raises(errors.Overflow, match=r"layers\.dense"):
        ad.evaluate(
            layers.dense_ad(v, ad.constant(np.full((2, 3), 1e200)), ad.constant(np.zeros(2))), {v: at * 1e200}
        )
    with pytest.raises(errors.DomainError, match=r"autodiff\.sqrt: value\[1\] = 0\.0; required > 0"):
        ad.value_and_gradient(ad.sum(ad.sqrt(v)), {v: at})
    with pytest.raises(errors.DomainError, match=r"autodiff\.power: base = 0\.0"):
        ad.value_and_gradient(x**0.5, {x: 0.0})


def test_bindings() -> None:
    x, y, other = ad.variable("x", (2,)), ad.variable("y"), ad.variable("other")
    z = ad.sum(x) * y
    good = tensor.tensor([2], [1.0, 2.0])
    with pytest.raises(errors.DomainError, match="variable y"):
        ad.evaluate(z, {x: good})
    assert ad.evaluate(z, {x: good, y: 1.0, other: 2.0}) == 3.0
    with pytest.raises(errors.DimensionMismatch):
        ad.evaluate(z, {x: tensor.tensor([3], [1, 2, 3]), y: 1.0})
    with pytest.raises(errors.TypeMismatch):
        ad.evaluate(z, {x: np.ones(2, np.float32), y: 1.0})
    with pytest.raises(errors.NonFinite):
        ad.evaluate(z, {x: np.array([1.0, np.inf]), y: 1.0})
    with pytest.raises(errors.DimensionMismatch):
        ad.compile([z], [x, y])(good)
    assert ad.value_and_gradient(z, {x: good, y: 2.0, other: 1.0}, [other]) == (6.0, [0.0])


def test_shapes_are_checked_when_a_node_is_made() -> None:
    x = ad.variable("x", (2, 3))
    for build in (
        lambda: x + ad.variable("y", (2, 2)),
        lambda: x @ x,
        lambda: x.reshape(5),
        lambda: layers.dense_ad(x, x, [0.0]),
        lambda: ad.gradient(x, x),
        lambda: core.loss_expr(core.MeanSquaredError, core.Mean, [1.0], x),
    ):
        with pytest.raises(errors.DimensionMismatch):
            build()
    with pytest.raises(errors.IndexOutOfBounds):
        ad.sum(x, 2)
    with pytest.raises(errors.DomainError, match=r"method.parameter = -1.0"):
        core.activation_expr(core.ELU(-1.0), x)
    with pytest.raises(errors.EmptyInput):
        core.softmax_expr([])


def test_owners() -> None:
    x = ad.variable("x")
    with x * 2.0 as y:
        assert ad.evaluate(y, {x: 1.0}) == 2.0
    with pytest.raises(ValueError, match="closed"):
        ad.evaluate(y, {x: 1.0})
    assert copy.copy(x) == x and hash(copy.copy(x)) == hash(x)
    program = ad.compile(x * 3.0, [x])
    assert "1 input, 1 output, 1 step (" in repr(program) and program(2.0) == 6.0


def test_whole_training_step_compiles() -> None:
    w = ad.variable("w", (3,))
    target = np.array([1.0, -2.0, 0.5])
    loss = ad.sum(ad.square(w - target))
    clipped, _ = optim.clip_by_global_norm(ad.gradient(loss, [w]), 1.0)
    state = optim.adam_variables([(3,)])
    rate = optim.warm_up(state[0], optim.cosine(state[0], 0.1, 300.0), 10.0)
    [new], new_state = optim.adam([w], clipped, state, rate=rate)
    program = ad.compile([loss, new, *new_state], [w, *state])
    point, values = tensor.zeros([3]), optim.adam_state([tensor.zeros([3])])
    for _ in range(300):
        value, point, *values = program(point, *values)
    assert value < 1e-3


def test_failures_name_the_function_that_was_called() -> None:
    """Not one that it defines inside itself."""
    x = ad.variable("x")
    for function in (ad.evaluate, ad.value_and_gradient):
        with pytest.raises(
            errors.TypeMismatch, match=f"{function.__name__}: bindings is a str; required variables as keys"
        ):
            function(x, {"x": 1.0})  # type: ignore[dict-item]


@pytest.mark.parametrize("x", [0.0, -1.0])
def test_clipping_and_schedules_refuse_what_is_not_positive(x: float) -> None:
    gradient = tensor.tensor([2], [3.0, 4.0])
    with pytest.raises(errors.DomainError, match=r"optim.clip_by_global_norm: maximum = .*required > 0"):
        optim.clip_by_global_norm([gradient], x)
    with pytest.raises(errors.DomainError, match=r"optim.cosine: steps = .*required > 0"):
        optim.cosine(1.0, 0.1, x)
    with pytest.raises(errors.DomainError, match=r"optim.warm_up: steps = .*required > 0"):
        optim.warm_up(ad.variable("step"), 0.1, x)


@pytest.mark.parametrize("keys", [5, 5000])
def test_attention_has_the_bits_of_the_layer(keys: int) -> None:
    """Also beyond one block of the sums, with a mask and a row that sees nothing."""
    rng = np.random.default_rng(keys)
    q, k, v = rng.normal(size=(3, 8)), rng.normal(size=(keys, 8)), rng.normal(size=(keys, 2))
    mask = rng.uniform(size=(3, keys)) < 0.5
    mask[1] = False
    node = layers.scaled_dot_product_attention_ad(q, k, v, mask)
    wanted, _ = layers.scaled_dot_product_attention(q, k, v, mask, None)
    assert np.asarray(ad.evaluate(node)).tobytes() == np.asarray(wanted).tobytes()


def test_programs_of_odd_shapes() -> None:
    """Outputs that are inputs, constants, views or asked for twice; scalars between tensors; nothing at all."""
    x, s, one = ad.variable("x", (2,)), ad.variable("s"), ad.variable("one", (1,))
    z = x * 2.0
    outputs = [z, z, x, s, ad.constant(3.0), z.reshape(2, 1), x.reshape(1, 2), ad.broadcast_to(s, (2,))]
    got = ad.compile(outputs, [x, s])(np.array([1.0, 2.0]), 5.0)
    shapes = [np.shape(np.asarray(value)) for value in got]
    assert shapes == [(2,), (2,), (2,), (), (), (2, 1), (1, 2), (2,)]
    assert [np.ravel(np.asarray(value)).tolist() for value in got] == [
        [2.0, 4.0], [2.0, 4.0], [1.0, 2.0], [5.0], [3.0], [2.0, 4.0], [1.0, 2.0], [5.0, 5.0]
    ]  # fmt: skip
    at = {one: np.array([4.0]), s: 2.0}
    value, [along_one, along_s] = ad.value_and_gradient(one.reshape(()) * s, at)
    assert (value, along_one.values, along_s) == (8.0, [2.0], 4.0)
    assert ad.evaluate(ad.stack([s, s * 2.0], (2,)) + 1.0, {s: 1.0}).values == [2.0, 3.0]
    empty = ad.variable("empty", (0, 3))
    nothing = {empty: np.zeros((0, 3))}
    assert ad.evaluate(ad.sum(empty), nothing) == 0.0
    assert ad.evaluate(ad.softmax(ad.exp(empty)), nothing).shape == (0, 3)
    assert ad.evaluate(empty @ np.ones((3, 2)), nothing).shape == (0, 2)
    assert ad.evaluate(ad.norm([])) == 0.0
    twice = ad.gradient(s * s, [s, s])
    assert ad.evaluate(twice, {s: 3.0}) == [6.0, 6.0]


# ---------------------------------------------------------------- names, poles, far indices


@pytest.mark.parametrize(
    ("name", "kept"),
    [("é" * 31, "é" * 15), ("a" * 40, "a" * 31), ("\U0001f600" * 9, "\U0001f600" * 7), ("\ud800", "?")],
)
def test_a_long_name_is_cut_between_characters(name: str, kept: str) -> None:
    x = ad.variable(name)
    assert x.name == kept
    assert kept in repr(x)


@pytest.mark.parametrize("exponent", [0.5, 1 - 2**-53, -1.0])
def test_the_slope_of_a_power_has_a_pole_at_zero(exponent: float) -> None:
    x, y = ad.variable("x"), ad.variable("y")
    with pytest.raises(errors.DomainError) as error:
        ad.evaluate(ad.gradient(x**y, x), {x: 0.0, y: exponent})
    assert error.value.math_error.argument == "base"
    with pytest.raises(errors.DomainError):
        ad.Dual(0.0, 1.0) ** exponent


@pytest.mark.parametrize(
    ("index", "reported"), [(1e300, 2**63 - 1), (-1e300, -(2**63)), (-0.5, -1), (7.0, 7), (2.0**62, 2**62)]
)
def test_a_gather_reports_the_index_that_was_there(index: float, reported: int) -> None:
    v = ad.variable("v", (2, 3))
    with pytest.raises(errors.IndexOutOfBounds) as error:
        ad.evaluate(ad.gather(v, np.array([index])), {v: np.ones((2, 3))})
    assert error.value.math_error.value == reported


# ---------------------------------------------------------------- what owners refuse and keep


def test_nodes_and_programs_say_that_they_do_not_pickle() -> None:
    """cffi's own words were all there was."""
    x, v = ad.variable("x"), ad.variable("v", (2,))
    for unpicklable in (x, v, ad.compile([x], [x])):
        name = type(unpicklable).__name__
        with pytest.raises(TypeError, match=f"^{name} objects cannot be pickled$"):
            pickle.dumps(unpicklable)


def test_a_name_is_kept_whole_or_refused() -> None:
    """What stood behind a NUL was lost."""
    with pytest.raises(
        hmath.DomainError, match=r"autodiff\.variable: name holds a NUL; required text without one"
    ):
        ad.variable("a\0b")
    assert ad.variable("a b").name == "a b"


def test_programs_kept_on_a_node_are_bounded() -> None:
    """Evaluating it beside ever new nodes kept every one of them alive."""
    x = ad.variable("x")
    y = x * 2.0

    def evaluate(i: int) -> None:
        assert ad.evaluate([y, x + float(i)], {x: 1.0}) == [2.0, 1.0 + i]

    for i in range(20):
        evaluate(i)
    alive = lib.hmath_live_values()
    for i in range(20, 60):
        evaluate(i)
    assert lib.hmath_live_values() == alive
    assert ad.evaluate([y, x + 59.0], {x: 1.0}) == [2.0, 60.0]


_TENSOR = tensor.tensor([2], [1.0, 2.0])
_STATE = optim.adam_state([_TENSOR])
_OPTIMISERS: list[tuple[Any, dict[str, Any]]] = [
    (optim.cosine, {"step": 5, "rate": 1.0, "steps": 10, "final": 0.0}),
    (optim.warm_up, {"step": 5, "rate": 1.0, "steps": 10}),
    (optim.clip_by_global_norm, {"gradients": [_TENSOR], "maximum": 1.0}),
    (optim.sgd_state, {"parameters": [_TENSOR]}),
    (optim.adam_state, {"parameters": [_TENSOR]}),
    (optim.sgd_variables, {"shapes": [(2,)]}),
    (optim.adam_variables, {"shapes": [(2,)]}),
    (
        optim.sgd,
        {
            "parameters": [_TENSOR],
            "gradients": [_TENSOR],
            "state": (_TENSOR,),
            "rate": 0.1,
            "momentum": 0.5,
            "nesterov": False,
            "weight_decay": 0.1,
        },
    ),
    *(
        (
            step,
            {
                "parameters": [_TENSOR],
                "gradients": [_TENSOR],
                "state": _STATE,
                "rate": 0.1,
                "beta1": 0.9,
                "beta2": 0.99,
                "epsilon": 1e-8,
                "weight_decay": 0.1,
            },
        )
        for step in (optim.adam, optim.adamw)
    ),
]


@pytest.mark.parametrize(
    ("function", "arguments", "parameter"),
    [(function, arguments, name) for function, arguments in _OPTIMISERS for name in arguments],
    ids=[f"{function.__name__}-{name}" for function, arguments in _OPTIMISERS for name in arguments],
)
def test_optimisers_refuse_wrong_kinds_by_name(
    function: Any, arguments: dict[str, Any], parameter: str
) -> None:
    function(**arguments)
    # Without a state there is none, which sgd allows.
    absent = [] if (function, parameter) == (optim.sgd, "state") else [None]
    for wrong in (
        *absent,
        "a",
        b"a",
        object(),
        {},
        1j,
        [None],
        ["a"],
        [True],
        tensor.tensor_float([1], [1.0]),
    ):
        with pytest.raises(hmath.TypeMismatch) as caught:
            function(**{**arguments, parameter: wrong})
        error = caught.value.math_error
        assert (error.operation, error.argument) == (f"optim.{function.__name__}", parameter)
    closed = tensor.zeros([2])
    closed.close()
    if parameter not in ("shapes", "nesterov"):
        many = parameter in ("parameters", "gradients", "state")
        with pytest.raises(ValueError, match=f"{parameter} is closed"):
            function(**{**arguments, parameter: [closed] if many else closed})


@pytest.mark.parametrize(
    ("function", "parameter", "wrong", "requirement"),
    [
        (function, parameter, wrong, requirement)
        for function, arguments in _OPTIMISERS
        for parameter, requirement, outside in (
            ("rate", ">= 0", [-1.0]),
            ("momentum", ">= 0", [-0.5]),
            ("weight_decay", ">= 0", [-0.5]),
            ("beta1", ">= 0 and < 1", [1.0, 2.0, -1.0]),
            ("beta2", ">= 0 and < 1", [1, 2.0, -1.0]),
            ("epsilon", "> 0", [0.0, -1.0]),
            ("maximum", "> 0", [0.0, -1]),
            ("step", ">= 0", [-5]),
            ("steps", "> 0", [0, -5]),
            ("final", ">= 0", [-0.5]),
        )
        if parameter in arguments
        for wrong in (*outside, math.nan, math.inf, -math.inf)
    ],
)
def test_optimisers_refuse_numbers_by_name(
    function: Any, parameter: str, wrong: float, requirement: str
) -> None:
    arguments = dict(_OPTIMISERS)[function]
    for others in (arguments, _with_a_node(arguments)):
        with pytest.raises((hmath.DomainError, hmath.NonFinite)) as caught:
            function(**{**others, parameter: wrong})
        error = caught.value.math_error
        assert (error.operation, error.argument) == (f"optim.{function.__name__}", parameter)
        assert error.requirement == (requirement if math.isfinite(wrong) else None)


def _with_a_node(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same, where the result is a graph."""
    first = next(iter(arguments))
    variable: Any = ad.variable("x") if first == "step" else [ad.variable("x", (2,))]
    return {**arguments, first: variable}


def test_momentum_needs_a_state() -> None:
    for more in ({"momentum": 0.9}, {"momentum": ad.variable("momentum")}, {"nesterov": True}):
        with pytest.raises(hmath.DomainError, match=f"optim.sgd: {next(iter(more))} .*; required a state"):
            optim.sgd([_TENSOR], [_TENSOR], rate=0.1, **more)
    [plain], state = optim.sgd([_TENSOR], [_TENSOR], rate=0.5, momentum=0.0)
    assert plain.values == [0.5, 1.0] and state == ()


def test_optimisers_take_nodes_wherever_numbers_may_stand() -> None:
    rate = ad.variable("rate")
    found = ad.evaluate(optim.cosine(5, rate, 10), {rate: 1.0})
    assert found == optim.cosine(5, 1.0, 10)
    [plain], _ = optim.adam([_TENSOR], [_TENSOR], _STATE, rate=0.1)
    [graph], _ = optim.adam([_TENSOR], [_TENSOR], _STATE, rate=0.1, beta1=rate)
    assert ad.evaluate(graph, {rate: 0.9}).identical(plain)
    with pytest.raises(hmath.Overflow):
        optim.cosine(5, 10**400, 10)
    for wrong in (0, -1.0):
        with pytest.raises(hmath.DomainError, match=r"optim\.cosine: steps = .*; required > 0"):
            optim.cosine(5, 1.0, wrong)


def _nonfinite(function: Callable[..., object], *arguments: Any, **more: Any) -> tuple[Any, ...]:
    with pytest.raises(hmath.NonFinite) as caught:
        function(*arguments, **more)
    error = caught.value.math_error
    return error.operation, error.argument, error.index


@pytest.mark.parametrize("step", [optim.sgd, optim.adam, optim.adamw])
def test_optimisers_name_the_element_that_is_not_finite(step: Any) -> None:
    name, one, inf = f"optim.{step.__name__}", [1.0, 1.0], math.inf
    state = [0.0, 0.0] if step is optim.sgd else [0.0] * 5
    assert _nonfinite(step, [1.0, inf], one, state, rate=0.1) == (name, "parameters", 1)
    assert _nonfinite(step, one, [1.0, inf], state, rate=0.1) == (name, "gradients", 1)
    last = len(state) - 1
    assert _nonfinite(step, one, one, [*state[:last], inf], rate=0.1) == (name, "state", last)
    # Rates come before elements, shapes too.
    with pytest.raises(hmath.DomainError, match=f"{name}: rate = -1.0"):
        step([1.0, 2.0], [inf], state, rate=-1.0)
    with pytest.raises(hmath.DimensionMismatch, match=f"{name}: gradients"):
        step([1.0, 2.0], [inf], state, rate=0.1)


def test_optimisers_count_elements_over_all_parts() -> None:
    pair, ones = tensor.tensor([2], [1.0, math.inf]), [np.ones(3), np.ones(2)]
    found = _nonfinite(optim.sgd, [np.ones(3), pair], ones, rate=0.1)
    assert found == ("optim.sgd", "parameters", 4)
    found = _nonfinite(optim.clip_by_global_norm, [1.0, pair], 1.0)
    assert found == ("optim.clip_by_global_norm", "gradients", 2)
    assert _nonfinite(optim.sgd_state, [math.inf]) == ("optim.sgd_state", "parameters", 0)


@pytest.mark.parametrize(
    ("function", "parameter"),
    [
        (function, name)
        for function, arguments in _OPTIMISERS
        for name in (
            "rate",
            "momentum",
            "weight_decay",
            "beta1",
            "beta2",
            "epsilon",
            "maximum",
            "step",
            "final",
        )
        if name in arguments
    ],
)
def test_parameters_of_optimisers_are_scalars_in_every_form(function: Any, parameter: str) -> None:
    arguments = dict(_OPTIMISERS)[function]
    for negative in (tensor.tensor([], [-0.1]), np.array(-0.1), np.float64(-0.1)):
        with pytest.raises(hmath.DomainError, match=f"{parameter} = -0.1"):
            function(**{**arguments, parameter: negative})
    for several in (-np.ones(3), np.ones(3), tensor.zeros([1]), ad.variable("r", (3,))):
        with pytest.raises(hmath.TypeMismatch, match=f"{parameter} is"):
            function(**{**arguments, parameter: several})
    scalar = tensor.tensor([], [float(arguments[parameter])])
    assert str(function(**{**arguments, parameter: scalar})) == str(function(**arguments))


def test_states_of_optimisers_have_the_shapes_of_the_parameters() -> None:
    three = np.zeros(3)
    for step in (optim.adam, optim.adamw):
        for state, index in (((0.0, three, 0.0), 1), ((0.0, 0.0, three), 2), ((three, 0.0, 0.0), 0)):
            with pytest.raises(hmath.DimensionMismatch, match=f"optim.{step.__name__}: state") as caught:
                step([1.0], [1.0], state, rate=0.1)
            assert caught.value.math_error.index == index
    with pytest.raises(hmath.DimensionMismatch, match=r"optim\.sgd: state\[1\]"):
        optim.sgd([1.0, 1.0], [1.0, 1.0], (0.0, three), rate=0.1, momentum=0.5)
    with pytest.raises(hmath.DimensionMismatch, match=r"optim\.sgd: gradients\[1\]"):
        optim.sgd([1.0, 1.0], [1.0, ad.variable("g", (2,))], rate=0.1)


def test_schedules_do_not_overflow_on_the_way() -> None:
    assert optim.warm_up(1e308, 1.0, 5e-324) == 1.0
    assert optim.warm_up(0, 1.0, 5e-324) == 1.0
    assert optim.cosine(0, 5e-324, 10.0) == 5e-324
    assert optim.cosine(0, 1.7e308, 10.0) == 1.7e308


@pytest.mark.parametrize("maximum", [5e-324, 3e-320, 2.5e-310, 1e-300, 1e-8, 1.0, 3.999, 4.0, 1e300])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e150, 1e300])
def test_clipping_is_that_of_gradients_at_every_scale(maximum: float, scale: float) -> None:
    """maximum / norm by itself may be too small for a double."""
    gradient = [0.6 * scale, -0.8 * scale, 1e-20 * scale, 0.0]
    norm = mpmath.sqrt(sum(mpmath.mpf(x) ** 2 for x in gradient))
    clipped, found = optim.clip_by_global_norm(gradient, maximum)
    assert abs(found - norm) <= 2 * math.ulp(float(norm))
    exact = [float(mpmath.mpf(x) * min(mpmath.mpf(1), maximum / norm)) for x in gradient]
    # The norm to 2 ulp, the quotient and the product rounded once: 3 ulp, and 1 for each rounding to a subnormal.
    for x, y in zip(clipped, exact, strict=True):
        assert abs(x - y) <= 4 * math.ulp(y)
    assert clipped == pytest.approx(precision.clip_gradients(maximum, gradient), rel=1e-15, abs=1e-323)


def test_text_mappings_and_sets_are_no_lists_of_operands() -> None:
    x = ad.variable("x")
    wrong: list[Any] = ["ab", b"ab", bytearray(b"ab"), {1: 2.0}, {1.0, 2.0}, frozenset([1.0])]
    wrong += [memoryview(b"ab"), array("i", [1, 2]), np.ones(2, np.float32), np.arange(2)]
    calls: list[Callable[[Any], object]] = [
        lambda w: ad.evaluate(w, {}),
        ad.norm,
        ad.stack,
        ad.concatenate,
        lambda w: ad.gradient(x, w),
        lambda w: ad.pull_back(w, [1.0], [x]),
        lambda w: ad.push_forward(x, [x], w),
        lambda w: ad.compile(w, [x]),
        lambda w: ad.compile([x], w),
        lambda w: ad.custom(w, lambda v: v[0]),
        lambda w: ad.value_and_gradient(x, {x: 1.0}, w),
    ]
    for call in calls:
        for refused in wrong:
            with pytest.raises(hmath.TypeMismatch):
                call(refused)
    # What can be walked otherwise is a list: views of a mapping, say.
    assert ad.value_and_gradient(x * x, {x: 3.0}, {x: 3.0}.keys()) == (9.0, [6.0])  # type: ignore[call-overload]
    assert ad.evaluate(ad.norm(array("d", [3.0, 4.0]))) == ad.evaluate(ad.norm(np.array([3.0, 4.0]))) == 5.0


def test_functions_made_of_others_name_themselves() -> None:
    rows, nan, x = np.ones((2, 2)), math.nan, ad.variable("x")
    for call, message in (
        (lambda: ad.embedding(nan, [0]), r"autodiff\.embedding: weights has dimension rank 0"),
        (lambda: ad.embedding(np.array([[nan]]), [0]), r"autodiff\.embedding: weights\[0\] = nan"),
        (lambda: ad.power(np.ones(3), np.ones(2)), r"autodiff\.power: exponent has dimension"),
        (lambda: ad.power(ad.Dual(-1.0), 0.5), r"autodiff\.power: base = -1.0"),
        (lambda: ad.softmax(1.0), r"autodiff\.softmax: value has dimension rank 0"),
        (lambda: ad.evaluate([nan], {}), r"autodiff\.evaluate: output = nan"),
        (lambda: ad.evaluate(ad.variable("x")), r"autodiff\.evaluate: bindings leave out the variable x"),
        (lambda: ad.value_and_gradient(nan, {}), r"autodiff\.value_and_gradient: output = nan"),
        (lambda: ad.value_and_gradient(x, {}, [x]), r"autodiff\.value_and_gradient: bindings leave out"),
        (lambda: ad.jacobian(x * x, {}, x), r"autodiff\.jacobian: bindings leave out"),
        (lambda: ad.jacobian(x, {x: np.ones(2)}, x), r"autodiff\.jacobian: bindings has dimension"),
        (lambda: ad.jvp(x, {}, {}), r"autodiff\.jvp: bindings leave out"),
        (lambda: ad.jvp(x, {x: nan}, {}), r"autodiff\.jvp: bindings = nan"),
        (lambda: ad.evaluate(x, {x: nan}), r"autodiff\.evaluate: bindings = nan"),
        (lambda: ad.compile([x], [x])(nan), r"autodiff\.Program: inputs = nan"),
        (lambda: ad.embedding(rows, tensor.tensor([1], [nan])), r"autodiff\.embedding: indices\[0\] = nan"),
        (lambda: ad.dropout(np.array([nan]), 1.0), r"autodiff\.dropout: mask\[0\] = nan"),
        (lambda: ad.dropout(1.0, np.array([nan])), r"autodiff\.dropout: input\[0\] = nan"),
        (lambda: ad.dropout(np.ones(3), np.ones(2)), r"autodiff\.dropout: mask has dimension"),
    ):
        with pytest.raises(hmath.HMathError, match=message) as caught:
            call()  # type: ignore[no-untyped-call]
        assert caught.value.math_error.operation == message.split(":")[0].replace("\\", "")


def test_failures_of_callbacks_keep_their_names() -> None:
    x = ad.variable("x")
    node = ad.custom([x], lambda values: core.softmax([])[0], lambda values, adjoint: [0.0])
    calls: list[Callable[[], object]] = [
        lambda: ad.evaluate(node, {x: 1.0}),
        lambda: ad.jvp(node, {x: 1.0}, {}),
        lambda: ad.jacobian(node * x, {x: 1.0}, x),
        lambda: ad.compile([node], [x])(1.0),
    ]
    for call in calls:
        with pytest.raises(hmath.EmptyInput, match=r"core\.softmax: values"):
            call()


def test_inputs_of_a_program_are_named_by_their_place() -> None:
    x, y = ad.variable("x"), ad.variable("y")
    for inputs, index in (([x, x * y], 1), ([x, y, 3.0], 2), ([x, y, x], 2)):
        with pytest.raises(hmath.DomainError, match=rf"autodiff\.compile: inputs\[{index}\]") as caught:
            ad.compile([x * y], inputs)  # type: ignore[arg-type]
        assert caught.value.math_error.index == index


@pytest.mark.parametrize(
    ("output", "at", "message"),
    [
        (
            lambda x, y: ad.log(x) + ad.log(x - y),
            (1.0, 2.0),
            "autodiff.log: value = -1.0; required > 0; in log(x - y)",
        ),
        (
            lambda x, y: ad.exp(y * 1500.0),
            (1.0, 1.0),
            "autodiff.exp: the result is not representable; in exp(y * 1500)",
        ),
        (
            lambda x, y: ad.gradient(ad.sqrt(x) * y, x),
            (0.0, 1.0),
            "autodiff.sqrt: value = 0.0; required > 0, for its derivative; in sqrt_slope(y * 0.5, sqrt(x))",
        ),
        (
            lambda x, y: ad.gradient(x**y, x),
            (0.0, 0.5),
            "autodiff.power: base = 0.0; required != 0 under an exponent below 1, for its derivative; "
            "in power_slope(x, y)",
        ),
        (
            lambda x, y: ad.gradient(x**y, y),
            (-2.0, 2.0),
            "autodiff.power: base = -2.0; required >= 0, for the derivative in its exponent; "
            "in log(select(x == 0, 1, x))",
        ),
    ],
)
def test_failures_say_in_which_node(output: Any, at: tuple[float, float], message: str) -> None:
    x, y = ad.variable("x"), ad.variable("y")
    with pytest.raises(errors.HMathError) as caught:
        ad.evaluate(output(x, y), dict(zip((x, y), at, strict=True)))
    assert str(caught.value) == message


def test_failures_in_tiles_and_steps_say_in_which_node() -> None:
    x, table = ad.variable("x", (3,)), ad.variable("table", (2, 2))
    at = {x: np.array([1.0, -1.0, 2.0]), table: np.ones((2, 2))}
    with pytest.raises(errors.DomainError, match=r"value\[1\] = -1\.0; required > 0; in log\(x\)$"):
        ad.evaluate(ad.exp(ad.log(x)) + ad.log(x * x), at)
    with pytest.raises(errors.IndexOutOfBounds, match=r"; in gather\(table, x\)$"):
        ad.evaluate(ad.gather(table, x), at)
    with pytest.raises(errors.DimensionMismatch, match=r"forward has dimension \(2,\); .*; in custom\(x\)$"):
        ad.evaluate(ad.custom([x], lambda v: np.ones(2), shape=(3,)), at)


def test_failures_to_bind_say_which_variable() -> None:
    x, y, nameless = ad.variable("x", (2,)), ad.variable("y"), ad.variable("")
    z, good = ad.sum(x) * y + nameless, np.ones(2)
    calls: list[Callable[[Any, Any], Any]] = [
        ad.evaluate,
        ad.value_and_gradient,
        lambda z, at: ad.jvp(z, at, {}),
        lambda z, at: ad.jacobian(z, at, x),
    ]
    for wrong in (np.ones(3), np.array([1.0, np.inf]), np.ones(2, np.float32), [1.0, 2.0], 1.0):
        for call in calls:
            with pytest.raises(errors.HMathError, match=r"bindings.*; for input x$"):
                call(z, {y: 1.0, x: wrong, nameless: 0.0})
    with pytest.raises(errors.NonFinite, match=r"bindings = nan is not finite; for input number 2$"):
        ad.evaluate(z, {y: 1.0, x: good, nameless: math.nan})
    step = ad.compile(z, [nameless, x, y])
    with pytest.raises(errors.TypeMismatch, match=r"inputs is a list; .*; for input number 1$"):
        step(0.0, [1.0, 2.0], 1.0)  # type: ignore[arg-type]
    with pytest.raises(errors.DimensionMismatch, match=r"inputs has dimension \(3,\); .*; for input x$"):
        step(0.0, np.ones(3), 1.0)
    with pytest.raises(errors.DimensionMismatch, match=r"tangents has dimension .*; for input x$"):
        ad.jvp(z, {y: 1.0, x: good, nameless: 0.0}, {y: 1.0, x: np.ones(3)})
    with pytest.raises(errors.NonFinite, match=r"tangents = inf is not finite; for input y$"):
        ad.jvp(z, {y: 1.0, x: good, nameless: 0.0}, {y: math.inf})


def test_what_does_not_fit_is_named_as_the_function_names_it() -> None:
    x, wide, long = ad.variable("x", (3,)), ad.variable("wide", (2, 3)), ad.variable("long", (4,))
    none = ad.variable("none", (0, 1))
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: ad.select(x, wide, long), "autodiff.select: b has dimension (4,)"),
        (lambda: ad.select(long, x, 1.0), "autodiff.select: a has dimension (3,)"),
        (lambda: ad.power(x, long), "autodiff.power: exponent has dimension (4,)"),
        (
            lambda: ad.concatenate([x, wide]),
            "autodiff.concatenate: values has dimension (2, 3); required (3,)",
        ),
        (lambda: ad.stack([x, wide]), "autodiff.stack: values has dimension (2, 3); required (3,)"),
        (lambda: ad.batch_norm(1e-5, np.ones(1), np.ones(1), none), "autodiff.batch_norm: input is empty"),
        (lambda: ad.sum(wide, (0, 0)), "autodiff.sum: axis[1] = 0; required no axis twice"),
        (lambda: wide.mean((0, -2)), "autodiff.mean: axis[1] = 0; required no axis twice"),
        (lambda: tensor.zeros([2, 3]).sum((0, 0)), "tensor.sum: axis[1] = 0; required no axis twice"),
    ]
    for call, found in calls:
        with pytest.raises(errors.HMathError) as caught:
            call()
        assert str(caught.value).startswith(found)


def test_a_node_has_no_numbers() -> None:
    """NumPy made an array of nodes of a tensor's elements, which failed much later or not at all."""
    x = ad.variable("x", (3,))
    for convert in (np.asarray, np.atleast_2d, lambda y: np.concatenate([y, y]), lambda y: np.ones(3).dot(y)):
        with pytest.raises(TypeError, match=r"no numbers before it is evaluated; see evaluate\(\)"):
            convert(x)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 32, 1024, 1500])
def test_nothing_is_broadcast_against(width: int) -> None:
    """An empty batch: a division by its zero extent ended the process."""
    x, b = ad.variable("x", (0, width)), ad.variable("b", (width,))
    empty, numbers = np.zeros((0, width)), np.linspace(0.5, 1.5, width)
    nodes = [
        x + b,
        x * b * 2.0 + ad.broadcast_to(b, (0, width)),
        ad.select(ad.less(x, b), x, b),
        ad.sum(x * b),
    ]
    nodes += ad.gradient(nodes[-1], [x, b])
    for i, result in enumerate(ad.evaluate(nodes, {x: empty, b: numbers})):
        expected = [empty, empty, empty, np.asarray(0.0), empty, np.zeros(width)][i]
        assert np.asarray(result).shape == expected.shape and np.array_equal(np.asarray(result), expected)
    folded = ad.constant(empty) + ad.constant(numbers)
    assert np.asarray(ad.evaluate(folded, {})).shape == (0, width)


def test_small_tensors_need_little_room() -> None:
    """A result of three numbers took the room of 1,024 while its group ran."""
    x = ad.variable("x", (3,))
    terms = [ad.sin(x * float(i)) for i in range(1000)]
    total = terms[-1]
    for term in reversed(terms[:-1]):  # so that all wait for the last one
        total = total + term
    assert ad.compile(total, [x]).workspace < 1000 * 3 * 64


@pytest.mark.parametrize("exponent", range(6))
def test_powers_have_all_derivatives_at_zero(exponent: int) -> None:
    """Beyond the exponent they are 0, not a quotient by 0."""
    x = ad.variable("x")
    y = ad.variable("y", (2,))
    derivative = x**exponent
    for order in range(exponent + 4):
        factor = math.perm(exponent, order)
        assert ad.evaluate(derivative, {x: 0.0}) == (factor if order == exponent else 0)
        at_two = factor * 2.0 ** (exponent - order)
        assert ad.evaluate(derivative, {x: 2.0}) == pytest.approx(at_two, rel=4 * 2**-52)  # a few products
        derivative = ad.gradient(derivative, x)
    powers = ad.sum(y ** np.array([0.0, float(exponent)]))
    second = ad.gradient(ad.sum(ad.gradient(powers, y)), y)
    wanted = [0.0, 2.0 if exponent == 2 else 0.0]
    assert np.array_equal(np.asarray(ad.evaluate(second, {y: np.zeros(2)})), wanted)


def test_indices_in_lists_of_lists() -> None:
    table = np.arange(12.0).reshape(4, 3)
    for indices in ([[0, 2], [3, 3]], ([0], (1,)), [[[1]], [[2]]], [[], []], [[np.int64(2)]]):
        got = ad.evaluate(ad.embedding(table, indices), {})
        assert np.array_equal(np.asarray(got), table[np.array(indices, dtype=int)])
    endless: list[Any] = []
    endless.append(endless)
    refused: list[tuple[Any, type, str]] = [
        ([[0, 1], [2]], errors.DimensionMismatch, r"indices\[1\] has dimension 1; required 2"),
        ([[0], 1], errors.TypeMismatch, r"indices\[0\] is a list; required Int"),
        ([[0.5]], errors.TypeMismatch, r"indices\[0\] is a float; required Int"),
        (endless, errors.DimensionMismatch, "rank 9"),
        ([[4]], errors.IndexOutOfBounds, "4"),
    ]
    for indices, error, message in refused:
        with pytest.raises(error, match=message):
            ad.evaluate(ad.gather(table, indices), {})


@pytest.mark.parametrize("give", [lambda u: {0: u}, lambda u: {u}, lambda u: "1", lambda u: u])
def test_cotangents_come_in_order(give: Callable[[Any], Any]) -> None:
    """The keys of a dict were taken for cotangents."""
    x = ad.variable("x")
    node = ad.custom([x], lambda values: values[0], lambda values, adjoint: give(adjoint))
    with pytest.raises(errors.TypeMismatch, match=r"reverse is .*; required one cotangent per input"):
        ad.value_and_gradient(node, {x: 3.0})


def test_norm_at_zero() -> None:
    x = ad.variable("x", (3,))
    first = ad.gradient(ad.norm(x), x)
    second = ad.gradient(ad.sum(first), x)
    for node in (first, second):
        assert np.array_equal(np.asarray(ad.evaluate(node, {x: np.zeros(3)})), np.zeros(3))
    at = np.array([3.0, 0.0, 4.0])
    hessian = (np.eye(3) - np.outer(at, at) / 25) / 5
    assert np.allclose(np.asarray(ad.evaluate(second, {x: at})), hessian.sum(axis=0), rtol=0, atol=1e-16)


def test_push_forward_counts_every_way() -> None:
    """Nodes that depend on one another, or stand there twice: the sum of gradients times tangents, as documented."""
    x = ad.variable("x", (3,))
    y = x * x
    z = ad.sin(y) * x
    tangents = [np.array([1.0, 2.0, -1.0]), np.array([0.5, -1.0, 2.0]), np.array([2.0, 1.0, 1.0])]
    wrt = [x, y, x]
    bindings = {x: np.array([0.3, -0.7, 1.1])}
    pushed = ad.push_forward(ad.sum(z), wrt, tangents)
    gradients = [np.asarray(g) for g in ad.evaluate(ad.gradient(ad.sum(z), wrt), bindings)]
    expected = sum(float(g @ t) for g, t in zip(gradients, tangents, strict=True))
    assert ad.evaluate(pushed, bindings) == pytest.approx(expected, rel=1e-14)  # a dozen operations
    assert ad.evaluate(ad.push_forward(y, [y], [tangents[0]]), bindings).values == [1.0, 2.0, -1.0]


def test_comparisons_and_methods_of_both_kinds() -> None:
    x, s = ad.variable("x", (3,)), ad.variable("s")
    bindings = {x: np.array([1.0, 2.0, 3.0]), s: 2.0}
    nodes = [x < s, x <= s, x > s, x >= s, 2.0 > x, s < 3.0, np.array([2.0, 2.0, 2.0]) >= x]
    wanted = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0], 1, [1, 1, 0]]
    for node, expected in zip(nodes, wanted, strict=True):
        assert np.array_equal(np.asarray(ad.evaluate(node, bindings)), expected)
    with pytest.raises(TypeError):
        assert x < "a"
    assert ad.evaluate(x.sum().sum().mean().max().reshape(), bindings) == 6.0
    assert [ad.evaluate(element, bindings) for element in x] == [1.0, 2.0, 3.0]
    assert not ad.Dual(0.0, 1.0) and ad.Dual(-1.0)


def test_the_picture_of_a_large_graph_is_one_box() -> None:
    y = ad.variable("x")
    for _ in range(500):
        y = ad.sin(y)
    assert "a graph of 501 nodes" in y._repr_svg_()


def test_a_node_has_no_truth_value() -> None:
    """`if ad.less(x, y):` was always true."""
    x = ad.variable("x")
    with pytest.raises(TypeError, match="no truth value"):
        bool(ad.less(x, 1.0))
    assert x in [x] and x not in [ad.variable("x")]
