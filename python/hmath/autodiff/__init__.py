"""Graphs of operations, their derivatives, and programs made of them.

    >>> from hmath import autodiff as ad
    >>> x, y = ad.variable("x"), ad.variable("y")
    >>> z = ad.sin(x) * y + x**2
    >>> ad.value_and_gradient(z, {x: 0.0, y: 3.0}, [x, y])
    (0.0, [3.0, 0.0])

An :class:`Expr` is a scalar node, an :class:`ADTensor` a node with a shape. Nodes are immutable; shapes are
checked when a node is made, numbers when it is evaluated. Operands broadcast as NumPy's do; a number, a
:class:`~hmath.tensor.Tensor` or an array of float64 among them is a constant.

:func:`gradient` gives nodes, which can be differentiated again. :func:`compile` makes a :class:`Program`,
which runs a whole training step in one call; :func:`evaluate` and its relatives compile once and remember
the program on the output.

A failure while numbers are computed is the operation's own error, with the node's operation and formula named:
``autodiff.log: value[3] = -1.0; required > 0; in log(x - y)``.
"""

from __future__ import annotations

from .._surface import shown
from ._custom import custom
from ._derivatives import gradient, pull_back, push_forward
from ._dual import Dual
from ._elementwise import (
    absolute,
    activation,
    cos,
    equal,
    erf,
    exp,
    expm1,
    less,
    less_equal,
    log,
    log1p,
    maximum,
    minimum,
    power,
    reciprocal,
    select,
    sign,
    sin,
    sqrt,
    square,
    tan,
    tanh,
)
from ._layers import (
    batch_norm,
    convolution,
    dense,
    dropout,
    group_norm,
    instance_norm,
    layer_norm,
    log_softmax,
    multihead_attention,
    pooling,
    rms_norm,
    softmax,
    sparsemax,
    transposed_convolution,
)
from ._nodes import (
    ADTensor,
    Expr,
    Node,
    broadcast_to,
    concatenate,
    constant,
    element,
    embedding,
    gather,
    matmul,
    max,
    mean,
    norm,
    reshape,
    stack,
    sum,
    to_dot,
    transpose,
    variable,
)
from ._programs import Program, compile, evaluate, jacobian, jvp, value_and_gradient

__all__ = [
    "ADTensor",
    "Dual",
    "Expr",
    "Node",
    "Program",
    "absolute",
    "activation",
    "batch_norm",
    "broadcast_to",
    "compile",
    "concatenate",
    "constant",
    "convolution",
    "cos",
    "custom",
    "dense",
    "dropout",
    "element",
    "embedding",
    "equal",
    "erf",
    "evaluate",
    "exp",
    "expm1",
    "gather",
    "gradient",
    "group_norm",
    "instance_norm",
    "jacobian",
    "jvp",
    "layer_norm",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_softmax",
    "matmul",
    "max",
    "maximum",
    "mean",
    "minimum",
    "multihead_attention",
    "norm",
    "pooling",
    "power",
    "pull_back",
    "push_forward",
    "reciprocal",
    "reshape",
    "rms_norm",
    "select",
    "sign",
    "sin",
    "softmax",
    "sparsemax",
    "sqrt",
    "square",
    "stack",
    "sum",
    "tan",
    "tanh",
    "to_dot",
    "transpose",
    "transposed_convolution",
    "value_and_gradient",
    "variable",
]

__dir__ = shown(__all__)

# What is public belongs to this module, wherever it is written: pickles and representations say so. (Within the
# package a leading underscore tells helpers from functions: failures name the function that was called.)
for _name in __all__:
    globals()[_name].__module__ = __name__
