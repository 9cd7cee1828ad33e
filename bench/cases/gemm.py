"""Matrix products and dense layers against PyTorch (MKL)."""

import torch
import torch.nn.functional as F
from harness import case, normal
from sides import ours, theirs

from hmath import deeplearning_layers as layers
from hmath import tensor


def product(m: int, k: int, n: int, row: str = "", quick: bool = True) -> None:
    name = f"matmul_{m}" if m == k == n else f"matmul_{m}x{k}x{n}"
    case(
        name,
        "gemm",
        lambda: {"a": normal(m, k, seed=1), "b": normal(k, n, seed=2)},
        ours(tensor.matmul, "a", "b"),
        theirs(torch.mm, "a", "b"),
        2.0 * m * k * n,
        unit="flop",
        row=row,
        quick=quick,
    )


for size in (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048):
    small, large = 64 <= size <= 256, size in (512, 1024, 2048)
    product(
        size,
        size,
        size,
        "matmul 64-256" if small else "matmul 512, 1024, 2048" if large else "",
        quick=size in (64, 128, 256, 512, 1024),
    )
for m, k, n in (
    (1, 1024, 1024),
    (8, 1024, 1024),
    (32, 1024, 1024),
    (1024, 1024, 8),
    (1024, 64, 1024),
    (64, 4096, 64),
    (3136, 576, 64),
    (128, 784, 512),
):
    product(m, k, n, quick=False)

case(
    "batched_matmul_64x64x64x64",
    "gemm",
    lambda: {"a": normal(64, 64, 64, seed=1), "b": normal(64, 64, 64, seed=2)},
    ours(tensor.matmul, "a", "b"),
    theirs(torch.bmm, "a", "b"),
    2.0 * 64**4,
    unit="flop",
)


def dense(m: int, k: int, n: int, row: str = "", quick: bool = True) -> None:
    def prepare(inputs):
        x, w = tensor.from_numpy(inputs["x"]), tensor.from_numpy(inputs["w"])
        b = tensor.from_numpy(inputs["b"])
        return lambda: layers.dense(x, w, b)

    case(
        f"dense_{m}x{k}x{n}",
        "dense",
        lambda: {"x": normal(m, k, seed=1), "w": normal(n, k, seed=2), "b": normal(n, seed=3)},
        prepare,
        theirs(F.linear, "x", "w", "b"),
        2.0 * m * k * n,
        unit="flop",
        row=row,
        quick=quick,
    )


for m in (1, 8, 64, 512):
    dense(m, 1024, 1024, f"dense {m}x1024x1024")
for m, k, n in ((1, 64, 64), (8, 64, 64), (1, 256, 256), (32, 784, 128), (256, 784, 512)):
    dense(m, k, n, quick=False)
