"""Every documented failure of the layers: constructor, argument, position and value, in the order of checks.

A case is a call and what it fails with. Where a call breaks several rules, the first in the order of
SEMANTICS (kinds, parameters, shapes, emptiness, elements, result) is the one that is reported.
"""

# ruff: noqa: E501 -- a case a line is easier to read than a case on six

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hmath
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers

NAN, INF = math.nan, math.inf
TRAINING, INFERENCE = layers.Training.TRAINING, layers.Inference


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


def spoiled(*shape: int, at: int = 0, by: float = NAN) -> np.ndarray:
    x = np.ones(shape)
    x.reshape(-1)[at] = by
    return x


def options(stride: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1), groups: int = 1) -> Any:
    return layers.ConvOptions(list(stride), list(padding), list(dilation), groups)


def state(mean: Any = (0.0, 0.0), variance: Any = (1.0, 1.0), seen: int = 0) -> Any:
    return layers.BatchNormState(list(mean), list(variance), seen)


def batch_norm(
    mode: Any = TRAINING,
    momentum: float = 0.1,
    epsilon: float = 1e-5,
    gamma: Any = (1.0, 1.0),
    beta: Any = (0.0, 0.0),
    record: Any = None,
    x: Any = None,
) -> Any:
    x = ones(3, 2) if x is None else x
    return layers.batch_norm(mode, momentum, epsilon, gamma, beta, record or state(), x)


def conv(o: Any = None, x: Any = None, w: Any = None, b: Any = (0.0,)) -> Any:
    x = ones(1, 1, 4, 4) if x is None else x
    return layers.convolution(o or options(), x, ones(1, 1, 2, 2) if w is None else w, b)


def transposed(extra: Any = (0, 0), o: Any = None, x: Any = None, w: Any = None, b: Any = (0.0,)) -> Any:
    x = ones(1, 1, 4, 4) if x is None else x
    w = ones(1, 1, 2, 2) if w is None else w
    return layers.transposed_convolution(list(extra), o or options(), x, w, b)


def pool(
    kernel: Any = (2, 2),
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    x: Any = None,
    mode: Any = layers.MaxPool,
) -> Any:
    return layers.pooling(
        mode, list(kernel), list(stride), list(padding), ones(1, 1, 4, 4) if x is None else x
    )


def attention(q: Any = None, k: Any = None, v: Any = None, mask: Any = None, bias: Any = None) -> Any:
    return layers.scaled_dot_product_attention(
        ones(2, 3) if q is None else q,
        ones(4, 3) if k is None else k,
        ones(4, 5) if v is None else v,
        mask,
        bias,
    )


def heads(n: int = 2, q: Any = None, k: Any = None, v: Any = None, mask: Any = None) -> Any:
    return layers.multihead_attention(
        n,
        ones(2, 4) if q is None else q,
        ones(3, 4) if k is None else k,
        ones(3, 6) if v is None else v,
        mask,
    )


def feed_forward(
    activation: Any = core.ReLU,
    x: Any = None,
    w1: Any = None,
    b1: Any = (0, 0),
    w2: Any = None,
    b2: Any = (0,),
) -> Any:
    return layers.transformer_feed_forward(
        activation,
        ones(2, 3) if x is None else x,
        ones(2, 3) if w1 is None else w1,
        b1,
        ones(1, 2) if w2 is None else w2,
        b2,
    )


def append(key: Any = None, value: Any = None, capacity: int = 2) -> Any:
    cache = layers.empty_cache(capacity, 2, 3)
    return layers.append_cache(
        cache, ones(1, 2) if key is None else key, ones(1, 3) if value is None else value
    )


# name, call, constructor, argument, index, value (None: not looked at)
CASES: list[tuple[str, Callable[[], Any], str, str | None, int | None, float | None]] = [
    # embedding
    ("embedding rank", lambda: layers.embedding(ones(3), [0]), "DimensionMismatch", "weights", None, None),
    ("embedding nan", lambda: layers.embedding(spoiled(3, 2, at=5), [9]), "NonFinite", "weights", 5, None),
    ("embedding high", lambda: layers.embedding(ones(3, 2), [0, 3]), "IndexOutOfBounds", "indices", 1, 3),
    ("embedding low", lambda: layers.embedding(ones(3, 2), [0, 2, -1]), "IndexOutOfBounds", "indices", 2, -1),
    ("embedding empty", lambda: layers.embedding(ones(0, 2), [0]), "IndexOutOfBounds", "indices", 0, 0),
    # dense
    ("dense rank 0", lambda: layers.dense(np.array(1.0), ones(1, 1), [0]), "DimensionMismatch", "input", None, None),
    ("dense weights rank", lambda: layers.dense(ones(2), ones(2), [0]), "DimensionMismatch", "weights", None, None),
    ("dense width", lambda: layers.dense(ones(2, 3), ones(1, 2), [0]), "DimensionMismatch", "weights", None, None),
    ("dense bias", lambda: layers.dense(ones(2, 3), ones(1, 3), [0, 0]), "DimensionMismatch", "bias", None, None),
    ("dense bias rank", lambda: layers.dense(ones(1), ones(1, 1), ones(1, 1)), "DimensionMismatch", "bias", None, None),
    ("dense input", lambda: layers.dense(spoiled(2, 3, at=4), spoiled(1, 3), [0]), "NonFinite", "input", 4, None),
    ("dense weights", lambda: layers.dense(ones(2, 3), spoiled(1, 3, at=2, by=INF), [0]), "NonFinite", "weights", 2, INF),
    ("dense bias nan", lambda: layers.dense(ones(2, 3), ones(1, 3), [-INF]), "NonFinite", "bias", 0, -INF),
    ("dense no rows", lambda: layers.dense(ones(0, 3), spoiled(1, 3, at=1), [0]), "NonFinite", "weights", 1, None),
    ("dense no outputs", lambda: layers.dense(spoiled(1, 3, at=1), ones(0, 3), []), "NonFinite", "input", 1, None),
    ("dense overflow", lambda: layers.dense(ones(1, 2) * 1e308, ones(1, 2) * 2, [0]), "Overflow", None, None, None),
    ("dense float32", lambda: layers.dense(ones(1, 2).astype("f4"), ones(1, 2), [0]), "TypeMismatch", "input", None, None),
    ("dense bias bool", lambda: layers.dense(ones(1, 2), ones(1, 2), [True]), "TypeMismatch", "bias", 0, None),
    # layer_norm, rms_norm
    ("layer_norm axes", lambda: layers.layer_norm(0, 1e-5, ones(2, 3)), "DomainError", "axes", None, 0),
    ("layer_norm epsilon", lambda: layers.layer_norm(1, 0.0, ones(2, 3)), "DomainError", "epsilon", None, 0.0),
    ("layer_norm epsilon nan", lambda: layers.layer_norm(9, NAN, ones(2, 3)), "NonFinite", "epsilon", None, None),
    ("layer_norm rank", lambda: layers.layer_norm(3, 1e-5, ones(2, 3)), "DimensionMismatch", "axes", None, None),
    ("layer_norm empty", lambda: layers.layer_norm(1, 1e-5, ones(2, 0)), "EmptyInput", "input", None, None),
    ("layer_norm nan", lambda: layers.layer_norm(1, 1e-5, spoiled(2, 3, at=3)), "NonFinite", "input", 3, None),
    ("rms_norm axes", lambda: layers.rms_norm(-1, 1e-5, ones(2, 3)), "DomainError", "axes", None, -1),
    ("rms_norm epsilon", lambda: layers.rms_norm(1, -1.0, ones(2, 3)), "DomainError", "epsilon", None, -1.0),
    ("rms_norm empty", lambda: layers.rms_norm(2, 1e-5, ones(2, 3, 0)), "EmptyInput", "input", None, None),
    ("rms_norm inf", lambda: layers.rms_norm(1, 1e-5, spoiled(2, 3, at=5, by=-INF)), "NonFinite", "input", 5, -INF),
    # instance_norm, group_norm
    ("instance_norm epsilon", lambda: layers.instance_norm(0.0, ones(1, 1)), "DomainError", "epsilon", None, 0.0),
    ("instance_norm rank", lambda: layers.instance_norm(1.0, ones(1, 1)), "DimensionMismatch", "input", None, None),
    ("instance_norm empty", lambda: layers.instance_norm(1.0, ones(1, 1, 0)), "EmptyInput", "input", None, None),
    ("group_norm groups", lambda: layers.group_norm(0, 1.0, ones(1, 4)), "DomainError", "groups", None, 0),
    ("group_norm epsilon", lambda: layers.group_norm(3, INF, ones(1, 4)), "NonFinite", "epsilon", None, INF),
    ("group_norm rank", lambda: layers.group_norm(1, 1.0, ones(4)), "DimensionMismatch", "input", None, None),
    ("group_norm divides", lambda: layers.group_norm(3, 1.0, ones(1, 4)), "DimensionMismatch", "groups", None, None),
    ("group_norm empty", lambda: layers.group_norm(2, 1.0, ones(1, 0, 3)), "EmptyInput", "input", None, None),
    ("group_norm nan", lambda: layers.group_norm(2, 1.0, spoiled(1, 4, at=2)), "NonFinite", "input", 2, None),
    # weight_norm
    ("weight_norm axis", lambda: layers.weight_norm(2, [1.0], ones(2, 2)), "IndexOutOfBounds", "axis", None, 2),
    ("weight_norm negative", lambda: layers.weight_norm(-1, [1.0], ones(2, 2)), "IndexOutOfBounds", "axis", None, -1),
    ("weight_norm scales", lambda: layers.weight_norm(0, [1.0], ones(2, 2)), "DimensionMismatch", "scales", None, None),
    ("weight_norm empty", lambda: layers.weight_norm(0, [1, 1], ones(2, 0)), "EmptyInput", "input", None, None),
    ("weight_norm scale nan", lambda: layers.weight_norm(0, [1, NAN], spoiled(2, 2)), "NonFinite", "scales", 1, None),
    ("weight_norm nan", lambda: layers.weight_norm(0, [1, 1], spoiled(2, 2, at=3)), "NonFinite", "input", 3, None),
    ("weight_norm zero", lambda: layers.weight_norm(1, [1, 1], np.array([[1.0, 0], [1, 0]])), "DomainError", "input", 1, 0),
    # batch_norm
    ("batch_norm mode", lambda: batch_norm(mode=layers.MaxPool), "TypeMismatch", "mode", None, None),
    ("batch_norm momentum", lambda: batch_norm(momentum=1.5), "DomainError", "momentum", None, 1.5),
    ("batch_norm momentum nan", lambda: batch_norm(momentum=NAN, epsilon=0), "NonFinite", "momentum", None, None),
    ("batch_norm epsilon", lambda: batch_norm(epsilon=0.0), "DomainError", "epsilon", None, 0.0),
    ("batch_norm mean", lambda: batch_norm(record=state(mean=[0, INF])), "NonFinite", "state.running_mean", 1, INF),
    ("batch_norm variance", lambda: batch_norm(record=state(variance=[1, -1])), "DomainError", "state.running_variance", 1, -1),
    ("batch_norm rank", lambda: batch_norm(x=ones(3)), "DimensionMismatch", "input", None, None),
    ("batch_norm gamma", lambda: batch_norm(gamma=[1.0]), "DimensionMismatch", "gamma", None, None),
    ("batch_norm beta", lambda: batch_norm(beta=ones(2, 1)), "DimensionMismatch", "beta", None, None),
    ("batch_norm means", lambda: batch_norm(record=state(mean=[0])), "DimensionMismatch", "state.running_mean", None, None),
    ("batch_norm variances", lambda: batch_norm(record=state(variance=[1] * 3)), "DimensionMismatch", "state.running_variance", None, None),
    ("batch_norm empty", lambda: batch_norm(x=ones(0, 2)), "EmptyInput", "input", None, None),
    ("batch_norm gamma nan", lambda: batch_norm(gamma=[1, NAN], x=spoiled(3, 2)), "NonFinite", "gamma", 1, None),
    ("batch_norm beta nan", lambda: batch_norm(beta=[NAN, 1]), "NonFinite", "beta", 0, None),
    ("batch_norm nan", lambda: batch_norm(x=spoiled(3, 2, at=3)), "NonFinite", "input", 3, None),
    ("batch_norm inference nan", lambda: batch_norm(INFERENCE, x=spoiled(3, 2, at=5, by=INF)), "NonFinite", "input", 5, INF),
    ("batch_norm overflow", lambda: batch_norm(INFERENCE, gamma=[1e308, 1], x=ones(3, 2) * 9), "Overflow", None, None, None),
    ("batch_norm variance overflow", lambda: batch_norm(x=np.array([[1e200, 1], [-1e200, 1]])), "Overflow", None, None, None),
    ("batch_norm count overflow", lambda: batch_norm(record=state(seen=2**63 - 1)), "Overflow", None, None, None),
    # convolution
    ("conv stride", lambda: conv(options(stride=[1, 0])), "DomainError", "options.stride", 1, 0),
    ("conv padding", lambda: conv(options(padding=[-1, 0])), "DomainError", "options.padding", 0, -1),
    ("conv dilation", lambda: conv(options(dilation=[1, -2])), "DomainError", "options.dilation", 1, -2),
    ("conv groups", lambda: conv(options(groups=0)), "DomainError", "options.groups", None, 0),
    ("conv rank", lambda: conv(x=ones(1, 1)), "DimensionMismatch", "input", None, None),
    ("conv rank 6", lambda: conv(x=ones(1, 1, 1, 1, 1, 1)), "DimensionMismatch", "input", None, None),
    ("conv strides", lambda: conv(options(stride=[1])), "DimensionMismatch", "options.stride", None, None),
    ("conv paddings", lambda: conv(options(padding=[1] * 3)), "DimensionMismatch", "options.padding", None, None),
    ("conv dilations", lambda: conv(options(dilation=[])), "DimensionMismatch", "options.dilation", None, None),
    ("conv weights rank", lambda: conv(w=ones(1, 1, 2)), "DimensionMismatch", "weights", None, None),
    ("conv groups in", lambda: conv(options(groups=2)), "DimensionMismatch", "options.groups", None, None),
    ("conv groups out", lambda: conv(options(groups=2), ones(1, 4, 4, 4), ones(3, 2, 2, 2)), "DimensionMismatch", "options.groups", None, None),
    ("conv channels", lambda: conv(w=ones(1, 2, 2, 2)), "DimensionMismatch", "weights", None, None),
    ("conv bias", lambda: conv(b=[0, 0]), "DimensionMismatch", "bias", None, None),
    ("conv bias rank", lambda: conv(b=ones(1, 1)), "DimensionMismatch", "bias", None, None),
    ("conv extent", lambda: conv(w=ones(1, 1, 5, 2)), "DimensionMismatch", "input", None, None),
    ("conv dilated extent", lambda: conv(options(dilation=[1, 4])), "DimensionMismatch", "input", None, None),
    ("conv huge dilation", lambda: conv(options(dilation=[1, 2**62])), "DimensionMismatch", "input", None, None),
    ("conv no image", lambda: conv(options(padding=[2, 2]), x=ones(1, 1, 0, 4)), "EmptyInput", "input", None, None),
    ("conv no kernel", lambda: conv(w=ones(1, 1, 0, 2)), "EmptyInput", "weights", None, None),
    ("conv input nan", lambda: conv(options(stride=[3, 3]), x=spoiled(1, 1, 4, 4, at=2), w=spoiled(1, 1, 2, 2)), "NonFinite", "input", 2, None),
    ("conv weights nan", lambda: conv(w=spoiled(1, 1, 2, 2, at=1), b=[NAN]), "NonFinite", "weights", 1, None),
    ("conv bias nan", lambda: conv(b=[NAN]), "NonFinite", "bias", 0, None),
    ("conv overflow", lambda: conv(x=ones(1, 1, 4, 4) * 1e308), "Overflow", None, None, None),
    ("conv options kind", lambda: layers.convolution(layers.MaxPool, ones(1), ones(1), [0]), "TypeMismatch", "options", None, None),
    # depthwise_convolution
    ("depthwise weights", lambda: layers.depthwise_convolution(options(), ones(1, 2, 4, 4), ones(2, 2, 2, 2), [0, 0]), "DimensionMismatch", "weights", None, None),
    ("depthwise channels", lambda: layers.depthwise_convolution(options(), ones(1, 2, 4, 4), ones(3, 1, 2, 2), [0] * 3), "DimensionMismatch", "weights", None, None),
    ("depthwise no channels", lambda: layers.depthwise_convolution(options(), ones(1, 0, 4, 4), ones(3, 1, 2, 2), [0] * 3), "DimensionMismatch", "weights", None, None),
    ("depthwise stride", lambda: layers.depthwise_convolution(options([0, 1]), ones(1, 2, 4, 4), ones(2, 1, 2, 2), [0, 0]), "DomainError", "options.stride", 0, 0),
    # transposed_convolution
    ("transposed negative", lambda: transposed([0, -1]), "DomainError", "output_padding", 1, -1),
    ("transposed padding", lambda: transposed([0, 1]), "DomainError", "output_padding", 1, 1),
    ("transposed length", lambda: transposed([0]), "DimensionMismatch", "output_padding", None, None),
    ("transposed stride", lambda: transposed(o=options(stride=[0, 1])), "DomainError", "options.stride", 0, 0),
    ("transposed groups", lambda: transposed(o=options(groups=2)), "DimensionMismatch", "options.groups", None, None),
    ("transposed channels", lambda: transposed(w=ones(2, 1, 2, 2)), "DimensionMismatch", "weights", None, None),
    ("transposed bias", lambda: transposed(b=[]), "DimensionMismatch", "bias", None, None),
    ("transposed extent", lambda: transposed(o=options(padding=[3, 0])), "DimensionMismatch", "input", None, None),
    ("transposed empty", lambda: transposed(x=ones(1, 1, 0, 4), o=options(stride=[1, 1])), "EmptyInput", "input", None, None),
    ("transposed nan", lambda: transposed([0, 1], x=spoiled(1, 1, 4, 4, at=7)), "NonFinite", "input", 7, None),
    ("transposed overflow", lambda: transposed(x=ones(1, 1, 4, 4) * 1e308), "Overflow", None, None, None),
    # pooling
    ("pooling mode", lambda: pool(mode=TRAINING), "TypeMismatch", "mode", None, None),
    ("pooling kernel", lambda: pool(kernel=[2, 0]), "DomainError", "kernel", 1, 0),
    ("pooling stride", lambda: pool(stride=[-1, 1]), "DomainError", "stride", 0, -1),
    ("pooling padding", lambda: pool(padding=[0, -1]), "DomainError", "padding", 1, -1),
    ("pooling rank", lambda: pool(x=ones(4, 4)), "DimensionMismatch", "input", None, None),
    ("pooling kernels", lambda: pool(kernel=[2]), "DimensionMismatch", "kernel", None, None),
    ("pooling strides", lambda: pool(stride=[1] * 3), "DimensionMismatch", "stride", None, None),
    ("pooling paddings", lambda: pool(padding=[]), "DimensionMismatch", "padding", None, None),
    ("pooling extent", lambda: pool(kernel=[2, 5]), "DimensionMismatch", "input", None, None),
    ("pooling empty", lambda: pool(padding=[1, 1], x=ones(1, 1, 0, 4)), "EmptyInput", "input", None, None),
    ("pooling nan", lambda: pool(stride=[2, 2], kernel=[1, 1], x=spoiled(1, 1, 4, 4, at=1)), "NonFinite", "input", 1, None),
    ("pooling only padding", lambda: pool(padding=[1, 2]), "DomainError", "padding", 1, 2),
    ("pooling order", lambda: pool(padding=[1, 2], x=spoiled(1, 1, 4, 4, at=9)), "NonFinite", "input", 9, None),
    ("adaptive shape", lambda: layers.adaptive_pooling(layers.MaxPool, [2, 0], ones(1, 1, 4, 4)), "DomainError", "shape", 1, 0),
    ("adaptive rank", lambda: layers.adaptive_pooling(layers.MaxPool, [2], ones(4)), "DimensionMismatch", "input", None, None),
    ("adaptive length", lambda: layers.adaptive_pooling(layers.MaxPool, [2], ones(1, 1, 4, 4)), "DimensionMismatch", "shape", None, None),
    ("adaptive empty", lambda: layers.adaptive_pooling(layers.MaxPool, [2], ones(1, 1, 0)), "EmptyInput", "input", None, None),
    ("adaptive nan", lambda: layers.adaptive_pooling(layers.AveragePool, [2], spoiled(1, 1, 4, at=2)), "NonFinite", "input", 2, None),
    ("global rank", lambda: layers.global_pooling(layers.MaxPool, ones(1, 1)), "DimensionMismatch", "input", None, None),
    ("global empty", lambda: layers.global_pooling(layers.AveragePool, ones(1, 1, 0)), "EmptyInput", "input", None, None),
    ("global nan", lambda: layers.global_pooling(layers.MaxPool, spoiled(1, 1, 4, at=3)), "NonFinite", "input", 3, None),
    # attention
    ("attention query rank", lambda: attention(q=ones(3)), "DimensionMismatch", "query", None, None),
    ("attention key rank", lambda: attention(k=ones(4, 3, 1)), "DimensionMismatch", "key", None, None),
    ("attention value rank", lambda: attention(v=ones(4)), "DimensionMismatch", "value", None, None),
    ("attention widths", lambda: attention(k=ones(4, 2)), "DimensionMismatch", "key", None, None),
    ("attention keys", lambda: attention(v=ones(3, 5)), "DimensionMismatch", "value", None, None),
    ("attention mask", lambda: attention(mask=[[True] * 4]), "DimensionMismatch", "mask", None, None),
    ("attention ragged", lambda: attention(mask=[[True] * 4, [True]]), "DimensionMismatch", "mask", None, None),
    ("attention mask kind", lambda: attention(mask=[[1] * 4] * 2), "TypeMismatch", "mask", 0, None),
    ("attention bias", lambda: attention(bias=ones(2, 3)), "DimensionMismatch", "bias", None, None),
    ("attention no keys", lambda: attention(k=ones(0, 3), v=ones(0, 5)), "EmptyInput", "key", None, None),
    ("attention no features", lambda: attention(q=ones(2, 0), k=ones(4, 0)), "EmptyInput", "query", None, None),
    ("attention query nan", lambda: attention(q=spoiled(2, 3, at=5), k=spoiled(4, 3)), "NonFinite", "query", 5, None),
    ("attention masked key nan", lambda: attention(k=spoiled(4, 3, at=11), mask=[[True] * 3 + [False]] * 2), "NonFinite", "key", 11, None),
    ("attention value nan", lambda: attention(v=spoiled(4, 5, at=6)), "NonFinite", "value", 6, None),
    ("attention bias nan", lambda: attention(bias=spoiled(2, 4, at=7)), "NonFinite", "bias", 7, None),
    ("attention overflow", lambda: attention(q=ones(2, 3) * 1e200, k=ones(4, 3) * 1e200), "Overflow", None, None, None),
    ("attention bias overflow", lambda: attention(q=ones(2, 3) * 1e308, bias=ones(2, 4) * 1e308), "Overflow", None, None, None),
    ("heads", lambda: heads(0), "DomainError", "heads", None, 0),
    ("heads query", lambda: heads(3), "DimensionMismatch", "heads", None, None),
    ("heads value", lambda: heads(4), "DimensionMismatch", "heads", None, None),
    ("heads mask", lambda: heads(mask=[[True] * 3]), "DimensionMismatch", "mask", None, None),
    ("heads nan", lambda: heads(k=spoiled(3, 4, at=4)), "NonFinite", "key", 4, None),
    # positions
    ("causal_mask queries", lambda: layers.causal_mask(-1, 1, 0), "DomainError", "queries", None, -1),
    ("causal_mask keys", lambda: layers.causal_mask(1, -1, 0), "DomainError", "keys", None, -1),
    ("causal_mask offset", lambda: layers.causal_mask(1, 1, -2), "DomainError", "offset", None, -2),
    ("alibi slope", lambda: layers.alibi_bias(-0.5, 1, 1, 0), "DomainError", "slope", None, -0.5),
    ("alibi slope inf", lambda: layers.alibi_bias(INF, 1, 1, 0), "NonFinite", "slope", None, INF),
    ("alibi offset", lambda: layers.alibi_bias(1.0, 1, 1, -1), "DomainError", "offset", None, -1),
    ("alibi overflow", lambda: layers.alibi_bias(1e308, 1, 3, 0), "Overflow", None, None, None),
    ("rotary base", lambda: layers.rotary_embedding(0.0, 0, ones(1, 2)), "DomainError", "base", None, 0.0),
    ("rotary base nan", lambda: layers.rotary_embedding(NAN, -1, ones(1, 2)), "NonFinite", "base", None, None),
    ("rotary offset", lambda: layers.rotary_embedding(1.0, -1, ones(1, 2)), "DomainError", "offset", None, -1),
    ("rotary rank", lambda: layers.rotary_embedding(1.0, 0, ones(2)), "DimensionMismatch", "input", None, None),
    ("rotary odd", lambda: layers.rotary_embedding(1.0, 0, ones(1, 3)), "DimensionMismatch", "input", None, None),
    ("rotary nan", lambda: layers.rotary_embedding(1.0, 2**53, spoiled(1, 2, at=1)), "NonFinite", "input", 1, None),
    ("rotary position", lambda: layers.rotary_embedding(1.0, 2**53 - 1, ones(1, 2)), "DomainError", "offset", None, 2**53 - 1),
    ("rotary overflow", lambda: layers.rotary_embedding(1.0, 1, ones(1, 2) * 1.7e308), "Overflow", None, None, None),
    ("sinusoidal length", lambda: layers.sinusoidal_encoding(0, 2, 0), "DomainError", "length", None, 0),
    ("sinusoidal width", lambda: layers.sinusoidal_encoding(1, 0, 0), "DomainError", "dimensions", None, 0),
    ("sinusoidal offset", lambda: layers.sinusoidal_encoding(1, 2, -1), "DomainError", "offset", None, -1),
    ("sinusoidal position", lambda: layers.sinusoidal_encoding(2**53, 2, 2**62), "DomainError", "offset", None, 2**62),
    # cache
    ("cache capacity", lambda: layers.empty_cache(0, 1, 1), "DomainError", "capacity", None, 0),
    ("cache keys", lambda: layers.empty_cache(1, 0, 1), "DomainError", "key_dimensions", None, 0),
    ("cache values", lambda: layers.empty_cache(1, 1, -1), "DomainError", "value_dimensions", None, -1),
    ("append kind", lambda: layers.append_cache(ones(1), ones(1, 2), ones(1, 3)), "TypeMismatch", "cache", None, None),
    ("append key rank", lambda: append(key=ones(2)), "DimensionMismatch", "key", None, None),
    ("append key width", lambda: append(key=ones(1, 3)), "DimensionMismatch", "key", None, None),
    ("append value width", lambda: append(value=ones(1, 2)), "DimensionMismatch", "value", None, None),
    ("append rows", lambda: append(value=ones(2, 3)), "DimensionMismatch", "value", None, None),
    ("append capacity", lambda: append(ones(3, 2), ones(3, 3)), "DimensionMismatch", "key", None, None),
    ("append key nan", lambda: append(key=spoiled(1, 2, at=1)), "NonFinite", "key", 1, None),
    ("append value nan", lambda: append(value=spoiled(1, 3, at=2)), "NonFinite", "value", 2, None),
    # transformer_feed_forward
    ("feed-forward activation", lambda: feed_forward(core.Sum), "TypeMismatch", "activation", None, None),
    ("feed-forward parameter", lambda: feed_forward(core.ELU(0.0)), "DomainError", "activation.parameter", None, 0.0),
    ("feed-forward slope", lambda: feed_forward(core.LeakyReLU(NAN)), "NonFinite", "activation.parameter", None, None),
    ("feed-forward first", lambda: feed_forward(w1=ones(2, 2)), "DimensionMismatch", "first_weights", None, None),
    ("feed-forward first bias", lambda: feed_forward(b1=[0]), "DimensionMismatch", "first_bias", None, None),
    ("feed-forward second", lambda: feed_forward(w2=ones(1, 3)), "DimensionMismatch", "second_weights", None, None),
    ("feed-forward second bias", lambda: feed_forward(b2=[0, 0]), "DimensionMismatch", "second_bias", None, None),
    ("feed-forward input nan", lambda: feed_forward(x=spoiled(2, 3, at=1), b2=[NAN]), "NonFinite", "input", 1, None),
    ("feed-forward first nan", lambda: feed_forward(w1=spoiled(2, 3, at=4)), "NonFinite", "first_weights", 4, None),
    ("feed-forward second nan", lambda: feed_forward(w2=spoiled(1, 2, at=1)), "NonFinite", "second_weights", 1, None),
    ("feed-forward bias nan", lambda: feed_forward(b2=[INF]), "NonFinite", "second_bias", 0, INF),
    ("feed-forward unseen nan", lambda: feed_forward(x=spoiled(2, 3, at=2), w1=ones(0, 3), b1=[], w2=ones(1, 0)), "NonFinite", "input", 2, None),
    ("feed-forward overflow", lambda: feed_forward(x=ones(2, 3) * 1e308), "Overflow", None, None, None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "constructor", "argument", "index", "value"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_failure(
    call: Callable[[], Any], constructor: str, argument: str | None, index: int | None, value: float | None
) -> None:
    with pytest.raises(hmath.HMathError) as caught:
        call()
    error = caught.value.math_error
    assert (error.constructor, error.argument, error.index) == (constructor, argument, index)
    if value is not None:
        assert error.value == value
    assert error.message.startswith(error.operation)


def test_failures_leak_nothing(no_leak: None) -> None:
    for case in CASES:
        with pytest.raises(hmath.HMathError):
            case[1]()


@pytest.mark.parametrize(
    "call",
    [
        lambda: layers.causal_mask(2**40, 2**40, 0),
        lambda: layers.causal_mask(2**62, 2**62, 0),
        lambda: layers.alibi_bias(1.0, 2**61, 8, 0),
        lambda: layers.sinusoidal_encoding(2**40, 2**40, 0),
        lambda: pool(kernel=[2**60, 1], padding=[2**60 - 1, 0], x=ones(1, 1, 1, 4)),
        lambda: pool(kernel=[2**62, 1], padding=[2**62 - 1, 0], x=ones(1, 1, 1, 4)),
        lambda: layers.adaptive_pooling(layers.MaxPool, [2**40, 2**40], ones(1, 1, 2, 2)),
        lambda: conv(options(padding=[2**61, 2**61])),
        lambda: conv(options(padding=[2**62, 0])),
        lambda: transposed(o=options(stride=[2**50, 2**50])),
        lambda: transposed(o=options(stride=[2**62, 1])),
        lambda: transposed(o=options(groups=2**62), x=ones(0, 0, 1, 1), w=ones(0, 4, 1, 1)),
        lambda: layers.append_cache(
            layers.empty_cache(2**62, 2**62, 1), np.lib.stride_tricks.as_strided(ones(1), (1, 2**62), (0, 0)), ones(1, 1)
        ),
    ],
)  # fmt: skip
def test_sizes_that_no_memory_holds(call: Callable[[], Any]) -> None:
    with pytest.raises((MemoryError, ValueError)) as caught:
        call()
    # NumPy itself refuses to make some of the arguments.
    assert isinstance(caught.value, MemoryError) or not isinstance(caught.value, hmath.HMathError)


def test_nothing_of_something() -> None:
    """Empty data gives a result where the formula does."""
    assert layers.dense(ones(0, 3), ones(2, 3), [0, 0]).shape == (0, 2)
    assert np.array_equal(layers.dense(ones(2, 0), ones(2, 0), [3, 4]), [[3, 4], [3, 4]])
    assert layers.layer_norm(1, 1.0, ones(0, 3)).shape == (0, 3)
    assert layers.embedding(ones(3, 2), []).shape == (0, 2)
    assert conv(x=ones(0, 1, 4, 4)).shape == (0, 1, 3, 3)
    assert np.array_equal(conv(x=ones(1, 0, 4, 4), w=ones(1, 0, 2, 2), b=[7]), np.full((1, 1, 3, 3), 7.0))
    assert transposed(x=ones(0, 1, 4, 4)).shape == (0, 1, 5, 5)
    assert pool(x=ones(0, 3, 4, 4)).shape == (0, 3, 3, 3)
    assert pool(x=ones(1, 0, 4, 4)).shape == (1, 0, 3, 3)
    assert layers.global_pooling(layers.MaxPool, ones(0, 3, 4)).shape == (0, 3)
    out, weights = attention(q=ones(0, 3), k=ones(0, 3), v=ones(0, 5))
    assert (out.shape, weights.shape) == ((0, 5), (0, 0))
    out, weights = attention(q=ones(0, 3), mask=[], bias=[])
    assert (out.shape, weights.shape) == ((0, 5), (0, 4))
    assert attention(v=ones(4, 0))[0].shape == (2, 0)
    assert layers.causal_mask(0, 3, 0) == []
    assert layers.causal_mask(2, 0, 0) == [[], []]
    assert layers.rotary_embedding(1.0, 0, ones(0, 4)).shape == (0, 4)
    assert layers.rotary_embedding(1.0, 0, ones(2, 0)).shape == (2, 0)
    keys, values = layers.cache_values(append(ones(0, 2), ones(0, 3)))
    assert (keys.shape, values.shape) == ((0, 2), (0, 3))
    after, same = batch_norm(INFERENCE, x=ones(0, 2))
    assert after.shape == (0, 2) and same == state()
    assert feed_forward(x=ones(0, 3)).shape == (0, 1)


def test_positions_never_wrap() -> None:
    assert layers.causal_mask(2, 3, 2**63 - 1) == [[True] * 3] * 2
    assert layers.alibi_bias(1.0, 1, 1, 2**63 - 1) == [[-(2.0**63)]]
