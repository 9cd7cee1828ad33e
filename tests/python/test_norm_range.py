"""Normalisation and its derivatives at every magnitude of row, epsilon and cotangent, against mpmath.

Tolerances. With M the largest |x|, U the largest |u| and r = 1/sqrt(variance + epsilon), a result is
right to a few roundings of what it is made of: the mean is rounded at M, which moves an element of y by
r M 2^-52; a cotangent is r times terms of size U (1 + |y| max|y|), in which such a y stands again. Nothing is
allowed for what underflows on the way: only the result itself may be rounded to a multiple of 2^-1074.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from hmath import autodiff as ad
from hmath import deeplearning_layers as layers
from hmath import errors, tensor

Numbers = Sequence[Any]
TINY = 2.0**-1074
LARGEST = sys.float_info.max
ROUNDING = mpmath.mpf(2) ** -52
PRECISION = 9000  # holds the square of the largest double beside that of the smallest, twice

SMALL = [1e-320, 1e-310, 1e-300, 1e-200, 1e-160, 1e-120, 1e-30]
LARGE = [1e8, 1e30, 1e120, 1e155, 1e160, 1e200, 1e300, 1e308]
SCALES = [*SMALL, 1.0, *LARGE]
EPSILONS = [5e-324, 1e-300, 1e-150, 1e-5, 1.0, 1e150, 1e300, 1.7e308]
ROWS = {
    "constant": [1.0, 1.0, 1.0],
    "constant of five": [0.7] * 5,
    "spread": [0.9, -1.3, 0.25, 1.6],
    "outlier": [0.0, 1.0, 0.0, 0.0, 0.0],
    "outlier beside others": [1.0, 1e-40, -1e-40],
    "pair": [1.0, -1.0],
}
WEIGHTS = [1.0, 2.0, 3.0, -0.5, 0.3]


def exact(values: Numbers) -> list[Any]:
    return [mpmath.mpf(float(v)) if not isinstance(v, mpmath.mpf) else v for v in values]


def mean(values: Numbers) -> Any:
    return mpmath.fsum(values) / len(values)


def inverse(x: Numbers, epsilon: float, centred: bool) -> Any:
    middle = mean(x) if centred else 0
    return 1 / mpmath.sqrt(mean([(v - middle) ** 2 for v in x]) + mpmath.mpf(epsilon))


def forward(x: Numbers, epsilon: float, centred: bool) -> list[Any]:
    by, middle = inverse(x, epsilon, centred), mean(x) if centred else 0
    return [(v - middle) * by for v in x]


def backward(x: Numbers, u: Numbers, epsilon: float, centred: bool) -> list[Any]:
    by, y = inverse(x, epsilon, centred), forward(x, epsilon, centred)
    along, middle = mean([a * b for a, b in zip(u, y, strict=True)]), mean(u) if centred else 0
    return [by * (a - middle - b * along) for a, b in zip(u, y, strict=True)]


def twice(x: Numbers, u: Numbers, v: Numbers, epsilon: float, centred: bool) -> list[Any]:
    """The derivative of backward(x) . v: that of backward along v, for the Hessian is symmetric."""
    h = mpmath.mpf(10) ** -1000  # the error is its square, against numbers of 10^-970 at least
    ahead = backward([a + h * b for a, b in zip(x, v, strict=True)], u, epsilon, centred)
    behind = backward([a - h * b for a, b in zip(x, v, strict=True)], u, epsilon, centred)
    return [(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)]


def close(got: Any, right: Numbers, slack: Any) -> None:
    flat = np.asarray(got).ravel().tolist()
    assert len(flat) == len(right)
    for g, r in zip(flat, right, strict=True):
        assert abs(mpmath.mpf(g) - r) <= slack + 16 * ROUNDING * abs(r) + TINY, (g, float(r))


def row(kind: str, scale: float) -> list[float]:
    return [v * scale for v in ROWS[kind]]


def batch_norm(epsilon: float, x: Any) -> Any:
    """Training, with neither gamma nor beta to speak of, over a channel of one row."""
    state = layers.BatchNormState([0.0], [1.0], 0)
    column = np.asarray(x).reshape(-1, 1)
    return layers.batch_norm(layers.Training.TRAINING, 0.0, epsilon, [1.0], [0.0], state, column)[0]


EAGER: dict[str, tuple[bool, Callable[[float, Any], Any]]] = {
    "layer": (True, lambda e, x: layers.layer_norm(1, e, x.reshape(1, -1))),
    "rms": (False, lambda e, x: layers.rms_norm(1, e, x.reshape(1, -1))),
    "instance": (True, lambda e, x: layers.instance_norm(e, x.reshape(1, 1, -1))),
    "group": (True, lambda e, x: layers.group_norm(1, e, x.reshape(1, -1))),
    "batch": (True, batch_norm),
}

ONE, ZERO = np.ones(1), np.zeros(1)
NODES: dict[str, tuple[bool, Callable[[int], tuple[int, ...]], Callable[[float, Any], Any]]] = {
    "layer": (True, lambda n: (1, n), lambda e, x: ad.layer_norm(1, e, x)),
    "rms": (False, lambda n: (1, n), lambda e, x: ad.rms_norm(1, e, x)),
    "instance": (True, lambda n: (1, 1, n), lambda e, x: ad.instance_norm(e, x)),
    "group": (True, lambda n: (1, n), lambda e, x: ad.group_norm(1, e, x)),
    "batch": (
        True,
        lambda n: (n, 1),
        lambda e, x: ad.batch_norm(e, ad.constant(ONE), ad.constant(ZERO), x)[0],
    ),
    "batch, spatial": (
        True,
        lambda n: (1, 1, n),
        lambda e, x: ad.batch_norm(e, ad.constant(ONE), ad.constant(ZERO), x)[0],
    ),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", EAGER)
def test_forward(name: str, kind: str) -> None:
    centred, norm = EAGER[name]
    with mpmath.workprec(PRECISION):
        for scale in SCALES:
            for epsilon in EPSILONS:
                x = row(kind, scale)
                by = inverse(exact(x), epsilon, centred)
                slack = 2 * ROUNDING * max(map(abs, x)) * by if centred else 0
                close(norm(epsilon, np.array(x)), forward(exact(x), epsilon, centred), slack)


def gradient_slack(x: Numbers, u: Numbers, epsilon: float, centred: bool) -> Any:
    by, y = inverse(x, epsilon, centred), forward(x, epsilon, centred)
    size = 1 + max(map(abs, y)) ** 2
    moved = by * max(map(abs, x)) if centred else 0  # what a rounding of the mean does to y
    return 16 * ROUNDING * by * max(map(abs, u)) * size * (1 + moved)


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", NODES)
def test_value_and_gradient(name: str, kind: str) -> None:
    centred, shape, norm = NODES[name]
    n = len(ROWS[kind])
    for epsilon in EPSILONS:
        x, c = ad.variable("x", shape(n)), ad.variable("c", shape(n))
        y = norm(epsilon, x)
        gradient = ad.gradient(ad.sum(y * c), x)
        with mpmath.workprec(PRECISION):
            for scale in SCALES:
                data = row(kind, scale)
                bindings = {x: np.array(data).reshape(shape(n))}
                numbers = exact(data)
                by = inverse(numbers, epsilon, centred)
                slack = 2 * ROUNDING * max(map(abs, data)) * by if centred else 0
                close(ad.evaluate(y, bindings), forward(numbers, epsilon, centred), slack)
                for weight in (1e-318, 1e-280, 1.0, 1e280):
                    u = exact([w * weight for w in WEIGHTS[:n]])
                    bindings[c] = np.array([float(w) for w in u]).reshape(shape(n))
                    right = backward(numbers, u, epsilon, centred)
                    slack = gradient_slack(numbers, u, epsilon, centred)
                    if all(abs(r) + slack < LARGEST for r in right):
                        close(ad.evaluate(gradient, bindings), right, slack)
                    elif any(abs(r) - slack > 2 * LARGEST for r in right):
                        with pytest.raises(errors.Overflow):
                            ad.evaluate(gradient, bindings)


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("name", NODES)
def test_second_order(name: str, kind: str) -> None:
    """The written-out nodes, with r their only part that is beyond products and means of doubles."""
    centred, shape, norm = NODES[name]
    n = len(ROWS[kind])
    for epsilon in (1e-150, 1e-5, 1.0, 1e150):
        x = ad.variable("x", shape(n))
        u, v = np.array(WEIGHTS[:n]).reshape(shape(n)), np.array(WEIGHTS[n - 1 :: -1]).reshape(shape(n))
        second = ad.gradient(ad.sum(ad.gradient(ad.sum(norm(epsilon, x) * u), x) * v), x)
        with mpmath.workprec(PRECISION):
            for scale in SCALES:
                numbers = exact(row(kind, scale))
                right = twice(numbers, exact(u.ravel()), exact(v.ravel()), epsilon, centred)
                by = inverse(numbers, epsilon, centred)
                slack = 16 * by * 9 * gradient_slack(numbers, exact(u.ravel()), epsilon, centred)
                close(ad.evaluate(second, {x: np.array(row(kind, scale)).reshape(shape(n))}), right, slack)


@pytest.mark.parametrize("name", ["layer", "rms"])
def test_second_order_of_factors_whose_product_underflows(name: str) -> None:
    """u y is no double; u r y is, and so are the first and the second derivative."""
    centred, shape, norm = NODES[name]
    numbers, u, v = [1e-270, 2e-270], [1e-205, 3e-205], [1.0, 0.0]
    x = ad.variable("x", shape(2))
    first = ad.gradient(ad.sum(norm(1e-300, x) * np.array(u).reshape(shape(2))), x)
    second = ad.gradient(ad.sum(first * np.array(v).reshape(shape(2))), x)
    with mpmath.workprec(PRECISION):
        right = twice(exact(numbers), exact(u), exact(v), 1e-300, centred)
        close(
            ad.evaluate(second, {x: np.array(numbers).reshape(shape(2))}),
            right,
            16
            * mpmath.mpf(2) ** -53
            * max(abs(r) for r in right),  # sixteen roundings, none of them amplified
        )


@pytest.mark.parametrize("pair", [(1e-161, 3e-170), (1e-200, 1e-200), (1e-300, 1e-150), (1e-318, 1e-200)])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name", NODES)
def test_second_order_of_tiny_cotangents(name: str, mixed: bool, pair: tuple[float, float]) -> None:
    """Their product is far below any double, times r^2 it is one; or one of them makes up for the other."""
    centred, shape, norm = NODES[name]
    n, (first, second) = 4, pair
    x, u, v = (ad.variable(letter, shape(n)) for letter in "xuv")
    along = ad.gradient(ad.sum(norm(5e-324, x) * u), x)
    gradient = ad.gradient(ad.sum(along * v), x)
    for magnitude in (1e-120, 1e-140, 1e-160):
        numbers = row("spread", magnitude)
        if mixed:  # a large one beside a small one
            second = 1e-16 / first
        a, b = [w * first for w in WEIGHTS[:n]], [w * second for w in WEIGHTS[n - 1 :: -1]]
        bound = {k: np.array(data).reshape(shape(n)) for k, data in ((x, numbers), (u, a), (v, b))}
        tangent = ad.jvp(along, {x: bound[x], u: bound[u]}, {x: bound[v]})[1]
        with mpmath.workprec(PRECISION):
            right = twice(exact(numbers), exact(a), exact(b), 5e-324, centred)
            assert max(abs(r) for r in right) < LARGEST
            # at most thirty roundings in three terms that cancel to no less than a tenth of the largest
            slack = 300 * ROUNDING * max(abs(r) for r in right)
            close(ad.evaluate(gradient, bound), right, slack)
            close(tangent, right, slack)


def test_a_constant_row_has_the_gradient_of_its_epsilon() -> None:
    """Whatever its magnitude: nothing deviates, and r is 1/sqrt(epsilon)."""
    x = ad.variable("x", (1, 3))
    gradient = ad.gradient(ad.sum(ad.layer_norm(1, 1e-5, x) * np.array([1.0, 2.0, 3.0])), x)
    for scale in [*SCALES, 0.1, 1e20, 1e31]:
        got = np.asarray(ad.evaluate(gradient, {x: np.full((1, 3), scale)}))
        assert np.abs(got - np.array([[-1.0, 0.0, 1.0]]) * 316.2277660168379).max() < 1e-12


def test_the_mean_of_subnormals_is_not_one_of_them() -> None:
    got = layers.layer_norm(1, 1e-5, np.array([[TINY, 0.0, 0.0]]))
    assert got.tolist() == [[211 * TINY, -105 * TINY, -105 * TINY]]


@pytest.mark.parametrize("spatial", [1, 7])
def test_batch_norm_scales_what_underflowed(spatial: int) -> None:
    """Inference: a product with a large gamma or a small one, its first factor beyond a double's range."""
    small = [(1e-300, 1e300, 1e308), (1e-200, 1e260, 1e200)]
    for x, variance, gamma in [*small, (1e200, 0.0, 1e-300), (1.7e308, 1.0, 1e-5)]:
        state = layers.BatchNormState([-1.7e308 if x > 1e308 else 0.0], [variance], 0)
        data = np.full((2, 1, spatial) if spatial > 1 else (2, 1), x)
        got, _ = layers.batch_norm(layers.Inference, 0.0, 5e-324, [gamma], [0.0], state, data)
        with mpmath.workprec(PRECISION):
            below = mpmath.mpf(float(state.running_mean[0]))
            root = mpmath.sqrt(mpmath.mpf(variance) + mpmath.mpf(5e-324))
            right = (mpmath.mpf(x) - below) / root * mpmath.mpf(gamma)
            close(got, [right] * data.size, 0)


@pytest.mark.parametrize("kind", ROWS)
def test_variance_of_batch_norm_and_its_gradient(kind: str) -> None:
    """Its squares may leave the range of a double where their mean does not."""
    n = 100
    x = ad.variable("x", (n, 1))
    one, zero = ad.constant(ONE), ad.constant(ZERO)
    variance = ad.sum(ad.batch_norm(1e-5, one, zero, x)[2])
    gradient = ad.gradient(variance, x)
    with mpmath.workprec(PRECISION):
        for scale in [*SMALL, 1.0, 1e8, 1e30, 1e120, 4e153, 1e155, 1e200, 1e308]:
            filler = [0.0] if "constant" not in kind else row(kind, scale)[:1]
            data = (row(kind, scale) + filler * n)[:n]
            numbers, most = exact(data), max(map(abs, data))
            right = mean([(v - mean(numbers)) ** 2 for v in numbers])
            bindings = {x: np.array(data).reshape(n, 1)}
            if right > LARGEST:
                with pytest.raises(errors.Overflow):
                    ad.evaluate(variance, bindings)
                continue
            close(ad.evaluate(variance, bindings), [right], 0)
            slopes = [2 * (v - mean(numbers)) / n for v in numbers]
            close(ad.evaluate(gradient, bindings), slopes, 4 * ROUNDING * most)


def test_a_variance_is_a_double_where_a_square_is_not() -> None:
    x = ad.variable("x", (100, 1))
    variance = ad.batch_norm(1e-5, ad.constant(ONE), ad.constant(ZERO), x)[2]
    data = np.zeros((100, 1))
    data[7] = 1e155  # squared 1e310
    got = np.asarray(ad.evaluate(variance, {x: data}))
    assert abs(got[0] / 9.9e307 - 1) < 1e-14


@pytest.mark.parametrize("scale", [sys.float_info.max, -sys.float_info.max, 1.0, 5e-324])
@pytest.mark.parametrize("element", [0.12109375, -3.0, sys.float_info.max, 5e-324, 1e-300])
def test_weight_norm_of_one_element_is_its_scale(scale: float, element: float) -> None:
    """A rounding beyond the magnitude made an infinity of the largest double."""
    result = layers.weight_norm(0, [scale, 1.0], tensor.tensor([2, 1], [element, 1.0]))
    assert result.values[0] == pytest.approx(
        math.copysign(scale, scale * math.copysign(1, element)), rel=2**-51
    )
    assert abs(result.values[0]) <= abs(scale)
