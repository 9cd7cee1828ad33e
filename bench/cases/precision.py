"""Integer and sixteen-bit products, and quantization."""

import numpy as np
import torch
from harness import case, normal
from sides import ours, theirs

from hmath import deeplearning_precision as precision


def integers(rows, columns, seed):
    return np.random.default_rng(seed).integers(-127, 128, (rows, columns), dtype=np.int8)


def int8(m, k, n, row):
    def ours_side(inputs):
        # values that quantize to exactly these integers, with scale 1
        a, b = (
            precision.quantize(precision.Symmetric, None, inputs[name].astype(np.float64)) for name in "ab"
        )
        return lambda: precision.int8_gemm(a, b)

    def inputs():
        a, b = integers(m, k, 1), integers(k, n, 2)
        a[0, 0] = b[0, 0] = 127
        return {"a": a, "b": b}

    case(
        f"int8_{m}x{k}x{n}",
        "precision",
        inputs,
        ours_side,
        theirs(torch._int_mm, "a", "b"),
        2.0 * m * k * n,
        unit="flop",
        row=row,
        tolerance=0.0,
    )


for size in (256, 512, 1024):
    int8(size, size, size, "INT8 GEMM 256-1024")
for rows in (1, 4, 8):
    int8(rows, 1024, 1024, "INT8 GEMM M <= 8")
int8(17, 1024, 1024, "")


def reduced(method, dtype, m, k, n, row=""):
    name = "bf16" if dtype is torch.bfloat16 else "fp16"

    def theirs_side(inputs):
        # hmath rounds its operands on each call, so PyTorch's conversion belongs to its side too
        a, b = torch.from_numpy(inputs["a"]), torch.from_numpy(inputs["b"])
        return lambda: torch.mm(a.to(dtype), b.to(dtype)).double()

    # PyTorch rounds the sum to sixteen bits as well
    case(
        f"{name}_{m}x{k}x{n}",
        "precision",
        lambda: {"a": normal(m, k, seed=1), "b": normal(k, n, seed=2)},
        ours(lambda a, b: precision.reduced_gemm(method, a, b), "a", "b"),
        theirs_side,
        2.0 * m * k * n,
        unit="flop",
        row=row,
        tolerance=1e-2,
    )


for size in (256, 512, 1024):
    reduced(precision.BF16, torch.bfloat16, size, size, size, "BF16 GEMM")
    reduced(precision.FP16, torch.float16, size, size, size, "FP16 GEMM")


def quantized(x):
    scale = x.abs().max() / 127
    return torch.quantize_per_tensor(x.float(), float(scale), 0, torch.qint8)


case(
    "quantize_1M",
    "precision",
    lambda: {"x": normal(1 << 20, seed=1)},
    ours(lambda x: precision.quantize(precision.Symmetric, None, x), "x"),
    theirs(quantized, "x"),
    1 << 20,
    tolerance=None,
)
