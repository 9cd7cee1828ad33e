"""deeplearning_core against mpmath at 60 digits, exact counting, SciPy, and the properties that define it."""

import copy
import doctest
import itertools
import math
import pickle
import sys
from array import array
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import hmath
from hmath import deeplearning_core as core
from hmath import tensor

mp.mp.dps = 60
EPSILON = 2.0**-52
TINY = 2.0**-1074
LARGEST = mp.mpf(2) ** 1024 * (1 - mp.mpf(2) ** -53)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
MODERATE = st.floats(-50, 50)
UNIT = st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1))


def vectors(elements, most=40):
    return st.lists(elements, min_size=1, max_size=most)


def sum_bound(n):
    """SEMANTICS 9: what a sum of n terms of one sign may be off by, relatively."""
    return (8 + min(n, 4096) / 64 + math.log2(n)) * EPSILON


def number(x):
    return mp.mpf(float(x))


# ---------------------------------------------------------------- selectors


SELECTORS = [
    *[core.Sigmoid, core.Tanh, core.ReLU, core.SELU, core.GELU, core.SiLU, core.Mish, core.Softplus],
    *[core.Softsign, core.HardSigmoid, core.HardSwish, core.LeakyReLU(0.1), core.PReLU(-2.0), core.ELU(0.5)],
]


def test_selectors_are_values():
    assert core.LeakyReLU(0.5) == core.LeakyReLU(0.5) != core.PReLU(0.5)
    assert core.Huber(1.0) != core.Huber(2.0)
    assert repr(core.ELU(1.5)) == "ELU(1.5)"
    for selector in [*SELECTORS, core.Sum, core.Mean, core.CosineLoss, core.Hinge(1.0)]:
        assert pickle.loads(pickle.dumps(selector)) == selector
        assert copy.deepcopy(selector) is selector


def test_selectors_are_never_validated_when_made():
    for make in (core.LeakyReLU, core.PReLU, core.ELU, core.Huber, core.SmoothL1, core.Hinge):
        for parameter in (-1.0, 0.0, math.nan, -math.inf):
            make(parameter)


# ---------------------------------------------------------------- activations (accuracy: tests/accuracy)


@pytest.mark.parametrize("method", SELECTORS, ids=repr)
@pytest.mark.parametrize("function", [core.activation, core.activation_derivative])
def test_whole_arrays_and_tensors_hold_the_bits_of_their_numbers(method, function):
    x = np.concatenate(
        [np.linspace(-40, 40, 997), [-800, -745.2, -720, 0.0, -0.0, 720, 1e300, -1e300, 5e-324]]
    )
    one_by_one = [function(method, value) for value in x.tolist()]
    assert function(method, x).tolist() == one_by_one
    block = x[:1000].reshape(10, 2, 50)
    result = function(method, block)
    assert type(result) is np.ndarray and result.shape == (10, 2, 50)
    assert result.ravel().tolist() == one_by_one[:1000]
    with tensor.tensor([2, 3], x[:6].tolist()) as value, function(method, value) as output:
        assert output.shape == (2, 3) and output.values == one_by_one[:6]


@pytest.mark.parametrize("method", SELECTORS, ids=repr)
@given(x=st.floats(-30, 30))
def test_derivative_is_the_slope(method, x):
    for kink in (-3, 0, 3):
        if abs(x - kink) < 1e-3:
            return
    h = 1e-5  # truncation h^2 f'''/6 and rounding eps/h: both below 1e-9 times the values involved
    slope = (core.activation(method, x + h) - core.activation(method, x - h)) / (2 * h)
    assert abs(core.activation_derivative(method, x) - slope) <= 1e-9 * (1 + abs(x))


def test_kinks():
    derivative = core.activation_derivative
    assert derivative(core.ReLU, 0.0) == 0.0
    assert derivative(core.LeakyReLU(0.25), 0.0) == derivative(core.PReLU(0.25), 0.0) == 0.25
    assert derivative(core.ELU(0.5), 0.0) == 0.5
    assert derivative(core.HardSigmoid, -3.0) == derivative(core.HardSigmoid, 3.0) == 0.0
    assert derivative(core.HardSigmoid, math.nextafter(3, 0)) == 1 / 6
    assert (derivative(core.HardSwish, -3.0), derivative(core.HardSwish, 3.0)) == (0.0, 1.0)


def test_scalars_of_other_types():
    assert core.activation(core.Sigmoid, 0) == core.activation(core.Sigmoid, np.float64(0)) == 0.5
    assert type(core.activation(core.Sigmoid, np.float32(0))) is float
    empty = core.activation(core.Sigmoid, np.zeros((0, 3)))
    assert empty.shape == (0, 3)
    zero_dimensional = core.activation(core.Sigmoid, np.array(0.0))
    assert zero_dimensional == 0.5


@given(x=vectors(FINITE), y=vectors(FINITE))
def test_gated_linear_unit(x, y):
    n = min(len(x), len(y))
    got = core.gated_linear_unit(x[:n], y[:n])
    for value, gate, result in zip(x, y, got, strict=False):
        right = number(value) / (1 + mp.exp(-number(gate))) if gate > -1e5 else mp.mpf(0)
        assert abs(result - right) <= 4 * math.ulp(float(right))
    assert core.gated_linear_unit([], []) == []


# ---------------------------------------------------------------- softmax


@given(x=vectors(st.one_of(MODERATE, st.floats(-2000, 2000), FINITE)))
def test_softmax_accuracy(x):
    got = core.softmax(x)
    top = max(x)
    weights = [mp.exp(number(value) - number(top)) for value in x]
    total = mp.fsum(weights)
    for value, weight, result in zip(x, weights, got, strict=True):
        right = weight / total
        gap = min(float(number(top) - number(value)), 1e300)
        assert abs(result - right) <= right * (gap + 8) * EPSILON + TINY
    assert abs(sum(got) - 1) <= len(x) * EPSILON + EPSILON


@given(x=vectors(st.one_of(MODERATE, st.floats(-2000, 2000), st.floats(-1e300, 1e300))))
def test_log_softmax_accuracy(x):
    got = core.log_softmax(x)
    top = max(x)
    gaps = [number(top) - number(value) for value in x]
    first = gaps.index(0)
    others = mp.fsum(mp.exp(-gap) for i, gap in enumerate(gaps) if i != first)
    for gap, result in zip(gaps, got, strict=True):
        right = -gap - mp.log1p(others)
        # one sum of one sign; each exponential below the smallest normal number loses up to half its last place
        assert abs(result - right) <= abs(right) * sum_bound(len(x)) + len(x) * TINY


@given(x=vectors(st.integers(-1000, 1000).map(float)), shift=st.integers(-(2**40), 2**40))
def test_softmax_is_invariant_under_shifts(x, shift):
    # whole numbers, so that the shift itself rounds nothing
    assert core.softmax(x) == core.softmax([value + shift for value in x])
    assert core.log_softmax(x) == core.log_softmax([value + shift for value in x])


@pytest.mark.parametrize("n", [1, 7, 64, 1000, 4096, 4097, 20000])
def test_rows_alone_and_in_a_batch(n):
    x = np.random.default_rng(n).standard_normal((5, n)) * 10
    for function in (core.softmax, core.log_softmax, core.sparsemax):
        whole = function(x)
        assert whole.shape == x.shape and type(whole) is np.ndarray
        for row, result in zip(x, whole, strict=True):
            assert function(row).tolist() == result.tolist() == function(row.tolist())
    assert abs(core.softmax(x) - scipy.special.softmax(x, axis=-1)).max() < 1e-15
    assert np.allclose(core.log_softmax(x), scipy.special.log_softmax(x, axis=-1), rtol=1e-13, atol=4e-15)


@pytest.mark.parametrize("n", [4096, 100_000])
def test_softmax_of_equal_terms(n):
    """Every rounding of such a sum falls the same way; the bound holds nonetheless."""
    x = np.full(n, -0.357)
    x[0] = 0.0
    got = core.softmax(x)
    right = mp.exp(number(-0.357)) / (1 + (n - 1) * mp.exp(number(-0.357)))
    assert abs(got[-1] - right) <= right * 8.357 * EPSILON


def test_shapes_without_elements():
    assert core.softmax(np.zeros((0, 3))).shape == (0, 3)
    assert core.sparsemax(np.zeros((2, 0, 3))).shape == (2, 0, 3)


# ---------------------------------------------------------------- sparsemax


@given(x=vectors(st.one_of(MODERATE, st.floats(-2, 2), FINITE, st.integers(-3, 3).map(lambda i: i / 2))))
def test_sparsemax_is_the_projection(x):
    """p minimises |p - x| over the simplex: p = max(0, x - tau) with one tau, and p sums to 1."""
    got = core.sparsemax(x)
    assert all(0 <= p <= 1 for p in got)
    assert abs(math.fsum(got) - 1) <= len(x) * EPSILON
    exact = sorted(map(Fraction, x), reverse=True)
    support = max(k for k in range(1, len(x) + 1) if 1 + k * exact[k - 1] > sum(exact[:k]))
    tau = (sum(exact[:support]) - 1) / support
    for value, p in zip(x, got, strict=True):
        right = max(Fraction(0), Fraction(value) - tau)
        assert abs(Fraction(p) - right) <= Fraction(4 * EPSILON) * right + Fraction(TINY)
        assert (p > 0) == (right > 0) or right < TINY


def test_sparsemax_is_not_quadratic():
    ladder = np.linspace(0, 1e-6, 200_000)  # every entry a candidate
    got = core.sparsemax(ladder)
    assert abs(got.sum() - 1) < 1e-9 and (got > 0).all()
    powers = -(2.0 ** -np.arange(1074.0))  # one candidate a binade: the worst case for bisection by value
    assert abs(core.sparsemax(powers).sum() - 1) < 1e-12


# ---------------------------------------------------------------- losses


def plain_log(coefficient, x):
    return mp.mpf(0) if coefficient == 0 else coefficient * mp.log(x)


def huber(e, d):
    return e * e / 2 if e <= d else d * (e - d / 2)


def smooth(e, b):
    return e * e / (2 * b) if e < b else e - b / 2


LOSSES = {
    core.MeanSquaredError: lambda t, p: (p - t) ** 2,
    core.MeanAbsoluteError: lambda t, p: abs(p - t),
    core.Huber(0.75): lambda t, p: huber(abs(p - t), number(0.75)),
    core.Huber(1e-300): lambda t, p: huber(abs(p - t), number(1e-300)),
    core.SmoothL1(0.75): lambda t, p: smooth(abs(p - t), number(0.75)),
    core.SmoothL1(1e300): lambda t, p: smooth(abs(p - t), number(1e300)),
}
PROBABILITY_LOSSES = {
    core.BinaryCrossEntropy: lambda t, p: -plain_log(t, p) - (0 if t == 1 else (1 - t) * mp.log1p(-p)),
    core.CategoricalCrossEntropy: lambda t, p: -plain_log(t, p),
    core.KLDivergence: lambda t, p: mp.mpf(0) if t == 0 else t * mp.log(t / p),
}


def check_sum(method, reduction, target, prediction, terms):
    right = mp.fsum(terms) / (len(terms) if reduction is core.Mean else 1)
    # where terms have both signs, their magnitudes take the sum's place in the bound
    scale = mp.fsum(abs(term) for term in terms) / (len(terms) if reduction is core.Mean else 1)
    if abs(right) > LARGEST * (1 - sum_bound(len(terms))):  # within the error bound either is right
        if abs(right) > LARGEST * (1 + sum_bound(len(terms))):
            with pytest.raises(hmath.Overflow):
                core.loss(method, reduction, target, prediction)
        return
    got = core.loss(method, reduction, target, prediction)
    # below the smallest normal number a term may lose half its last place
    assert abs(got - right) <= scale * sum_bound(len(terms)) + len(terms) * TINY


@pytest.mark.parametrize("method", LOSSES, ids=repr)
@pytest.mark.parametrize("reduction", [core.Sum, core.Mean], ids=repr)
@given(data=st.lists(st.tuples(*[st.one_of(MODERATE, FINITE)] * 2), min_size=1, max_size=40))
def test_regression_losses(method, reduction, data):
    target, prediction = [t for t, _ in data], [p for _, p in data]
    check_sum(method, reduction, target, prediction, [LOSSES[method](number(t), number(p)) for t, p in data])


@pytest.mark.parametrize("method", PROBABILITY_LOSSES, ids=repr)
@pytest.mark.parametrize("reduction", [core.Sum, core.Mean], ids=repr)
@given(data=st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=40))
def test_probability_losses(method, reduction, data):
    possible = [
        (t, p)
        for t, p in data
        if not (t > 0 and p == 0) and not (method is core.BinaryCrossEntropy and t < 1 and p == 1)
    ]
    if not possible:
        return
    target, prediction = [t for t, _ in possible], [p for _, p in possible]
    terms = [PROBABILITY_LOSSES[method](number(t), number(p)) for t, p in possible]
    check_sum(method, reduction, target, prediction, terms)


@given(x=vectors(st.floats(-1e4, 1e4)), data=st.data())
def test_signed_losses(x, data):
    n = len(x)
    target = data.draw(st.lists(UNIT, min_size=n, max_size=n))
    log_probability = [-abs(value) for value in x]
    check_sum(
        core.NegativeLogLikelihood,
        core.Mean,
        target,
        log_probability,
        [-number(t) * number(p) for t, p in zip(target, log_probability, strict=True)],
    )
    sign = data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n))
    margin = data.draw(st.floats(0, 10))
    check_sum(
        core.Hinge(margin),
        core.Sum,
        sign,
        x,
        [max(mp.mpf(0), number(margin) - number(t) * number(p)) for t, p in zip(sign, x, strict=True)],
    )
    right = [
        (1 - number(t)) * max(number(v), 0)
        + number(t) * max(-number(v), 0)
        + mp.log1p(mp.exp(-abs(number(v))))
        for t, v in zip(target, x, strict=True)
    ]
    got = core.binary_cross_entropy_logits(core.Sum, target, x)
    assert abs(got - mp.fsum(right)) <= mp.fsum(right) * sum_bound(n) + n * TINY


def test_means_of_sums_that_overflow():
    huge = 1.7e308
    assert core.loss(core.MeanAbsoluteError, core.Mean, [0.0] * 4, [huge] * 4) == huge
    assert core.loss(core.MeanAbsoluteError, core.Mean, [huge, 0.0, 0.0, 0.0], [-huge, 0, 0, 0]) == huge / 2
    assert core.loss(core.MeanSquaredError, core.Mean, [0.0] * 2, [1.2e154] * 2) == 1.2e154**2
    assert core.loss(core.Huber(1e-300), core.Mean, [huge], [-huge]) == pytest.approx(3.4e8, rel=4 * EPSILON)
    thrice = core.loss(core.NegativeLogLikelihood, core.Mean, [1.0] * 3, [-huge] * 3)
    assert thrice == pytest.approx(huge, rel=2 * EPSILON)
    assert core.loss(core.Hinge(huge), core.Mean, [1.0, 1.0], [-huge, huge]) == huge
    assert core.binary_cross_entropy_logits(core.Mean, [0.0, 0.0], [huge, huge]) == huge
    assert core.loss_gradient(core.MeanSquaredError, core.Mean, [huge, 0, 0, 0], [-huge, 0, 0, 0]) == [
        -huge,
        0.0,
        0.0,
        0.0,
    ]


@pytest.mark.parametrize("n", [1, 13, 1000, 5000])
@pytest.mark.parametrize(
    ("method", "target", "prediction", "term"),
    [
        (core.MeanSquaredError, 0.0, 1.5e-162, lambda t, p: (p - t) ** 2),
        (core.Huber(1.0), 0.0, 1.6e-162, lambda t, p: (p - t) ** 2 / 2),
        (core.SmoothL1(0.5), 0.0, 1.1e-162, lambda t, p: (p - t) ** 2),
        (core.NegativeLogLikelihood, 1e-162, -1.5e-162, lambda t, p: -t * p),
        (core.CategoricalCrossEntropy, 5e-324, 0.7, lambda t, p: -t * mp.log(p)),
        (core.CategoricalCrossEntropy, 1e-308, 1 - 2.0**-53, lambda t, p: -t * mp.log(p)),
        (core.KLDivergence, 5e-324, 1e-323, lambda t, p: t * mp.log(t / p)),
        (core.KLDivergence, 5e-324, 0.3, lambda t, p: t * mp.log(t / p)),
        (core.KLDivergence, 1e-318, 1.001e-318, lambda t, p: t * mp.log(t / p)),
    ],
)
def test_sums_of_terms_that_vanish(method, target, prediction, term, n):
    """Each term is rounded to 0, or to few digits; their sum is not."""
    right = n * term(number(target), number(prediction))
    last = mp.mpf(2) ** -1075  # half the smallest double: one rounding below the normal range
    got = core.loss(method, core.Sum, [target] * n, [prediction] * n)
    assert abs(got - right) <= abs(right) * sum_bound(n) + last
    mean = core.loss(method, core.Mean, [target] * n, [prediction] * n)
    assert abs(mean - right / n) <= abs(right / n) * sum_bound(n) + last


def test_sums_of_squares_that_vanish():
    small = 3e-170
    got = core.loss(core.MeanSquaredError, core.Sum, [0.0] * 10**6, np.full(10**6, 1e-160))
    assert got == pytest.approx(1e-314, rel=1e-9)  # subnormal: nine digits are what there is
    assert core.loss(core.MeanSquaredError, core.Sum, [0.0], [small]) == 0.0
    assert core.loss(core.Huber(small), core.Sum, [0.0], [1e160]) == pytest.approx(3e-10, rel=4 * EPSILON)
    assert core.loss(core.SmoothL1(1e-320), core.Sum, [0.0], [5e-321]) > 0


@given(
    t=arrays.arrays(np.float64, 7, elements=MODERATE),
    p=arrays.arrays(np.float64, 7, elements=MODERATE),
    nearness=st.sampled_from([1.0, 1e-3, 1e-8, 1e-12, 0.0]),
    scales=st.tuples(*[st.sampled_from([1.0, 2.0**900, 2.0**-900])] * 2),
)
def test_cosine_loss(t, p, nearness, scales):
    p = t + nearness * p
    if abs(t).max() < 1e-3 or abs(p).max() < 1e-3:
        return
    t, p = t * scales[0], p * scales[1]
    a, b = [number(x) for x in t], [number(x) for x in p]
    dot = mp.fsum(x * y for x, y in zip(a, b, strict=True))
    norms = mp.sqrt(mp.fsum(x * x for x in a)) * mp.sqrt(mp.fsum(x * x for x in b))
    right = max(1 - dot / norms, mp.mpf(0))
    got = core.loss(core.CosineLoss, core.Sum, t, p)
    assert got == core.loss(core.CosineLoss, core.Mean, t, p)
    assert got >= 0
    # relative accuracy down to where the vectors' own last places decide; 1e-33 is their square
    assert abs(got - right) <= right * 1e-13 + mp.mpf(10) ** -31

    gradient = core.loss_gradient(core.CosineLoss, core.Sum, t, p)
    size = mp.sqrt(mp.fsum(x * x for x in b))
    for x, y, slope in zip(a, b, gradient, strict=True):
        exact = -(x - y * dot / (size * size)) / norms
        # elements that cancel are as good as the largest of them
        assert abs(slope - exact) <= (abs(exact) + mp.sqrt(2 * right) / size) * 1e-13 + 1e-31 / size + TINY


# ---------------------------------------------------------------- gradients


def slope_of(method, t, p):
    t, p, e = number(t), number(p), number(p) - number(t)
    name, parameter = method.name, number(method.parameters[0]) if method.parameters else mp.mpf(0)
    return {
        "MeanSquaredError": lambda: 2 * e,
        "MeanAbsoluteError": lambda: mp.sign(e),
        "Huber": lambda: max(-parameter, min(e, parameter)),
        "SmoothL1": lambda: max(mp.mpf(-1), min(e / parameter, mp.mpf(1))),
        "BinaryCrossEntropy": lambda: (-t / p if t else 0) + ((1 - t) / (1 - p) if t != 1 else 0),
        "CategoricalCrossEntropy": lambda: -t / p if t else mp.mpf(0),
        "KLDivergence": lambda: -t / p if t else mp.mpf(0),
        "NegativeLogLikelihood": lambda: -t,
        "Hinge": lambda: -t if parameter - t * p > 0 else mp.mpf(0),
    }[name]()


@pytest.mark.parametrize("reduction", [core.Sum, core.Mean], ids=repr)
@given(data=st.lists(st.tuples(st.floats(1e-200, 1), st.floats(1e-200, 1 - 1e-16)), min_size=1, max_size=20))
def test_gradients(reduction, data):
    target, prediction = [t for t, _ in data], [p for _, p in data]
    n = len(data) if reduction is core.Mean else 1
    signs = [1.0 if t > 0.5 else -1.0 for t in target]
    for method in [*LOSSES, *PROBABILITY_LOSSES, core.NegativeLogLikelihood, core.Hinge(0.5)]:
        t = signs if method == core.Hinge(0.5) else target
        p = [-x for x in prediction] if method is core.NegativeLogLikelihood else prediction
        got = core.loss_gradient(method, reduction, t, p)
        for one, other, slope in zip(t, p, got, strict=True):
            right = slope_of(method, one, other) / n
            assert abs(slope - right) <= 3 * EPSILON * abs(right) + TINY  # at most five roundings


def test_gradient_kinks():
    def gradient(method, t, p):
        return core.loss_gradient(method, core.Sum, [t], [p])[0]

    assert gradient(core.MeanAbsoluteError, 1.0, 1.0) == 0.0
    assert gradient(core.Huber(2.0), 0.0, 2.0) == 2.0 == gradient(core.Huber(2.0), 0.0, 9.0)
    assert gradient(core.SmoothL1(2.0), 0.0, -2.0) == -1.0
    assert gradient(core.Hinge(1.0), 1.0, 1.0) == 0.0
    assert gradient(core.Hinge(1.0), -1.0, -0.5) == 1.0
    assert gradient(core.BinaryCrossEntropy, 0.0, 0.0) == 1.0
    assert gradient(core.BinaryCrossEntropy, 1.0, 1.0) == -1.0
    assert math.copysign(1, gradient(core.CategoricalCrossEntropy, 0.0, 0.0)) == 1
    # t close to p: the two terms would cancel to nothing
    p = math.nextafter(0.3, 1)
    assert gradient(core.BinaryCrossEntropy, 0.3, p) == pytest.approx((p - 0.3) / 0.21, rel=1e-12)


# ---------------------------------------------------------------- logits, norms, distances


@given(x=vectors(st.one_of(MODERATE, st.floats(-1e300, 1e300))), data=st.data())
def test_categorical_cross_entropy_logits(x, data):
    weights = np.array(data.draw(st.lists(UNIT, min_size=len(x), max_size=len(x)))) + 1e-300
    target = (weights / weights.sum()).tolist()
    top = max(map(number, x))
    log_sum = mp.log(mp.fsum(mp.exp(number(value) - top) for value in x))
    right = mp.fsum(number(t) * (top - number(v) + log_sum) for t, v in zip(target, x, strict=True))
    got = core.categorical_cross_entropy_logits(target, x)
    assert abs(got - right) <= right * sum_bound(len(x)) + TINY


@pytest.mark.parametrize("rest", [1, 5, 4095, 4096, 70_000])
@pytest.mark.parametrize("gap", [5.00001, 32.00001, 300.3, 700.1, 743.7])
def test_logarithms_of_a_sum_that_one_entry_makes(gap, rest):
    """log(1 + s) is about s there, whose terms must not be off by the rounding of their distances."""
    gap += math.log(rest)
    top = 1 / 3  # so that the distance is no double
    x = [top] + [top - gap] * rest
    s = rest * mp.exp(number(x[1]) - number(top))
    right = mp.log1p(s)
    target = [1.0] + [0.0] * rest
    bound = right * sum_bound(len(x)) + rest * TINY
    assert abs(core.categorical_cross_entropy_logits(target, x) - right) <= bound
    assert abs(-core.log_softmax(x)[0] - right) <= bound


WIDE = st.one_of(MODERATE, st.floats(-1e160, 1e160), st.floats(-1e-160, 1e-160))


@given(l1=st.floats(0, 1e10), l2=st.floats(0, 1e10), weights=st.lists(WIDE, max_size=30))
def test_regularization(l1, l2, weights):
    w = [number(x) for x in weights]
    right = number(l1) * mp.fsum(map(abs, w)) + number(l2) / 2 * mp.fsum(x * x for x in w)
    bound = sum_bound(len(weights) + 1)
    if right > LARGEST * (1 + bound):
        with pytest.raises(hmath.Overflow):
            core.regularization(l1, l2, weights)
    elif right < LARGEST * (1 - bound):
        got = core.regularization(l1, l2, weights)
        assert abs(got - right) <= right * bound + TINY


@given(data=st.lists(st.tuples(WIDE, WIDE, WIDE), min_size=1, max_size=30), margin=st.floats(1e-3, 1e3))
def test_distances(data, margin):
    a, b, c = ([row[i] for row in data] for i in range(3))

    def distance(x, y):
        return mp.sqrt(mp.fsum((number(p) - number(q)) ** 2 for p, q in zip(x, y, strict=True)))

    near, far = distance(a, b), distance(a, c)
    bound = sum_bound(len(data)) * 2
    triplet = max(mp.mpf(0), near - far + number(margin))
    assert abs(core.triplet_loss(margin, a, b, c) - triplet) <= bound * (near + far + margin)
    gap = max(mp.mpf(0), number(margin) - near)
    apart = core.contrastive_loss(margin, False, a, b)
    assert (
        abs(apart - gap**2) <= 2 * bound * (gap + EPSILON) * (margin + near)
        if near < 2 * margin
        else apart == 0
    )
    if near**2 < mp.mpf(2) ** 1023:
        assert abs(core.contrastive_loss(margin, True, a, b) - near**2) <= bound * near**2 + TINY


def test_distances_beyond_a_double():
    huge = 1.7e308
    assert core.triplet_loss(1.0, [huge], [-huge], [-huge]) == 1.0
    assert core.triplet_loss(0.0, [huge], [-huge], [-huge / 2]) == pytest.approx(huge / 2, rel=4 * EPSILON)
    assert core.contrastive_loss(1.0, False, [huge], [-huge]) == 0.0
    assert core.regularization(1e-300, 0.0, [huge] * 100) == pytest.approx(1.7e10, rel=1e-15)
    assert core.regularization(0.0, 1e-300, [1e200]) == pytest.approx(5e99, rel=1e-15)
    assert core.regularization(0.0, 0.0, [huge]) == 0.0


# ---------------------------------------------------------------- focal, Dice, intersection over union


@given(
    data=st.lists(
        st.tuples(st.booleans(), st.floats(0, 1, exclude_min=True, exclude_max=True)), min_size=1, max_size=30
    ),
    alpha=UNIT,
    gamma=st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0, 1e6, 1e18]), st.floats(0, 50)),
)
def test_focal_loss(data, alpha, gamma):
    total = mp.mpf(0)
    for positive, p in data:
        weight = number(alpha) if positive else 1 - number(alpha)
        yes, no = mp.log(number(p)), mp.log1p(-number(p))
        event, base = (yes, no) if positive else (no, yes)
        total += weight * mp.exp(number(gamma) * base) * -event
    target = [1.0 if positive else 0.0 for positive, _ in data]
    got = core.focal_loss(alpha, gamma, target, [p for _, p in data])
    right = total / len(data)
    assert abs(got - right) <= right * sum_bound(len(data)) + 2 * TINY


def test_focal_loss_at_certainty():
    assert core.focal_loss(0.5, 2.0, [1.0, 0.0], [1.0, 0.0]) == 0.0
    assert core.focal_loss(0.0, 2.0, [1.0], [0.0]) == 0.0  # impossible, but without weight
    assert core.focal_loss(1.0, 0.0, [0.0], [1.0]) == 0.0


@given(
    data=st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=30),
    smooth=st.sampled_from([0.0, 1e-6, 1.0, 1e300]),
)
@mp.workdps(400)  # smooth + a sum, and what is left of it
def test_dice_and_iou(data, smooth):
    t, p = [number(x) for x, _ in data], [number(y) for _, y in data]
    both = mp.fsum(x * y for x, y in zip(t, p, strict=True))
    total, s = mp.fsum(t) + mp.fsum(p), number(smooth)
    arguments = smooth, [x for x, _ in data], [y for _, y in data]
    for function, over, under in [
        (core.dice_loss, 2 * both + s, total + s),
        (core.iou_loss, both + s, total - both + s),
    ]:
        if under == 0:
            with pytest.raises(hmath.DomainError):
                function(*arguments)
            continue
        right = (under - over) / under
        # relative, however nearly the sets agree; products of subnormals vanish
        assert abs(function(*arguments) - right) <= right * 2 * sum_bound(len(data)) + 1e-300


def test_nothing_against_nothing():
    assert core.dice_loss(1.0, [], []) == core.iou_loss(1.0, [], []) == 0.0


# ---------------------------------------------------------------- CTC


def alignments(labels, blank, frames, classes):
    """Every path of classes that collapses to the labels."""
    for path in itertools.product(range(classes), repeat=frames):
        collapsed = [k for k, _ in itertools.groupby(path) if k != blank]
        if collapsed == labels:
            yield path


def by_enumeration(blank, labels, rows):
    frames, classes = len(rows), len(rows[0])
    total, through = mp.mpf(0), [[mp.mpf(0)] * classes for _ in rows]
    for path in alignments(labels, blank, frames, classes):
        weight = mp.exp(mp.fsum(number(rows[t][k]) for t, k in enumerate(path)))
        total += weight
        for t, k in enumerate(path):
            through[t][k] += weight
    return -mp.log(total), [[-x / total for x in row] for row in through]


@given(data=st.data())
def test_ctc_by_enumeration(data):
    classes = data.draw(st.integers(2, 4))
    frames = data.draw(st.integers(1, 5))
    blank = data.draw(st.integers(0, classes - 1))
    label = st.integers(0, classes - 1).filter(lambda k: k != blank)
    labels = data.draw(st.lists(label, max_size=frames))
    entry = st.one_of(st.floats(-5, 0), st.floats(-1000, 0), st.just(0.0), st.floats(-1e-9, 0))
    rows = data.draw(
        st.lists(st.lists(entry, min_size=classes, max_size=classes), min_size=frames, max_size=frames)
    )
    needed = len(labels) + sum(a == b for a, b in itertools.pairwise(labels))
    if frames < needed:
        with pytest.raises(hmath.DomainError):
            core.ctc_loss(blank, labels, rows)
        return
    right, occupied = by_enumeration(blank, labels, rows)
    loss, gradient = core.ctc_loss_gradient(blank, labels, rows)
    assert loss == core.ctc_loss(blank, labels, rows)
    # relative to the loss, or where alignments' probabilities add up to about 1 to the last place of that
    assert abs(loss - right) <= 1e-14 * abs(right) + 4 * EPSILON
    for row, expected in zip(gradient, occupied, strict=True):
        assert abs(math.fsum(row) + 1) <= 4 * EPSILON
        for got, exact in zip(row, expected, strict=True):
            assert abs(got - exact) <= 1e-13


def test_ctc_keeps_relative_accuracy_where_one_alignment_has_everything():
    rows = [[-1e-12 * (t + 1), -60.0 - t, -70.0] for t in range(5)]
    right, _ = by_enumeration(0, [], rows)
    assert core.ctc_loss(0, [], rows) == pytest.approx(float(right), rel=1e-14)
    sure = [[-90.0, -1e-13] if t < 3 else [-1e-13, -95.0] for t in range(6)]
    right, _ = by_enumeration(0, [1], sure)
    # 5.99e-13 = 6e-13 less what the other alignments add, all to 1e-13 of itself or better
    assert abs(core.ctc_loss(0, [1], sure) - right) <= 1e-13 * abs(right)


def paths(frames, labels):
    """How many alignments distinct neighbouring labels have: binomial(T + L, 2L)."""
    return math.comb(frames + labels, 2 * labels)


@pytest.mark.parametrize(
    ("frames", "labels"), [(40, 7), (1000, 300), (100_000, 40), (100_000, 3), (20_000, 9_000)]
)
def test_ctc_of_equal_probabilities_counts_alignments(frames, labels):
    classes = 4
    p = math.log(1 / classes)
    rows = np.full((frames, classes), p)
    sequence = [1 + i % 3 for i in range(labels)]
    right = -frames * number(p) - mp.log(paths(frames, labels))
    assert abs(core.ctc_loss(0, sequence, rows) - right) <= 1e-12 * right
    if frames * labels > 5_000_000:
        return
    _, gradient = core.ctc_loss_gradient(0, sequence, rows)
    assert abs(gradient.sum(axis=1) + 1).max() <= 1e-14
    # the first frame is in label 0 where the rest of the alignment starts there: count those paths
    first = sum_of_starts(frames, labels)
    assert abs(gradient[0][1] + first) <= 1e-9
    # an alignment read backwards is one of the labels backwards; their classes repeat with period three
    assert abs(gradient[:, 0] - gradient[::-1, 0]).max() <= 1e-9


def sum_of_starts(frames, labels):
    """The share of alignments whose first frame is label 0: all less those that begin with a blank."""
    begin_blank = paths(frames - 1, labels)  # what follows a leading blank is any alignment of T - 1 frames
    return float(1 - mp.mpf(begin_blank) / paths(frames, labels))


def test_ctc_extremes():
    huge = -1.7e308
    assert core.ctc_loss(0, [], [[huge]]) == -huge
    assert core.ctc_loss(0, [1], [[0.0, huge / 4], [-1.0, huge / 4]]) == pytest.approx(-huge / 4, rel=EPSILON)
    loss, gradient = core.ctc_loss_gradient(0, [1], [[0.0, huge], [0.0, -3.0]])
    assert (loss, gradient) == (3.0, [[-1.0, 0.0], [0.0, -1.0]])
    loss, gradient = core.ctc_loss_gradient(0, [1], np.zeros((4, 2)))  # rows need not be normalised
    assert loss == pytest.approx(-math.log(10), rel=1e-15)  # binomial(5, 2) alignments
    assert core.ctc_loss(7, [], []) == 0.0
    assert core.ctc_loss_gradient(7, [], []) == (0.0, [])


@given(st.data())
def test_ctc_of_logarithms_of_any_size(data):
    """One alignment has everything, though its total, and what lies before and behind a frame, are rounded."""
    classes, frames = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 5))
    labels = data.draw(st.lists(st.integers(1, classes - 1), max_size=2))
    row = st.lists(st.integers(-6, 0), min_size=classes, max_size=classes)
    levels = data.draw(st.lists(row, min_size=frames, max_size=frames))
    paths = {
        path: sum(levels[t][k] for t, k in enumerate(path)) for path in alignments(labels, 0, frames, classes)
    }
    best = [path for path, level in paths.items() if level == max(paths.values())]
    assume(len(best) == 1)
    scale = 0.1 * 2.0 ** data.draw(st.sampled_from([20, 40, 49, 50, 51, 52, 53, 56, 60, 100, 300, 900, 1015]))
    rows = [[level * scale for level in row] for row in levels]
    loss, gradient = core.ctc_loss_gradient(0, labels, rows)
    assert loss == pytest.approx(-paths[best[0]] * scale, rel=frames * EPSILON)
    for t, row in enumerate(gradient):
        # What runs through the class times the reciprocal of what runs through all: two roundings from 1.
        assert row[best[0][t]] == pytest.approx(-1.0, abs=EPSILON)
        assert sum(x != 0.0 for x in row) == 1


def test_ctc_as_large_as_a_double():
    """The largest double is a loss; Overflow is for what lies beyond it."""
    most = sys.float_info.max
    half = most / 2
    for rows in ([[-most]], [[-most], [0.0]], [[-half], [-half]], [[0.0], [-most], [-1.0]]):
        assert core.ctc_loss(0, [], rows) == most
        assert core.ctc_loss_gradient(0, [], rows) == (most, [[-1.0]] * len(rows))
    rows = [[-most, -half], [-most, -half]]  # the other alignments are half as large again: beyond the range
    assert core.ctc_loss(0, [1], rows) == most
    assert core.ctc_loss_gradient(0, [1], rows) == (most, [[0.0, -1.0]] * 2)
    with pytest.raises(hmath.Overflow):
        core.ctc_loss(0, [1], [[-most, -half], [-most, -half * (1 + 2**-50)]])


def test_ctc_containers():
    rows = np.log(np.random.default_rng(0).dirichlet(np.ones(3), 5))
    loss, gradient = core.ctc_loss_gradient(0, [1, 2], rows)
    assert type(loss) is float and type(gradient) is np.ndarray
    as_lists = core.ctc_loss_gradient(0, np.array([1, 2]), rows.tolist())
    assert as_lists == (loss, gradient.tolist())
    with tensor.tensor([5, 3], rows.ravel().tolist()) as value:
        found, slopes = core.ctc_loss_gradient(0, (1, 2), value)
        with slopes:
            assert found == loss and slopes.shape == (5, 3)


# ---------------------------------------------------------------- containers


def test_results_follow_the_data():
    x = [0.5, -1.0, 2.0]
    for function in (
        core.softmax,
        core.log_softmax,
        core.sparsemax,
        lambda v: core.gated_linear_unit(v, x),
        lambda v: core.loss_gradient(core.MeanSquaredError, core.Mean, x[::-1], v),
    ):
        as_list = function(x)
        assert type(as_list) is list
        assert function(tuple(x)) == as_list
        as_array = function(np.array(x))
        assert type(as_array) is np.ndarray and as_array.tolist() == as_list
        assert function(np.array([x, x]).T[:, 0]).tolist() == as_list  # not contiguous
        assert function(array("d", x)) == array("d", as_list)
        with tensor.tensor([3], x) as value, function(value) as result:
            assert type(result) is tensor.TensorDouble and result.values == as_list


def test_docstrings_run():
    failed, attempted = doctest.testmod(core)
    assert failed == 0 < attempted
