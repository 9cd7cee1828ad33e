"""Layers against PyTorch in double precision, over random shapes with the degenerate ones included.

Tolerances. Both sides round a few times per element; sums differ by their order. Where nothing but
selection happens results are equal to the bit. Elsewhere: |got - right| <= tol * (scale of the terms that
were added), with `scale` computed by the same operation on magnitudes where terms can cancel.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from hmath import deeplearning_layers as layers

torch = pytest.importorskip("torch")
F = torch.nn.functional

EPSILON = 2.0**-52
CASES = 200


def cases(seed: int, count: int = CASES) -> list[random.Random]:
    return [random.Random(f"{seed}:{i}") for i in range(count)]


def normal(rng: random.Random, *shape: int, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(rng.getrandbits(63)).standard_normal(shape) * scale


def close(got: np.ndarray, right: np.ndarray, tolerance: float, scale: np.ndarray | float = 1.0) -> None:
    right = np.asarray(right)
    assert got.shape == right.shape
    bound = tolerance * (np.abs(right) + scale)
    worst = np.abs(got - right) - bound
    assert (worst <= 0).all(), (np.abs(got - right) / np.maximum(np.abs(right) + scale, 1e-300)).max()


# ---------------------------------------------------------------- dense


@pytest.mark.parametrize("rng", cases(1), ids=lambda r: "")
def test_dense(rng: random.Random) -> None:
    lead = [rng.choice([0, 1, 1, 2, 5, 17]) for _ in range(rng.randint(0, 3))]
    features, outputs = rng.choice([0, 1, 2, 7, 8, 33, 200]), rng.choice([0, 1, 3, 8, 24, 65])
    x, w, b = normal(rng, *lead, features), normal(rng, outputs, features), normal(rng, outputs)
    right = F.linear(torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(b)).numpy()
    scale = np.abs(x) @ np.abs(w).T + np.abs(b)
    close(layers.dense(x, w, b), right, (features + 2) * EPSILON, scale)


# ---------------------------------------------------------------- convolution

CONVOLUTION = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def convolution_case(rng: random.Random) -> tuple[int, list[int], list[int], list[int], list[int], list[int]]:
    axes = rng.randint(1, 3)
    most = {1: 30, 2: 11, 3: 6}[axes]
    extents = [rng.choice([1, 2, rng.randint(1, most)]) for _ in range(axes)]
    kernel = [rng.choice([1, 2, 3, e, rng.randint(1, 5)]) for e in extents]
    stride = [rng.choice([1, 1, 2, 3, k, 7]) for k in kernel]
    dilation = [rng.choice([1, 1, 2, 3]) for _ in extents]
    padding = [rng.choice([0, 0, 1, 2, k - 1, k + 2]) for k in kernel]
    return axes, extents, kernel, stride, padding, dilation


@pytest.mark.parametrize("rng", cases(10, 400), ids=lambda r: "")
def test_convolution(rng: random.Random) -> None:
    axes, extents, kernel, stride, padding, dilation = convolution_case(rng)
    extents = [
        max(e, d * (k - 1) + 1 - 2 * p) for e, d, k, p in zip(extents, dilation, kernel, padding, strict=True)
    ]
    groups, each, per = rng.choice([1, 1, 2, 3]), rng.choice([1, 2, 4]), rng.choice([1, 2, 5])
    x = normal(rng, rng.choice([1, 1, 2, 5]), groups * each, *extents)
    w, b = normal(rng, groups * per, each, *kernel), normal(rng, groups * per)
    options = layers.ConvOptions(stride, padding, dilation, groups)

    def torch_side(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        return CONVOLUTION[axes](
            torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(b), stride, padding, dilation, groups
        ).numpy()

    scale = torch_side(np.abs(x), np.abs(w), np.abs(b))
    tolerance = (each * math.prod(kernel) + 2) * EPSILON
    close(layers.convolution(options, x, w, b), torch_side(x, w, b), tolerance, scale)
    if each == 1:
        ignored = layers.ConvOptions(stride, padding, dilation, 12345)
        assert np.array_equal(
            layers.depthwise_convolution(ignored, x, w, b), layers.convolution(options, x, w, b)
        )
    # An image alone gives the bits it gives in the batch.
    whole = layers.convolution(options, x, w, b)
    assert np.array_equal(layers.convolution(options, x[-1:], w, b), whole[-1:])


@pytest.mark.parametrize("rng", cases(11, 400), ids=lambda r: "")
def test_transposed_convolution(rng: random.Random) -> None:
    axes, extents, kernel, stride, padding, dilation = convolution_case(rng)
    extra = [rng.choice([0, s - 1, rng.randrange(s)]) for s in stride]
    padding = [
        min(p, ((e - 1) * s + d * (k - 1) + o) // 2)
        for e, k, s, p, d, o in zip(extents, kernel, stride, padding, dilation, extra, strict=True)
    ]
    groups, each, per = rng.choice([1, 1, 2, 3]), rng.choice([1, 2, 4]), rng.choice([1, 2, 5])
    x = normal(rng, rng.choice([1, 1, 2, 5]), groups * each, *extents)
    w, b = normal(rng, groups * each, per, *kernel), normal(rng, groups * per)
    options = layers.ConvOptions(stride, padding, dilation, groups)

    def torch_side(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        return TRANSPOSED[axes](
            torch.from_numpy(x), torch.from_numpy(w), torch.from_numpy(b),
            stride, padding, extra, groups, dilation,
        ).numpy()  # fmt: skip

    scale = torch_side(np.abs(x), np.abs(w), np.abs(b))
    tolerance = (each * math.prod(kernel) + 2) * EPSILON
    close(layers.transposed_convolution(extra, options, x, w, b), torch_side(x, w, b), tolerance, scale)
    whole = layers.transposed_convolution(extra, options, x, w, b)
    assert np.array_equal(layers.transposed_convolution(extra, options, x[-1:], w, b), whole[-1:])


# ---------------------------------------------------------------- pooling


def spatial_case(rng: random.Random) -> tuple[np.ndarray, int]:
    axes = rng.randint(1, 3)
    most = {1: 40, 2: 14, 3: 7}[axes]
    extents = [rng.choice([1, 2, rng.randint(1, most)]) for _ in range(axes)]
    return normal(rng, rng.choice([0, 1, 2, 3]), rng.choice([1, 1, 2, 5]), *extents), axes


MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
ADAPTIVE_AVERAGE = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}


@pytest.mark.parametrize("rng", cases(2, 400), ids=lambda r: "")
def test_pooling(rng: random.Random) -> None:
    x, axes = spatial_case(rng)
    kernel, stride, padding = [], [], []
    for extent in x.shape[2:]:
        k = rng.randint(1, extent + 2)
        p = rng.randint(0, k // 2)  # PyTorch refuses more
        if extent + 2 * p < k:
            k = extent + 2 * p
            p = min(p, k // 2)
        kernel.append(k)
        padding.append(p)
        stride.append(rng.choice([1, 1, 2, 3, k, k + 1, 11]))
    if any(e + 2 * p < k for e, k, p in zip(x.shape[2:], kernel, padding, strict=True)):
        return
    t = torch.from_numpy(x)
    got = layers.pooling(layers.MaxPool, kernel, stride, padding, x)
    if x.size:
        assert np.array_equal(got, MAX[axes](t, kernel, stride, padding).numpy())
        if axes == 3 and any(k > e for k, e in zip(kernel, x.shape[2:], strict=True)):
            return  # PyTorch refuses these averages
        right = AVERAGE[axes](t, kernel, stride, padding, count_include_pad=False).numpy()
        cells = math.prod(kernel)
        close(layers.pooling(layers.AveragePool, kernel, stride, padding, x), right, cells * EPSILON, 1.0)


@pytest.mark.parametrize("rng", cases(3, 300), ids=lambda r: "")
def test_adaptive_pooling(rng: random.Random) -> None:
    x, axes = spatial_case(rng)
    shape = [rng.choice([1, extent, rng.randint(1, extent + 3)]) for extent in x.shape[2:]]
    t = torch.from_numpy(x)
    if x.size == 0:
        assert layers.adaptive_pooling(layers.MaxPool, shape, x).shape == (*x.shape[:2], *shape)
        return
    assert np.array_equal(
        layers.adaptive_pooling(layers.MaxPool, shape, x), ADAPTIVE_MAX[axes](t, shape).numpy()
    )
    close(
        layers.adaptive_pooling(layers.AveragePool, shape, x),
        ADAPTIVE_AVERAGE[axes](t, shape).numpy(),
        math.prod(x.shape[2:]) * EPSILON,
        1.0,
    )


@pytest.mark.parametrize("rng", cases(4), ids=lambda r: "")
def test_global_pooling(rng: random.Random) -> None:
    x, _ = spatial_case(rng)
    axes = tuple(range(2, x.ndim))
    if x.size == 0:
        assert layers.global_pooling(layers.MaxPool, x).shape == x.shape[:2]
        return
    assert np.array_equal(layers.global_pooling(layers.MaxPool, x), x.max(axes))
    close(layers.global_pooling(layers.AveragePool, x), x.mean(axes), 100 * EPSILON, 1.0)


# ---------------------------------------------------------------- normalisation


@pytest.mark.parametrize("rng", cases(5), ids=lambda r: "")
def test_layer_and_rms_norm(rng: random.Random) -> None:
    shape = [rng.choice([1, 2, 3, 8, 31, 70]) for _ in range(rng.randint(1, 4))]
    axes = rng.randint(1, len(shape))
    epsilon = 10.0 ** rng.uniform(-12, 0)
    x = normal(rng, *shape, scale=10.0 ** rng.randint(-3, 3)) + rng.choice([0.0, 0.0, 5.0])
    t = torch.from_numpy(x)
    # A deviation of the size of the mean's own rounding is all that can be lost.
    scale = EPSILON * np.abs(x).max() * 4 / math.sqrt(epsilon + 1e-300)
    right = F.layer_norm(t, shape[-axes:], eps=epsilon).numpy()
    close(layers.layer_norm(axes, epsilon, x), right, 64 * EPSILON, 1.0 + scale / EPSILON / 64)
    right = F.rms_norm(t, shape[-axes:], eps=epsilon).numpy()
    close(layers.rms_norm(axes, epsilon, x), right, 32 * EPSILON)


@pytest.mark.parametrize("rng", cases(6), ids=lambda r: "")
def test_instance_and_group_norm(rng: random.Random) -> None:
    groups, each = rng.choice([1, 2, 3]), rng.choice([1, 2, 4])
    extents = [rng.choice([1, 2, 5, 12]) for _ in range(rng.randint(0, 3))]
    x = normal(rng, rng.choice([1, 2, 5]), groups * each, *extents)
    t = torch.from_numpy(x)
    epsilon = 1e-5
    if each * math.prod(extents) > 1 or x.shape[0] > 1:
        right = t.reshape(x.shape[0], groups, -1)
        right = (right - right.mean(2, keepdim=True)) / torch.sqrt(
            right.var(2, keepdim=True, unbiased=False) + epsilon
        )
        close(layers.group_norm(groups, epsilon, x), right.reshape(x.shape).numpy(), 1e-12, 1.0)
    if extents and math.prod(extents) > 1:
        close(layers.instance_norm(epsilon, x), F.instance_norm(t, eps=epsilon).numpy(), 1e-12, 1.0)


@pytest.mark.parametrize("rng", cases(7), ids=lambda r: "")
def test_batch_norm(rng: random.Random) -> None:
    channels = rng.choice([1, 2, 3, 9])
    extents = [rng.choice([1, 2, 5, 12]) for _ in range(rng.randint(0, 3))]
    x = normal(rng, rng.choice([1, 2, 5, 9]), channels, *extents, scale=3.0) + 1.0
    if x.size == channels:
        return  # PyTorch refuses one value a channel
    momentum, epsilon = rng.choice([0.0, 1.0, rng.random()]), 10.0 ** rng.uniform(-8, 0)
    gamma, beta, mean = (normal(rng, channels) for _ in range(3))
    variance = normal(rng, channels) ** 2
    state = layers.BatchNormState(mean, variance, 3)
    for training in (True, False):
        m, v = torch.from_numpy(mean.copy()), torch.from_numpy(variance.copy())
        right = F.batch_norm(
            torch.from_numpy(x), m, v, torch.from_numpy(gamma), torch.from_numpy(beta),
            training, momentum, epsilon,
        ).numpy()  # fmt: skip
        mode = layers.Training.TRAINING if training else layers.Inference
        got, after = layers.batch_norm(mode, momentum, epsilon, gamma, beta, state, x)
        close(got, right, 1e-12, 10.0 / math.sqrt(epsilon) if not training else 10.0)
        close(np.array(after.running_mean), m.numpy(), 16 * EPSILON, 1.0)
        close(np.array(after.running_variance), v.numpy(), 64 * EPSILON, 10.0)
        assert after.batches_seen == 3 + training


@pytest.mark.parametrize("rng", cases(8, 100), ids=lambda r: "")
def test_weight_norm(rng: random.Random) -> None:
    shape = [rng.choice([1, 2, 3, 8, 31]) for _ in range(rng.randint(1, 4))]
    axis = rng.randrange(len(shape))
    v, g = normal(rng, *shape), normal(rng, shape[axis])
    right = torch._weight_norm(
        torch.from_numpy(v),
        torch.from_numpy(g).reshape([-1 if i == axis else 1 for i in range(len(shape))]),
        axis,
    )
    close(layers.weight_norm(axis, g, v), right.numpy(), 32 * EPSILON)


# ---------------------------------------------------------------- attention


def torch_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None, bias: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    scores = torch.from_numpy(q) @ torch.from_numpy(k).T / math.sqrt(q.shape[1])
    if bias is not None:
        scores = scores + torch.from_numpy(bias)
    if mask is not None:
        scores = scores.masked_fill(~torch.from_numpy(mask), -math.inf)
    weights = torch.softmax(scores, 1)
    if mask is not None:
        weights = weights.masked_fill(~torch.from_numpy(mask).any(1, keepdim=True), 0.0)
    return (weights @ torch.from_numpy(v)).numpy(), weights.numpy()


@pytest.mark.parametrize("rng", cases(20, 300), ids=lambda r: "")
def test_attention(rng: random.Random) -> None:
    n, m = (rng.choice([1, 2, 8, 9, 30, 64, 65, rng.randint(1, 200)]) for _ in range(2))
    d, f = rng.choice([1, 2, 8, 33, 64]), rng.choice([0, 1, 5, 24, 64])
    if rng.random() < 0.02:
        m = rng.choice([4096, 4097, 9000])
    q, k, v = normal(rng, n, d), normal(rng, m, d), normal(rng, m, f)
    mask = [
        None,
        np.tri(n, m, rng.randint(0, m), dtype=bool),
        np.random.default_rng(rng.getrandbits(60)).random((n, m)) < rng.choice([0.02, 0.5, 0.98]),
    ][rng.randrange(3)]
    bias = normal(rng, n, m) if rng.random() < 0.4 else None
    right, right_weights = torch_attention(q, k, v, mask, bias)
    got, weights = layers.scaled_dot_product_attention(q, k, v, mask, bias)
    # A score is off by (d + 3) roundings of the sum of its magnitudes, and a weight by as much, relatively.
    scale = (np.abs(q) @ np.abs(k).T / math.sqrt(d)).max() + 8 + (0 if bias is None else np.abs(bias).max())
    tolerance = (d + 8) * scale * EPSILON
    assert (np.abs(weights - right_weights) <= tolerance * right_weights).all()
    close(got, right, tolerance, 8 * np.abs(v).max(initial=0.0))
    # One query alone, and masks that say nothing, change no bit.
    i = rng.randrange(n)
    row = slice(i, i + 1)
    alone, alone_weights = layers.scaled_dot_product_attention(
        q[row], k, v, None if mask is None else mask[row], None if bias is None else bias[row]
    )
    assert np.array_equal(alone, got[row]) and np.array_equal(alone_weights, weights[row])
    if mask is None:
        masked, masked_weights = layers.scaled_dot_product_attention(q, k, v, np.ones((n, m), bool), bias)
        assert np.array_equal(masked, got) and np.array_equal(masked_weights, weights)


@pytest.mark.parametrize("rng", cases(21, 150), ids=lambda r: "")
def test_multihead_attention(rng: random.Random) -> None:
    heads, d, f = rng.choice([1, 2, 3, 8]), rng.choice([1, 4, 16, 40]), rng.choice([1, 4, 24])
    n, m = (rng.choice([1, 8, 9, 65, rng.randint(1, 130)]) for _ in range(2))
    q, k, v = normal(rng, n, heads * d), normal(rng, m, heads * d), normal(rng, m, heads * f)
    mask = None if rng.random() < 0.5 else np.random.default_rng(rng.getrandbits(60)).random((n, m)) < 0.7
    got = layers.multihead_attention(heads, q, k, v, mask)
    for h in range(heads):
        part, values = slice(h * d, (h + 1) * d), slice(h * f, (h + 1) * f)
        alone, _ = layers.scaled_dot_product_attention(
            np.ascontiguousarray(q[:, part]),
            np.ascontiguousarray(k[:, part]),
            np.ascontiguousarray(v[:, values]),
            mask,
            None,
        )
        assert np.array_equal(got[:, values], alone)
    if mask is None:
        right = F.scaled_dot_product_attention(
            *(
                torch.from_numpy(a.reshape(len(a), heads, -1).transpose(1, 0, 2)[None].copy())
                for a in (q, k, v)
            )
        )
        right = right[0].numpy().transpose(1, 0, 2).reshape(n, heads * f)
        close(got, right, 1e-13, 8 * np.abs(v).max())


# ---------------------------------------------------------------- a network with weights from PyTorch


class SmallNetwork(torch.nn.Module):
    """28 x 28 grey pictures to ten logits, with what such networks are usually made of."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(1, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.pointwise = torch.nn.Conv2d(8, 16, 1)
        self.groups = torch.nn.GroupNorm(4, 16, affine=False)
        self.hidden = torch.nn.Linear(16 * 7 * 7, 32)
        self.last = torch.nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.first(x)))
        x = F.gelu(self.groups(self.pointwise(self.depthwise(x))))
        x = F.max_pool2d(x, 2)
        return self.last(F.relu(self.hidden(x.flatten(1))))


def our_network(w: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    from hmath import deeplearning_core as core
    from hmath import tensor

    def options(stride: int, padding: int, groups: int) -> layers.ConvOptions:
        return layers.ConvOptions([stride] * 2, [padding] * 2, [1, 1], groups)

    def activated(method: core.Activation, a: np.ndarray) -> np.ndarray:
        one = np.eye(a.shape[1])  # an activation alone, as the middle of two identities
        rows = np.ascontiguousarray(np.moveaxis(a, 1, -1))
        zeros = np.zeros(a.shape[1])
        out = layers.transformer_feed_forward(method, rows, one, zeros, one, zeros)
        return np.ascontiguousarray(np.moveaxis(out, -1, 1))

    state = layers.BatchNormState(w["norm.running_mean"], w["norm.running_var"], 0)
    with tensor.from_numpy(x) as images:
        x = layers.convolution(options(1, 1, 1), images, w["first.weight"], w["first.bias"]).numpy()
    x, _ = layers.batch_norm(layers.Inference, 0.1, 1e-5, w["norm.weight"], w["norm.bias"], state, x)
    x = activated(core.ReLU, x)
    x = layers.depthwise_convolution(options(2, 1, 1), x, w["depthwise.weight"], w["depthwise.bias"])
    x = layers.convolution(options(1, 0, 1), x, w["pointwise.weight"], w["pointwise.bias"])
    x = activated(core.GELU, layers.group_norm(4, 1e-5, x))
    x = layers.pooling(layers.MaxPool, [2, 2], [2, 2], [0, 0], x)
    return layers.transformer_feed_forward(
        core.ReLU,
        x.reshape(len(x), -1),
        w["hidden.weight"],
        w["hidden.bias"],
        w["last.weight"],
        w["last.bias"],
    )


def test_a_small_network_gives_what_pytorch_gives(tmp_path: Path) -> None:
    """Weights go through a file, as they do between programs: PyTorch writes it, NumPy reads it."""
    torch.manual_seed(5)
    network = SmallNetwork().double()
    network.train()
    for _ in range(3):  # running statistics of their own
        network(torch.randn(16, 1, 28, 28, dtype=torch.float64))
    network.eval()
    np.savez(tmp_path / "weights.npz", **{k: v.numpy() for k, v in network.state_dict().items()})
    with np.load(tmp_path / "weights.npz") as file:
        weights = dict(file)
    pictures = np.random.default_rng(6).random((32, 1, 28, 28))
    with torch.no_grad():
        right = network(torch.from_numpy(pictures)).numpy()
    got = our_network(weights, pictures)
    # Each side rounds some ten thousand times on the way to a logit; the sums cancel to a tenth of their
    # terms, hence the bound on the row rather than the number.
    assert np.abs(got - right).max() <= 1e-13 * np.abs(right).max()
    assert (got.argmax(1) == right.argmax(1)).all()
    # A picture alone gives the bits it gives in the batch.
    assert np.array_equal(our_network(weights, pictures[7:8]), got[7:8])
