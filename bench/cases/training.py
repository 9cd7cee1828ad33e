"""Training steps (forward, backward and Adam) and a large scalar graph, against PyTorch eager in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from harness import case, normal

from hmath import autodiff as ad
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import optim, tensor

RATE = 1e-3

Shapes = dict[str, tuple[int, ...]]


def initial(shapes: Shapes) -> list[np.ndarray]:
    """Weights of a useful size, biases of 0."""
    return [
        np.zeros(shape)
        if len(shape) == 1
        else normal(*shape, seed=i, scale=1 / math.sqrt(math.prod(shape[1:])))
        for i, shape in enumerate(shapes.values())
    ]


def cross_entropy(logits: Any, target: Any) -> Any:
    return -ad.sum(target * ad.log_softmax(logits)) / float(logits.shape[0])


def ours(model: Callable[..., Any], shapes: Shapes) -> Callable[[dict[str, Any]], Callable[[], Any]]:
    """One compiled program a step; parameters and state go round."""

    def prepare(inputs: dict[str, Any]) -> Callable[[], Any]:
        x, t = tensor.from_numpy(inputs["x"]), tensor.from_numpy(inputs["t"])
        images, target = ad.variable("x", x.shape), ad.variable("t", t.shape)
        parameters = [ad.variable(name, shape) for name, shape in shapes.items()]
        state = optim.adam_variables(list(shapes.values()))
        loss = cross_entropy(model(images, *parameters), target)
        updated, next_state = optim.adam(parameters, ad.gradient(loss, parameters), state, rate=RATE)
        step = ad.compile([loss, *updated, *next_state], [images, target, *parameters, *state])
        values = [tensor.from_numpy(p) for p in initial(shapes)]
        current = [*values, *optim.adam_state(values)]

        def run() -> float:
            result, *current[:] = step(x, t, *current)
            return result

        return run

    return prepare


def theirs(model: Callable[..., Any], shapes: Shapes) -> Callable[[dict[str, Any]], Callable[[], Any]]:
    def prepare(inputs: dict[str, Any]) -> Callable[[], Any]:
        x, t = torch.from_numpy(inputs["x"]), torch.from_numpy(inputs["t"])
        parameters = [torch.from_numpy(p).requires_grad_() for p in initial(shapes)]
        optimiser = torch.optim.Adam(parameters, lr=RATE)

        def run() -> float:
            optimiser.zero_grad()
            loss = F.cross_entropy(model(x, *parameters), t)
            loss.backward()
            optimiser.step()
            return loss.item()

        return run

    return prepare


def training(
    name: str,
    inputs: Callable[[], dict[str, Any]],
    shapes: Shapes,
    ours_model: Callable[..., Any],
    theirs_model: Callable[..., Any],
) -> None:
    # the two sides take as many steps as their speed allows, so their losses differ after a while
    case(
        f"training_step_{name}",
        "training",
        inputs,
        ours(ours_model, shapes),
        theirs(theirs_model, shapes),
        1,
        unit="call",
        row=f"training step {name}",
        tolerance=None,
        steady=True,
    )


def classes(batch: int, count: int, seed: int) -> np.ndarray:
    return np.eye(count)[np.random.default_rng(seed).integers(0, count, batch)]


# ---------------------------------------------------------------- MLP 64-128-64-10, batch 32

MLP = {"w1": (128, 64), "b1": (128,), "w2": (64, 128), "b2": (64,), "w3": (10, 64), "b3": (10,)}


def ours_mlp(x, w1, b1, w2, b2, w3, b3):
    hidden = ad.activation(core.ReLU, ad.dense(x, w1, b1))
    return ad.dense(ad.activation(core.ReLU, ad.dense(hidden, w2, b2)), w3, b3)


def theirs_mlp(x, w1, b1, w2, b2, w3, b3):
    return F.linear(F.relu(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)), w3, b3)


training("MLP", lambda: {"x": normal(32, 64, seed=1), "t": classes(32, 10, 2)}, MLP, ours_mlp, theirs_mlp)

# ---------------------------------------------------------------- CNN on 1x28x28, batch 64

CNN = {"w1": (8, 1, 3, 3), "b1": (8,), "w2": (16, 8, 3, 3), "b2": (16,), "w3": (10, 16 * 49), "b3": (10,)}
SAME = layers.ConvOptions([1, 1], [1, 1], [1, 1], 1)


def ours_cnn(x, w1, b1, w2, b2, w3, b3):
    for w, b in ((w1, b1), (w2, b2)):
        x = ad.pooling(
            layers.MaxPool, [2, 2], [2, 2], [0, 0], ad.activation(core.ReLU, ad.convolution(SAME, x, w, b))
        )
    return ad.dense(ad.reshape(x, (-1, 16 * 49)), w3, b3)


def theirs_cnn(x, w1, b1, w2, b2, w3, b3):
    for w, b in ((w1, b1), (w2, b2)):
        x = F.max_pool2d(F.relu(F.conv2d(x, w, b, padding=1)), 2)
    return F.linear(x.flatten(1), w3, b3)


training(
    "CNN", lambda: {"x": normal(64, 1, 28, 28, seed=1), "t": classes(64, 10, 2)}, CNN, ours_cnn, theirs_cnn
)

# ---------------------------------------------------------------- two pre-norm transformer encoder layers

SEQUENCE, WIDTH, HEADS, INNER = 128, 128, 4, 512
LAYER = {
    "g1": (WIDTH,),
    "c1": (WIDTH,),
    "qkv": (3 * WIDTH, WIDTH),
    "qkvb": (3 * WIDTH,),
    "o": (WIDTH, WIDTH),
    "ob": (WIDTH,),
    "g2": (WIDTH,),
    "c2": (WIDTH,),
    "f1": (INNER, WIDTH),
    "f1b": (INNER,),
    "f2": (WIDTH, INNER),
    "f2b": (WIDTH,),
}
TRANSFORMER = {f"{name}{i}": shape for i in (0, 1) for name, shape in LAYER.items()}


def ours_layer(x, g1, c1, qkv, qkvb, o, ob, g2, c2, f1, f1b, f2, f2b):
    h = ad.dense(ad.layer_norm(1, 1e-5, x) * (1.0 + g1) + c1, qkv, qkvb)
    q, k, v = (h[:, i * WIDTH : (i + 1) * WIDTH] for i in range(3))
    x = x + ad.dense(ad.multihead_attention(HEADS, q, k, v), o, ob)
    h = ad.activation(core.GELU, ad.dense(ad.layer_norm(1, 1e-5, x) * (1.0 + g2) + c2, f1, f1b))
    return x + ad.dense(h, f2, f2b)


def theirs_layer(x, g1, c1, qkv, qkvb, o, ob, g2, c2, f1, f1b, f2, f2b):
    h = F.linear(F.layer_norm(x, (WIDTH,), 1 + g1, c1), qkv, qkvb)
    q, k, v = (t.view(SEQUENCE, HEADS, -1).transpose(0, 1) for t in h.split(WIDTH, 1))
    h = F.scaled_dot_product_attention(q[None], k[None], v[None])[0].transpose(0, 1).reshape(SEQUENCE, WIDTH)
    x = x + F.linear(h, o, ob)
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (WIDTH,), 1 + g2, c2), f1, f1b)), f2, f2b)


def stack(layer):
    return lambda x, *p: layer(layer(x, *p[: len(LAYER)]), *p[len(LAYER) :])


training(
    "transformer",
    lambda: {"x": normal(SEQUENCE, WIDTH, seed=1), "t": classes(SEQUENCE, WIDTH, 2)},
    TRANSFORMER,
    stack(ours_layer),
    stack(theirs_layer),
)

# ---------------------------------------------------------------- a scalar expression of 100,000 nodes

NODES = 100_000


def chain(x, sin):
    """Four operations a turn, none of which loses the numbers."""
    for _ in range(NODES // 4):
        x = sin(x) * 0.9 + x * 0.1
    return x


def ours_chain(inputs):
    x = ad.variable("x")
    y = chain(x, ad.sin)
    program = ad.compile([y, ad.gradient(y, x)], [x])
    start = float(inputs["x"])
    return lambda: program(start)


def theirs_chain(inputs):
    x = torch.tensor(float(inputs["x"]), dtype=torch.float64, requires_grad=True)

    def run():
        x.grad = None
        y = chain(x, torch.sin)
        y.backward()
        return [y.item(), x.grad.item()]

    return run


case(
    "scalar_graph_100k",
    "training",
    lambda: {"x": np.array(0.7)},
    ours_chain,
    theirs_chain,
    NODES,
    unit="elem",
    row="scalar graph 100k nodes",
)
