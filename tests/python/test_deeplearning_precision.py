"""deeplearning_precision: against exact rational arithmetic and NumPy's integers, and every failure."""

import copy
import math
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import hmath
from hmath import deeplearning_precision as precision
from hmath import tensor

SCHEMES = [precision.Symmetric, precision.Asymmetric]
FINITE = st.floats(allow_nan=False, allow_infinity=False)
TENSORS = arrays.arrays(np.float64, arrays.array_shapes(max_dims=4, max_side=6), elements=FINITE)


def rounded(x: Fraction) -> int:
    return round(x)  # Fraction rounds ties to even


def exact_code(scheme, x, scale, zero):
    """The integer for x by the definition, in exact arithmetic on the rounded quotient."""
    low = -127 if scheme is precision.Symmetric else -128
    with np.errstate(over="ignore"):
        quotient = float(np.float64(x) / np.float64(scale))
    coded = (math.copysign(10**6, quotient) if math.isinf(quotient) else rounded(Fraction(quotient))) + zero
    return max(low, min(127, int(coded)))


def ulps(got, wanted):
    """Distance in units in the last place of `wanted`, a Fraction."""
    nearest = float(wanted)
    return abs(Fraction(got) - wanted) / Fraction(math.ulp(nearest))


# ---------------------------------------------------------------- quantize


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@given(x=TENSORS)
def test_codes_are_exact(scheme, x):
    coded = precision.quantize(scheme, None, x)
    (scale,), (zero,) = coded.scales, coded.zero_points
    assert coded.values == [exact_code(scheme, value, scale, zero) for value in x.ravel().tolist()]
    assert coded.shape == x.shape
    assert coded.axis is None
    assert coded.scheme == scheme


@given(x=TENSORS)
def test_symmetric_scale_is_correctly_rounded(x):
    (scale,) = precision.quantize(precision.Symmetric, None, x).scales
    largest = Fraction(float(np.abs(x).max()))
    wanted = float(largest / 127)
    assert scale == (1.0 if largest == 0 else max(wanted, 5e-324))


@given(x=TENSORS)
def test_asymmetric_calibration(x):
    coded = precision.quantize(precision.Asymmetric, None, x)
    (scale,), (zero,) = coded.scales, coded.zero_points
    low, high = Fraction(min(0.0, float(x.min()))), Fraction(max(0.0, float(x.max())))
    if low == high == 0:
        assert (scale, zero) == (1.0, 0)
        return
    wanted = (high - low) / 255
    # Two divisions and a subtraction of like signs: three roundings of half a unit each. In the
    # subnormal range the unit is the smallest double, and the scale is never 0.
    assert ulps(scale, wanted) <= 1.5 or (scale == 5e-324 and wanted < Fraction(5e-324))
    assert -128 <= zero <= 127
    # 0 is coded exactly: it stands at the zero point.
    with_zero = precision.quantize(precision.Asymmetric, None, np.append(x.ravel(), 0.0))
    assert with_zero.values[-1] == with_zero.zero_points[0] == zero


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@given(x=TENSORS, data=st.data())
def test_slices_are_quantized_alone(scheme, x, data):
    axis = data.draw(st.integers(0, x.ndim - 1))
    coded = precision.quantize(scheme, axis, x)
    codes = np.array(coded.values, np.int64).reshape(x.shape)
    for i in range(x.shape[axis]):
        alone = precision.quantize(scheme, None, np.ascontiguousarray(np.take(x, i, axis)))
        assert alone.scales == [coded.scales[i]]
        assert alone.zero_points == [coded.zero_points[i]]
        assert alone.values == np.take(codes, i, axis).ravel().tolist()


@given(
    x=arrays.arrays(
        np.float64, arrays.array_shapes(max_dims=3, max_side=5), elements=st.floats(-1e300, 1e300)
    )
)
def test_round_trip_is_within_half_a_step(x):
    for scheme in SCHEMES:
        coded = precision.quantize(scheme, None, x)
        (scale,) = coded.scales
        back = precision.dequantize(coded)
        # Half a step, plus half a step more where the zero point was rounded and an end is clamped;
        # a scale that is the smallest double stands for anything up to 255 of its steps too little.
        for before, after in zip(x.ravel().tolist(), back.values, strict=True):
            assert (
                abs(Fraction(before) - Fraction(after)) <= Fraction(scale) * Fraction(1001, 1000)
                or scale < 1e-300
            )


def test_threads_and_large_tensors_give_the_same_bits():
    x = np.random.default_rng(7).standard_normal((257, 1031)) * 3
    seen = set()
    before = hmath.get_num_threads()
    try:
        for threads in (1, 2, 3, 4):
            hmath.set_num_threads(threads)
            for axis in (None, 0, 1):
                coded = precision.quantize(precision.Asymmetric, axis, x)
                back = precision.dequantize(coded)
                seen.add((axis, coded.numpy().tobytes(), tuple(coded.scales), back.numpy().tobytes()))
    finally:
        hmath.set_num_threads(before)
    assert len(seen) == 3


def test_a_tensor_and_an_array_are_the_same():
    x = np.array([[0.5, -2.0], [3.0, 4.0]])
    with tensor.tensor([2, 2], [0.5, -2.0, 3.0, 4.0]) as t:
        assert (
            precision.quantize(precision.Symmetric, 1, t).values
            == precision.quantize(precision.Symmetric, 1, x).values
        )


@pytest.mark.parametrize("x", [0.0, -3.5])
def test_rank_0(x):
    coded = precision.quantize(precision.Asymmetric, None, np.array(x))
    assert coded.shape == ()
    with pytest.raises(hmath.IndexOutOfBounds):
        precision.quantize(precision.Asymmetric, 0, np.array(x))


# ---------------------------------------------------------------- products


@pytest.mark.parametrize("schemes", [(a, b) for a in SCHEMES for b in SCHEMES], ids=repr)
@pytest.mark.parametrize("axes", [(None, None), (0, None), (None, 1), (0, 1)], ids=repr)
@pytest.mark.parametrize(
    "shape",
    [(1, 1, 1), (3, 5, 7), (17, 1030, 65), (40, 33, 300), (1, 2000, 33), (75, 1100, 1030)],
    ids=repr,
)
def test_int8_gemm_is_exact(schemes, axes, shape):
    m, k, n = shape
    rng = np.random.default_rng(shape)
    left = precision.quantize(schemes[0], axes[0], rng.standard_normal((m, k)) * rng.uniform(0.1, 9, (m, 1)))
    right = precision.quantize(schemes[1], axes[1], rng.standard_normal((k, n)) + rng.uniform(-3, 3, n))
    za = np.array(left.zero_points).reshape(-1, 1)
    zb = np.array(right.zero_points).reshape(1, -1)
    total = (left.numpy().astype(np.int64) - za) @ (right.numpy().astype(np.int64) - zb)
    got = precision.int8_gemm(left, right).numpy()
    sa, sb = np.broadcast_to(left.scales, m), np.broadcast_to(right.scales, n)
    for i in range(0, m, max(1, m // 7)):
        for j in range(0, n, max(1, n // 11)):
            exact = int(total[i, j]) * Fraction(float(sa[i])) * Fraction(float(sb[j]))
            # two products with the scales, one rounding each: (1 + 2^-53)^2 - 1 < 3 * 2^-53
            assert abs(Fraction(float(got[i, j])) - exact) <= abs(exact) * 3 / 2**53


def test_int8_gemm_of_integers_is_exact_for_every_shape():
    """Data that quantize to themselves, with scale 1; coded around 28 or 0, in few and in many rows and steps."""
    rng = np.random.default_rng(5)
    for i in range(200):
        m, k, n = (int(x) for x in rng.integers(1, 71, 3) * (1 if i % 2 else 2))
        a, b = rng.integers(-100, 156, (m, k)), rng.integers(-127, 128, (k, n))
        a[0, 0], a[-1, -1], b[0, 0] = -100, 155, 127
        if m * k == 1:
            continue
        left = precision.quantize(precision.Asymmetric, None, a.astype(np.float64))
        right = precision.quantize(precision.Symmetric, None, b.astype(np.float64))
        assert left.scales == right.scales == [1.0] and left.zero_points == [-28]
        assert np.array_equal(precision.int8_gemm(left, right).numpy(), a @ b)


def test_a_row_alone_gives_the_same_bits():
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((29, 1100)), rng.standard_normal((1100, 77))
    whole = precision.reduced_gemm(precision.BF16, x, w)
    coded = precision.quantize(precision.Symmetric, 1, w)
    for i in (0, 13, 28):
        assert precision.reduced_gemm(precision.BF16, x[i : i + 1], w).tobytes() == whole[i].tobytes()
    both = precision.int8_gemm(precision.quantize(precision.Symmetric, 0, x), coded).numpy()
    alone = precision.int8_gemm(precision.quantize(precision.Symmetric, 0, x[13:14]), coded).numpy()
    assert alone.tobytes() == both[13].tobytes()


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (3, 5, 7), (15, 513, 33), (29, 1100, 70), (101, 1100, 110)], ids=repr
)
def test_fp16_gemm_is_the_chain(shape):
    """NumPy rounds doubles to half; each step of the chain is exact and then rounded to single once."""
    m, k, n = shape
    rng = np.random.default_rng(shape)
    a, b = rng.standard_normal((m, k)) * 3, rng.standard_normal((k, n))
    got = precision.reduced_gemm(precision.FP16, a, b)
    x, y = a.astype(np.float16), b.astype(np.float16)
    rows, columns = range(0, m, max(1, m // 5)), range(0, n, max(1, n // 5))
    for i in rows:
        for j in columns:
            total = np.float32(0)
            for left, right in zip(x[i].tolist(), y[:, j].tolist(), strict=True):
                total = nearest_float32(Fraction(left) * Fraction(right) + Fraction(float(total)))
            assert got[i, j] == float(total)


def test_a_finished_chain_is_no_negative_zero():
    """The product, below every subnormal number of single precision, rounds to -0."""
    got = precision.reduced_gemm(precision.BF16, np.array([[1e-30]]), np.array([[-1e-30]]))
    assert got.tobytes() == np.zeros((1, 1)).tobytes()


def nearest_float32(x: Fraction) -> np.float32:
    """x rounded once, by comparing it with the two neighbours of a first guess."""
    guess = np.float32(float(x))
    candidates = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    return min(candidates, key=lambda c: (abs(Fraction(float(c)) - x), int(c.view(np.int32)) & 1))


def test_operands_are_rounded_once():
    """1 + 2^-11 + 2^-40 lies above the tie, which a detour over single precision would forget."""
    x = np.array([[1 + 2.0**-11 + 2.0**-40]])
    one = np.array([[1.0]])
    assert precision.reduced_gemm(precision.FP16, x, one)[0, 0] == 1 + 2.0**-10
    assert precision.reduced_gemm(precision.FP16, x - 2.0**-39, one)[0, 0] == 1.0
    x = np.array([[1 + 2.0**-8 + 2.0**-40]])
    assert precision.reduced_gemm(precision.BF16, x, one)[0, 0] == 1 + 2.0**-7
    subnormal = np.array([[2.0**-24 * 1.5]])
    assert precision.reduced_gemm(precision.FP16, subnormal, one)[0, 0] == 2.0**-23


# ---------------------------------------------------------------- the owner


def test_quantized_tensor_is_an_owner():
    coded = precision.quantize(precision.Asymmetric, 0, np.arange(6.0).reshape(2, 3))
    assert repr(coded) == "<QuantizedTensor Asymmetric shape=(2, 3) axis=0>"
    for other in (copy.copy(coded), copy.deepcopy(coded), pickle.loads(pickle.dumps(coded))):
        assert other.values == coded.values
        assert other.scales == coded.scales
        assert other.zero_points == coded.zero_points
        assert (other.scheme, other.axis, other.shape) == (precision.Asymmetric, 0, (2, 3))
    codes = coded.numpy()
    coded.close()
    assert codes.dtype == np.int8 and codes.shape == (2, 3)
    assert not codes.flags.writeable
    assert codes[0].tolist() == [-128, 0, 127]  # the memory outlives the owner
    assert repr(coded) == "<closed QuantizedTensor>"
    with pytest.raises(ValueError, match="closed"):
        precision.dequantize(coded)
    with pytest.raises(ValueError, match="closed"):
        _ = coded.values
    with pytest.raises(TypeError):
        precision.QuantizedTensor()


def test_damaged_pickles_are_refused():
    restore, parts = precision.quantize(precision.Symmetric, 0, np.ones((2, 2))).__reduce__()
    scheme, axis, shape, values, scales, zeros = parts
    assert restore(*parts).values == [127] * 4
    for wrong in [
        (scheme, axis, shape, values[:-1], scales, zeros),
        (scheme, axis, shape, values, scales[:-1], zeros),
        (scheme, axis, shape, values, scales, [0, 1]),
        (scheme, axis, shape, values, [1.0, -1.0], zeros),
        (scheme, axis, shape, values, [1.0, math.nan], zeros),
        (9, axis, shape, values, scales, zeros),
        (scheme, 0, (0, 2), b"", [], []),
    ]:
        with pytest.raises(ValueError):
            restore(*wrong)


# ---------------------------------------------------------------- loss scaling


SCALERS = st.builds(
    precision.LossScaler,
    st.floats(min_value=5e-324, allow_infinity=False),
    st.integers(1, 2**63 - 1),
    st.integers(0, 2**63 - 1),
)


@given(state=SCALERS, finite=st.booleans())
def test_update_loss_scaler(state, finite):
    after = precision.update_loss_scaler(finite, state)
    assert after.growth_interval == state.growth_interval
    smallest_normal = 2.0**-1022
    if not finite:
        assert after.finite_steps == 0
        assert after.scale == (
            max(state.scale / 2, smallest_normal) if state.scale >= smallest_normal else state.scale
        )
    elif state.finite_steps + 1 >= state.growth_interval:
        assert after.finite_steps == 0
        assert after.scale == (state.scale * 2 if Fraction(state.scale) * 2 <= 2**24 else state.scale)
    else:
        assert after == precision.LossScaler(state.scale, state.growth_interval, state.finite_steps + 1)


def test_loss_scaler_record():
    state = precision.initial_loss_scaler(1024, 3)
    assert state == precision.LossScaler(1024.0, 3, 0)
    assert precision.loss_scale(state) == 1024.0
    assert precision.scale_growth_interval(state) == 3
    assert precision.finite_steps(state) == 0
    assert pickle.loads(pickle.dumps(state)) == state
    with pytest.raises(AttributeError):
        state.scale = 1.0


@given(gradients=st.lists(st.floats(), max_size=20), scale=st.floats(min_value=5e-324, allow_infinity=False))
def test_unscale_gradients(gradients, scale):
    state = precision.LossScaler(scale, 1, 0)
    with np.errstate(all="ignore"):
        wanted = (np.array(gradients, np.float64) / scale).tolist()
    finite = all(map(math.isfinite, wanted)) and all(map(math.isfinite, gradients))
    assert precision.unscale_gradients(state, gradients) == (finite, wanted if finite else [])


def test_unscale_gradients_keeps_the_container():
    state = precision.LossScaler(2.0, 1, 0)
    finite, array = precision.unscale_gradients(state, np.array([1.0, 2.0]))
    assert finite and isinstance(array, np.ndarray) and array.tolist() == [0.5, 1.0]
    finite, nothing = precision.unscale_gradients(state, np.array([1.0, np.nan]))
    assert finite is False and isinstance(nothing, np.ndarray) and nothing.shape == (0,)
    with tensor.tensor([2], [1.0, 2.0]) as t:
        finite, quotient = precision.unscale_gradients(state, t)
        assert finite and quotient.values == [0.5, 1.0]


# ---------------------------------------------------------------- gradients


def exact_norm(gradient):
    """√Σg² to about 300 bits, as a Fraction."""
    total = sum(Fraction(g) ** 2 for g in gradient)
    shift = 2**1400  # norms may be as small as 2^-1074
    return Fraction(math.isqrt(int(total * shift * shift)), shift)


@given(gradient=st.lists(FINITE, max_size=30))
def test_gradient_norm(gradient):
    wanted = exact_norm(gradient)
    try:
        got = precision.gradient_norm(gradient)
    except hmath.Overflow:
        assert wanted > Fraction(float(np.finfo(np.float64).max))
        return
    # 30 squares summed in 32 lanes: no lane holds two, five folds, a root; scale-safe throughout.
    assert ulps(got, wanted) <= 4


@given(
    gradient=st.lists(FINITE, min_size=1, max_size=30),
    maximum=st.floats(min_value=5e-324, allow_infinity=False),
)
def test_clip_gradients(gradient, maximum):
    norm = exact_norm(gradient)
    clipped = precision.clip_gradients(maximum, gradient)
    if norm <= Fraction(maximum) * (1 - Fraction(1, 2**50)):
        assert clipped == gradient
    elif norm > Fraction(maximum) * (1 + Fraction(1, 2**50)):
        for g, got in zip(gradient, clipped, strict=True):
            # the norm's few units and three roundings; one unit more where the result is subnormal
            assert ulps(got, Fraction(g) * Fraction(maximum) / norm) <= 8


def test_clip_gradients_keeps_the_container():
    array = np.array([3.0, -4.0])
    for maximum in (1.0, 5.0):
        clipped = precision.clip_gradients(maximum, array)
        assert isinstance(clipped, np.ndarray) and clipped is not array
        clipped[:] = 0.0
        assert array.tolist() == [3.0, -4.0]
    with tensor.tensor([2], [3.0, -4.0]) as t:
        assert isinstance(precision.clip_gradients(1.0, t), tensor.TensorDouble)


# ---------------------------------------------------------------- bad input

GOOD = precision.LossScaler(2.0, 1, 0)
BAD_SCALE = precision.LossScaler(0.0, 1, 0)
NAN_SCALE = precision.LossScaler(math.nan, 1, 0)
X = np.array([[1.0, 2.0], [3.0, math.inf]])
CODED = precision.quantize(precision.Symmetric, None, np.ones((2, 2)))
WIDE = precision.quantize(precision.Symmetric, None, np.ones((3, 2)))
BY_ROW = precision.quantize(precision.Symmetric, 0, np.ones((2, 2)))
BY_COLUMN = precision.quantize(precision.Symmetric, 1, np.ones((2, 2)))

FAILURES = [
    (lambda: precision.quantize(precision.Symmetric, None, X), "NonFinite", "input", 3, math.inf),
    (lambda: precision.quantize(precision.Symmetric, 0, X), "NonFinite", "input", 3, math.inf),
    (lambda: precision.quantize(precision.Symmetric, 2, X), "IndexOutOfBounds", "axis", None, 2),
    (lambda: precision.quantize(precision.Symmetric, -1, X), "IndexOutOfBounds", "axis", None, -1),
    (
        lambda: precision.quantize(precision.Symmetric, None, np.ones((0, 2))),
        "EmptyInput",
        "input",
        None,
        None,
    ),
    (lambda: precision.quantize(None, None, np.ones(2)), "TypeMismatch", "scheme", None, None),
    (lambda: precision.quantize(precision.Symmetric, 1.0, np.ones(2)), "TypeMismatch", "axis", None, None),
    (lambda: precision.quantize(precision.Symmetric, True, np.ones(2)), "TypeMismatch", "axis", None, None),
    (lambda: precision.quantize(precision.Symmetric, None, [1.0]), "TypeMismatch", "input", None, None),
    (
        lambda: precision.quantize(precision.Symmetric, None, np.ones(2, np.float32)),
        "TypeMismatch",
        "input",
        None,
        None,
    ),
    (lambda: precision.dequantize(np.ones(2)), "TypeMismatch", "quantized", None, None),
    (lambda: precision.int8_gemm(CODED, X), "TypeMismatch", "right", None, None),
    (lambda: precision.int8_gemm(BY_COLUMN, CODED), "DimensionMismatch", "left", None, None),
    (lambda: precision.int8_gemm(CODED, BY_ROW), "DimensionMismatch", "right", None, None),
    (lambda: precision.int8_gemm(CODED, WIDE), "DimensionMismatch", "right", None, None),
    (lambda: precision.reduced_gemm(precision.FP16, X, X), "NonFinite", "left", 3, math.inf),
    (
        lambda: precision.reduced_gemm(precision.FP16, np.ones((2, 3)), X),
        "DimensionMismatch",
        "right",
        None,
        None,
    ),
    (lambda: precision.reduced_gemm(precision.FP16, np.ones(2), X), "DimensionMismatch", "left", None, None),
    (
        lambda: precision.reduced_gemm(precision.FP16, np.full((1, 1), 65520.0), np.ones((1, 1))),
        "Overflow",
        None,
        None,
        None,
    ),
    (
        lambda: precision.reduced_gemm(precision.BF16, np.full((1, 1), 1e30), np.full((1, 1), 1e30)),
        "Overflow",
        None,
        None,
        None,
    ),
    (lambda: precision.reduced_gemm(precision.Symmetric, X, X), "TypeMismatch", "precision", None, None),
    (lambda: precision.initial_loss_scaler(0.0, 1), "DomainError", "scale", None, 0.0),
    (lambda: precision.initial_loss_scaler(-2.0, 0), "DomainError", "scale", None, -2.0),
    (lambda: precision.initial_loss_scaler(math.inf, 1), "NonFinite", "scale", None, math.inf),
    (lambda: precision.initial_loss_scaler(1.0, 0), "DomainError", "growth_interval", None, 0),
    (lambda: precision.initial_loss_scaler(1.0, 2.0), "TypeMismatch", "growth_interval", None, None),
    (lambda: precision.scale_loss(BAD_SCALE, 1.0), "DomainError", "state.scale", None, 0.0),
    (lambda: precision.scale_loss(GOOD, -math.inf), "NonFinite", "loss", None, -math.inf),
    (lambda: precision.scale_loss(GOOD, 1e308), "Overflow", None, None, None),
    (lambda: precision.scale_loss(GOOD, "1"), "TypeMismatch", "loss", None, None),
    (lambda: precision.unscale_gradients(BAD_SCALE, []), "DomainError", "state.scale", None, 0.0),
    (
        lambda: precision.unscale_gradients(GOOD, np.ones((1, 1))),
        "DimensionMismatch",
        "gradients",
        None,
        None,
    ),
    (
        lambda: precision.update_loss_scaler(True, precision.LossScaler(1.0, 0, 0)),
        "DomainError",
        "state.growth_interval",
        None,
        0,
    ),
    (
        lambda: precision.update_loss_scaler(False, precision.LossScaler(1.0, 1, -1)),
        "DomainError",
        "state.finite_steps",
        None,
        -1,
    ),
    (lambda: precision.update_loss_scaler(1, GOOD), "TypeMismatch", "finite", None, None),
    (lambda: precision.update_loss_scaler(True, None), "TypeMismatch", "state", None, None),
    (lambda: precision.gradient_norm([1.0, -math.inf]), "NonFinite", "gradient", 1, -math.inf),
    (lambda: precision.gradient_norm([1.7e308, 1.7e308]), "Overflow", None, None, None),
    (lambda: precision.gradient_norm(np.ones((2, 2))), "DimensionMismatch", "gradient", None, None),
    (lambda: precision.gradient_norm(np.ones(2, np.int64)), "TypeMismatch", "gradient", None, None),
    (lambda: precision.clip_gradients(0.0, [1.0]), "DomainError", "maximum", None, 0.0),
    (lambda: precision.clip_gradients(-1.0, [math.inf]), "DomainError", "maximum", None, -1.0),
    (lambda: precision.clip_gradients(math.inf, [1.0]), "NonFinite", "maximum", None, math.inf),
    (lambda: precision.clip_gradients(1.0, [math.inf]), "NonFinite", "gradient", 0, math.inf),
]


@pytest.mark.parametrize(("act", "constructor", "argument", "index", "value"), FAILURES)
def test_failures(act, constructor, argument, index, value):
    with pytest.raises(hmath.HMathError) as caught:
        act()
    error = caught.value.math_error
    assert (error.constructor, error.argument, error.index, error.value) == (
        constructor,
        argument,
        index,
        value,
    )
    assert error.operation.startswith("precision.")


def test_a_nan_scale_is_not_finite_before_it_is_not_positive():
    with pytest.raises(hmath.NonFinite):
        precision.scale_loss(NAN_SCALE, 1.0)


@pytest.mark.parametrize(
    ("maximum", "gradient", "expected"),
    [
        (5e-324, [sys.float_info.max], [5e-324]),
        (5e-324, [sys.float_info.max, 1.0], [5e-324, 0.0]),
        # 1/sqrt(2) of the smallest double rounds to it, 1/sqrt(5) to 0 and 2/sqrt(5) to it.
        (5e-324, [sys.float_info.max, -sys.float_info.max], [5e-324, -5e-324]),
        (5e-324, [sys.float_info.max / 2, sys.float_info.max], [0.0, 5e-324]),
        (1e-310, [sys.float_info.max, 0.0], [1e-310, 0.0]),
    ],
)
def test_clip_gradients_to_the_smallest_of_the_largest(maximum, gradient, expected):
    assert precision.clip_gradients(maximum, gradient) == expected
