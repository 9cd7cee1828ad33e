"""Write layers.json: what PyTorch computes in double precision for small inputs of every layer it has.

Run with PyTorch and NumPy installed: ``python tests/vectors/make_layers.py``. Inputs are not stored:
element i of the pattern `seed` is ((7919 i + 104729 seed) mod 2003 - 1001) / 512, exactly.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

CASES: list[dict[str, Any]] = []


def pattern(seed: int, *shape: int) -> np.ndarray:
    i = np.arange(math.prod(shape), dtype=np.int64)
    return (((7919 * i + 104729 * seed) % 2003 - 1001) / 512.0).reshape(shape)


class Made:
    """A tensor of a pattern: what the file names and what PyTorch is given."""

    def __init__(self, seed: int, *shape: int, square: bool = False) -> None:
        self.named = {"pattern": seed, "shape": list(shape), "square": square}
        values = pattern(seed, *shape)
        self.torch = torch.from_numpy(values * values if square else values)


def add(function: str, arguments: list[Any], *results: torch.Tensor) -> None:
    named = [a.named if isinstance(a, Made) else a for a in arguments]
    expect = [{"shape": list(r.shape), "values": r.reshape(-1).tolist()} for r in results]
    CASES.append({"function": function, "arguments": named, "expect": expect})


def convolutions() -> None:
    for shape, out, kernel, stride, padding, dilation, groups in [
        ((1, 1, 1), 1, [1], [1], [0], [1], 1),
        ((2, 4, 9), 6, [3], [2], [2], [2], 2),
        ((1, 3, 5, 7), 4, [5, 7], [1, 1], [0, 0], [1, 1], 1),
        ((2, 2, 6, 5), 3, [3, 2], [7, 1], [3, 1], [1, 2], 1),
        ((1, 4, 5, 5), 4, [3, 3], [1, 1], [1, 1], [1, 1], 4),
        ((1, 2, 3, 4, 5), 2, [2, 1, 3], [1, 2, 1], [1, 0, 2], [1, 1, 2], 1),
    ]:
        axes = len(kernel)
        x, b = Made(1, *shape), Made(3, out)
        w = Made(2, out, shape[1] // groups, *kernel)
        function = (F.conv1d, F.conv2d, F.conv3d)[axes - 1]
        y = function(x.torch, w.torch, b.torch, stride, padding, dilation, groups)
        add("convolution", [{"options": [stride, padding, dilation, groups]}, x, w, b], y)
        if groups == shape[1]:
            add("depthwise_convolution", [{"options": [stride, padding, dilation, 1]}, x, w, b], y)
    for shape, per, kernel, stride, padding, dilation, extra, groups in [
        ((1, 1, 1), 1, [1], [1], [0], [1], [0], 1),
        ((2, 4, 5), 3, [3], [3], [1], [2], [2], 2),
        ((1, 2, 3, 4), 2, [3, 2], [2, 1], [1, 0], [1, 2], [1, 0], 1),
        ((1, 2, 2, 3, 2), 1, [2, 2, 2], [1, 2, 3], [0, 1, 0], [1, 1, 1], [0, 0, 2], 2),
    ]:
        axes = len(kernel)
        x, b = Made(4, *shape), Made(6, per * groups)
        w = Made(5, shape[1], per, *kernel)
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[axes - 1]
        y = function(x.torch, w.torch, b.torch, stride, padding, extra, groups, dilation)
        options = {"options": [stride, padding, dilation, groups]}
        add("transposed_convolution", [extra, options, x, w, b], y)


def poolings() -> None:
    for shape, kernel, stride, padding in [
        ((1, 1, 1), [1], [1], [0]),
        ((2, 3, 11), [4], [3], [2]),
        ((1, 2, 6, 7), [2, 2], [2, 2], [0, 0]),
        ((1, 2, 6, 7), [3, 3], [1, 2], [1, 1]),
        ((1, 1, 4, 5, 3), [2, 3, 3], [5, 1, 2], [1, 0, 1]),
    ]:
        x, axes = Made(7, *shape), len(kernel)
        largest = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[axes - 1]
        mean = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[axes - 1]
        y = mean(x.torch, kernel, stride, padding, count_include_pad=False)
        add(
            "pooling",
            [{"selector": "MaxPool"}, kernel, stride, padding, x],
            largest(x.torch, kernel, stride, padding),
        )
        add("pooling", [{"selector": "AveragePool"}, kernel, stride, padding, x], y)
    for shape, bins in [((1, 2, 10), [3]), ((2, 1, 7, 5), [7, 2]), ((1, 1, 4, 6, 3), [2, 4, 5])]:
        x, axes = Made(8, *shape), len(bins)
        largest = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[axes - 1]
        mean = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[axes - 1]
        add("adaptive_pooling", [{"selector": "MaxPool"}, bins, x], largest(x.torch, bins))
        add("adaptive_pooling", [{"selector": "AveragePool"}, bins, x], mean(x.torch, bins))
        spatial = tuple(range(2, len(shape)))
        add("global_pooling", [{"selector": "MaxPool"}, x], x.torch.amax(spatial))
        add("global_pooling", [{"selector": "AveragePool"}, x], x.torch.mean(spatial))


def norms() -> None:
    for shape, axes in [((5,), 1), ((2, 3, 4), 1), ((2, 3, 4), 3), ((3, 50), 1)]:
        x = Made(9, *shape)
        add("layer_norm", [axes, 1e-5, x], F.layer_norm(x.torch, shape[-axes:], eps=1e-5))
        add("rms_norm", [axes, 1e-3, x], F.rms_norm(x.torch, shape[-axes:], eps=1e-3))
    for shape, groups in [((2, 4, 3), 2), ((1, 6, 2, 3), 3), ((2, 4, 2, 1, 2), 1)]:
        x = Made(10, *shape)
        add("group_norm", [groups, 1e-5, x], F.group_norm(x.torch, groups, eps=1e-5))
        add("instance_norm", [1e-5, x], F.instance_norm(x.torch, eps=1e-5))
    for shape in [(4, 2), (2, 3, 5), (2, 2, 3, 2)]:
        x, gamma, beta = Made(11, *shape), Made(12, shape[1]), Made(13, shape[1])
        mean, variance = Made(14, shape[1]), Made(15, shape[1], square=True)
        for training in (True, False):
            m, v = mean.torch.clone(), variance.torch.clone()
            y = F.batch_norm(x.torch, m, v, gamma.torch, beta.torch, training, 0.25, 1e-5)
            mode = {"selector": "Training.TRAINING" if training else "Training.INFERENCE"}
            add(
                "batch_norm",
                [mode, 0.25, 1e-5, gamma, beta, {"state": [mean.named, variance.named]}, x],
                y,
                m,
                v,
            )
    for shape, axis in [((4, 3), 0), ((4, 3), 1), ((2, 3, 4), 1)]:
        v, g = Made(16, *shape), Made(17, shape[axis])
        scale = g.torch.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        add("weight_norm", [axis, g, v], torch._weight_norm(v.torch, scale, axis))


def rows() -> None:
    for lead, features, outputs in [((), 3, 2), ((4,), 7, 5), ((2, 3), 17, 4)]:
        x, w, b = Made(18, *lead, features), Made(19, outputs, features), Made(20, outputs)
        add("dense", [x, w, b], F.linear(x.torch, w.torch, b.torch))
    table = Made(21, 6, 3)
    add("embedding", [table, [5, 0, 5]], F.embedding(torch.tensor([5, 0, 5]), table.torch))
    for n, m, d, f in [(1, 1, 1, 1), (3, 5, 4, 2), (9, 4, 3, 7)]:
        q, k, v, bias = Made(22, n, d), Made(23, m, d), Made(24, m, f), Made(25, n, m)
        mask = [[j <= i + 1 for j in range(m)] for i in range(n)]
        for allowed, added in [(None, None), (mask, None), (mask, bias)]:
            scores = q.torch @ k.torch.T / math.sqrt(d)
            if added is not None:
                scores = scores + added.torch
            if allowed is not None:
                scores = scores.masked_fill(~torch.tensor(allowed), -math.inf)
            weights = torch.softmax(scores, 1)
            add("scaled_dot_product_attention", [q, k, v, allowed, added], weights @ v.torch, weights)
    q, k, v = Made(26, 5, 6), Made(27, 4, 6), Made(28, 4, 9)
    parts = [t.torch.reshape(len(t.torch), 3, -1).transpose(0, 1)[None] for t in (q, k, v)]
    y = F.scaled_dot_product_attention(*parts)[0].transpose(0, 1).reshape(5, 9)
    add("multihead_attention", [3, q, k, v, None], y)


for part in (convolutions, poolings, norms, rows):
    part()
(Path(__file__).parent / "layers.json").write_text(
    "[\n" + ",\n".join(json.dumps(case) for case in CASES) + "\n]\n"
)
