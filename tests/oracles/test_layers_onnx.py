"""ONNX's published node tests for the layers, wherever their attributes say what ours can say.

Each test runs, or fails to fit for a reason that ``LEFT_OUT`` gives; a test that neither list knows is a
failure. Inputs are binary32, widened without loss; the published outputs were computed in binary32, so that
they are right to some 2**-20 of the magnitudes involved and no further.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hmath import deeplearning_layers as layers

onnx = pytest.importorskip("onnx")

TOLERANCE = 2.0**-18

LEFT_OUT = {
    # our padding is symmetric
    "convtranspose_autopad_same": "padding from an output shape",
    "convtranspose_output_shape": "padding from an output shape",
    "convtranspose_kernel_shape": "padding from an output shape",
    "maxpool_2d_same_lower": "asymmetric padding",
    "maxpool_2d_same_upper": "asymmetric padding",
    "averagepool_2d_same_lower": "asymmetric padding",
    "averagepool_2d_same_upper": "asymmetric padding",
    # our pooling rounds down, has no dilation and gives no positions
    "maxpool_2d_ceil": "ceil mode",
    "maxpool_2d_ceil_output_size_reduce_by_one": "ceil mode",
    "averagepool_2d_ceil": "ceil mode",
    "averagepool_2d_ceil_last_window_starts_on_pad": "ceil mode",
    "averagepool_3d_dilations_large_count_include_pad_is_0_ceil_mode_is_True": "ceil mode",
    "averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True": "ceil mode",
    "maxpool_2d_dilations": "dilation",
    "maxpool_3d_dilations": "dilation",
    "maxpool_3d_dilations_use_ref_impl": "dilation",
    "maxpool_3d_dilations_use_ref_impl_large": "ceil mode",
    "averagepool_2d_dilations": "ceil mode",
    "averagepool_3d_dilations_small": "ceil mode",
    "averagepool_3d_dilations_large_count_include_pad_is_0_ceil_mode_is_False": "dilation",
    "averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_False": "dilation",
    "averagepool_2d_pads_count_include_pad": "padding counts in the mean",
    "averagepool_2d_precomputed_pads_count_include_pad": "padding counts in the mean",
    "maxpool_2d_uint8": "no floating-point data",
    "maxpool_with_argmax_2d_precomputed_pads": "positions as a second result",
    "maxpool_with_argmax_2d_precomputed_strides": "positions as a second result",
    # our dense layer has no factors, our embedding gathers whole rows by number
    "gemm_alpha": "factors",
    "gemm_beta": "factors",
    "gemm_all_attributes": "factors",
    "gemm_default_matrix_bias": "a bias for each row",
    "gather_1": "another axis than the first",
    "gather_2d_indices": "another axis than the first",
    "gather_negative_indices": "negative indices",
    # our attention scales by the root of the width
    "attention_3d_scaled": "another scale",
    "attention_3d_gqa_scaled": "another scale",
    "attention_3d_diff_heads_sizes_scaled": "another scale",
    "attention_4d_scaled": "another scale",
    "attention_4d_gqa_scaled": "another scale",
    "attention_4d_diff_heads_sizes_scaled": "another scale",
    # sines and cosines come in tables of any content
    "rotary_embedding": "tables of sines and cosines",
    "rotary_embedding_3d_input": "tables of sines and cosines",
    "rotary_embedding_interleaved": "tables of sines and cosines",
    "rotary_embedding_no_position_ids": "tables of sines and cosines",
    "rotary_embedding_no_position_ids_interleaved": "tables of sines and cosines",
    "rotary_embedding_no_position_ids_rotary_dim": "tables of sines and cosines",
    "rotary_embedding_with_interleaved_rotary_dim": "tables of sines and cosines",
    "rotary_embedding_with_rotary_dim": "tables of sines and cosines",
}
# Whole families of attention tests; the rest of the name varies.
LEFT_OUT_ATTENTION = {
    "window": "a window of keys",
    "softcap": "soft capping",
    "qk_matmul": "scores as a result",
    "past": "a cache as argument",
    "padded_kv": "lengths of padded keys",
    "nonpad": "lengths of padded keys",
    "fp16": "sixteen-bit data",
    "bf16": "sixteen-bit data",
    "poison": "infinities in the mask",
    "nan_robustness": "NaN or infinities in the data",
}


class UnlikeOurs(Exception):
    """The node asks for what our operation has no argument for."""


def need(condition: bool, otherwise: str) -> None:
    if not condition:
        raise UnlikeOurs(otherwise)


Attributes = dict[str, Any]


def spatial_attributes(a: Attributes, axes: int) -> tuple[list[int], list[int], list[int]]:
    """Stride, symmetric padding, dilation."""
    pads = list(a.get("pads", [0] * (2 * axes)))
    need(pads[:axes] == pads[axes:], "asymmetric padding")
    return list(a.get("strides", [1] * axes)), pads[:axes], list(a.get("dilations", [1] * axes))


def same_padding(a: Attributes, x: np.ndarray, kernel: list[int]) -> None:
    """SAME_UPPER and SAME_LOWER as pads, which are what the strides and the extents make them."""
    mode = a.get("auto_pad", b"NOTSET").decode()
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return
    strides = a.get("strides", [1] * len(kernel))
    total = [
        max((math.ceil(extent / s) - 1) * s + k - extent, 0)
        for extent, s, k in zip(x.shape[2:], strides, kernel, strict=True)
    ]
    small, large = [t // 2 for t in total], [t - t // 2 for t in total]
    a["pads"] = small + large if mode == "SAME_UPPER" else large + small


def conv(a: Attributes, x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> list[np.ndarray]:
    same_padding(a, x, list(w.shape[2:]))
    stride, padding, dilation = spatial_attributes(a, x.ndim - 2)
    options = layers.ConvOptions(stride, padding, dilation, a.get("group", 1))
    return [layers.convolution(options, x, w, np.zeros(len(w)) if b is None else b)]


def conv_transpose(
    a: Attributes, x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None
) -> list[np.ndarray]:
    need(
        "output_shape" not in a and a.get("auto_pad", b"NOTSET") == b"NOTSET", "padding from an output shape"
    )
    stride, padding, dilation = spatial_attributes(a, x.ndim - 2)
    groups = a.get("group", 1)
    options = layers.ConvOptions(stride, padding, dilation, groups)
    bias = np.zeros(w.shape[1] * groups) if b is None else b
    return [layers.transposed_convolution(a.get("output_padding", [0] * len(stride)), options, x, w, bias)]


def pool(mode: layers.PoolMode) -> Callable[..., list[np.ndarray]]:
    def run(a: Attributes, x: np.ndarray) -> list[np.ndarray]:
        need(x.dtype == np.float64, "no floating-point data")
        need(not a.get("ceil_mode", 0), "ceil mode")
        kernel = list(a["kernel_shape"])
        same_padding(a, x, kernel)
        stride, padding, dilation = spatial_attributes(a, len(kernel))
        need(set(dilation) == {1}, "dilation")
        need(not a.get("count_include_pad", 0) or not any(padding), "padding counts in the mean")
        return [layers.pooling(mode, kernel, stride, padding, x)]

    return run


def max_pool(a: Attributes, x: np.ndarray) -> list[np.ndarray]:
    need(a["results"] == 1, "positions as a second result")
    return pool(layers.MaxPool)(a, x)


def global_pool(mode: layers.PoolMode) -> Callable[..., list[np.ndarray]]:
    return lambda a, x: [layers.global_pooling(mode, x).reshape(*x.shape[:2], *[1] * (x.ndim - 2))]


def batch_norm(
    a: Attributes, x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> list[np.ndarray | None]:
    """ONNX's momentum weighs the past, and its running variance takes the population's."""
    training = a.get("training_mode", 0)
    mode = layers.Training.TRAINING if training else layers.Training.INFERENCE
    state = layers.BatchNormState(mean, variance, 0)
    y, after = layers.batch_norm(
        mode, 1 - a.get("momentum", 0.9), a.get("epsilon", 1e-5), scale, bias, state, x
    )
    return [y, np.array(after.running_mean), None] if training else [y]


def trailing(a: Attributes, x: np.ndarray) -> int:
    return x.ndim - a.get("axis", -1) % x.ndim


def layer_norm(a: Attributes, x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> list[np.ndarray | None]:
    return [layers.layer_norm(trailing(a, x), a.get("epsilon", 1e-5), x) * scale + bias, None, None]


def rms_norm(a: Attributes, x: np.ndarray, scale: np.ndarray) -> list[np.ndarray]:
    return [layers.rms_norm(trailing(a, x), a.get("epsilon", 1e-5), x) * scale]


def by_channel(v: np.ndarray, x: np.ndarray) -> np.ndarray:
    return v.reshape(-1, *[1] * (x.ndim - 2))


def instance_norm(a: Attributes, x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> list[np.ndarray]:
    y = layers.instance_norm(a.get("epsilon", 1e-5), x)
    return [y * by_channel(scale, x) + by_channel(bias, x)]


def group_norm(a: Attributes, x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> list[np.ndarray]:
    y = layers.group_norm(a["num_groups"], a.get("epsilon", 1e-5), x)
    return [y * by_channel(scale, x) + by_channel(bias, x)]


def gemm(a: Attributes, x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> list[np.ndarray]:
    need(a.get("alpha", 1.0) == 1.0 and a.get("beta", 1.0) == 1.0, "factors")
    x = np.ascontiguousarray(x.T) if a.get("transA", 0) else x
    w = w if a.get("transB", 0) else np.ascontiguousarray(w.T)
    bias = np.zeros(1) if b is None else b
    need(bias.ndim < 2 or len(bias) == 1, "a bias for each row")
    return [layers.dense(x, w, np.broadcast_to(bias.reshape(-1), len(w)).copy())]


def gather(a: Attributes, x: np.ndarray, indices: np.ndarray) -> list[np.ndarray]:
    need(a.get("axis", 0) == 0, "another axis than the first")
    need(bool((indices >= 0).all()), "negative indices")
    return [layers.embedding(x.reshape(len(x), -1), indices).reshape(-1, *x.shape[1:])]


def attention(
    a: Attributes,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    *more: np.ndarray,
) -> list[np.ndarray]:
    """[batch, heads, sequence, width], or [batch, sequence, features] with the numbers of heads beside it."""
    for part, reason in LEFT_OUT_ATTENTION.items():
        need(part not in a["name"], reason)
    need("scale" not in a, "another scale")
    need(not more and a["results"] == 1, "a cache as argument")
    q_heads, kv_heads = (q.shape[1], k.shape[1]) if q.ndim == 4 else (a["q_num_heads"], a["kv_num_heads"])
    queries, keys = q.shape[-2], k.shape[-2]
    causal = np.array(layers.causal_mask(queries, keys, 0)) if a.get("is_causal", 0) else None
    if q.ndim == 3 and q_heads == kv_heads and mask is None:
        allowed = None if causal is None else causal
        return [
            np.stack(
                [layers.multihead_attention(q_heads, *qkv, allowed) for qkv in zip(q, k, v, strict=True)]
            )
        ]
    flat = q.ndim == 3
    if flat:
        q, k, v = (
            np.ascontiguousarray(x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3))
            for x, heads in ((q, q_heads), (k, kv_heads), (v, kv_heads))
        )
    out = np.empty((*q.shape[:3], v.shape[3]))
    for batch, head in np.ndindex(*q.shape[:2]):
        of_head = head * kv_heads // q_heads
        here = None
        if mask is not None:
            here = np.broadcast_to(mask, (*q.shape[:2], queries, keys))[batch, head]
        allowed, bias = causal, None
        if here is not None and here.dtype == bool:
            allowed = here.copy() if causal is None else here & causal
        elif here is not None:
            bias = here.astype(np.float64)
        out[batch, head], _ = layers.scaled_dot_product_attention(
            q[batch, head], k[batch, of_head], v[batch, of_head], allowed, bias
        )
    return [out.transpose(0, 2, 1, 3).reshape(*out.shape[::2][:1], queries, -1) if flat else out]


def rotary(a: Attributes, *inputs: np.ndarray) -> list[np.ndarray]:
    raise UnlikeOurs("tables of sines and cosines")


OPERATORS: dict[str, Callable[..., list[Any]]] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MaxPool": max_pool,
    "AveragePool": pool(layers.AveragePool),
    "GlobalAveragePool": global_pool(layers.AveragePool),
    "GlobalMaxPool": global_pool(layers.MaxPool),
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "InstanceNormalization": instance_norm,
    "GroupNormalization": group_norm,
    "RMSNormalization": rms_norm,
    "Gemm": gemm,
    "Gather": gather,
    "Attention": attention,
    "RotaryEmbedding": rotary,
}


def node_tests() -> Iterator[Any]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    for test in found:
        nodes = test.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS and nodes[0].domain == "":
            yield pytest.param(test, id=test.name.removeprefix("test_"))


def widened(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64) if x.dtype == np.float32 else x


@pytest.mark.parametrize("test", list(node_tests()))
def test_node(test: Any) -> None:
    name = test.name.removeprefix("test_")
    node = test.model.graph.node[0]
    attributes: Attributes = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
    attributes.update(name=name, results=sum(bool(output) for output in node.output))
    for inputs, outputs in test.data_sets:
        given = iter(inputs)
        arguments = [widened(np.asarray(next(given))) if each else None for each in node.input]
        try:
            results = OPERATORS[node.op_type](dict(attributes), *arguments)
        except UnlikeOurs as reason:
            family = [why for part, why in LEFT_OUT_ATTENTION.items() if part in name]
            assert str(reason) == LEFT_OUT.get(name, family[0] if family else None), f"{name}: {reason}"
            pytest.skip(str(reason))
        assert name not in LEFT_OUT, f"{name} runs: take it off LEFT_OUT"
        for got, right in zip(results, outputs, strict=False):
            if got is not None:
                right = np.asarray(right)
                assert got.shape == right.shape
                scale = np.abs(right) + np.abs(right).max(initial=0.0)
                assert (np.abs(got - right) <= TOLERANCE * scale).all()
