"""Convolution, its gradients, and pooling."""

import numpy as np
import torch
import torch.nn.functional as F
from harness import case, normal
from sides import ours, theirs

from hmath import autodiff as ad
from hmath import deeplearning_layers as layers


def convolution(name, shape, out_channels, kernel, stride=1, padding=0, groups=1, row="", quick=True):
    batch, channels, *spatial = shape
    axes = len(spatial)
    options = layers.ConvOptions([stride] * axes, [padding] * axes, [1] * axes, groups)
    function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[axes]
    extents = [(extent + 2 * padding - kernel) // stride + 1 for extent in spatial]
    work = 2.0 * batch * out_channels * (channels // groups) * kernel**axes
    for extent in extents:
        work *= extent

    def inputs():
        return {
            "x": normal(*shape, seed=1),
            "w": normal(out_channels, channels // groups, *[kernel] * axes, seed=2),
            "b": normal(out_channels, seed=3),
        }

    case(
        name,
        "convolution",
        inputs,
        ours(lambda x, w, b: layers.convolution(options, x, w, b), "x", "w", "b"),
        theirs(
            lambda x, w, b: function(x, w, b, stride=stride, padding=padding, groups=groups), "x", "w", "b"
        ),
        work,
        unit="flop",
        row=row,
        quick=quick,
    )


for batch in (1, 8):
    convolution(
        f"conv2d_3x3_64x56x56_n{batch}",
        (batch, 64, 56, 56),
        64,
        3,
        padding=1,
        row=f"conv2d 3x3 64x56x56 n{batch}",
    )
    convolution(
        f"conv2d_3x3_128x28x28_n{batch}",
        (batch, 128, 28, 28),
        128,
        3,
        padding=1,
        row=f"conv2d 3x3 128x28x28 n{batch}",
    )
    convolution(f"conv2d_1x1_256x14x14_n{batch}", (batch, 256, 14, 14), 256, 1, row="conv2d 1x1 256x14x14")
convolution("conv2d_7x7s2_3x224x224", (1, 3, 224, 224), 64, 7, stride=2, padding=3, row="conv2d 7x7 s2")
convolution("conv2d_5x5_1x28x28_n32", (32, 1, 28, 28), 8, 5, quick=False)
convolution("conv2d_3x3_3x8x8", (1, 3, 8, 8), 4, 3, padding=1, quick=False)
convolution("depthwise_3x3_64x56x56_n1", (1, 64, 56, 56), 64, 3, padding=1, groups=64, row="depthwise 3x3")
convolution(
    "depthwise_3x3_128x28x28_n8", (8, 128, 28, 28), 128, 3, padding=1, groups=128, row="depthwise 3x3"
)
for batch, channels, length, out_channels, kernel in (
    (1, 64, 1024, 64, 3),
    (8, 64, 1024, 64, 3),
    (8, 80, 500, 128, 7),
):
    convolution(
        f"conv1d_{kernel}_{channels}x{length}_n{batch}",
        (batch, channels, length),
        out_channels,
        kernel,
        padding=kernel // 2,
        row="conv1d",
    )
for channels in (16, 32):
    convolution(
        f"conv3d_3_{channels}x16x16x16", (1, channels, 16, 16, 16), channels, 3, padding=1, row="conv3d"
    )


def gradients(name, shape, out_channels, kernel, stride=1, padding=0, quick=True):
    """The gradient with respect to the input, and that with respect to the weights, each by itself."""
    batch, channels, height, width = shape
    options = layers.ConvOptions([stride] * 2, [padding] * 2, [1] * 2, 1)
    weights = (out_channels, channels, kernel, kernel)
    result = (
        batch,
        out_channels,
        *((extent + 2 * padding - kernel) // stride + 1 for extent in (height, width)),
    )
    work = 2.0 * batch * out_channels * channels * kernel**2 * result[2] * result[3]

    def inputs():
        return {"x": normal(*shape, seed=1), "w": normal(*weights, seed=2), "u": normal(*result, seed=4)}

    def program(wanted):
        """The gradient is linear in the other operand and in u, and does not look at its own."""
        x, w, u = ad.variable("x", shape), ad.variable("w", weights), ad.variable("u", result)
        y = ad.convolution(options, x, w, ad.constant(np.zeros(out_channels)))
        own, other = (x, w) if wanted == "x" else (w, x)
        return ad.compile(ad.gradient(ad.sum(y * u), [own]), [other, u])

    def peer(x, w, u, mask):
        strides, paddings = [stride] * 2, [padding] * 2
        return torch.ops.aten.convolution_backward(
            u, x, w, None, strides, paddings, [1, 1], False, [0, 0], 1, mask
        )

    for wanted, of in (("x", "input"), ("w", "weights")):
        mask = [wanted == "x", wanted == "w", False]
        case(
            f"{name}_{of}_gradient",
            "convolution",
            inputs,
            lambda i, wanted=wanted: ours(program(wanted), "xw".replace(wanted, ""), "u")(i),
            theirs(
                lambda x, w, u, mask=mask: [g for g in peer(x, w, u, mask) if g is not None], "x", "w", "u"
            ),
            work,
            unit="flop",
            row="convolution gradients",
            quick=quick,
        )


for batch in (1, 8):
    gradients(f"conv2d_3x3_64x56x56_n{batch}", (batch, 64, 56, 56), 64, 3, padding=1)
    gradients(f"conv2d_3x3_128x28x28_n{batch}", (batch, 128, 28, 28), 128, 3, padding=1)
    gradients(f"conv2d_1x1_256x14x14_n{batch}", (batch, 256, 14, 14), 256, 1)
gradients("conv2d_7x7s2_3x224x224", (1, 3, 224, 224), 64, 7, stride=2, padding=3)

TRANSPOSED = layers.ConvOptions([2, 2], [1, 1], [1, 1], 1)
case(
    "transposed_4x4s2_64x28x28",
    "convolution",
    lambda: {"x": normal(1, 64, 28, 28, seed=1), "w": normal(64, 32, 4, 4, seed=2), "b": normal(32, seed=3)},
    ours(lambda x, w, b: layers.transposed_convolution([0, 0], TRANSPOSED, x, w, b), "x", "w", "b"),
    theirs(lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, padding=1), "x", "w", "b"),
    2.0 * 64 * 28 * 28 * 32 * 16,
    unit="flop",
    row="transposed convolution",
)


def pooling(name, mode, function, kernel, stride, padding, row=""):
    shape = (8, 64, 56, 56)
    case(
        f"{name}_pool_{kernel}s{stride}_8x64x56x56",
        "pooling",
        lambda: {"x": normal(*shape, seed=1)},
        ours(lambda x: layers.pooling(mode, [kernel] * 2, [stride] * 2, [padding] * 2, x), "x"),
        theirs(lambda x: function(x, kernel, stride, padding), "x"),
        8 * 64 * 56 * 56,
        row=row,
        quick=bool(row),
    )


def average(x, kernel, stride, padding):
    return F.avg_pool2d(x, kernel, stride, padding, count_include_pad=False)


pooling("max", layers.MaxPool, F.max_pool2d, 2, 2, 0, "max pooling 2x2")
pooling("average", layers.AveragePool, average, 2, 2, 0, "average pooling 2x2")
pooling("max", layers.MaxPool, F.max_pool2d, 3, 2, 1)
pooling("average", layers.AveragePool, average, 3, 1, 1)
case(
    "global_average_pool_8x64x56x56",
    "pooling",
    lambda: {"x": normal(8, 64, 56, 56, seed=1)},
    ours(lambda x: layers.global_pooling(layers.AveragePool, x), "x"),
    theirs(lambda x: F.adaptive_avg_pool2d(x, 1), "x"),
    8 * 64 * 56 * 56,
    quick=False,
)
