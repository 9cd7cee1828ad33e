"""Train in sixteen bits: products in FP16, master weights in double, and a loss scale that adapts.

A gradient of 1e-8 is nothing in FP16, so the loss is multiplied by a scale before it is differentiated. The
scale starts far too large on purpose: the first steps overflow and are skipped, the scale is halved each
time, and after a run of good steps it doubles again.
"""

from __future__ import annotations

import numpy as np
from digits_data import CLASSES, SIDE, Digits

import hmath
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_precision as precision
from hmath import random

PIXELS, HIDDEN = SIDE * SIDE, 32
EPOCHS, BATCH, RATE = 12, 32, 0.5
FIRST_SCALE, GROWTH_INTERVAL = 2.0**24, 64


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left · right, both rounded to FP16. An hmath.Overflow where a number does not fit."""
    return precision.reduced_gemm(precision.FP16, np.ascontiguousarray(left), np.ascontiguousarray(right))


def forward(weights: list[np.ndarray], images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hidden layer and the logits of a network with one hidden layer."""
    first, first_bias, second, second_bias = weights
    hidden = core.activation(core.ReLU, product(images, first.T) + first_bias)
    return hidden, product(hidden, second.T) + second_bias


def backward(weights: list[np.ndarray], batch: Digits, scale: float) -> list[np.ndarray]:
    """Gradients of scale · (mean cross entropy), products in FP16 as well."""
    hidden, logits = forward(weights, batch.images)
    delta = (core.softmax(logits) - batch.one_hot) * (scale / len(batch))
    hidden_delta = product(delta, weights[2]) * core.activation_derivative(core.ReLU, hidden)
    return [
        product(hidden_delta.T, batch.images),
        hidden_delta.sum(axis=0),
        product(delta.T, hidden),
        delta.sum(axis=0),
    ]


def step(
    weights: list[np.ndarray], scaler: precision.LossScaler, batch: Digits
) -> tuple[list[np.ndarray], precision.LossScaler, bool]:
    """One update, or none where the scaled gradients do not fit."""
    try:
        gradients = backward(weights, batch, scaler.scale)
        flat = np.concatenate([gradient.ravel() for gradient in gradients])
        finite, flat = precision.unscale_gradients(scaler, flat)
    except hmath.Overflow:
        finite = False
    scaler = precision.update_loss_scaler(finite, scaler)
    if finite:
        parts = np.split(flat, np.cumsum([weight.size for weight in weights])[:-1])
        weights = [w - RATE * g.reshape(w.shape) for w, g in zip(weights, parts, strict=True)]
    return weights, scaler, finite


def initial_weights(rng: random.RNG) -> tuple[list[np.ndarray], random.RNG]:
    first, rng = layers.initialize_weights(layers.KaimingNormal, PIXELS, HIDDEN, [HIDDEN, PIXELS], rng)
    second, rng = layers.initialize_weights(layers.XavierNormal, HIDDEN, CLASSES, [CLASSES, HIDDEN], rng)
    return [first.numpy(), np.zeros(HIDDEN), second.numpy(), np.zeros(CLASSES)], rng


def train(digits: Digits, rng: random.RNG) -> tuple[list[np.ndarray], list[float], int]:
    """The trained weights, the scale at every step, and how many steps were skipped."""
    weights, rng = initial_weights(rng)
    scaler = precision.initial_loss_scaler(FIRST_SCALE, GROWTH_INTERVAL)
    scales, skipped = [], 0
    for _ in range(EPOCHS):
        order, rng = random.permutation(len(digits), rng)
        for start in range(0, len(order), BATCH):
            scales.append(scaler.scale)
            weights, scaler, finite = step(weights, scaler, digits[order[start : start + BATCH]])
            skipped += not finite
    return weights, scales, skipped


def accuracy(weights: list[np.ndarray], digits: Digits) -> float:
    _, logits = forward(weights, digits.images)
    return float(np.mean(logits.argmax(axis=1) == digits.labels))
