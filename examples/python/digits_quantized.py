"""Run the trained network on 8-bit integers.

Weights are quantized once, each output channel with a scale of its own; activations are quantized as they
come. A convolution is a product of matrices too: its left operand has a row for every pixel, the 3 x 3
patch around it.
"""

from __future__ import annotations

import numpy as np
from digits_data import SIDE, Digits
from digits_network import FEATURES, Parameters, planes

from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_precision as precision

QuantizedLayer = tuple[precision.QuantizedTensor, np.ndarray]


def quantize(parameters: Parameters) -> list[QuantizedLayer]:
    """(weights as [inputs, outputs] with one scale an output, bias) of each layer."""
    quantized = []
    for weights, bias in zip(parameters[0::2], parameters[1::2], strict=True):
        rows = weights.numpy().reshape(weights.shape[0], -1)
        columns = np.ascontiguousarray(rows.T)
        quantized.append((precision.quantize(precision.Symmetric, 1, columns), bias.numpy()))
    return quantized


def patches(images: np.ndarray) -> np.ndarray:
    """[N, C, H, W] to [N·H·W, C·3·3], zeros around the edge."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.ascontiguousarray(windows.transpose(0, 2, 3, 1, 4, 5)).reshape(-1, images.shape[1] * 9)


def product(inputs: np.ndarray, layer: QuantizedLayer) -> np.ndarray:
    """inputs · weights + bias, the product in exact integers."""
    weights, bias = layer
    return precision.int8_gemm(precision.quantize(precision.Symmetric, 0, inputs), weights).numpy() + bias


def predict(network: list[QuantizedLayer], digits: Digits) -> np.ndarray:
    """The logits of the quantized network."""
    hidden, side = planes(digits), SIDE
    for layer in network[:2]:
        flat = core.activation(core.ReLU, product(patches(hidden), layer))
        maps = flat.reshape(len(digits), side, side, -1).transpose(0, 3, 1, 2)
        hidden = layers.pooling(layers.MaxPool, [2, 2], [2, 2], [0, 0], np.ascontiguousarray(maps))
        side //= 2
    return product(hidden.reshape(len(digits), FEATURES), network[2])
