"""Gradients against torch.autograd in float64, for every graph wrapper and every addition.

Both sides compute in double precision with sums in different orders: 1e-11 relative to the largest
element leaves room for the condition of these small random problems and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hmath import autodiff as ad
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import optim, tensor

torch = pytest.importorskip("torch")
F = torch.nn.functional
torch.set_default_dtype(torch.float64)

TOLERANCE = 1e-11


def close(got: Any, wanted: Any) -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    assert np.abs(got - wanted).max(initial=0.0) <= TOLERANCE * scale


def compare(ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: np.ndarray) -> None:
    """Value, gradient and Jacobian-vector product of a weighted sum of the result."""
    rng = np.random.default_rng(7)
    inputs = [ad.variable(f"x{i}", a.shape) for i, a in enumerate(arrays)]
    result = ours(*inputs)
    leaves = [torch.from_numpy(a.copy()).requires_grad_() for a in arrays]
    expected = theirs(*leaves)
    weights = rng.normal(size=tuple(expected.shape))
    (expected * torch.from_numpy(np.asarray(weights))).sum().backward()
    bindings = dict(zip(inputs, arrays, strict=True))
    close(ad.evaluate(result, bindings), expected.detach().numpy())
    output = ad.sum(result * weights) if result.shape else result * float(weights)
    _, gradients = ad.value_and_gradient(output, bindings)
    for gradient, leaf in zip(gradients, leaves, strict=True):
        close(gradient, leaf.grad.numpy())
    directions = {x: rng.normal(size=a.shape) for x, a in bindings.items()}
    _, tangent = ad.jvp(output, bindings, directions)
    pairs = zip(leaves, directions.values(), strict=True)
    pulled = sum(float((leaf.grad.numpy() * d).sum()) for leaf, d in pairs)
    close(tangent, pulled)


def compare_twice(ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: np.ndarray) -> None:
    """The same, and the second derivative: the gradient of (gradient of a weighted sum, times directions)."""
    compare(ours, theirs, *arrays)
    rng = np.random.default_rng(8)
    inputs = [ad.variable(f"x{i}", a.shape) for i, a in enumerate(arrays)]
    leaves = [torch.from_numpy(a.copy()).requires_grad_() for a in arrays]
    result, expected = ours(*inputs), theirs(*leaves)
    weights = rng.normal(size=tuple(expected.shape))
    output = ad.sum(result * weights) if result.shape else result * float(weights)
    directions = [rng.normal(size=a.shape) for a in arrays]
    along = [ad.sum(g * d) for g, d in zip(ad.gradient(output, inputs), directions, strict=True)]
    total = along[0]
    for term in along[1:]:
        total = total + term
    slopes = torch.autograd.grad(
        (expected * torch.from_numpy(np.asarray(weights))).sum(), leaves, create_graph=True
    )
    theirs_total = sum((s * torch.from_numpy(d)).sum() for s, d in zip(slopes, directions, strict=True))
    second = torch.autograd.grad(theirs_total, leaves, allow_unused=True)
    bindings = dict(zip(inputs, arrays, strict=True))
    for gradient, wanted, a in zip(ad.gradient(total, inputs), second, arrays, strict=True):
        close(ad.evaluate(gradient, bindings), np.zeros(a.shape) if wanted is None else wanted.numpy())


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


ACTIVATIONS = {
    "Sigmoid": torch.sigmoid,
    "Tanh": torch.tanh,
    "ReLU": F.relu,
    "SELU": F.selu,
    "GELU": F.gelu,
    "SiLU": F.silu,
    "Mish": F.mish,
    "Softplus": lambda x: F.softplus(x, threshold=1e9),
    "Softsign": F.softsign,
    # F.hardsigmoid's own backward multiplies by 1/6 in single precision.
    "HardSigmoid": lambda x: torch.clamp(x / 6 + 0.5, 0, 1),
    "HardSwish": F.hardswish,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_expr(name: str) -> None:
    method = getattr(core, name)
    compare(lambda x: core.activation_expr(method, x), ACTIVATIONS[name], normal(5, 7) * 2)


@pytest.mark.parametrize(
    ("method", "theirs"),
    [
        (core.LeakyReLU(0.1), lambda x: F.leaky_relu(x, 0.1)),
        (core.PReLU(0.3), lambda x: F.prelu(x, torch.tensor(0.3))),
        (core.ELU(1.5), lambda x: F.elu(x, 1.5)),
    ],
)
def test_activation_expr_with_parameter(method: Any, theirs: Any) -> None:
    compare(lambda x: core.activation_expr(method, x), theirs, normal(5, 7))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_family(axis: int) -> None:
    x = normal(3, 4, 5) * 3
    compare(lambda v: ad.softmax(v, axis), lambda v: torch.softmax(v, axis), x)
    compare(lambda v: ad.log_softmax(v, axis), lambda v: torch.log_softmax(v, axis), x)


def test_softmax_expr_of_scalars() -> None:
    numbers = [0.3, -1.2, 2.0, 0.0]
    xs = [ad.variable(f"x{i}") for i in range(4)]
    results = core.softmax_expr(xs)
    assert all(isinstance(r, ad.Expr) for r in results)
    bindings = dict(zip(xs, numbers, strict=True))
    leaf = torch.tensor(numbers, requires_grad=True)
    jacobian = torch.autograd.functional.jacobian(lambda v: torch.softmax(v, 0), leaf)
    for i, r in enumerate(results):
        value, gradient = ad.value_and_gradient(r, bindings)
        close(value, float(torch.softmax(leaf, 0)[i].detach()))
        close(gradient, jacobian[i].numpy())


LOSSES = [
    (core.MeanSquaredError, lambda p, t, r: F.mse_loss(p, t, reduction=r), "any"),
    (core.MeanAbsoluteError, lambda p, t, r: F.l1_loss(p, t, reduction=r), "any"),
    (core.Huber(0.7), lambda p, t, r: F.huber_loss(p, t, reduction=r, delta=0.7), "any"),
    (core.SmoothL1(0.7), lambda p, t, r: F.smooth_l1_loss(p, t, reduction=r, beta=0.7), "any"),
    (core.BinaryCrossEntropy, lambda p, t, r: F.binary_cross_entropy(p, t, reduction=r), "unit"),
    (
        core.KLDivergence,
        lambda p, t, r: F.kl_div(torch.log(p), t, reduction="sum") / (1 if r == "sum" else t.numel()),
        "unit",
    ),
]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("case", LOSSES, ids=lambda case: repr(case[0]))
def test_loss_expr(case: Any, reduction: str) -> None:
    method, theirs, domain = case
    rng = np.random.default_rng(3)
    t, p = rng.normal(size=(2, 4, 6)) if domain == "any" else rng.uniform(0.05, 0.95, size=(2, 4, 6))
    how = core.Sum if reduction == "sum" else core.Mean
    compare(
        lambda x: core.loss_expr(method, how, t, x),
        lambda x: theirs(x, torch.from_numpy(t), reduction),
        p,
    )


def test_cosine_loss_expr() -> None:
    t = normal(9)
    compare(
        lambda p: core.loss_expr(core.CosineLoss, core.Sum, t, p),
        lambda p: 1 - F.cosine_similarity(p, torch.from_numpy(t), dim=0),
        normal(9, seed=1),
    )


def test_ctc_loss_expr() -> None:
    labels = [1, 2, 2, 3]
    compare(
        lambda x: core.ctc_loss_expr(0, labels, ad.log_softmax(x)),
        lambda x: F.ctc_loss(
            torch.log_softmax(x, 1)[:, None], torch.tensor([labels]), (12,), (4,), reduction="sum"
        ),
        normal(12, 5),
    )


def test_dense_ad() -> None:
    compare(layers.dense_ad, F.linear, normal(2, 3, 4), normal(5, 4), normal(5))
    bias = [ad.variable(f"b{i}") for i in range(5)]
    x, w, b = normal(3, 4), normal(5, 4), normal(5)
    y = layers.dense_ad(x, w, bias)
    bindings = dict(zip(bias, b, strict=True))
    close(ad.evaluate(y, bindings), x @ w.T + b)


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(spatial: int, groups: int) -> None:
    stride, padding, dilation = [2, 1, 2][:spatial], [1, 0, 2][:spatial], [1, 2, 1][:spatial]
    options = layers.ConvOptions(stride, padding, dilation, groups)
    convolve = [F.conv1d, F.conv2d, F.conv3d][spatial - 1]
    transpose = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][spatial - 1]
    size, kernel = [7, 6, 5][:spatial], [3, 2, 3][:spatial]
    compare(
        lambda x, w, b: layers.convolution_ad(options, x, w, b),
        lambda x, w, b: convolve(x, w, b, stride, padding, dilation, groups),
        normal(2, 4, *size),
        normal(6, 4 // groups, *kernel),
        normal(6),
    )
    output_padding = [1, 0, 1][:spatial]
    compare(
        lambda x, w, b: ad.transposed_convolution(output_padding, options, x, w, b),
        lambda x, w, b: transpose(x, w, b, stride, padding, output_padding, groups, dilation),
        normal(2, 4, *size),
        normal(4, 6 // groups, *kernel),
        normal(6),
    )


def test_pooling() -> None:
    x = normal(2, 3, 7, 6)
    compare(
        lambda v: ad.pooling(layers.MaxPool, [3, 2], [2, 1], [1, 1], v),
        lambda v: F.max_pool2d(v, (3, 2), (2, 1), (1, 1)),
        x,
    )
    compare(
        lambda v: ad.pooling(layers.AveragePool, [3, 2], [2, 1], [1, 1], v),
        lambda v: F.avg_pool2d(v, (3, 2), (2, 1), (1, 1), count_include_pad=False),
        x,
    )


@pytest.mark.parametrize("size", [(2, 2), (6, 8), (7, 9), (5, 2, 6)], ids=repr)
def test_pooling_by_squares(size: tuple[int, ...]) -> None:
    """2 x 2 pooling has a way of its own; whole numbers make ties, which PyTorch gives to the first cell too."""
    x = np.rint(2 * normal(2, 3, *size))
    kernel = [1] * (len(size) - 2) + [2, 2]
    pool = F.max_pool2d if len(size) == 2 else F.max_pool3d
    compare(
        lambda v: ad.pooling(layers.MaxPool, kernel, kernel, [0] * len(size), v),
        lambda v: pool(v, tuple(kernel)),
        x,
    )


def test_norms() -> None:
    x = normal(3, 4, 5)
    compare(lambda v: layers.layer_norm_ad(2, 1e-3, v), lambda v: F.layer_norm(v, (4, 5), eps=1e-3), x)
    compare(lambda v: layers.rms_norm_ad(1, 1e-3, v), lambda v: F.rms_norm(v, (5,), eps=1e-3), x)
    compare(lambda v: ad.group_norm(2, 1e-3, v), lambda v: F.group_norm(v, 2, eps=1e-3), x)
    compare(lambda v: ad.instance_norm(1e-3, v), lambda v: F.instance_norm(v, eps=1e-3), x)
    compare(
        lambda v, g, b: ad.batch_norm(1e-3, g, b, v)[0],
        lambda v, g, b: F.batch_norm(v, None, None, g, b, True, 0.1, 1e-3),
        x,
        normal(4),
        normal(4, seed=1),
    )


def test_layer_norm_second_order() -> None:
    """The gradient of (gradient . v) . v, through the fused derivative written out."""
    x, v, w = normal(3, 6), normal(3, 6, seed=1), normal(3, 6, seed=2)
    node = ad.variable("x", x.shape)
    inner = ad.sum(layers.layer_norm_ad(1, 1e-2, node) * w)
    second = ad.gradient(ad.sum(ad.gradient(inner, node) * v), node)
    leaf = torch.from_numpy(x).requires_grad_()
    value = (F.layer_norm(leaf, (6,), eps=1e-2) * torch.from_numpy(w)).sum()
    first = torch.autograd.grad(value, leaf, create_graph=True)
    wanted = torch.autograd.grad((first[0] * torch.from_numpy(v)).sum(), leaf)[0]
    close(ad.evaluate(second, {node: x}), wanted.numpy())


def test_attention() -> None:
    mask = np.random.default_rng(5).uniform(size=(4, 6)) < 0.6
    mask[:, 0] = True
    compare(
        lambda q, k, v: layers.scaled_dot_product_attention_ad(q, k, v, mask),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torch.from_numpy(mask)),
        normal(4, 8),
        normal(6, 8),
        normal(6, 3),
    )

    def heads(q: Any, k: Any, v: Any) -> Any:
        split = [t.reshape(t.shape[0], 2, -1).transpose(0, 1) for t in (q, k, v)]
        return F.scaled_dot_product_attention(*split).transpose(0, 1).reshape(q.shape[0], -1)

    compare(
        lambda q, k, v: ad.multihead_attention(2, q, k, v), heads, normal(4, 8), normal(6, 8), normal(6, 6)
    )


def test_gather_and_matmul() -> None:
    index = [2, 0, 2]
    compare(lambda w: ad.embedding(w, index), lambda w: F.embedding(torch.tensor(index), w), normal(4, 3))
    compare(ad.matmul, torch.matmul, normal(2, 1, 3, 4), normal(5, 4, 2))
    compare(ad.matmul, torch.matmul, normal(2, 3, 4), normal(4))


def test_reductions_and_ties() -> None:
    compare(lambda x: ad.max(x, 1), lambda x: torch.amax(x, 1), np.array([[1.0, 3, 3], [2, 2, 2]]))
    compare(ad.maximum, torch.maximum, np.array([1.0, 2, 3]), np.array([2.0, 2, 1]))
    compare(lambda x: ad.mean(x, (0, 2)), lambda x: x.mean((0, 2)), normal(3, 4, 5))
    compare(lambda x: ad.norm(x), lambda x: x.norm(), normal(3, 4))


@pytest.mark.parametrize("name", ["sgd", "nesterov", "adam", "adamw"])
def test_optimisers(name: str) -> None:
    """Ten steps from the same point with the same gradients, on Tensors and as a compiled graph."""
    start = normal(6)
    leaf = torch.from_numpy(start.copy()).requires_grad_()
    make = {
        "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
        "nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
        "adam": lambda p: torch.optim.Adam(p, lr=0.1, weight_decay=0.01),
        "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.1),
    }
    ours: dict[str, Callable[..., Any]] = {
        "sgd": lambda p, g, s: optim.sgd(p, g, s, rate=0.1, momentum=0.9, weight_decay=0.01),
        "nesterov": lambda p, g, s: optim.sgd(p, g, s, rate=0.1, momentum=0.9, nesterov=True),
        "adam": lambda p, g, s: optim.adam(p, g, s, rate=0.1, weight_decay=0.01),
        "adamw": lambda p, g, s: optim.adamw(p, g, s, rate=0.1, weight_decay=0.1),
    }
    optimiser = make[name]([leaf])
    values = [tensor.from_numpy(start)]
    momentum = "adam" not in name
    state = optim.sgd_state(values) if momentum else optim.adam_state(values)
    weights, rate = ad.variable("w", (6,)), ad.variable("g", (6,))
    variables = optim.sgd_variables([(6,)]) if momentum else optim.adam_variables([(6,)])
    new, new_state = ours[name]([weights], [rate], variables)
    program = ad.compile([*new, *new_state], [weights, rate, *variables])
    compiled, compiled_state = values[0], state
    for i in range(10):
        gradient = normal(6, seed=i + 1)
        leaf.grad = torch.from_numpy(gradient)
        optimiser.step()
        values, state = ours[name](values, [gradient], state)
        compiled, *compiled_state = program(compiled, gradient, *compiled_state)
        close(values[0], leaf.detach().numpy())
        assert compiled.identical(values[0])


def test_clip_and_schedules() -> None:
    gradients = [normal(3), normal(2, 2)]
    leaves = [torch.zeros(g.shape, requires_grad=True) for g in gradients]
    for leaf, g in zip(leaves, gradients, strict=True):
        leaf.grad = torch.from_numpy(g.copy())
    norm = torch.nn.utils.clip_grad_norm_(leaves, 0.5)
    clipped, ours = optim.clip_by_global_norm(gradients, 0.5)
    close(ours, float(norm))
    for got, leaf in zip(clipped, leaves, strict=True):  # torch adds 1e-6 to the norm
        assert np.abs(np.asarray(got) - leaf.grad.numpy()).max() < 1e-6
    model = torch.nn.Linear(1, 1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD(model.parameters(), lr=0.3), 20)
    for step in range(20):
        close(optim.cosine(step, 0.3, 20), schedule.get_last_lr()[0])
        schedule.optimizer.step()
        schedule.step()


def spread(*shape: int) -> np.ndarray:
    """Positive numbers, away from poles and kinks."""
    return np.random.default_rng([1, *shape]).uniform(0.3, 2.0, size=shape)


TWICE: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "multiply": (lambda a, b: a * b, torch.mul, (normal(2, 1, 4), normal(3, 1))),
    "divide": (lambda a, b: a / b, torch.div, (normal(2, 3), spread(3))),
    "power": (ad.power, torch.pow, (spread(2, 3), normal(3))),
    "square": (lambda x: x**2, lambda x: x**2, (normal(5),)),
    "cube": (lambda x: x**3, lambda x: x**3, (normal(5),)),
    "select": (
        lambda a, b: ad.select(ad.less(a, b), a * a, b * a),
        lambda a, b: torch.where(a < b, a * a, b * a),
        (normal(7), normal(7, seed=1)),
    ),
    "norm": (
        lambda a, b: ad.norm([a, b]),
        lambda a, b: torch.sqrt((a * a).sum() + (b * b).sum()),
        (normal(3), normal(2)),
    ),
    "mean": (lambda x: ad.mean(ad.exp(x), axis=1), lambda x: torch.exp(x).mean(1), (normal(3, 4),)),
    "matmul": (lambda a, b: a @ b, torch.matmul, (normal(5, 2, 3), normal(3, 4))),
    "dense": (layers.dense_ad, F.linear, (normal(4, 3), normal(5, 3), normal(5))),
    "convolution": (
        lambda x, w, b: layers.convolution_ad(layers.ConvOptions([2, 1], [1, 0], [1, 2], 2), x, w, b),
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2), 2),
        (normal(2, 4, 6, 7), normal(6, 2, 3, 2), normal(6)),
    ),
    "transposed convolution": (
        lambda x, w, b: ad.transposed_convolution([1], layers.ConvOptions([2], [1], [1], 2), x, w, b),
        lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1, 2),
        (normal(2, 4, 5), normal(4, 2, 3), normal(4)),
    ),
    "layer_norm": (
        lambda x: layers.layer_norm_ad(2, 1e-3, x),
        lambda x: F.layer_norm(x, x.shape[-2:], eps=1e-3),
        (normal(2, 3, 4),),
    ),
    "rms_norm": (
        lambda x: layers.rms_norm_ad(1, 1e-3, x),
        lambda x: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-3),
        (normal(2, 3, 4),),
    ),
    "group_norm": (
        lambda x: ad.group_norm(2, 1e-3, x),
        lambda x: F.group_norm(x, 2, eps=1e-3),
        (normal(2, 4, 5),),
    ),
    "instance_norm": (
        lambda x: ad.instance_norm(1e-3, x),
        lambda x: F.instance_norm(x, eps=1e-3),
        (normal(2, 4, 5),),
    ),
    "batch_norm": (
        lambda g, b, x: ad.batch_norm(1e-3, g, b, x)[0],
        lambda g, b, x: F.batch_norm(x, None, None, g, b, True, 0.1, 1e-3),
        (normal(4), normal(4, seed=1), normal(3, 4, 5)),
    ),
    "average pooling": (
        lambda x: ad.square(ad.pooling(layers.AveragePool, [2], [1], [1], x)),
        lambda x: F.avg_pool1d(x, 2, 1, 1, False, False) ** 2,
        (normal(2, 3, 6),),
    ),
    "max pooling": (
        lambda x: ad.square(ad.pooling(layers.MaxPool, [2], [2], [0], x)),
        lambda x: F.max_pool1d(x, 2, 2) ** 2,
        (normal(2, 3, 6),),
    ),
    "rows, overlapping": (
        lambda x: x[0] * x[1] + x[1:3] @ x[3] * x[2, 0] + ad.concatenate([x[i] for i in range(4)])[3:5],
        lambda x: x[0] * x[1] + x[1:3] @ x[3] * x[2, 0] + torch.cat([x[i] for i in range(4)])[3:5],
        (normal(4, 2),),
    ),
    "gather": (
        lambda x: ad.square(ad.gather(x, np.array([[0, 2], [2, 2]]), 1)),
        lambda x: x[:, torch.tensor([[0, 2], [2, 2]])] ** 2,
        (normal(2, 3),),
    ),
}


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str) -> None:
    compare_twice(TWICE[name][0], TWICE[name][1], *TWICE[name][2])


@pytest.mark.parametrize(
    "name", ["exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "tanh", "erf", "reciprocal"]
)
def test_second_derivatives_of_functions(name: str) -> None:
    compare_twice(getattr(ad, name), getattr(torch, name), spread(2, 5) / 2)


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if name != "HardSwish"])
def test_second_derivatives_of_activations(name: str) -> None:
    method = getattr(core, name)
    compare_twice(
        lambda x: ad.square(ad.activation(method, x)), lambda x: ACTIVATIONS[name](x) ** 2, normal(5, 7) * 2
    )


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize(
    "case", [case for case in LOSSES if case[2] == "any"], ids=lambda case: repr(case[0])
)
def test_second_derivatives_of_losses(case: Any, reduction: str) -> None:
    method, theirs, _ = case
    t, p = normal(4, 6, seed=2), normal(4, 6, seed=3)
    how = core.Sum if reduction == "sum" else core.Mean
    compare_twice(
        lambda x: core.loss_expr(method, how, t, x * x),
        lambda x: theirs(x * x, torch.from_numpy(t), reduction),
        p,
    )
