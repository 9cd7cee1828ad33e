"""Every operation on fixed inputs, as digests of the exact bits of its results.

Run as a program it prints them as JSON; ``test_reproducibility.py`` does so under every instruction set
and compares. The shapes hit every tail of the kernels, and are large enough to be shared among threads.

``--record`` writes them to ``tests/vectors/digests.json``, where machines that have no instruction set in common
meet: when there are new cases, and when ``HMATH_NUMERICS_VERSION`` was raised.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hmath
from hmath import autodiff as ad
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_metrics as metrics
from hmath import deeplearning_precision as precision
from hmath import optim, random, tensor

RECORD = Path(__file__).parent.parent / "vectors" / "digests.json"
CASES: dict[str, Callable[[], Any]] = {}


def case(function: Callable[..., Any], *arguments: Any, name: str = "") -> None:
    """Register ``function(*arguments)`` under the name of its function, which may have several cases."""
    module = function.__module__.removeprefix("hmath.").removeprefix("deeplearning_").removeprefix("_")
    label = f"{module}.{function.__name__}{name}"
    while label in CASES:
        label += "'"
    CASES[label] = lambda: function(*arguments)


def update(digest: Any, x: Any) -> None:
    """Feed everything that a result holds to the digest, type by type."""
    if isinstance(x, float):
        digest.update(b"d" + struct.pack("<d", x))
    elif x is None or isinstance(x, (bool, int, str, bytes)):
        digest.update(repr(x).encode())
    elif isinstance(x, type):
        digest.update(x.__name__.encode())
    elif isinstance(x, np.ndarray):
        digest.update(repr(x.shape).encode() + np.ascontiguousarray(x).tobytes())
    elif isinstance(x, (list, tuple)):
        digest.update(f"[{len(x)}".encode())
        for part in x:
            update(digest, part)
    elif hasattr(x, "numpy"):
        update(digest, x.numpy())
    elif hasattr(x, "__dataclass_fields__"):
        update(digest, [getattr(x, name) for name in x.__dataclass_fields__])
    else:  # an RNG, a cache: what it holds
        update(digest, list(x.__reduce__()[1]))


def digest_of(x: Any) -> str:
    digest = hashlib.sha256()
    update(digest, x)
    return digest.hexdigest()[:16]


def digests() -> dict[str, str]:
    return {name: digest_of(run()) for name, run in CASES.items()}


def by_function(digests: dict[str, str]) -> dict[str, str]:
    """One digest for all cases of a function."""
    cases: dict[str, list[str]] = {}
    for name, digest in digests.items():
        cases.setdefault(re.split(r"[\[']", name)[0], []).append(digest)
    return {name: digest_of(cases[name]) for name in sorted(cases)}


# ---------------------------------------------------------------- inputs


# In integers and exact operations: the same on every machine, in every version of NumPy.


def words(count: int, seed: int) -> np.ndarray:
    """64 bits each (Steele, Lea and Flood, SplitMix64, 2014)."""
    z = (np.arange(count, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def unit(*shape: int, seed: int = 0) -> np.ndarray:
    """Strictly between 0 and 1."""
    return ((words(math.prod(shape), seed) >> np.uint64(12)).astype(float) + 0.5).reshape(shape) * 2.0**-52


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Like a bell, of variance 1: the sum of three that are uniform."""
    first, second, third = unit(3, *shape, seed=seed)
    return ((first + second + third) * 2.0 - 3.0) * scale


def below(bound: int, count: int, seed: int) -> np.ndarray:
    return np.floor(unit(count, seed=seed) * bound).astype(int)


LONG = 100_003  # odd, and long enough for threads
WIDE = np.concatenate(
    [
        normal(LONG, scale=3.0),
        normal(1001, seed=1, scale=300.0),
        np.ldexp(1.25, np.arange(-1063, 997, 4)),
        np.ldexp(-1.75, np.arange(-1063, 997, 4)),
        [0.0, -0.0, 0.5, -0.5, 3.0, -3.0],
    ]
)
MODERATE = np.clip(WIDE, -700.0, 700.0)

# ---------------------------------------------------------------- core

ACTIVATIONS = [
    core.Sigmoid,
    core.Tanh,
    core.ReLU,
    core.LeakyReLU(0.01),
    core.PReLU(0.3),
    core.ELU(1.7),
    core.SELU,
    core.GELU,
    core.SiLU,
    core.Mish,
    core.Softplus,
    core.Softsign,
    core.HardSigmoid,
    core.HardSwish,
]
for method in ACTIVATIONS:
    case(core.activation, method, WIDE, name=f"[{method!r}]")
    case(core.activation_derivative, method, WIDE, name=f"[{method!r}]")
    case(core.activation, method, 0.7, name=f"[{method!r}, scalar]")
for shape in [(1,), (33,), (5000,), (70_001,), (37, 65), (3, 5, 31)]:
    x = normal(*shape, scale=5.0)
    case(core.softmax, x)
    case(core.log_softmax, x)
    case(core.sparsemax, x)
case(core.softmax, normal(50, scale=400.0).tolist(), name="[underflow]")
case(core.gated_linear_unit, WIDE, np.roll(MODERATE, 17))

LOSSES = {
    core.MeanSquaredError: (normal, normal),
    core.MeanAbsoluteError: (normal, normal),
    core.Huber(0.7): (normal, normal),
    core.SmoothL1(0.7): (normal, normal),
    core.BinaryCrossEntropy: (unit, unit),
    core.CategoricalCrossEntropy: (unit, unit),
    core.KLDivergence: (unit, unit),
    core.CosineLoss: (normal, normal),
    core.NegativeLogLikelihood: (unit, lambda *s, seed: -unit(*s, seed=seed)),
    core.Hinge(1.0): (lambda *s, seed: np.sign(normal(*s, seed=seed)), normal),
}
for loss, (targets, predictions) in LOSSES.items():
    for n in (1, 31, 4097, LONG):
        for reduction in (core.Sum, core.Mean):
            pair = targets(n, seed=2), predictions(n, seed=3)
            case(core.loss, loss, reduction, *pair, name=f"[{loss!r}, {n}]")
            case(core.loss_gradient, loss, reduction, *pair, name=f"[{loss!r}, {n}]")
for n in (7, 4097, LONG):
    case(core.binary_cross_entropy_logits, core.Mean, unit(n), normal(n, scale=9.0))
    case(core.categorical_cross_entropy_logits, np.full(n, 1.0 / n), normal(n, scale=9.0))
    case(core.regularization, 0.1, 0.2, normal(n))
    case(core.contrastive_loss, 50.0, False, normal(n), normal(n, seed=1))
    case(core.triplet_loss, 1.0, normal(n), normal(n, seed=1), normal(n, seed=2))
    case(core.focal_loss, 0.25, 2.0, (unit(n) > 0.5).astype(float), unit(n, seed=1))
    case(core.dice_loss, 1.0, unit(n), unit(n, seed=1))
    case(core.iou_loss, 1.0, unit(n), unit(n, seed=1))
for time, classes, labels in [
    (1, 2, [1]),
    (40, 7, [1, 1, 2, 6, 3]),
    (300, 33, [i % 32 + 1 for i in range(70)]),
]:
    p = -9.0 * unit(time, classes)
    case(core.ctc_loss, 0, labels, p)
    case(core.ctc_loss_gradient, 0, labels, p)

# ---------------------------------------------------------------- layers


def generator() -> Any:
    return random.seed_rng(random.pcg64(), 42)


for mode in (layers.Training.TRAINING, layers.Inference):
    case(layers.dropout, mode, 0.3, generator(), normal(97, 311))
    case(layers.spatial_dropout, mode, 0.3, generator(), normal(5, 13, 9, 7))
    state = layers.BatchNormState(normal(13).tolist(), unit(13).tolist(), 3)
    case(
        layers.batch_norm,
        mode,
        0.1,
        1e-5,
        unit(13).tolist(),
        normal(13).tolist(),
        state,
        normal(9, 13, 33, 31),
    )
case(layers.running_mean, layers.BatchNormState([1.0], [2.0], 3))
case(layers.running_variance, layers.BatchNormState([1.0], [2.0], 3))
case(layers.batches_seen, layers.BatchNormState([1.0], [2.0], 3))
for shape in [(1, 5), (61, 77), (300, 4097), (4, 6, 9, 11)]:
    x = normal(*shape) * 3 + 7
    case(layers.layer_norm, 1, 1e-5, x)
    case(layers.rms_norm, 1, 1e-5, x)
    case(layers.layer_norm, len(shape), 1e-5, x)
    case(layers.weight_norm, 0, unit(shape[0]).tolist(), x)
    case(layers.weight_norm, 1, unit(shape[1]).tolist(), x)
for shape in [(2, 6, 35), (3, 12, 17, 19)]:
    case(layers.instance_norm, 1e-5, normal(*shape))
    case(layers.group_norm, 3, 1e-5, normal(*shape))
for initializer in (
    layers.XavierUniform,
    layers.XavierNormal,
    layers.KaimingUniform,
    layers.KaimingNormal,
    layers.Orthogonal(1.3),
    layers.TruncatedNormal(0.5, 2.0, 1.5),
    layers.TruncatedNormal(0.0, 1.0, 0.2),
):
    for shape in ([40, 23], [23, 40]):
        case(layers.initialize_weights, initializer, 40, 23, shape, generator(), name=f"[{initializer!r}]")
case(layers.embedding, normal(50, 33), [3, 3, 49, 0])
for m, k, n in [(1, 1, 1), (1, 300, 77), (5, 33, 29), (64, 70, 90), (130, 257, 65), (3, 0, 4)]:
    case(layers.dense, normal(m, k), normal(n, k, seed=1), normal(n).tolist())
case(
    layers.transformer_feed_forward,
    core.GELU,
    normal(19, 24),
    normal(96, 24),
    normal(96).tolist(),
    normal(24, 96),
    normal(24).tolist(),
)


def convolutions(
    shape: tuple[int, ...], kernel: int, out: int, stride: int, padding: int, dilation: int, groups: int
) -> None:
    axes = len(shape) - 2
    options = layers.ConvOptions([stride] * axes, [padding] * axes, [dilation] * axes, groups)
    x, b = normal(*shape), normal(out).tolist()
    case(layers.convolution, options, x, normal(out, shape[1] // groups, *[kernel] * axes), b)
    w = normal(shape[1], out // groups, *[kernel] * axes, seed=1)
    case(layers.transposed_convolution, [stride - 1] * axes, options, x, w, b)


convolutions((2, 3, 29), 3, 4, 1, 1, 1, 1)
convolutions((1, 4, 64), 5, 6, 2, 0, 2, 2)
convolutions((3, 5, 17, 23), 3, 7, 1, 1, 1, 1)
convolutions((2, 8, 30, 30), 3, 16, 2, 1, 1, 4)
convolutions((2, 6, 14, 14), 1, 9, 1, 0, 1, 3)
convolutions((1, 2, 7, 8, 9), 2, 4, 1, 1, 1, 2)
depthwise = layers.ConvOptions([1, 1], [1, 1], [1, 1], 1)
case(layers.depthwise_convolution, depthwise, normal(2, 9, 21, 35), normal(18, 1, 3, 3), normal(18).tolist())
options = layers.ConvOptions([1], [2], [3], 4)
for reader in (
    layers.convolution_stride,
    layers.convolution_padding,
    layers.convolution_dilation,
    layers.convolution_groups,
):
    case(reader, options)
for mode in (layers.MaxPool, layers.AveragePool):
    case(layers.pooling, mode, [2, 2], [2, 2], [0, 0], normal(3, 5, 37, 41))
    case(layers.pooling, mode, [3], [2], [1], normal(3, 5, 37))
    case(layers.pooling, mode, [2, 3, 2], [1, 2, 1], [1, 1, 0], normal(2, 3, 7, 9, 11))
    case(layers.adaptive_pooling, mode, [3, 5], normal(2, 3, 17, 19))
    case(layers.global_pooling, mode, normal(4, 6, 33, 65))
for n, m, d in [(1, 1, 1), (70, 70, 16), (33, 129, 24)]:
    mask = (unit(n, m) > 0.3).tolist()
    q, k, v = normal(n, d), normal(m, d, seed=1), normal(m, d, seed=2)
    case(layers.scaled_dot_product_attention, q, k, v, None, None)
    case(layers.scaled_dot_product_attention, q, k, v, mask, normal(n, m).tolist())
case(
    layers.multihead_attention,
    4,
    normal(50, 32),
    normal(50, 32, seed=1),
    normal(50, 32, seed=2),
    layers.causal_mask(50, 50, 0),
)
case(layers.causal_mask, 5, 7, 2)
case(layers.alibi_bias, 0.125, 9, 11, 2)
case(layers.rotary_embedding, 10000.0, 12345, normal(33, 46))
case(layers.sinusoidal_encoding, 33, 47, 2**31)


def cache() -> Any:
    empty = layers.empty_cache(9, 3, 4)
    return layers.append_cache(
        layers.append_cache(empty, normal(2, 3), normal(2, 4)), normal(3, 3), normal(3, 4)
    )


case(layers.cache_values, cache())
case(layers.empty_cache, 9, 3, 4)
case(layers.append_cache, cache(), normal(1, 3), normal(1, 4))

# ---------------------------------------------------------------- precision

for scheme in (precision.Symmetric, precision.Asymmetric):
    for axis in (None, 0, 1):
        coded = precision.quantize(scheme, axis, normal(131, 257))
        case(precision.quantize, scheme, axis, normal(131, 257))
        case(precision.dequantize, coded)
        case(precision.quantized_values, coded)
        case(precision.quantization_scales, coded)
        case(precision.quantization_zero_points, coded)
    # the last three are cut for threads: few rows, several blocks of depth, and of columns too
    for m, k, n in [
        (1, 1, 1),
        (3, 300, 50),
        (65, 130, 77),
        (33, 1100, 90),
        (101, 1100, 110),
        (75, 1100, 1030),
    ]:
        case(
            precision.int8_gemm,
            precision.quantize(scheme, 0, normal(m, k)),
            precision.quantize(scheme, 1, normal(k, n)),
        )
for method in (precision.FP16, precision.BF16):
    for m, k, n in [(1, 1, 1), (3, 300, 50), (65, 130, 77), (33, 1100, 90), (101, 1100, 110)]:
        case(precision.reduced_gemm, method, normal(m, k), normal(k, n), name=f"[{method!r}]")
# operands, products and sums that are subnormal in binary32; sums near its largest number; depth odd
for small, large in ((1e-39, 1.0), (1e-19, 1e-20), (1e-30, 1e25), (1e18, 1e18)):
    case(precision.reduced_gemm, precision.BF16, small * normal(20, 333), large * normal(333, 70))
scaler = precision.LossScaler(1024.0, 3, 2)
case(precision.loss_scale, scaler)
case(precision.scale_growth_interval, scaler)
case(precision.finite_steps, scaler)
case(precision.initial_loss_scaler, 8.0, 3)
case(precision.scale_loss, scaler, 0.3)
case(precision.unscale_gradients, scaler, WIDE)
case(precision.update_loss_scaler, True, scaler)
for g in (normal(31), normal(LONG), WIDE):
    case(precision.gradient_norm, g)
    case(precision.clip_gradients, 0.7, g)

# ---------------------------------------------------------------- metrics

TRUTH, PREDICTED = below(7, 5003, seed=5), below(7, 5003, seed=6)
BINARY = below(2, 5003, seed=7).astype(bool)
SCORES = np.round(normal(5003), 2)
record = metrics.classification_metrics(7, TRUTH, PREDICTED)
case(metrics.confusion_matrix, 7, TRUTH, PREDICTED)
case(metrics.classification_metrics, 7, TRUTH, PREDICTED)
for reader in (metrics.accuracy, metrics.precision_by_class, metrics.recall_by_class, metrics.f1_by_class):
    case(reader, record)
case(metrics.top_k_accuracy, 3, TRUTH, np.round(normal(5003, 7), 1))
case(metrics.roc_auc, BINARY, SCORES)
case(metrics.pr_auc, BINARY, SCORES)
case(metrics.perplexity, -unit(LONG))
case(metrics.cosine_similarity_matrix, normal(37, 65), normal(41, 65))
case(metrics.margin_ranking_loss, 0.5, normal(LONG), normal(LONG, seed=1), np.where(normal(LONG) > 0, 1, -1))

# ---------------------------------------------------------------- tensors and random numbers

for function in (tensor.exp, tensor.expm1, tensor.tanh, tensor.sigmoid):
    case(function, np.clip(WIDE, -700.0, 700.0))
for function in (tensor.erf, tensor.erfc, tensor.sin, tensor.cos, tensor.absolute, operator.neg):
    case(function, WIDE)
for function in (tensor.log, tensor.log1p, tensor.sqrt):
    case(function, np.abs(WIDE) + 1e-300)
x, y = tensor.from_numpy(normal(131, 1, 257)), tensor.from_numpy(normal(9, 257, seed=1) + 10)
for function in (
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    tensor.maximum,
    tensor.minimum,
    operator.lt,
):
    case(function, x, y)
for shape_a, shape_b in [
    ((65,), (65,)),
    ((33, 65), (65, 70)),
    ((3, 33, 40), (40, 31)),
    ((2, 1, 9, 8), (5, 8, 7)),
]:
    case(tensor.matmul, tensor.from_numpy(normal(*shape_a)), tensor.from_numpy(normal(*shape_b, seed=1)))
block = tensor.from_numpy(normal(65, 71, 130))
for axes in (None, 0, 1, 2, (0, 2)):
    for method in (tensor.TensorDouble.sum, tensor.TensorDouble.mean, tensor.TensorDouble.max):
        case(method, block, axes)
for make in (
    random.pcg32,
    random.pcg64,
    random.xoshiro256starstar,
    random.splitmix64,
    random.philox4x32,
    random.mt19937,
):
    rng = random.seed_rng(make(), 42)
    for draw in (random.uniform, random.normal):
        case(draw, rng)
    case(random.bounded, 1000, rng)
    case(random.uniform_tensor, [257, 131], rng)
    case(random.normal_tensor, [257, 131], random.normal(rng)[1])
    case(random.permutation, 1001, rng)
    case(random.shuffle, list(range(100)), rng)

# ---------------------------------------------------------------- graphs


def program(name: str, outputs: list[ad.Node], bindings: dict[ad.Node, Any]) -> None:
    CASES[f"autodiff.compile[{name}]"] = lambda: ad.compile(outputs, list(bindings))(*bindings.values())


def derivatives(name: str, output: ad.Node, bindings: dict[ad.Node, Any], order: int = 2) -> None:
    """A node with its gradient, and where it has one with the gradient of its gradient's norm."""
    variables = list(bindings)
    weights = normal(*output.shape, seed=9) if output.rank else 1.0
    gradients = ad.gradient(ad.sum(output * weights), variables)
    second = ad.gradient(ad.norm(gradients), variables) if order == 2 else []
    program(name, [output, *gradients, *second], bindings)


def variable(*shape: int) -> Any:
    return ad.variable("x", shape)


x, y, row = variable(37, 130), variable(37, 130), variable(130)
operands = {x: normal(37, 130), y: unit(37, 130) + 0.5, row: normal(130, seed=1) + 7.0}
for method in ACTIVATIONS:
    derivatives(repr(method), ad.activation(method, x * row), {x: operands[x], row: operands[row]})
derivatives(
    "functions",
    ad.tanh(x) * ad.log(y) + ad.sqrt(row) * ad.erf(x) + ad.sin(row) / ad.expm1(y) - ad.tan(x) * ad.log1p(y),
    operands,
)
derivatives(
    "pairs", ad.maximum(x, y) * ad.minimum(y, row) + y**x / row - ad.select(ad.less(x, y), x, row), operands
)
derivatives(
    "sums", ad.sum(x * y, axis=0) * ad.mean(x) + ad.max(y, axis=0) * ad.norm([x, row]) * x[36, 129], operands
)
derivatives("products", ad.tanh(x @ ad.transpose(y)) @ (x * row), operands)
derivatives(
    "pieces",
    ad.concatenate([x[::-2, 3:], ad.stack([row, row * row])[:, 3:]]),
    {x: operands[x], row: operands[row]},
)
derivatives(
    "gather", ad.square(ad.gather(x, below(37, 300, seed=8))) * row, {x: operands[x], row: operands[row]}
)
for axis in (0, 1):
    for function in (ad.softmax, ad.log_softmax, ad.sparsemax):
        derivatives(
            f"{function.__name__}, {axis}", function(x * row, axis), {x: operands[x], row: operands[row]}, 1
        )
for loss, (targets, predictions) in LOSSES.items():
    at = variable(4097)
    output = core.loss_expr(loss, core.Mean, targets(4097, seed=2), at)
    derivatives(repr(loss), output, {at: predictions(4097, seed=3)})
frames = variable(40, 7)
derivatives("ctc_loss", core.ctc_loss_expr(0, [1, 1, 2, 6, 3], frames), {frames: -9.0 * unit(40, 7)}, 1)
images = variable(3, 6, 17, 19)
derivatives("layer_norm", ad.layer_norm(1, 1e-5, x) * row, {x: operands[x], row: operands[row]})
derivatives("rms_norm", ad.rms_norm(1, 1e-5, x) * row, {x: operands[x], row: operands[row]})
derivatives("group_norm", ad.group_norm(3, 1e-5, images), {images: normal(*images.shape)})
derivatives("instance_norm", ad.instance_norm(1e-5, images), {images: normal(*images.shape)})
for mode in (layers.MaxPool, layers.AveragePool):
    derivatives(
        f"pooling, {mode!r}",
        ad.pooling(mode, [3, 2], [2, 2], [1, 0], images),
        {images: normal(*images.shape)},
    )


def network() -> None:
    """Convolutions both ways, batch statistics, a dense layer."""
    kernel, bias, gamma, beta = variable(8, 3, 3, 3), variable(8), variable(8), variable(8)
    back, weights = variable(8, 5, 2, 2), variable(9, 5)
    options, twice = (
        layers.ConvOptions([2, 2], [1, 1], [1, 1], 2),
        layers.ConvOptions([2, 2], [0, 0], [1, 1], 1),
    )
    hidden, mean, variance = ad.batch_norm(1e-5, gamma, beta, ad.convolution(options, images, kernel, bias))
    wide = ad.transposed_convolution([1, 1], twice, ad.activation(core.SiLU, hidden), back, [0.0] * 5)
    output = ad.dense(ad.mean(wide, axis=(2, 3)), weights, [0.0] * 9)
    parts = (images, kernel, bias, gamma, beta, back, weights)
    bindings = {part: normal(*part.shape, seed=i) for i, part in enumerate(parts)}
    derivatives("network", output, bindings)
    program("statistics", [mean, variance], bindings)


def transformer() -> None:
    """A block of a transformer under AdamW with a schedule and clipping, and one of its parts under SGD: two steps."""
    tokens, queries, inner, outer = variable(2, 33, 24), variable(24, 24), variable(50, 24), variable(24, 50)
    mask = layers.causal_mask(33, 33, 0)
    hidden = tokens + ad.multihead_attention(4, tokens @ queries, tokens, tokens, mask)
    hidden = hidden + layers.scaled_dot_product_attention_ad(hidden, tokens, hidden, None)
    hidden = ad.layer_norm(1, 1e-5, hidden)
    hidden = hidden + ad.activation(core.GELU, hidden @ ad.transpose(inner)) @ ad.transpose(outer)
    weights = [queries, inner, outer]
    loss = ad.mean(ad.square(hidden))
    gradients, norm = optim.clip_by_global_norm(ad.gradient(loss, weights), 0.1)
    state = optim.adam_variables([part.shape for part in weights])
    rate = optim.warm_up(state[0], optim.cosine(state[0], 0.1, 9), 3)
    new, after = optim.adamw(weights, gradients, state, rate=rate)
    velocity = optim.sgd_variables([inner.shape])
    moved, slowed = optim.sgd([inner], [gradients[1]], velocity, rate=0.1, momentum=0.9, nesterov=True)
    bindings = {part: normal(*part.shape, seed=i) for i, part in enumerate([tokens, *weights])}
    moments = optim.adam_state([bindings[part] for part in weights])
    step = ad.compile([loss, norm, *moved, *slowed, *new, *after], [*bindings, *velocity, *state])

    def steps() -> list[Any]:
        first = step(*bindings.values(), normal(*inner.shape), *moments)
        return first + step(bindings[tokens], *first[4:7], first[3], *first[7:])

    CASES["autodiff.compile[transformer]"] = steps


network()
transformer()
case(ad.jacobian, x @ row, {x: operands[x], row: operands[row]}, row)
case(ad.jvp, ad.exp(x) * y, {x: operands[x], y: operands[y]}, {x: operands[y]})

# ---------------------------------------------------------------- as a program


def record(one: dict[str, str]) -> dict[str, Any]:
    """What the file holds, made of one run's digests."""
    return {"numerics_version": hmath.numerics_version(), "digests": by_function(one)}


def main() -> None:
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text(json.dumps(record(digests()), indent=1) + "\n")
        return
    result = {}
    for threads in map(int, sys.argv[1:] or ["1"]):
        hmath.set_num_threads(threads)
        result[threads] = digests()
    finished = {
        "instruction_set": hmath.instruction_set(),
        "digests": result,
        "record": record(next(iter(result.values()))),
    }
    print(json.dumps(finished))


if __name__ == "__main__":
    main()
