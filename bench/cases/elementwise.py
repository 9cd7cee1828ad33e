"""Elementary functions, activations and their derivatives."""

import operator

import torch
import torch.nn.functional as F
from harness import case, normal, uniform
from sides import ours, theirs

from hmath import deeplearning_core as core
from hmath import tensor

SIZES = {"8": 8, "1k": 1024, "32k": 32768, "1M": 1 << 20}


def any_sign(n):
    return lambda: {"x": normal(n, seed=1, scale=2.0)}


def positive(n):
    return lambda: {"x": uniform(n, seed=1, low=1e-3, high=40.0)}


FUNCTIONS = {
    "exp": (tensor.exp, torch.exp, any_sign, "exp, log 1M"),
    "log": (tensor.log, torch.log, positive, "exp, log 1M"),
    "log1p": (tensor.log1p, torch.log1p, positive, "log1p, expm1, softplus, elu 1M"),
    "expm1": (tensor.expm1, torch.expm1, any_sign, "log1p, expm1, softplus, elu 1M"),
    "tanh": (tensor.tanh, torch.tanh, any_sign, "tanh, sigmoid, erf 1M"),
    "sigmoid": (tensor.sigmoid, torch.sigmoid, any_sign, "tanh, sigmoid, erf 1M"),
    "erf": (tensor.erf, torch.erf, any_sign, "tanh, sigmoid, erf 1M"),
    "erfc": (tensor.erfc, torch.erfc, any_sign, ""),
    "sin": (tensor.sin, torch.sin, any_sign, ""),
    "cos": (tensor.cos, torch.cos, any_sign, ""),
    "tan": (tensor.tan, torch.tan, any_sign, ""),
    "sqrt": (tensor.sqrt, torch.sqrt, positive, ""),
    "reciprocal": (tensor.reciprocal, torch.reciprocal, positive, ""),
}
for name, (ours_function, theirs_function, inputs, row) in FUNCTIONS.items():
    for label, n in SIZES.items():
        case(
            f"{name}_{label}",
            "elementwise",
            inputs(n),
            ours(ours_function, "x"),
            theirs(theirs_function, "x"),
            n,
            row=row if label == "1M" else "",
            quick=label == "1M",
        )

ACTIVATIONS = {
    "relu": (core.ReLU, F.relu, ""),
    "leaky_relu": (core.LeakyReLU(0.01), F.leaky_relu, ""),
    "elu": (core.ELU(1.0), F.elu, "log1p, expm1, softplus, elu 1M"),
    "selu": (core.SELU, F.selu, ""),
    "gelu": (core.GELU, F.gelu, "gelu 1M"),
    "silu": (core.SiLU, F.silu, "silu 1M"),
    "mish": (core.Mish, F.mish, "mish 1M"),
    "softplus": (core.Softplus, F.softplus, "log1p, expm1, softplus, elu 1M"),
    "softsign": (core.Softsign, F.softsign, ""),
    "hardsigmoid": (core.HardSigmoid, F.hardsigmoid, ""),
    "hardswish": (core.HardSwish, F.hardswish, ""),
}
for name, (method, theirs_function, row) in ACTIVATIONS.items():
    for label, n in SIZES.items():
        # F.softplus is the identity beyond its threshold of 20, which is an error of 2e-9
        case(
            f"{name}_{label}",
            "activation",
            any_sign(n),
            ours(lambda x, method=method: core.activation(method, x), "x"),
            theirs(theirs_function, "x"),
            n,
            row=row if label == "1M" else "",
            quick=label == "1M",
        )

DERIVATIVES = {
    "gelu": (core.GELU, lambda x: torch.ops.aten.gelu_backward(torch.ones_like(x), x)),
    "silu": (core.SiLU, lambda x: torch.ops.aten.silu_backward(torch.ones_like(x), x)),
}
for name, (method, theirs_function) in DERIVATIVES.items():
    case(
        f"{name}_derivative_1M",
        "activation",
        any_sign(1 << 20),
        ours(lambda x, method=method: core.activation_derivative(method, x), "x"),
        theirs(theirs_function, "x"),
        1 << 20,
        quick=False,
    )

OPERATORS = {
    "add": (operator.add, torch.add),
    "divide": (operator.truediv, torch.divide),
    "power": (operator.pow, torch.pow),
}
for name, (ours_function, theirs_function) in OPERATORS.items():
    for label, n in SIZES.items():
        case(
            f"{name}_{label}",
            "elementwise",
            lambda n=n: {
                "x": uniform(n, seed=1, low=1e-3, high=40.0),
                "y": uniform(n, seed=2, low=0.5, high=3.0),
            },
            ours(ours_function, "x", "y"),
            theirs(theirs_function, "x", "y"),
            n,
            quick=label == "1M",
        )
