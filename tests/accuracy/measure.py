"""Largest errors of the elementwise kernels against MPFR, as the Markdown table of docs/accuracy.md.

    python tests/accuracy/measure.py PROBE_LIBRARY [--points 1000000] [--isa avx512] [--only NAME ...]

PROBE_LIBRARY is libprobe.so of a build with tests. Every point is compared with the exact value, rounded at
220 bits by MPFR (gmpy2), in units of the last place of that value; below the normal range the unit is
2^-1074. The points: a quarter over all exponents, a quarter where the function is usually met, the rest close
to its roots and kinks, to the ends of its ranges, and where results are subnormal.
"""

import argparse
import ctypes
import functools
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import gmpy2
import numpy as np
from gmpy2 import mpfr

Reference = Callable[[mpfr], mpfr]
Range = tuple[float, float]

ISA = {"default": 0, "baseline": 1, "avx2": 2, "avx512": 3, "neon": 4}
PRECISION = 220
ACTIVATIONS_ONLY = {
    "elu",
    "selu",
    "gelu",
    "silu",
    "mish",
    "softsign",
    "hard_sigmoid",
    "hard_swish",
    "leaky_relu",
}
SELU_LAMBDA = "1.0507009873554804934193349852946"
SELU_ALPHA = "1.6732632423543772848170429916717"


@dataclass
class Case:
    """One function: how to compute it here and there, where to look, and what is allowed."""

    name: str
    kernel: str
    reference: Reference
    bound: float
    usual: Range = (-10.0, 10.0)
    tails: list[Range] = field(default_factory=list)
    near: list[float] = field(default_factory=list)
    domain: Range = (-math.inf, math.inf)
    parameter: float = 0.0
    roots: list[float] = field(default_factory=list)  # within 0.5 of one, 4 * 2^-52 is allowed too


def one_half_erfc(x: mpfr) -> mpfr:
    return gmpy2.erfc(-x / gmpy2.sqrt(mpfr(2))) / 2


def density(x: mpfr) -> mpfr:
    return gmpy2.exp(-x * x / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())


def sigmoid(x: mpfr) -> mpfr:
    return 1 / (1 + gmpy2.exp(-x))


def softplus(x: mpfr) -> mpfr:
    return max(x, mpfr(0)) + gmpy2.log1p(gmpy2.exp(-abs(x)))


def bell(x: mpfr) -> mpfr:
    e = gmpy2.exp(-abs(x))
    return e / (1 + e) ** 2


def silu_slope(x: mpfr) -> mpfr:
    return sigmoid(x) * (1 + x * sigmoid(-x))


def tanh_of_softplus(x: mpfr) -> mpfr:
    if x > 0:
        e = gmpy2.exp(-x)
        return (1 + 2 * e) / (1 + 2 * e + 2 * e * e)
    w = gmpy2.exp(x)
    return w * (w + 2) / (w * (w + 2) + 2)


def mish_slope(x: mpfr) -> mpfr:
    t = tanh_of_softplus(x)
    return t + x * (1 - t * t) * sigmoid(x)


def elu(alpha: mpfr, stretch: mpfr) -> tuple[Reference, Reference]:
    return (
        lambda x: stretch * x if x > 0 else alpha * gmpy2.expm1(x),
        lambda x: stretch if x > 0 else alpha * gmpy2.exp(x),
    )


def log_of_smallest(scale: float = 1.0) -> list[Range]:
    return [(-746.0 / scale, -690.0 / scale)]


def cases() -> list[Case]:
    everywhere = 1.7e308
    selu, selu_slope = elu(mpfr(SELU_LAMBDA) * mpfr(SELU_ALPHA), mpfr(SELU_LAMBDA))
    big, big_slope = elu(mpfr(1e300), mpfr(1))
    small, small_slope = elu(mpfr(0.125), mpfr(1))
    subnormal_log = [(5e-324, 1e-307)]
    both = [(-746.0, -690.0), (690.0, 746.0)]
    return [
        Case(
            "exp",
            "exp",
            gmpy2.exp,
            1,
            (-40, 40),
            [(-745.2, -700), (700, 709.79)],
            [0.0],
            (-746, 709.782712893384),
        ),
        Case(
            "expm1",
            "expm1",
            gmpy2.expm1,
            1.5,
            (-40, 40),
            [(-1, 1), (700, 709.79)],
            [0.0, 0.3466, -0.3466, 37.4],
            (-math.inf, 709.782712893384),
        ),
        Case("log", "log", gmpy2.log, 1, (0, 10), subnormal_log, [1.0, 0.7071, 1.4142], (5e-324, everywhere)),
        Case(
            "log1p",
            "log1p",
            gmpy2.log1p,
            1,
            (-1, 4),
            [(1e299, 1e305)],
            [0.0, -0.2929, 0.4142, -0.99999],
            (-1 + 2**-53, everywhere),
        ),
        Case(
            "sin",
            "sin",
            gmpy2.sin,
            1,
            (-20, 20),
            [(1e8, 2e8), (1e5, 1e6)],
            [k * math.pi / 2 for k in range(1, 30)],
        ),
        Case(
            "cos",
            "cos",
            gmpy2.cos,
            1,
            (-20, 20),
            [(1e8, 2e8), (1e5, 1e6)],
            [k * math.pi / 2 for k in range(1, 30)],
        ),
        Case(
            "tan",
            "tan",
            gmpy2.tan,
            2.5,
            (-20, 20),
            [(1e8, 2e8), (1e5, 1e6)],
            [k * math.pi / 2 for k in range(1, 30)],
        ),
        Case("tanh", "tanh", gmpy2.tanh, 1.5, (-20, 20), [(-1, 1)], [0.0, 0.1733, -0.1733, 19.06]),
        Case("sigmoid", "sigmoid", sigmoid, 1, (-40, 40), [*log_of_smallest(), (-605, -595)], [0.0]),
        Case("log_sigmoid", "log_sigmoid", lambda x: -softplus(-x), 4, (-40, 40), both, [0.0]),
        Case("softplus", "softplus", softplus, 4, (-40, 40), log_of_smallest(), [0.0]),
        Case("erf", "erf", gmpy2.erf, 1, (-6.5, 6.5), [(-0.6, 0.6)], [0.0, 0.1953125, 0.5859375]),
        Case("erfc", "erfc", gmpy2.erfc, 1.5, (-7, 27.3), [(25.9, 27.3), (-1, 3)], [0.0]),
        Case("Sigmoid'", "sigmoid'", bell, 4, (-40, 40), both, [0.0]),
        Case("Tanh'", "tanh'", lambda x: 4 * bell(2 * x), 4, (-20, 20), [(345, 374)], [0.0]),
        Case("ELU(1/8)", "elu", small, 4, (-40, 10), log_of_smallest(), [0.0], parameter=0.125),
        Case("ELU(1/8)'", "elu'", small_slope, 4, (-40, 10), log_of_smallest(), [0.0], parameter=0.125),
        Case(
            "ELU(1e300)'",
            "elu'",
            big_slope,
            4,
            (-40, 10),
            [(-1437.0, -1380.0), (-760, -700)],
            [0.0],
            parameter=1e300,
        ),
        Case("ELU(1e300)", "elu", big, 4, (-40, 10), [(-760, -700)], [0.0], parameter=1e300),
        Case("SELU", "selu", selu, 4, (-40, 10), log_of_smallest(), [0.0], (-math.inf, 1.71e308)),
        Case("SELU'", "selu'", selu_slope, 4, (-40, 10), log_of_smallest(), [0.0]),
        # about x/2 near zero: results just below a power of two have the largest units for their size
        Case(
            "GELU",
            "gelu",
            lambda x: x * one_half_erfc(x),
            4,
            (-10, 10),
            [(-38.6, -35.5)],
            [0.0, 2.0**-10, 2.0**-16, -1.85, -3.83, -7.95],
        ),
        Case(
            "GELU'",
            "gelu'",
            lambda x: one_half_erfc(x) + x * density(x),
            4,
            (-10, 10),
            [(-38.6, -35.5)],
            [0.0, -0.75, -1.26, -0.24],
            roots=[-0.7517915247],
        ),
        Case("SiLU", "silu", lambda x: x * sigmoid(x), 4, (-40, 40), [(-752, -695)], [0.0]),
        Case(
            "SiLU'",
            "silu'",
            silu_slope,
            4,
            (-40, 40),
            [(-752, -695)],
            [0.0, -1.278, -1.78, -0.78],
            roots=[-1.2784645428],
        ),
        Case("Mish", "mish", lambda x: x * tanh_of_softplus(x), 4, (-40, 40), [(-752, -695)], [0.0]),
        Case(
            "Mish'",
            "mish'",
            mish_slope,
            4,
            (-40, 40),
            [(-752, -695)],
            [0.0, -1.192, -1.7, -0.69],
            roots=[-1.1924313640],
        ),
        Case("Softplus'", "softplus'", sigmoid, 4, (-40, 40), log_of_smallest(), [0.0]),
        Case("Softsign", "softsign", lambda x: x / (1 + abs(x)), 4),
        Case("Softsign'", "softsign'", lambda x: 1 / (1 + abs(x)) ** 2, 4, tails=[(1e150, 1e162)]),
        Case(
            "HardSigmoid",
            "hard_sigmoid",
            lambda x: min(max((x + 3) / 6, mpfr(0)), mpfr(1)),
            4,
            (-4, 4),
            near=[-3.0, 3.0, 0.0],
        ),
        Case(
            "HardSwish",
            "hard_swish",
            lambda x: x * min(max((x + 3) / 6, mpfr(0)), mpfr(1)),
            4,
            (-4, 4),
            near=[-3.0, 3.0, 0.0],
        ),
        Case(
            "HardSwish'",
            "hard_swish'",
            lambda x: mpfr(0) if x <= -3 else mpfr(1) if x >= 3 else (2 * x + 3) / 6,
            4,
            (-4, 4),
            near=[-1.5, -3.0, 3.0],
        ),
        Case("LeakyReLU(0.01)", "leaky_relu", lambda x: x if x > 0 else mpfr(0.01) * x, 4, parameter=0.01),
    ]


@dataclass
class PairCase:
    """A function of two numbers; `draw` gives as many pairs as it is asked for."""

    name: str
    reference: Callable[[mpfr, mpfr], mpfr]
    bound: float
    draw: Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def draw_powers(points: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Positive bases of all sizes, half of them near 1, with exponents that keep the result in range."""
    half = points // 2
    bases = np.concatenate(
        [
            np.ldexp(rng.uniform(1, 2, half), rng.integers(-1074, 1024, half)),
            rng.uniform(0.5, 2, points - half),
        ]
    )
    logs = np.log(bases)
    exponents = rng.uniform(-745, 709.7, points) / np.where(logs == 0, 1.0, logs)
    return bases, exponents


def draw_gates(points: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Values of all sizes; gates of everyday, and far below zero."""
    values = np.ldexp(rng.uniform(-2, 2, points), rng.integers(-1074, 1023, points))
    return values, np.where(
        rng.random(points) < 0.5, rng.uniform(-40, 40, points), rng.uniform(-1460, 0, points)
    )


def pair_cases() -> list[PairCase]:
    return [
        PairCase("pow", lambda x, y: x**y, 2, draw_powers),
        PairCase("gated", lambda value, gate: value * sigmoid(gate), 4, draw_gates),
    ]


def sample(case: Case, points: int, rng: np.random.Generator) -> np.ndarray:
    """`points` arguments inside the domain."""
    xs = np.empty(0)
    while xs.size < points:
        xs = np.concatenate([xs, draw(case, points, rng)])
    return rng.permutation(xs)[:points]


def draw(case: Case, points: int, rng: np.random.Generator) -> np.ndarray:
    """About `points` arguments, fewer where the domain ends."""
    quarter = max(points // 4, 16)
    exponents = rng.integers(-1074, 1024, quarter)
    mantissas = rng.uniform(1, 2, quarter) * rng.choice([-1.0, 1.0], quarter)
    parts = [np.ldexp(mantissas, exponents), rng.uniform(*case.usual, quarter)]
    for place in [*case.tails, *case.near] or [case.usual]:
        share = -(-2 * quarter // max(1, len(case.tails) + len(case.near)))
        if isinstance(place, float):
            parts.append(place + np.ldexp(rng.uniform(-1, 1, share), rng.integers(-60, 0, share)))
        elif place[0] > 0 and place[1] / place[0] > 1e3:
            parts.append(np.exp(rng.uniform(math.log(place[0]), math.log(place[1]), share)))
        else:
            parts.append(rng.uniform(*place, share))
    xs = np.concatenate(parts)
    return xs[(xs >= case.domain[0]) & (xs <= case.domain[1]) & np.isfinite(xs)]


@functools.lru_cache(maxsize=4096)
def power_of_two(exponent: int) -> mpfr:
    return mpfr(2) ** exponent


def unit(exact: mpfr) -> mpfr:
    """One unit in the last place of a double of this size, which lies in [2^(e-1), 2^e) for e = get_exp."""
    return power_of_two(max(gmpy2.get_exp(exact) - 53, -1074) if exact else -1074)


class Probe:
    def __init__(self, path: str, isa: int) -> None:
        self.library = ctypes.CDLL(path)
        self.isa = isa

    def __call__(self, case: Case, xs: np.ndarray) -> np.ndarray:
        out = np.empty_like(xs)
        pointer = ctypes.POINTER(ctypes.c_double)
        x, y = xs.ctypes.data_as(pointer), out.ctypes.data_as(pointer)
        name, size = case.kernel.rstrip("'").encode(), ctypes.c_size_t(xs.size)
        status = self.library.probe_unary(self.isa, name, size, x, y) if not case.kernel.endswith("'") else -1
        if status < 0:
            slope = case.kernel.endswith("'")
            status = self.library.probe_activation(
                self.isa, name, slope, size, ctypes.c_double(case.parameter), x, y
            )
        if status < 0:
            raise SystemExit(f"no kernel {case.kernel} in this table")
        return out

    def pairs(self, name: str, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
        out = np.empty_like(xs)
        pointer = ctypes.POINTER(ctypes.c_double)
        x, y, result = (v.ctypes.data_as(pointer) for v in (xs, ys, out))
        if self.library.probe_binary(self.isa, name.encode(), ctypes.c_size_t(xs.size), x, y, result) < 0:
            raise SystemExit(f"no kernel {name} in this table")
        return out

    def turn(self, position: float, high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sines, cosines = np.empty_like(high), np.empty_like(high)
        pointer = ctypes.POINTER(ctypes.c_double)
        arrays = (v.ctypes.data_as(pointer) for v in (high, low, sines, cosines))
        self.library.probe_turn(self.isa, ctypes.c_size_t(high.size), ctypes.c_double(position), *arrays)
        return sines, cosines


@dataclass
class Worst:
    ulp: float = 0.0
    at: float = math.nan
    absolute_near_root: float = 0.0


def compare(case: Case, xs: Iterable[float], ys: Iterable[float]) -> Worst:
    worst = Worst()
    largest = mpfr(0)
    for x, y in zip(xs, ys, strict=True):
        exact = case.reference(mpfr(x))
        error = abs(mpfr(y) - exact)
        if any(abs(x - r) <= 0.5 for r in case.roots) and error <= 4 * mpfr(2) ** -52:
            worst.absolute_near_root = max(worst.absolute_near_root, float(error) * 2.0**52)
            continue
        ulps = error / unit(exact)
        if not ulps <= largest:
            largest = ulps
            worst.ulp, worst.at = float(ulps), x
    return worst


def compare_pairs(
    case: PairCase, xs: list[float], ys: list[float], results: list[float]
) -> tuple[float, str]:
    largest, where = mpfr(0), ""
    for x, y, result in zip(xs, ys, results, strict=True):
        exact = case.reference(mpfr(x), mpfr(y))
        ulps = abs(mpfr(result) - exact) / unit(exact)
        if not ulps <= largest:
            largest, where = ulps, f"{x!r}, {y!r}"
    return float(largest), where


def compare_turns(probe: Probe, points: int, rng: np.random.Generator) -> tuple[float, str]:
    """Largest absolute error of sine and cosine, in 2^-53; positions below 2^31, rotary frequencies."""
    largest, where = 0.0, ""
    a_position = 64
    for position in rng.integers(0, 2**31, points // (2 * a_position)).tolist():
        frequencies = [mpfr(10000) ** -mpfr(v) for v in rng.random(a_position).tolist()]
        high = [float(f) for f in frequencies]
        low = [float(f - mpfr(h)) for f, h in zip(frequencies, high, strict=True)]
        sines, cosines = probe.turn(position, np.array(high), np.array(low))
        for f, g, s, c in zip(high, low, sines.tolist(), cosines.tolist(), strict=True):
            sine, cosine = gmpy2.sin_cos(position * (mpfr(f) + mpfr(g)))
            error = float(max(abs(mpfr(s) - sine), abs(mpfr(c) - cosine))) * 2.0**53
            if error > largest:
                largest, where = error, f"{position} · {f!r}"
    return largest, where


def row(name: str, error: float, note: str, where: str, bound: float, points: int) -> bool:
    """Prints a row of the table; true where the bound is kept."""
    good = error <= bound
    verdict = "" if good else " **too large**"
    print(f"| {name} | {error:.3f}{note}{verdict} | {where} | {bound:g} | {points} |", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--isa", choices=ISA, default="default")
    parser.add_argument("--only", nargs="*", help="names of functions, as in the table")
    parser.add_argument("--seed", type=int, default=20240501)
    options = parser.parse_args()
    gmpy2.get_context().precision = PRECISION
    probe = Probe(options.library, ISA[options.isa])
    good = True
    print("| function | largest error (ulp) | at | bound (ulp) | points |\n| --- | --- | --- | --- | --- |")
    for case in cases():
        if options.only and case.name not in options.only:
            continue
        xs = sample(case, options.points, np.random.default_rng(options.seed))
        worst = compare(case, xs.tolist(), probe(case, xs).tolist())
        near = f"; near its root {worst.absolute_near_root:.2f}·2⁻⁵²" if case.roots else ""
        good &= row(case.name, worst.ulp, near, repr(worst.at), case.bound, xs.size)
    for pair in pair_cases():
        if options.only and pair.name not in options.only:
            continue
        xs, ys = pair.draw(options.points, np.random.default_rng(options.seed))
        results = probe.pairs(pair.name, xs, ys)
        error, where = compare_pairs(pair, xs.tolist(), ys.tolist(), results.tolist())
        good &= row(pair.name, error, "", where, pair.bound, xs.size)
    if not options.only or "turn" in options.only:
        error, where = compare_turns(probe, options.points, np.random.default_rng(options.seed))
        good &= row("turn (in 2⁻⁵³, absolute)", error, "", where, 4, options.points)
    return not good


if __name__ == "__main__":
    sys.exit(main())
