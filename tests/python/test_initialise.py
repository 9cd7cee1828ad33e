"""initialize_weights: distributions against SciPy, QR against LAPACK, draws, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hmath
from hmath import deeplearning_layers as layers
from hmath import errors, random

LIKELY = 1e-3  # seeds are fixed: no test fails by chance


def seeded(seed: int = 42) -> random.RNG:
    return random.seed_rng(random.pcg64(), seed)


def weights_of(method: Any, fan_in: int, fan_out: int, shape: list[int], seed: int = 42) -> np.ndarray:
    weights, _ = layers.initialize_weights(method, fan_in, fan_out, shape, seeded(seed))
    assert weights.shape == tuple(shape)
    return np.array(weights.numpy())


# ---------------------------------------------------------------- distributions

BOUND = math.sqrt(6 / (300 + 100)), math.sqrt(6 / 300)
DEVIATION = math.sqrt(2 / (300 + 100)), math.sqrt(2 / 300)


@pytest.mark.parametrize(
    ("method", "law"),
    [
        (layers.XavierUniform, stats.uniform(-BOUND[0], 2 * BOUND[0])),
        (layers.KaimingUniform, stats.uniform(-BOUND[1], 2 * BOUND[1])),
        (layers.XavierNormal, stats.norm(0, DEVIATION[0])),
        (layers.KaimingNormal, stats.norm(0, DEVIATION[1])),
        (layers.TruncatedNormal(0.0, 1.0, 2.0), stats.truncnorm(-2, 2)),
        (layers.TruncatedNormal(-3.0, 0.25, 1.0), stats.truncnorm(-1, 1, -3, 0.25)),
        (layers.TruncatedNormal(1.0, 2.0, 0.999), stats.truncnorm(-0.999, 0.999, 1, 2)),
        (layers.TruncatedNormal(0.0, 1.0, 0.3), stats.truncnorm(-0.3, 0.3)),
        (layers.TruncatedNormal(5.0, 1.0, 1e-3), stats.truncnorm(-1e-3, 1e-3, 5)),
        (layers.TruncatedNormal(0.0, 1.0, 30.0), stats.norm()),
    ],
    ids=lambda part: part.dist.name if hasattr(part, "dist") else str(part),
)
def test_distributions(method: Any, law: Any) -> None:
    weights = weights_of(method, 300, 100, [100, 300]).ravel()
    assert stats.kstest(weights, law.cdf).pvalue > LIKELY
    low, high = law.support()
    assert low <= weights.min()
    assert weights.max() <= high


def test_first_entry_of_haar_matrices() -> None:
    """The square of an entry of order n is Beta(1/2, (n-1)/2) distributed; its sign is fair."""
    n, rng, entries = 4, seeded(1), []
    for _ in range(2000):
        weights, rng = layers.initialize_weights(layers.Orthogonal(1.0), 1, 1, [n, n], rng)
        entries.append(weights.numpy()[0, 0])
    assert stats.kstest(np.square(entries), stats.beta(0.5, (n - 1) / 2).cdf).pvalue > LIKELY
    assert stats.binomtest(int((np.array(entries) > 0).sum()), 2000).pvalue > LIKELY


def test_haar_matrices_turn_and_mirror() -> None:
    """Half of them have determinant +1: the signs of R's diagonal are taken out, not kept."""
    rng, positive = seeded(2), 0
    for _ in range(1000):
        weights, rng = layers.initialize_weights(layers.Orthogonal(1.0), 1, 1, [3, 3], rng)
        positive += np.linalg.det(weights.numpy()) > 0
    assert stats.binomtest(positive, 1000).pvalue > LIKELY


# ---------------------------------------------------------------- orthogonal


@pytest.mark.parametrize(
    "shape", [[1, 1], [1, 7], [7, 1], [2, 3], [32, 32], [33, 33], [64, 31], [100, 257], [300, 300], [5000, 3]]
)
def test_orthogonal_to_1e_14(shape: list[int]) -> None:
    q = weights_of(layers.Orthogonal(1.0), 1, 1, shape).astype(np.longdouble)
    product = q @ q.T if shape[0] <= shape[1] else q.T @ q
    assert np.abs(product - np.eye(min(shape))).max() <= 1e-14


@pytest.mark.parametrize("shape", [[40, 40], [70, 33], [33, 70]])
def test_orthogonal_is_the_factor_of_the_drawn_normals(shape: list[int]) -> None:
    """LAPACK's Q with the signs of R's diagonal. 1e-12: an ulp a row times the condition of the matrix."""
    q, after = layers.initialize_weights(layers.Orthogonal(-2.5), 1, 1, shape, seeded())
    normals, expected = random.normal_tensor([max(shape), min(shape)], seeded())
    theirs, r = np.linalg.qr(normals.numpy())
    theirs = -2.5 * theirs * np.sign(np.diag(r))
    ours = q.numpy() if shape[0] >= shape[1] else q.numpy().T
    assert np.abs(ours - theirs).max() < 1e-12
    assert after == expected


# ---------------------------------------------------------------- draws


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**64 - 1),
    fan_in=st.integers(1, 2**63 - 1),
    fan_out=st.integers(1, 2**63 - 1),
    shape=st.lists(st.integers(0, 4), max_size=4),
)
def test_scaled_draws(seed: int, fan_in: int, fan_out: int, shape: list[int]) -> None:
    rng = seeded(seed)
    both = float(fan_in) + float(fan_out)
    uniforms, after_uniforms = random.uniform_tensor(shape, rng)
    normals, after_normals = random.normal_tensor(shape, rng)
    signed = 2 * uniforms.numpy() - 1
    for method, expected, after in (
        (layers.XavierUniform, math.sqrt(6 / both) * signed, after_uniforms),
        (layers.KaimingUniform, math.sqrt(6 / float(fan_in)) * signed, after_uniforms),
        (layers.XavierNormal, math.sqrt(2 / both) * normals.numpy(), after_normals),
        (layers.KaimingNormal, math.sqrt(2 / float(fan_in)) * normals.numpy(), after_normals),
    ):
        weights, following = layers.initialize_weights(method, fan_in, fan_out, shape, rng)
        assert np.array_equal(weights.numpy(), expected)
        assert following == after


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("bound", [0.4, 1.0, 1.7, 3.0])
def test_truncated_normals_one_by_one(bound: float, pending: bool) -> None:
    """By definition: normals until one fits; below 1, u and v, kept where v < e^(-z²/2)."""
    rng = seeded()
    if pending:
        _, rng = random.normal(rng)
    weights, after = layers.initialize_weights(layers.TruncatedNormal(0, 1, bound), 1, 1, [200], rng)
    for value in weights.values:
        while True:
            if bound >= 1:
                z, rng = random.normal(rng)
                accepted = abs(z) <= bound
            else:
                u, rng = random.uniform(rng)
                v, rng = random.uniform(rng)
                z = bound * (2 * u - 1)
                accepted = v < math.exp(-z * z / 2)
            if accepted:
                break
        assert value == z
    assert after == rng


@pytest.mark.parametrize(
    "method",
    [layers.XavierUniform, layers.KaimingNormal, layers.Orthogonal(1.0), layers.TruncatedNormal(0, 1, 2)],
    ids=str,
)
def test_threads_change_nothing(method: Any) -> None:
    usual = hmath.get_num_threads()
    try:
        results = set()
        for threads in (1, 2, 5):
            hmath.set_num_threads(threads)
            weights, after = layers.initialize_weights(method, 3, 4, [260, 255], seeded())
            results.add((weights.numpy().tobytes(), after))
        assert len(results) == 1
    finally:
        hmath.set_num_threads(usual)


def test_edges() -> None:
    assert weights_of(layers.TruncatedNormal(0.5, 0.0, 1.0), 1, 1, [3]).tolist() == [0.5] * 3
    assert weights_of(layers.TruncatedNormal(0.0, 1.0, 5e-324), 1, 1, [50]).max() <= 5e-324
    assert weights_of(layers.Orthogonal(0.0), 1, 1, [2, 2]).tolist() == [[0, 0], [0, 0]]
    assert np.isfinite(weights_of(layers.KaimingNormal, 2**63 - 1, 2**63 - 1, [])).all()
    assert weights_of(layers.XavierUniform, 1, 1, [0, 5]).shape == (0, 5)


# ---------------------------------------------------------------- bad input

T = layers.TruncatedNormal
BAD: list[tuple[tuple[Any, ...], type[Exception], str]] = [
    (("XavierUniform", 0, 0, [-1], "rng"), errors.TypeMismatch, "method is a str"),
    ((layers.Inference, 0, 0, [-1], "rng"), errors.TypeMismatch, "method is a Training"),
    ((layers.XavierUniform, 1.0, 0, [-1], "rng"), errors.TypeMismatch, "fan_in is a float"),
    ((layers.XavierUniform, 0, True, [-1], "rng"), errors.TypeMismatch, "fan_out is a bool"),
    ((layers.XavierUniform, 0, 0, 3, "rng"), errors.TypeMismatch, "shape is an int"),
    ((layers.XavierUniform, 0, 0, [1.5], "rng"), errors.TypeMismatch, "shape"),
    ((layers.XavierUniform, 0, 0, [-1], None), errors.TypeMismatch, "rng"),
    ((layers.Orthogonal(math.nan), 0, 0, [-1], "rng"), errors.NonFinite, r"method\.scale = nan"),
    ((T(math.inf, -1.0, 0.0), 0, 0, [-1], "rng"), errors.NonFinite, r"method\.mean = inf"),
    ((T(0.0, -1.0, 0.0), 0, 0, [-1], "rng"), errors.DomainError, r"method\.standard_deviation = -1\.0"),
    ((T(0.0, 1.0, 0.0), 0, 0, [-1], "rng"), errors.DomainError, r"method\.bound = 0\.0; required > 0"),
    ((T(0.0, 1.0, math.inf), 0, 0, [-1], "rng"), errors.NonFinite, r"method\.bound = inf"),
    ((layers.XavierUniform, 0, 0, [-1], "rng"), errors.DomainError, "fan_in = 0; required > 0"),
    ((layers.Orthogonal(1.0), 1, -4, [-1], "rng"), errors.DomainError, "fan_out = -4"),
    ((layers.XavierUniform, 1, 1, [2, -1], "rng"), errors.DomainError, r"shape\[1\] = -1"),
    ((layers.XavierUniform, 1, 1, [1] * 9, "rng"), errors.DimensionMismatch, "shape"),
    ((layers.Orthogonal(1.0), 1, 1, [0, 2], "rng"), errors.DomainError, r"shape\[0\] = 0; required > 0"),
    ((layers.Orthogonal(1.0), 1, 1, [2, 2, 2], "rng"), errors.DimensionMismatch, "shape"),
    ((layers.Orthogonal(1.0), 1, 1, [], "rng"), errors.DimensionMismatch, "shape"),
    ((T(1.7e308, 1e308, 2.0), 1, 1, [50], "rng"), errors.Overflow, "not representable"),
    ((layers.XavierUniform, 1, 1, [2**40, 2**40], "rng"), MemoryError, "memory"),
    ((layers.Orthogonal(1.0), 1, 1, [2**31, 2**31], "rng"), MemoryError, "memory"),
]


@pytest.mark.parametrize(("arguments", "error", "text"), BAD)
def test_bad_input(arguments: tuple[Any, ...], error: type[Exception], text: str, no_leak: None) -> None:
    with seeded() as rng, pytest.raises(error, match=text):
        layers.initialize_weights(*arguments[:4], rng if arguments[4] == "rng" else arguments[4])
