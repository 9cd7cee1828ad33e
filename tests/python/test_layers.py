"""Layers: PyTorch's stored answers, bits that depend on nothing, containers, the KV cache, positions."""

from __future__ import annotations

import copy
import json
import math
import pickle
import runpy
from pathlib import Path
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
from hmath import tensor

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "tests" / "vectors" / "layers.json").read_text())

# ---------------------------------------------------------------- stored answers


def pattern(named: dict[str, Any]) -> np.ndarray:
    """See vectors/make_layers.py."""
    i = np.arange(math.prod(named["shape"]), dtype=np.int64)
    x = (((7919 * i + 104729 * named["pattern"]) % 2003 - 1001) / 512.0).reshape(named["shape"])
    return x * x if named["square"] else x


def built(named: Any) -> Any:
    if not isinstance(named, dict):
        return named
    if "pattern" in named:
        return pattern(named)
    if "options" in named:
        return layers.ConvOptions(*named["options"])
    if "state" in named:
        return layers.BatchNormState(*map(pattern, named["state"]), 0)
    found: Any = layers
    for part in named["selector"].split("."):
        found = getattr(found, part)
    return found


def arrays(result: Any) -> list[np.ndarray]:
    if isinstance(result, tuple):
        return [array for part in result for array in arrays(part)]
    if isinstance(result, layers.BatchNormState):
        return [np.array(result.running_mean), np.array(result.running_variance)]
    return [np.asarray(result)]


@pytest.mark.parametrize("case", STORED, ids=lambda case: case["function"])
def test_stored_answers(case: dict[str, Any]) -> None:
    result = getattr(layers, case["function"])(*map(built, case["arguments"]))
    for got, expect in zip(arrays(result), case["expect"], strict=True):
        right = np.array(expect["values"]).reshape(expect["shape"])
        assert got.shape == right.shape
        # A few dozen roundings on either side, of sums whose terms are no larger than the largest result
        # by more than a small factor.
        assert (np.abs(got - right) <= 1e-14 * np.abs(right) + 2e-14 * np.abs(right).max()).all()


# ---------------------------------------------------------------- containers


def test_results_follow_their_argument(no_leak: None) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with tensor.from_numpy(x) as t, layers.layer_norm(1, 1.0, t) as y:
        assert isinstance(y, tensor.TensorDouble)
        assert np.array_equal(y.numpy(), layers.layer_norm(1, 1.0, x))
    assert isinstance(layers.layer_norm(1, 1.0, x), np.ndarray)
    out, weights = layers.scaled_dot_product_attention(x, x, x, None, None)
    assert isinstance(out, np.ndarray) and isinstance(weights, np.ndarray)
    out[0, 0] = 1.0  # the caller's own


@pytest.mark.parametrize("x", [[[1.0]], (1.0,), 1.0, np.ones((1, 1), np.int64), np.ones((1, 1), np.float32)])
def test_tensors_are_no_lists(x: Any) -> None:
    with pytest.raises(hmath.TypeMismatch):
        layers.layer_norm(1, 1.0, x)


def test_lists_may_be_tensors(no_leak: None) -> None:
    x, w = np.ones((2, 3)), np.ones((2, 3))
    with tensor.tensor([2], [5, 6]) as bias:
        assert np.array_equal(layers.dense(x, w, bias), layers.dense(x, w, [5, 6]))
        assert np.array_equal(layers.dense(x, w, np.array([5.0, 6.0])), layers.dense(x, w, (5, 6)))
    with tensor.tensor([2, 2], [1, 2, 3, 4]) as bias:
        a = layers.scaled_dot_product_attention(w, w, w, None, bias)
    b = layers.scaled_dot_product_attention(w, w, w, None, [[1, 2], [3, 4]])
    assert all(map(np.array_equal, a, b))


def test_arrays_in_any_order_are_read_in_row_major_order() -> None:
    x = np.random.default_rng(1).standard_normal((4, 6))
    assert np.array_equal(layers.rms_norm(1, 1.0, x.T), layers.rms_norm(1, 1.0, x.T.copy()))
    assert np.array_equal(layers.rms_norm(1, 1.0, x[::2, ::-1]), layers.rms_norm(1, 1.0, x[::2, ::-1].copy()))


# ---------------------------------------------------------------- alone and in a batch


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


STATE = layers.BatchNormState(draw(1, 6), draw(2, 6) ** 2, 0)
ALONG_THE_BATCH: dict[str, tuple[Any, tuple[int, ...]]] = {
    "dense": (lambda x: layers.dense(x, draw(3, 37, 65), draw(4, 37)), (65,)),
    "dense, many features": (lambda x: layers.dense(x, draw(3, 5, 2500), draw(4, 5)), (2500,)),
    "feed-forward": (
        lambda x: layers.transformer_feed_forward(
            core.SiLU, x, draw(3, 50, 33), draw(4, 50), draw(5, 9, 50), draw(6, 9)
        ),
        (33,),
    ),
    "layer_norm": (lambda x: layers.layer_norm(1, 1e-5, x), (77,)),
    "rms_norm, long": (lambda x: layers.rms_norm(1, 1e-5, x), (5000,)),
    "instance_norm": (lambda x: layers.instance_norm(1e-5, x), (3, 9, 5)),
    "group_norm": (lambda x: layers.group_norm(2, 1e-5, x), (6, 7)),
    "batch_norm": (
        lambda x: layers.batch_norm(layers.Inference, 0.1, 1e-5, draw(7, 6), draw(8, 6), STATE, x)[0],
        (6, 11),
    ),
    "batch_norm without space": (
        lambda x: layers.batch_norm(layers.Inference, 0.1, 1e-5, draw(7, 6), draw(8, 6), STATE, x)[0],
        (6,),
    ),
    "convolution": (
        lambda x: layers.convolution(
            layers.ConvOptions([1, 2], [1, 1], [1, 1], 1), x, draw(3, 5, 4, 3, 3), draw(4, 5)
        ),
        (4, 9, 11),
    ),
    "pointwise": (
        lambda x: layers.convolution(layers.ConvOptions([1], [0], [1], 1), x, draw(3, 5, 20, 1), draw(4, 5)),
        (20, 30),
    ),
    "transposed": (
        lambda x: layers.transposed_convolution(
            [1], layers.ConvOptions([2], [1], [1], 1), x, draw(3, 4, 5, 3), draw(4, 5)
        ),
        (4, 13),
    ),
    "max pooling": (lambda x: layers.pooling(layers.MaxPool, [3, 2], [2, 2], [1, 1], x), (2, 9, 11)),
    "average pooling": (lambda x: layers.pooling(layers.AveragePool, [3, 2], [2, 2], [1, 1], x), (2, 9, 11)),
    "adaptive pooling": (lambda x: layers.adaptive_pooling(layers.AveragePool, [4, 11], x), (2, 9, 11)),
    "global pooling": (lambda x: layers.global_pooling(layers.AveragePool, x), (2, 90, 50)),
}


@pytest.mark.parametrize("name", ALONG_THE_BATCH)
@pytest.mark.parametrize("batch", [2, 9, 67])
def test_a_row_alone_has_the_bits_it_has_in_a_batch(name: str, batch: int) -> None:
    function, shape = ALONG_THE_BATCH[name]
    x = draw(9, batch, *shape)
    whole = function(x)
    for i in {0, batch // 2, batch - 1}:
        assert np.array_equal(function(x[i : i + 1]), whole[i : i + 1])


def test_a_row_at_its_own_position() -> None:
    x = draw(10, 9, 14)
    whole = layers.rotary_embedding(500.0, 3, x)
    waves = np.asarray(layers.sinusoidal_encoding(9, 13, 3))
    for i in range(9):
        assert np.array_equal(layers.rotary_embedding(500.0, 3 + i, x[i : i + 1]), whole[i : i + 1])
        assert np.array_equal(np.asarray(layers.sinusoidal_encoding(1, 13, 3 + i)), waves[i : i + 1])


# ---------------------------------------------------------------- records and selectors


def test_inference_is_one_selector() -> None:
    assert layers.Inference is layers.Training.INFERENCE
    assert layers.Inference != layers.Training.TRAINING


def test_a_record_is_read_again_when_its_lists_have_changed() -> None:
    x, w = np.ones((1, 1, 5)), np.ones((1, 1, 2))
    options = layers.ConvOptions([1], [0], [1], 1)
    for stride, extent in ((1, 4), (2, 2), (1, 4)):
        options.stride[0] = stride
        for _ in range(2):
            assert layers.convolution(options, x, w, [0]).shape == (1, 1, extent)
    options.stride[0] = 1.0  # type: ignore[call-overload]
    with pytest.raises(hmath.TypeMismatch):
        layers.convolution(options, x, w, [0])
    for twin in (pickle.loads(pickle.dumps(options)), copy.copy(options), copy.deepcopy(options)):
        assert twin == options


def test_inference_returns_its_state() -> None:
    state = layers.BatchNormState([0.5], [2.0], 7)
    _, after = layers.batch_norm(layers.Inference, 0.5, 1e-5, [1.0], [0.0], state, np.ones((3, 1)))
    assert after == state


def test_batch_norm_carries_variances_beyond_a_double() -> None:
    """Of 1e310, the hundredth billionth part still has a place in the running variance."""
    x = np.array([[1e155], [-1e155]])
    state = layers.BatchNormState([0.0], [1.0], 0)
    y, after = layers.batch_norm(layers.Training.TRAINING, 1e-10, 1e-5, [1.0], [0.0], state, x)
    assert np.array_equal(y, [[1.0], [-1.0]])
    assert after.running_variance == pytest.approx([2e300], rel=1e-15)


# ---------------------------------------------------------------- extremes of parameters

LARGEST = 2**63 - 1


@pytest.mark.parametrize("mode", [layers.MaxPool, layers.AveragePool])
def test_pooling_far_beyond_the_input(mode: layers.PoolMode) -> None:
    x = np.array([[[1.0, 5.0, 3.0, -1.0]]])
    first, whole = (5.0, 5.0) if mode is layers.MaxPool else (3.0, 2.0)
    assert layers.pooling(mode, [3], [LARGEST], [1], x).tolist() == [[[first]]]
    assert layers.pooling(mode, [2**62 + 4], [1], [2**61], x).tolist() == [[[whole]]]
    assert layers.pooling(mode, [2**62 + 4], [LARGEST], [2**61], x).tolist() == [[[whole]]]


def test_convolution_far_beyond_the_input() -> None:
    x, w = np.array([[[1.0, 5.0, 3.0, -1.0]]]), np.array([[[1.0, 10.0, 100.0]]])
    options = layers.ConvOptions([LARGEST], [1], [1], 1)
    assert layers.convolution(options, x, w, [0]).tolist() == [[[510.0]]]
    one = np.array([[[2.0]]])
    options = layers.ConvOptions([LARGEST], [0], [1], 1)
    assert layers.transposed_convolution([0], options, one, w, [0]).tolist() == [[[2.0, 20.0, 200.0]]]


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("extents", [(6,), (1,), (2, 5), (4, 1, 3)], ids=str)
@pytest.mark.parametrize("stride", [1, 2, 3, 5, 7, LARGEST])
def test_pointwise_convolution_with_a_stride(groups: int, extents: tuple[int, ...], stride: int) -> None:
    """A kernel of one tap is a matrix product of the pixels that the stride meets, also of a single one."""
    rng = np.random.default_rng(7)
    axes = len(extents)
    x = rng.integers(-9, 9, (2, 3, *extents)).astype(float)
    w = rng.integers(-9, 9, (3, 3 // groups) + (1,) * axes).astype(float)
    options = layers.ConvOptions([stride] * axes, [0] * axes, [1] * axes, groups)
    mixing = np.zeros((3, 3))
    for o in range(3):
        first = o // (3 // groups) * (3 // groups)
        mixing[o, first : first + 3 // groups] = w.reshape(3, -1)[o]
    met = x[(..., *[slice(None, None, stride)] * axes)]
    wanted = np.einsum("oc,nc...->no...", mixing, met)
    assert np.array_equal(layers.convolution(options, x, w, [0.0] * 3), wanted)

    inputs, weights = ad.variable("x", x.shape), ad.variable("w", w.shape)
    output = layers.convolution_ad(options, inputs, weights, [0.0] * 3)
    cotangent = rng.integers(-9, 9, wanted.shape).astype(float)
    _, (to_input, to_weights) = ad.value_and_gradient(ad.sum(output * cotangent), {inputs: x, weights: w})
    spread = np.zeros_like(x)
    spread[(..., *[slice(None, None, stride)] * axes)] = np.einsum("oc,no...->nc...", mixing, cotangent)
    assert np.array_equal(to_input.numpy(), spread)
    places = (0, *range(2, 2 + axes))
    products = np.tensordot(cotangent, met, (places, places))
    blocks = [products[o, o // (3 // groups) * (3 // groups) :][: 3 // groups] for o in range(3)]
    assert np.array_equal(to_weights.numpy().reshape(3, -1), blocks)

    if stride < 10:
        back = [e - (m - 1) * stride - 1 for e, m in zip(extents, met.shape[2:], strict=True)]
        turned = w.reshape(3, 3 // groups, *[1] * axes)  # of [in, out / groups]
        got = layers.transposed_convolution(back, options, cotangent, turned, [0.0] * 3)
        assert np.array_equal(got, spread)


# ---------------------------------------------------------------- positions


@given(
    offset=st.one_of(st.integers(0, 100), st.integers(0, 2**31)),
    width=st.integers(1, 40),
    base=st.floats(0.5, 1e7),
)
def test_angles(offset: int, width: int, base: float) -> None:
    """Sine and cosine within 4 * 2**-53 of the truth."""
    with mpmath.workprec(200):
        waves = np.array(layers.sinusoidal_encoding(1, width, offset).values)
        pairs = np.tile([1.0, 0.0], (1, width))
        turned = layers.rotary_embedding(base, offset, pairs)[0]
        for i in range(width):
            angle = mpmath.mpf(offset) / mpmath.mpf(10000) ** (mpmath.mpf(i // 2 * 2) / width)
            right = mpmath.cos(angle) if i % 2 else mpmath.sin(angle)
            assert abs(mpmath.mpf(float(waves[i])) - right) <= 4 * mpmath.mpf(2) ** -53
            angle = offset * mpmath.mpf(base) ** (-mpmath.mpf(2 * i) / (2 * width))
            for got, right in ((turned[2 * i], mpmath.cos(angle)), (turned[2 * i + 1], mpmath.sin(angle))):
                assert abs(mpmath.mpf(float(got)) - right) <= 4 * mpmath.mpf(2) ** -53


def test_position_0_turns_nothing() -> None:
    x = np.array([[3.0, -4.0, 1e308, 0.0]])
    assert np.array_equal(layers.rotary_embedding(5e-324, 0, x), x)


@given(queries=st.integers(0, 6), keys=st.integers(0, 9), offset=st.integers(0, 8))
def test_masks_and_biases(queries: int, keys: int, offset: int) -> None:
    mask, bias = layers.causal_mask(queries, keys, offset), layers.alibi_bias(0.75, queries, keys, offset)
    assert mask == [[j <= i + offset for j in range(keys)] for i in range(queries)]
    assert bias == [[-0.75 * abs(i + offset - j) for j in range(keys)] for i in range(queries)]


# ---------------------------------------------------------------- attention


def test_a_masked_row_is_exactly_zero() -> None:
    x = np.random.default_rng(2).standard_normal((3, 4))
    mask = [[True] * 3, [False] * 3, [True, False, True]]
    out, weights = layers.scaled_dot_product_attention(x, x, x, mask, None)
    assert not out[1].any() and not weights[1].any()
    assert not np.signbit(out[1]).any() and not np.signbit(weights[1]).any()
    assert weights[2, 1] == 0.0
    assert np.array_equal(layers.multihead_attention(2, x, x, x, mask)[1], np.zeros(4))


def test_masked_keys_change_nothing_however_many() -> None:
    x = np.random.default_rng(3).standard_normal((5, 4))
    padded = np.concatenate([x, np.full((4100, 4), 1e300)])
    mask = np.zeros((5, len(padded)), bool)
    mask[:, :5] = True
    out, weights = layers.scaled_dot_product_attention(x, padded, padded, mask, None)
    right, right_weights = layers.scaled_dot_product_attention(x, x, x, None, None)
    assert np.array_equal(out, right) and np.array_equal(weights[:, :5], right_weights)


# ---------------------------------------------------------------- the KV cache


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 4)), max_size=20))
def test_versions_keep_what_they_show(steps: list[tuple[int, int]]) -> None:
    """Any tree of appends against plain lists of rows."""
    versions = [(layers.empty_cache(1000, 2, 1), [])]
    counter = 0
    for choice, rows in steps:
        cache, shown = versions[choice % len(versions)]
        key = np.arange(counter, counter + 2 * rows, dtype=float).reshape(rows, 2)
        versions.append((layers.append_cache(cache, key, -key[:, :1]), shown + key.tolist()))
        counter += 2 * rows
    for cache, shown in versions:
        keys, values = layers.cache_values(cache)
        assert keys.shape == (len(shown), 2)
        assert keys.values == [x for row in shown for x in row]
        assert values.values == [-row[0] for row in shown]


def test_cache_as_an_owner(no_leak: None) -> None:
    with layers.empty_cache(3, 2, 1) as cache:
        longer = layers.append_cache(cache, np.ones((1, 2)), np.ones((1, 1)))
        assert repr(longer) == "<KVCache with 1 of 3 rows, widths 2 and 1>"
        assert (longer.capacity, len(longer), longer.key_dimensions, longer.value_dimensions) == (3, 1, 2, 1)
        assert len(cache) == 0 and cache
        twin = copy.copy(longer)
        longer.close()
        assert layers.cache_values(twin)[0].values == [1.0, 1.0]
        with pytest.raises(ValueError, match="closed"):
            layers.cache_values(longer)
        twin.close()


@pytest.mark.parametrize(("width", "rows", "capacity"), [(3, 300, 300), (700, 150, 2**62), (9001, 40, 41)])
def test_cache_moves_its_rows(width: int, rows: int, capacity: int, no_leak: None) -> None:
    """Versions from before and after every move to a larger room show the rows they were given."""
    given = np.random.default_rng(width).standard_normal((rows, width))
    cache, shown = layers.empty_cache(capacity, width, 1), []
    for row in given:
        longer = layers.append_cache(cache, row[None], row[None, :1])
        cache.close()
        cache = longer
        shown.append(layers.cache_values(cache))
    for length, (keys, values) in enumerate(shown, 1):
        assert np.array_equal(keys.numpy(), given[:length])
        assert np.array_equal(values.numpy(), given[:length, :1])
        keys.close(), values.close()
    cache.close()


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_cache_pickles(rows: int, no_leak: None) -> None:
    key = np.random.default_rng(rows).standard_normal((rows, 3))
    with layers.empty_cache(5, 3, 3) as cache, layers.append_cache(cache, key, -key) as longer:
        with pickle.loads(pickle.dumps(longer)) as twin:
            assert (twin.capacity, len(twin)) == (5, rows)
            for got, right in zip(layers.cache_values(twin), (key, -key), strict=True):
                assert np.array_equal(got.numpy(), right)


# ---------------------------------------------------------------- made of others


@given(seed=st.integers(0, 1000), rows=st.integers(0, 9), hidden=st.integers(0, 9))
def test_feed_forward_is_the_three(seed: int, rows: int, hidden: int) -> None:
    draw = np.random.default_rng(seed).standard_normal
    x, w1, b1, w2, b2 = draw((rows, 3)), draw((hidden, 3)), draw(hidden), draw((2, hidden)), draw(2)
    between = layers.dense(x, w1, b1)
    middle = np.array([core.activation(core.Mish, v) for v in between.reshape(-1)]).reshape(between.shape)
    right = layers.dense(middle, w2, b2)
    assert np.array_equal(layers.transformer_feed_forward(core.Mish, x, w1, b1, w2, b2), right)


def test_decode_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "python" / "decode.py"))
    assert capsys.readouterr().out.endswith("24 rows, 0 numbers differ\n")


# ---------------------------------------------------------------- masks and biases as rows


@pytest.mark.parametrize("queries", [1, 2, 7])
@pytest.mark.parametrize("keys", [1, 2, 9])
@pytest.mark.parametrize("offset", [0, 1, 5, 2**32 - 1, 2**32])
def test_rows_by_windows_are_rows_by_the_library(queries: int, keys: int, offset: int) -> None:
    """From 2**32 on, and for NumPy's integers, the library makes the whole matrix."""
    mask, bias = layers.causal_mask(queries, keys, offset), layers.alibi_bias(0.3, queries, keys, offset)
    assert mask == np.tri(queries, keys, offset, dtype=bool).tolist()
    assert mask == layers.causal_mask(np.int64(queries), keys, offset)  # type: ignore[arg-type]
    assert bias == layers.alibi_bias(0.3, np.int64(queries), keys, offset)  # type: ignore[arg-type]


def test_rows_of_masks_are_lists_of_their_own() -> None:
    mask, bias = layers.causal_mask(3, 3, 0), layers.alibi_bias(1.0, 3, 3, 0)
    mask[0][0], bias[2][0] = False, 5.0
    assert mask == [[False, False, False], [True, True, False], [True, True, True]]
    assert bias == [[0.0, -1.0, -2.0], [-1.0, 0.0, -1.0], [5.0, -1.0, 0.0]]


def test_masks_in_every_container_give_the_same() -> None:
    rng = np.random.default_rng(3)
    query, key, value = (rng.standard_normal((5, 4)) for _ in range(3))
    mask, bias = layers.causal_mask(5, 5, 0), layers.alibi_bias(0.5, 5, 5, 0)
    expected, _ = layers.scaled_dot_product_attention(query, key, value, mask, bias)
    for masks in (
        np.array(mask),
        list(np.array(mask)),
        tuple(map(tuple, mask)),
        [np.array(mask)[0], *mask[1:]],
    ):
        for biases in (
            np.array(bias),
            list(np.array(bias)),
            tuple(map(tuple, bias)),
            tensor.from_numpy(np.array(bias)),
        ):
            found, _ = layers.scaled_dot_product_attention(query, key, value, masks, biases)
            assert found.tobytes() == expected.tobytes()
    numpy_bools = [[np.bool_(x) for x in row] for row in mask]
    ints = [[int(x) for x in row] for row in bias]
    layers.scaled_dot_product_attention(query, key, value, numpy_bools, ints)
    for wrong in (np.array(mask, int), [[int(x) for x in row] for row in mask], [[1.0] * 5] * 5):
        with pytest.raises(hmath.TypeMismatch, match="mask"):
            layers.scaled_dot_product_attention(query, key, value, wrong, None)  # type: ignore[arg-type]
    with pytest.raises(hmath.DimensionMismatch, match="mask"):
        layers.scaled_dot_product_attention(query, key, value, [[True] * 5, [True] * 4, *mask[2:]], None)


def test_an_element_of_rows_that_is_none_is_named() -> None:
    query = np.ones((2, 1))
    with pytest.raises(hmath.TypeMismatch, match=r"mask\[3\] is an int; required Bool"):
        layers.scaled_dot_product_attention(query, query, query, [[True, True], [True, 1]], None)
    with pytest.raises(hmath.TypeMismatch, match=r"bias\[2\] is a bool; required Double"):
        layers.scaled_dot_product_attention(query, query, query, None, [[0.0, 0.0], [True, 0.0]])
    with pytest.raises(hmath.Overflow, match=r"bias\[1\]"):
        layers.scaled_dot_product_attention(query, query, query, None, [[0.0, 10**400], [0.0, 0.0]])
