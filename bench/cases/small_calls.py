"""The cost of one small call from Python: what a program that calls often pays."""

import numpy as np
import torch
import torch.nn.functional as F
from harness import case, normal
from sides import ours, theirs

from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import tensor

ROW = "tiny calls from Python"


def call(name, inputs, ours_side, theirs_side, **details):
    case(f"call_{name}", "small calls", inputs, ours_side, theirs_side, 1, unit="call", row=ROW, **details)


def one():
    return {"x": np.array(0.3)}


call(
    "activation_float",
    one,
    lambda i: (lambda x: lambda: core.activation(core.Sigmoid, x))(float(i["x"])),
    theirs(torch.sigmoid, "x"),
)
call(
    "sigmoid_8",
    lambda: {"x": normal(8, seed=1)},
    ours(lambda x: core.activation(core.Sigmoid, x), "x"),
    theirs(torch.sigmoid, "x"),
)


def layer():
    return {"x": normal(1, 8, seed=1), "w": normal(8, 8, seed=2), "b": normal(8, seed=3)}


call("dense_1x8x8", layer, ours(layers.dense, "x", "w", "b"), theirs(F.linear, "x", "w", "b"))
call(
    "layer_norm_1x8",
    lambda: {"x": normal(1, 8, seed=1)},
    ours(lambda x: layers.layer_norm(1, 1e-5, x), "x"),
    theirs(lambda x: F.layer_norm(x, (8,)), "x"),
)
call(
    "mse_8",
    lambda: {"t": normal(8, seed=1), "p": normal(8, seed=2)},
    ours(lambda t, p: core.loss(core.MeanSquaredError, core.Mean, t, p), "t", "p"),
    theirs(lambda t, p: F.mse_loss(p, t), "t", "p"),
)
call(
    "add_8",
    lambda: {"x": normal(8, seed=1), "y": normal(8, seed=2)},
    ours(lambda x, y: x + y, "x", "y"),
    theirs(lambda x, y: x + y, "x", "y"),
)


def eight():
    return {"x": normal(8, seed=1)}


call("exp_8", eight, ours(tensor.exp, "x"), theirs(torch.exp, "x"))
call("sum_8", eight, ours(lambda x: x.sum(), "x"), theirs(torch.sum, "x"))
call("softmax_8", eight, ours(core.softmax, "x"), theirs(lambda x: torch.softmax(x, -1), "x"))
call(
    "matmul_8x8",
    lambda: {"x": normal(8, 8, seed=1), "y": normal(8, 8, seed=2)},
    ours(lambda x, y: x @ y, "x", "y"),
    theirs(lambda x, y: x @ y, "x", "y"),
)
call("element", eight, ours(lambda x: x[3], "x"), theirs(lambda x: x[3].item(), "x"))
VALUES = [float(i) for i in range(8)]
call(
    "tensor_create_release_8",
    dict,
    lambda i: lambda: tensor.tensor([8], VALUES).close(),
    lambda i: lambda: torch.tensor(VALUES, dtype=torch.float64),
    tolerance=None,
)
