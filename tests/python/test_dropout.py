"""dropout and spatial_dropout: which draw decides what, replaying the mask, statistics, bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from scipy import stats

import hmath
from hmath import deeplearning_layers as layers
from hmath import errors, random, tensor

TRAINING, INFERENCE = layers.Training.TRAINING, layers.Training.INFERENCE
MAKERS = [
    random.pcg32,
    random.pcg64,
    random.xoshiro256starstar,
    random.splitmix64,
    random.philox4x32,
    random.mt19937,
]


def seeded(seed: int = 42, maker: Callable[[], random.Generator] = random.pcg32) -> random.RNG:
    return random.seed_rng(maker(), seed)


def test_example_of_the_reference() -> None:
    with random.pcg32() as generator:
        with random.seed_rng(generator, 42) as rng:
            with tensor.tensor([1, 2], [1, 2]) as inputs:
                output, mask, advanced = layers.dropout(layers.Training.TRAINING, 0.5, rng, inputs)
                try:
                    # pcg32's demo words make u = 0.630, 0.727: both are kept.
                    assert (output.values, mask.values) == ([2.0, 4.0], [2.0, 2.0])
                finally:
                    output.close()
                    mask.close()
                    advanced.close()


@settings(max_examples=100, deadline=None)
@given(
    maker=st.sampled_from(MAKERS),
    seed=st.integers(0, 2**64 - 1),
    shape=array_shapes(min_dims=1, max_dims=8, min_side=0, max_side=4),
    probability=st.floats(0, 1, exclude_max=True, allow_subnormal=False),
    pending=st.booleans(),
)
def test_one_uniform_an_element(
    maker: Callable[[], random.Generator],
    seed: int,
    shape: tuple[int, ...],
    probability: float,
    pending: bool,
) -> None:
    rng = seeded(seed, maker)
    if pending:
        _, rng = random.normal(rng)
    values = np.linspace(-1, 1, math.prod(shape)).reshape(shape)
    output, mask, after = layers.dropout(TRAINING, probability, rng, values)
    uniforms, expected = random.uniform_tensor(shape, rng)
    kept = np.where(uniforms.numpy() >= probability, 1 / (1 - probability), 0.0)
    assert np.array_equal(mask, kept)
    assert np.array_equal(output, values * kept)
    assert after == expected
    assert after.pending == pending


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**64 - 1),
    shape=array_shapes(min_dims=3, max_dims=5, min_side=0, max_side=4),
    probability=st.floats(0, 1, exclude_max=True, allow_subnormal=False),
)
def test_one_uniform_a_plane(seed: int, shape: tuple[int, ...], probability: float) -> None:
    rng = seeded(seed, random.philox4x32)
    values = np.linspace(-1, 1, math.prod(shape)).reshape(shape)
    output, mask, after = layers.spatial_dropout(TRAINING, probability, rng, values)
    uniforms, expected = random.uniform_tensor(shape[:2], rng)
    planes = np.where(uniforms.numpy() >= probability, 1 / (1 - probability), 0.0)
    kept = np.broadcast_to(planes.reshape(shape[:2] + (1,) * (len(shape) - 2)), shape)
    assert np.array_equal(mask, kept)
    assert np.array_equal(output, values * kept)
    assert after == expected


@pytest.mark.parametrize("function", [layers.dropout, layers.spatial_dropout])
def test_inference_is_the_identity(function: Any) -> None:
    rng = seeded()
    values = np.array([1.5, -0.0, 1e308, 5e-324]).reshape(1, 2, 2)
    output, mask, after = function(INFERENCE, 0.999, rng, values)
    assert output.tobytes() == values.tobytes()
    assert mask.tolist() == np.ones((1, 2, 2)).tolist()
    assert after == rng
    output[0, 0, 0] = 7.0  # the array is the caller's, and no longer the input
    assert values[0, 0, 0] == 1.5


def test_threads_change_nothing() -> None:
    usual = hmath.get_num_threads()
    values = np.arange(7 * 5 * 61 * 67.0).reshape(7, 5, 61, 67)
    try:
        for maker in MAKERS:
            results = set()
            for threads in (1, 2, 5):
                hmath.set_num_threads(threads)
                output, mask, after = layers.dropout(TRAINING, 0.3, seeded(1, maker), values)
                planes, _, _ = layers.spatial_dropout(TRAINING, 0.3, after, values)
                results.add((output.tobytes(), mask.tobytes(), planes.tobytes(), after))
            assert len(results) == 1
    finally:
        hmath.set_num_threads(usual)


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.9])
def test_as_many_are_lost_as_asked_for(probability: float) -> None:
    _, mask, _ = layers.dropout(TRAINING, probability, seeded(3), np.ones(40_000))
    lost = int((mask == 0).sum())
    assert stats.binomtest(lost, 40_000, probability).pvalue > 1e-3  # a fixed seed: never by chance
    assert abs(mask.mean() - 1) < 4 * math.sqrt(probability / (1 - probability) / 40_000)


BAD: list[tuple[tuple[Any, ...], type[Exception], str]] = [
    ((True, 0.5, "rng", "x"), errors.TypeMismatch, "mode"),
    ((layers.MaxPool, 2.0, "rng", "x"), errors.TypeMismatch, "mode is a PoolMode; required Training"),
    ((TRAINING, "0.5", "rng", "x"), errors.TypeMismatch, "probability"),
    ((TRAINING, False, "rng", "x"), errors.TypeMismatch, "probability is a bool"),
    ((TRAINING, 2.0, 42, "x"), errors.TypeMismatch, "rng is an int"),
    ((TRAINING, 2.0, random.pcg32(), "x"), errors.TypeMismatch, "rng is a Generator"),
    ((TRAINING, 2.0, "rng", [1.0, 2.0]), errors.TypeMismatch, "input is a list"),
    ((TRAINING, 2.0, "rng", np.ones(3, np.float32)), errors.TypeMismatch, "input"),
    ((TRAINING, 2.0, "rng", tensor.tensor_float([1], [1])), errors.TypeMismatch, "input is a Tensor Float"),
    ((TRAINING, math.nan, "rng", "bad"), errors.NonFinite, "probability = nan"),
    ((TRAINING, math.inf, "rng", "bad"), errors.NonFinite, "probability"),
    ((TRAINING, 1.0, "rng", "bad"), errors.DomainError, "probability = 1.0; required >= 0 and < 1"),
    ((INFERENCE, -5e-324, "rng", "bad"), errors.DomainError, "probability = -5e-324"),
    ((TRAINING, 0.5, "rng", "bad"), errors.NonFinite, r"input\[2\] = nan"),
    ((INFERENCE, 0.5, "rng", "bad"), errors.NonFinite, r"input\[2\] = nan"),
    ((TRAINING, 0.2, "rng", "huge"), errors.Overflow, "not representable"),
]


@pytest.mark.parametrize("function", [layers.dropout, layers.spatial_dropout])
@pytest.mark.parametrize(("arguments", "error", "text"), BAD)
def test_bad_input(
    function: Any, arguments: tuple[Any, ...], error: type[Exception], text: str, no_leak: None
) -> None:
    with seeded() as rng:
        known = {
            "rng": rng,
            "x": np.ones((1, 2, 2)),
            "bad": np.array([1.0, 2.0, math.nan, math.inf]).reshape(1, 2, 2),
            "huge": np.full((1, 2, 2), 1.7e308),
        }
        with pytest.raises(error, match=text):
            function(*(known.get(a, a) if isinstance(a, str) else a for a in arguments))


def test_spatial_dropout_needs_planes() -> None:
    for shape in ((), (3,), (3, 4)):
        with pytest.raises(errors.DimensionMismatch, match="rank >= 3"):
            layers.spatial_dropout(TRAINING, 0.5, seeded(), np.full(shape, math.nan))


def test_closed_owners_are_errors() -> None:
    rng, x = seeded(), tensor.tensor([2], [1, 2])
    x.close()
    with pytest.raises(ValueError, match="input is closed"):
        layers.dropout(TRAINING, 0.5, rng, x)
    rng.close()
    with pytest.raises(ValueError, match="rng is closed"):
        layers.dropout(TRAINING, 0.5, rng, x)
