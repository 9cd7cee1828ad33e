"""Cost over size: a plot on which a cliff would show.

    python bench/sweep.py --out docs/sweep.png

Elementwise functions, reductions and softmax from 10 to 10^7 elements, and matrix products from 8^3 to 2048^3
multiplications, on one thread. What is drawn is time per unit of work: as sizes grow it falls, while the cost of a
call is spread, and then stays level, with a step where data leave a cache.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from harness import normal

import hmath
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import tensor

ELEMENTS = [round(10 ** (1 + i / 4)) for i in range(25)]
SIZES = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]

VECTORS: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: tensor.exp(x),
    "GELU": lambda x: core.activation(core.GELU, x),
    "sum": lambda x: x.sum(),
    "softmax": lambda x: core.softmax(x),
    "layer_norm": lambda x: layers.layer_norm(1, 1e-5, x),
}


def seconds(call: Callable[[], Any], least: float = 0.01, turns: int = 5) -> float:
    """Processor time of the quickest of a few samples: noise only ever adds. One thread, so nothing is missed."""
    call()
    count, best = 1, float("inf")
    while turns:
        start = time.thread_time()
        for _ in range(count):
            call()
        elapsed = time.thread_time() - start
        if elapsed < least:
            count *= 2
            continue
        best, turns = min(best, elapsed / count), turns - 1
    return best


def vectors() -> dict[str, list[float]]:
    """Nanoseconds an element, by function and size."""
    found: dict[str, list[float]] = {name: [] for name in VECTORS}
    for n in ELEMENTS:
        x = tensor.from_numpy(normal(n, seed=1))
        for name, function in VECTORS.items():
            found[name].append(seconds(lambda f=function, x=x: f(x)) / n * 1e9)
    return found


def products() -> list[float]:
    """Nanoseconds a thousand multiplications of a matrix product, by size."""
    found = []
    for n in SIZES:
        a, b = tensor.from_numpy(normal(n, n, seed=1)), tensor.from_numpy(normal(n, n, seed=2))
        found.append(seconds(lambda a=a, b=b: a @ b) / n**3 * 1e12)
    return found


def largest_step(times: list[float], sizes: list[int], power: int = 1) -> float:
    """The largest factor by which the cost of all the work grows beyond its size, from one size to the next."""
    total = [t * n**power for t, n in zip(times, sizes, strict=True)]
    return max(
        (b / a) / (m / n) ** power for a, b, n, m in zip(total, total[1:], sizes, sizes[1:], strict=False)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("sweep.png"))
    options = parser.parse_args()
    hmath.set_num_threads(1)

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, times in vectors().items():
        left.plot(ELEMENTS, times, marker=".", label=name)
        print(f"{name:12} largest step x{largest_step(times, ELEMENTS):.2f}")
    left.set(
        xscale="log", yscale="log", xlabel="elements", ylabel="ns per element", title="one call on n elements"
    )
    left.legend()
    times = products()
    print(f"{'matmul':12} largest step x{largest_step(times, SIZES, 3):.2f}")
    right.plot(SIZES, times, marker=".")
    right.set(
        xscale="log", yscale="log", xlabel="n", ylabel="ns per 1000 multiply-adds", title="n x n times n x n"
    )
    figure.savefig(options.out, dpi=120)


if __name__ == "__main__":
    main()
