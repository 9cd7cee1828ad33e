"""Attention that returns its weights."""

import math

import torch
from harness import case, normal
from sides import ours, theirs

from hmath import deeplearning_layers as layers


def qkv(*shape):
    return lambda: {"q": normal(*shape, seed=1), "k": normal(*shape, seed=2), "v": normal(*shape, seed=3)}


def with_weights(q, k, v):
    weights = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) * (1 / math.sqrt(q.shape[-1])), -1)
    return torch.matmul(weights, v), weights


for length, width in ((8, 16), (128, 64), (512, 64), (2048, 64)):
    row = f"attention with weights {length}x{width}" if length in (512, 2048) else ""
    case(
        f"attention_{length}x{width}",
        "attention",
        qkv(length, width),
        ours(lambda q, k, v: layers.scaled_dot_product_attention(q, k, v, None, None), "q", "k", "v"),
        theirs(with_weights, "q", "k", "v"),
        4.0 * length * length * width,
        unit="flop",
        row=row,
        quick=bool(row),
    )


def eight_heads(q, k, v):
    q, k, v = (t.view(t.shape[0], 8, -1).transpose(0, 1) for t in (q, k, v))
    return with_weights(q, k, v)[0].transpose(0, 1).reshape(q.shape[1], -1)


case(
    "attention_8_heads_512x64",
    "attention",
    qkv(512, 8 * 64),
    ours(lambda q, k, v: layers.multihead_attention(8, q, k, v, None), "q", "k", "v"),
    theirs(eight_heads, "q", "k", "v"),
    4.0 * 8 * 512 * 512 * 64,
    unit="flop",
    row="attention with weights 8 heads x 512",
)
