"""Peak memory of an operation beyond its inputs and its result.

    python bench/memory.py --out docs/memory.md

Each operation runs in a process of its own; what is reported is how far the process's peak resident size rises above
inputs and result, in MB, beside the size of inputs and result.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from harness import normal

from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_precision as precision
from hmath import tensor


def t(*shape: int) -> Any:
    return tensor.from_numpy(normal(*shape, seed=1))


SAME = layers.ConvOptions([1, 1], [1, 1], [1, 1], 1)
CASES: dict[str, tuple[Any, Any]] = {
    "exp, 8M elements": (lambda: (t(1 << 23),), tensor.exp),
    "GELU, 8M elements": (lambda: (t(1 << 23),), lambda x: core.activation(core.GELU, x)),
    "softmax, 8192 x 1024": (lambda: (t(8192, 1024),), core.softmax),
    "sum, 8M elements": (lambda: (t(1 << 23),), lambda x: x.sum()),
    "layer_norm, 8192 x 1024": (lambda: (t(8192, 1024),), lambda x: layers.layer_norm(1, 1e-5, x)),
    "matmul, 2048": (lambda: (t(2048, 2048), t(2048, 2048)), tensor.matmul),
    "convolution 3x3, 8 x 64 x 112 x 112": (
        lambda: (t(8, 64, 112, 112), t(64, 64, 3, 3)),
        lambda x, w: layers.convolution(SAME, x, w, [0.0] * 64),
    ),
    "pooling 2x2, 8 x 64 x 224 x 224": (
        lambda: (t(8, 64, 224, 224),),
        lambda x: layers.pooling(layers.MaxPool, [2, 2], [2, 2], [0, 0], x),
    ),
    "attention, 2048 x 64": (
        lambda: (t(2048, 64), t(2048, 64), t(2048, 64)),
        lambda q, k, v: layers.scaled_dot_product_attention(q, k, v, None, None),
    ),
    "CTC, T 20000, C 64, L 500": (
        lambda: (core.log_softmax(t(20000, 64)),),
        lambda p: core.ctc_loss_gradient(0, [1 + i % 63 for i in range(500)], p),
    ),
    "quantize, 8M elements": (
        lambda: (t(1 << 23),),
        lambda x: precision.quantize(precision.Symmetric, None, x),
    ),
    "reduced_gemm, 2048": (
        lambda: (t(2048, 2048), t(2048, 2048)),
        lambda a, b: precision.reduced_gemm(precision.BF16, a, b),
    ),
}


PAGE = [
    "# Memory",
    "",
    "Made by `python bench/memory.py`: how far the resident memory of a process rises above the inputs and the",
    "result of one operation. Large products pack blocks of bounded size; a convolution copies its images once into a",
    "padded buffer, those in flight at one time; attention holds a tile of 64 queries; CTC's program is O(T·L).",
    "A quantized result is a byte an element, which this table counts as beyond.",
    "",
]


def status(field: str) -> float:
    """A line of /proc/self/status, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def forget_peak() -> None:
    """Start the peak resident size (VmHWM) over from here."""
    Path("/proc/self/clear_refs").write_text("5")


def megabytes(x: Any) -> float:
    if isinstance(x, (tuple, list)):
        return sum(map(megabytes, x))
    return x.size * 8 / 2**20 if hasattr(x, "size") else 0.0


def run(name: str) -> None:
    make, operate = CASES[name]
    inputs = make()
    gc.collect()
    forget_peak()
    before = status("VmRSS")
    result = operate(*inputs)
    print(megabytes(inputs), megabytes(result), status("VmHWM") - before - megabytes(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", help="run this one here")
    parser.add_argument("--out", type=Path, default=Path("memory.md"))
    options = parser.parse_args()
    if options.case:
        run(options.case)
        return
    lines = ["| operation | inputs, MB | result, MB | beyond, MB |", "|---|---|---|---|"]
    for name in CASES:
        command = [sys.executable, __file__, "--case", name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        inputs, result, beyond = map(float, done.stdout.split())
        lines.append(f"| {name} | {inputs:.0f} | {result:.0f} | {beyond:.1f} |")
    options.out.write_text("\n".join([*PAGE, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
