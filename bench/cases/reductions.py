"""Sums, extremes, softmax, normalisation and losses."""

import numpy as np
import torch
import torch.nn.functional as F
from harness import case, normal, uniform
from sides import ours, ours_arrays, theirs

from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import tensor


def x(*shape):
    return lambda: {"x": normal(*shape, seed=1)}


for label, n in (("1k", 1024), ("64k", 65536), ("1M", 1 << 20)):
    case(
        f"sum_{label}",
        "reduce",
        x(n),
        ours(lambda t: t.sum(), "x"),
        theirs(torch.sum, "x"),
        n,
        quick=label == "1M",
    )
    case(
        f"max_{label}",
        "reduce",
        x(n),
        ours(lambda t: t.max(), "x"),
        theirs(torch.max, "x"),
        n,
        quick=label == "1M",
    )
for label, axis in (("rows", 1), ("columns", 0)):
    case(
        f"sum_{label}_1024x1024",
        "reduce",
        x(1024, 1024),
        ours(lambda t, a=axis: t.sum(a), "x"),
        theirs(lambda t, a=axis: t.sum(a), "x"),
        1 << 20,
    )
case(
    "var_mean_rows_1024x1024",
    "reduce",
    x(1024, 1024),
    ours(lambda t: t.var_mean(1), "x"),
    theirs(lambda t: torch.var_mean(t, 1, correction=0), "x"),
    1 << 20,
    row="var_mean rows",
)

ROWS = {(1024, 1000): "softmax 1024x1000", (16384, 64): "softmax 16384x64"}
for rows, columns in ((1, 10), (1, 1000), (128, 128), (1024, 1000), (16384, 64), (32, 50257)):
    row = ROWS.get((rows, columns), "")
    shape = (columns,) if rows == 1 else (rows, columns)
    for name, ours_function, theirs_function in (
        ("softmax", core.softmax, torch.softmax),
        ("log_softmax", core.log_softmax, torch.log_softmax),
    ):
        case(
            f"{name}_{rows}x{columns}",
            "softmax",
            x(*shape),
            ours(ours_function, "x"),
            theirs(lambda t, f=theirs_function: f(t, -1), "x"),
            rows * columns,
            row=row,
            quick=bool(row),
        )


def norm(name, shape, ours_function, theirs_function, row="", quick=True):
    case(
        f"{name}_{'x'.join(map(str, shape))}",
        "norm",
        x(*shape),
        ours(ours_function, "x"),
        theirs(theirs_function, "x"),
        int(np.prod(shape)),
        row=row,
        quick=quick,
    )


# Neither side applies an affine part: the reference's norms have none.
for rows, columns in ((1, 64), (8, 768), (1024, 768), (4096, 256)):
    large = rows >= 1024
    norm(
        "layer_norm",
        (rows, columns),
        lambda t: layers.layer_norm(1, 1e-5, t),
        lambda t: F.layer_norm(t, t.shape[-1:]),
        "layer_norm" if large else "",
        large,
    )
    norm(
        "rms_norm",
        (rows, columns),
        lambda t: layers.rms_norm(1, 1e-5, t),
        lambda t: F.rms_norm(t, t.shape[-1:], eps=1e-5),
        "rms_norm" if large else "",
        large,
    )
norm(
    "group_norm8",
    (32, 64, 28, 28),
    lambda t: layers.group_norm(8, 1e-5, t),
    lambda t: F.group_norm(t, 8),
    "group_norm",
)
norm("instance_norm", (32, 64, 28, 28), lambda t: layers.instance_norm(1e-5, t), F.instance_norm, quick=False)

CHANNELS = 64


def batch_norm(training):
    mode = layers.Training.TRAINING if training else layers.Training.INFERENCE
    gamma, beta = [1.0] * CHANNELS, [0.0] * CHANNELS
    state = layers.BatchNormState([0.0] * CHANNELS, [1.0] * CHANNELS, 0)

    def theirs_function(t):
        mean, variance = torch.zeros(CHANNELS, dtype=t.dtype), torch.ones(CHANNELS, dtype=t.dtype)
        return F.batch_norm(t, mean, variance, training=training)

    norm(
        "batch_norm_training" if training else "batch_norm_inference",
        (32, CHANNELS, 28, 28),
        lambda t: layers.batch_norm(mode, 0.1, 1e-5, gamma, beta, state, t)[0],
        theirs_function,
        "batch_norm",
    )


batch_norm(True)
batch_norm(False)

LOSSES = {
    "mse": (core.MeanSquaredError, F.mse_loss),
    "l1": (core.MeanAbsoluteError, F.l1_loss),
    "huber": (core.Huber(1.0), F.huber_loss),
    "smooth_l1": (core.SmoothL1(1.0), F.smooth_l1_loss),
    "bce": (core.BinaryCrossEntropy, F.binary_cross_entropy),
}
for label, n in (("32", 32), ("1M", 1 << 20)):

    def pair(n=n):
        return {"t": uniform(n, seed=1), "p": uniform(n, seed=2, low=1e-3, high=1 - 1e-3)}

    for name, (method, theirs_function) in LOSSES.items():
        case(
            f"loss_{name}_{label}",
            "loss",
            pair,
            ours_arrays(lambda t, p, m=method: core.loss(m, core.Mean, t, p), "t", "p"),
            theirs(lambda t, p, f=theirs_function: f(p, t), "t", "p"),
            n,
            row=f"losses {label}",
        )
    case(
        f"loss_bce_logits_{label}",
        "loss",
        pair,
        ours_arrays(lambda t, p: core.binary_cross_entropy_logits(core.Mean, t, p), "t", "p"),
        theirs(lambda t, p: F.binary_cross_entropy_with_logits(p, t), "t", "p"),
        n,
        row=f"losses {label}",
    )
    case(
        f"loss_cosine_{label}",
        "loss",
        pair,
        ours_arrays(lambda t, p: core.loss(core.CosineLoss, core.Mean, t, p), "t", "p"),
        theirs(lambda t, p: 1 - F.cosine_similarity(p, t, dim=0), "t", "p"),
        n,
    )


def ctc(time, classes, length, gradient):
    def inputs():
        logits = torch.from_numpy(normal(time, classes, seed=1))
        return {
            "x": torch.log_softmax(logits, -1).numpy(),
            "t": np.random.default_rng(2).integers(1, classes, length),
        }

    def ours_side(i):
        labels, p = i["t"].tolist(), tensor.from_numpy(i["x"])
        function = core.ctc_loss_gradient if gradient else core.ctc_loss
        return lambda: function(0, labels, p)

    def theirs_side(i):
        p, t = torch.from_numpy(i["x"])[:, None].requires_grad_(gradient), torch.from_numpy(i["t"])[None]

        def forward():
            return F.ctc_loss(p, t, [time], [length], reduction="sum")

        def both():
            p.grad = None
            value = forward()
            value.backward()
            return value, p.grad

        return both if gradient else forward

    kind = "with gradient" if gradient else "forward"
    # PyTorch's gradient is with respect to logits behind log_softmax: other numbers, the same work
    case(
        f"ctc_{kind.replace(' ', '_')}_t{time}_c{classes}_l{length}",
        "ctc",
        inputs,
        ours_side,
        theirs_side,
        time * (2 * length + 1),
        row=f"CTC T500 C64 L50 {kind}" if time == 500 else "",
        tolerance=None if gradient else 1e-9,
    )


for gradient in (False, True):
    ctc(50, 20, 10, gradient)
    ctc(500, 64, 50, gradient)
