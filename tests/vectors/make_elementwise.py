"""Writes elementwise.inc and turn.inc: arguments and MPFR's answers for tests/kernels/test_elementwise.c.

python tests/vectors/make_elementwise.py            (needs gmpy2; uses the cases of tests/accuracy/measure.py)
"""

import random
import sys
from pathlib import Path

import gmpy2
import numpy as np
from gmpy2 import mpfr

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "accuracy"))

import measure  # noqa: E402

POINTS = 60  # of each function
HEADER = "/* Made by make_elementwise.py with MPFR; not to be edited. */\n"


def hexadecimal(value: float) -> str:
    return "INFINITY" if value == float("inf") else value.hex()


def place(kernel: str) -> str:
    """The kind and index by which the test reaches a kernel."""
    slope, name = kernel.endswith("'"), kernel.rstrip("'")
    if slope:
        return f"SLOPE, HM_ACTIVATION_{name}"
    if name in measure.ACTIVATIONS_ONLY:
        return f"VALUE, HM_ACTIVATION_{name}"
    return f"UNARY, HM_UNARY_{name}"


def elementwise() -> list[str]:
    rows = []
    for case in measure.cases():
        xs = measure.sample(case, 40_000, np.random.default_rng(7))
        for x in np.random.default_rng(8).choice(xs, POINTS, replace=False).tolist():
            exact = case.reference(mpfr(x))
            if any(abs(x - root) <= 0.5 for root in case.roots):
                continue
            with gmpy2.context(gmpy2.ieee(64)):
                rounded = float(+exact)
            numbers = f"{case.parameter!r}, {x.hex()}, 0.0, {hexadecimal(rounded)}, {case.bound}"
            rows.append(f'    {{"{case.name}", {place(case.kernel)}, {numbers}}},')
    return rows


def powers() -> list[str]:
    rows = []
    rng = random.Random(9)
    while len(rows) < 200:
        x = rng.uniform(1, 2) * 2.0 ** rng.randint(-1070, 1020) if rng.random() < 0.5 else rng.uniform(0.5, 2)
        limit = 745 / max(abs(float(gmpy2.log(mpfr(x)))), 1e-12)
        y = rng.uniform(-limit, limit)
        exact = mpfr(x) ** mpfr(y)
        with gmpy2.context(gmpy2.ieee(64)):
            rounded = float(+exact)
        if rounded < float("inf"):
            rows.append(
                f'    {{"pow", BINARY, HM_BINARY_pow, 0.0, {x.hex()}, {y.hex()}, {hexadecimal(rounded)}, 2}},'
            )
    return rows


def turns() -> list[str]:
    rows = []
    rng = random.Random(10)
    positions = [0, 1, 2, 3, 1000, 2**20, 2**27, 2**31 - 1, 2**40 + 1, 2**53 - 1] + [
        rng.getrandbits(31) for _ in range(60)
    ]
    for position in positions:
        for _ in range(4):
            frequency = mpfr(10000) ** -mpfr(rng.random())
            high = float(frequency)
            low = float(frequency - mpfr(high))
            angle = position * (mpfr(high) + mpfr(low))
            answers = [float(gmpy2.sin(angle)), float(gmpy2.cos(angle))]
            rows.append("    {" + ", ".join(v.hex() for v in [float(position), high, low, *answers]) + "},")
    return rows


def main() -> None:
    gmpy2.get_context().precision = measure.PRECISION
    (HERE / "elementwise.inc").write_text(HEADER + "\n".join(elementwise() + powers()) + "\n")
    (HERE / "turn.inc").write_text(HEADER + "\n".join(turns()) + "\n")


if __name__ == "__main__":
    main()
