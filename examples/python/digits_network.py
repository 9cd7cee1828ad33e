"""A small convolutional network as a graph, and its training step as one program.

The graph is written once, for a batch of fixed size. Its gradients are nodes as well, and so is Adam: loss,
gradients and update compile to one program, which takes a batch, the parameters and Adam's state, and returns the
loss and the next parameters and state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from digits_data import CLASSES, SIDE, Digits

from hmath import autodiff as ad
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import optim, random, tensor

CHANNELS = (16, 32)
FEATURES = CHANNELS[1] * (SIDE // 4) ** 2
SHAPES = {
    "first weights": (CHANNELS[0], 1, 3, 3),
    "first bias": (CHANNELS[0],),
    "second weights": (CHANNELS[1], CHANNELS[0], 3, 3),
    "second bias": (CHANNELS[1],),
    "dense weights": (CLASSES, FEATURES),
    "dense bias": (CLASSES,),
}
SAME = layers.ConvOptions(stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
EPOCHS, BATCH, RATE = 24, 32, 4e-3

Parameters = list[tensor.Tensor]


def initial_parameters(rng: random.RNG) -> tuple[Parameters, random.RNG]:
    """Kaiming's initialisation for weights, zeros for biases."""
    parameters = []
    for shape in SHAPES.values():
        if len(shape) == 1:
            parameters.append(tensor.zeros(list(shape)))
            continue
        fan_in = math.prod(shape[1:])
        weights, rng = layers.initialize_weights(layers.KaimingNormal, fan_in, shape[0], list(shape), rng)
        parameters.append(weights)
    return parameters, rng


def logits(images: Any, parameters: list[Any]) -> Any:
    """Two blocks of convolution, ReLU and 2 x 2 maximum pooling, and a dense layer."""
    hidden = images
    for weights, bias in (parameters[0:2], parameters[2:4]):
        hidden = ad.activation(core.ReLU, ad.convolution(SAME, hidden, weights, bias))
        hidden = ad.pooling(layers.MaxPool, [2, 2], [2, 2], [0, 0], hidden)
    return ad.dense(ad.reshape(hidden, (-1, FEATURES)), *parameters[4:6])


def variables() -> list[Any]:
    return [ad.variable(name, shape) for name, shape in SHAPES.items()]


def training_step(total_steps: int) -> ad.Program:
    """(images, one-hot target, parameters, state) to (loss, parameters, state).

    The first number of Adam's state counts the steps; the rate falls along a cosine of it.
    """
    images, target = ad.variable("images", (BATCH, 1, SIDE, SIDE)), ad.variable("target", (BATCH, CLASSES))
    parameters, state = variables(), optim.adam_variables(list(SHAPES.values()))
    loss = -ad.sum(target * ad.log_softmax(logits(images, parameters))) / BATCH
    gradients = ad.gradient(loss, parameters)
    updated, next_state = optim.adam(
        parameters, gradients, state, rate=optim.cosine(state[0], RATE, total_steps)
    )
    return ad.compile([loss, *updated, *next_state], [images, target, *parameters, *state])


def planes(digits: Digits) -> np.ndarray:
    """Images as [N, 1, 8, 8]."""
    return digits.images.reshape(-1, 1, SIDE, SIDE)


def train(
    digits: Digits, rng: random.RNG, report: Callable[[float], None]
) -> tuple[Parameters, list[float], random.RNG]:
    """The trained parameters and the mean loss of every epoch."""
    batches = len(digits) // BATCH
    parameters, rng = initial_parameters(rng)
    state, step = optim.adam_state(parameters), training_step(EPOCHS * batches)
    losses = []
    for _ in range(EPOCHS):
        order, rng = random.permutation(len(digits), rng)
        total = 0.0
        for start in range(0, batches * BATCH, BATCH):
            batch = digits[order[start : start + BATCH]]
            loss, *rest = step(planes(batch), batch.one_hot, *parameters, *state)
            parameters, state = rest[: len(SHAPES)], rest[len(SHAPES) :]
            total += loss
        losses.append(total / batches)
        report(losses[-1])
    return parameters, losses, rng


def predict(parameters: Parameters, digits: Digits) -> tensor.Tensor:
    """Logits of any number of images, by the layers themselves: no graph is needed to look at digits."""
    hidden = tensor.from_numpy(planes(digits))
    for weights, bias in (parameters[0:2], parameters[2:4]):
        hidden = core.activation(core.ReLU, layers.convolution(SAME, hidden, weights, bias))
        hidden = layers.pooling(layers.MaxPool, [2, 2], [2, 2], [0, 0], hidden)
    return layers.dense(hidden.reshape(len(digits), FEATURES), *parameters[4:6])
