"""Writes coefficients.h: every polynomial and split constant of csrc/kernels/math, with interval and error.

python generate.py > ../coefficients.h        (mpmath; about two minutes)
"""

from collections.abc import Callable

import mpmath
from minimax import Function, fit
from mpmath import cos, erf, erfc, exp, expm1, log, mp, mpf, pi, sin, sqrt

SLACK = 1 + mpf(2) ** -30  # an argument may round a little beyond the end of its interval


def split(value: mpf, count: int, bits: int = 53) -> list[float]:
    """value as an unevaluated sum of `count` doubles, all but the last with at most `bits` bits."""
    parts: list[float] = []
    for i in range(count):
        with mp.workprec(bits if i < count - 1 else 53):
            rounded = +value
        parts.append(float(rounded))
        value = value - mpf(parts[-1])
    return parts


def hexadecimal(values: list[float]) -> str:
    lines, line = [], "   "
    for text in (v.hex() for v in values):
        if len(line) + len(text) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {text},"
    return "\n".join([*lines, line])


def array(name: str, values: list[float], comment: str) -> None:
    print(f"\n/* {comment} */\nstatic const double {name}[{len(values)}] = {{\n{hexadecimal(values)}\n}};")


def polynomial(
    name: str,
    formula: str,
    f: Function,
    low: mpf,
    high: mpf,
    degree: int,
    weight: Function,
    one_by_one: int = 3,
) -> None:
    coefficients, error = fit(f, low, high, degree, weight, one_by_one)
    interval = f"[{mpmath.nstr(low, 5)}, {mpmath.nstr(high, 5)}]"
    bound = f"{interval}, error 2^{mpmath.nstr(log(error, 2), 4)} of the function"
    array(name, coefficients, f"{formula}\n * {bound}")


def at_root(g: Callable[[mpf], mpf]) -> Function:
    return lambda z: g(sqrt(z))


def elementary() -> None:
    half = log(2) / 2 * SLACK
    polynomial(
        "exp_q",
        "(e^r - 1 - r) / r^2 in r",
        lambda r: (expm1(r) - r) / r**2,
        -half,
        half,
        9,
        lambda r: r**2 * exp(-r),
    )
    edge = (sqrt(2) - 1) / (sqrt(2) + 1)
    polynomial(
        "log_r",
        "(log((1+s)/(1-s)) - 2s) / s^3 in s^2",
        at_root(lambda s: (log((1 + s) / (1 - s)) - 2 * s) / s**3),
        mpf(0),
        edge**2 * SLACK,
        6,
        lambda z: z / 2,
    )
    third = mpf(1) / 3
    polynomial(
        "softplus_r",
        "(log((1+s)/(1-s)) - 2s) / s^3 in s^2, for log(1 + e) with s = e/(2 + e), 0 <= e <= 1",
        at_root(lambda s: (log((1 + s) / (1 - s)) - 2 * s) / s**3),
        mpf(0),
        third**2 * SLACK,
        9,
        lambda z: z / 2,
    )
    polynomial(
        "pow_r",
        "((log((1+s)/(1-s)) - 2s) / s^3 - 2/3) / s^2 in s^2",
        at_root(lambda s: ((log((1 + s) / (1 - s)) - 2 * s) / s**3 - mpf(2) / 3) / s**2),
        mpf(0),
        edge**2 * SLACK,
        6,
        lambda z: z * z / 2,
    )
    quarter = pi / 4 * (1 + mpf(2) ** -20)
    polynomial(
        "sin_s",
        "(sin r - r) / r^3 in r^2",
        at_root(lambda r: (sin(r) - r) / r**3),
        mpf(0),
        quarter**2,
        5,
        lambda z: z,
    )
    polynomial(
        "cos_c",
        "(cos r - 1 + r^2/2) / r^4 in r^2",
        at_root(lambda r: (cos(r) - 1 + r * r / 2) / r**4),
        mpf(0),
        quarter**2,
        5,
        lambda z: z * z,
    )


def folded(name: str, formula: str, tail: Function, slope: mpf, centre: mpf, end: int, degree: int) -> None:
    """(1 + slope * x) * tail(x) for 0 <= x <= end, as a polynomial in q = (x - centre)/(x + centre).

    The product runs smoothly between two positive numbers from 0 to infinity, q folds that onto [-1, 1). The
    slope makes it flat at 0, so that the rounding of q does little harm. Its value at q = 0 has two parts.
    """

    def in_q(q: mpf) -> mpf:
        x = centre * (1 + q) / (1 - q)
        return (1 + slope * x) * tail(x)

    constant = split(in_q(mpf(0)), 2)
    array(f"{name}_constant", constant, f"{formula} (1 + {mpmath.nstr(slope)} x) at q = 0, in two parts")
    base = mpf(constant[0]) + mpf(constant[1])
    polynomial(
        f"{name}_p",
        f"{formula} (1 + {mpmath.nstr(slope)} x), less its value at q = 0, over q; q = (x - c)/(x + c), c = "
        f"{mpmath.nstr(centre)}",
        lambda q: (in_q(q) - base) / q,
        mpf(-1),
        (end - centre) / (end + centre),
        degree - 1,
        lambda q: abs(q) / in_q(q),
        4,
    )


def scaled_erfc() -> None:
    folded("erfcx", "e^(x^2) erfc(x)", lambda x: erfc(x) * exp(x * x), mpf(9) / 8, mpf(3), 28, 23)
    half_root = sqrt(mpf(2)) / 2
    folded(
        "normal",
        "e^(x^2/2) Phi(-x)",
        lambda x: erfc(x * half_root) / 2 * exp(x * x / 2),
        mpf(51) / 64,
        mpf(17) / 4,
        40,
        22,
    )


def table(name: str, rows: list[list[float]]) -> None:
    body = "\n".join(
        "    {\n" + hexadecimal(row).replace("   ", "        ", 1).replace("\n   ", "\n       ") + "\n    },"
        for row in rows
    )
    print(f"static const double {name}[{len(rows)}][{len(rows[0])}] = {{\n{body}\n}};")


ERF_SEGMENTS, ERF_WIDTH, ERF_DEGREE = 16, mpf(25) / 64, 13


def erf_segments() -> None:
    """erf(c + t) = constant + low + t * polynomial(t), |t| <= width/2, a column a centre c = k * width."""
    constants: list[list[float]] = []
    columns: list[list[float]] = []
    worst = mpf(0)
    for k in range(ERF_SEGMENTS):
        centre = k * ERF_WIDTH
        parts = split(erf(centre), 2)
        base = mpf(parts[0]) + mpf(parts[1])

        def slope(t: mpf, centre: mpf = centre, base: mpf = base) -> mpf:
            return (erf(centre + t) - base) / t

        def share(t: mpf, centre: mpf = centre) -> mpf:
            return abs(t) / erf(centre + t)

        low = -ERF_WIDTH / 2 * SLACK if k else mpf(2) ** -40
        column, error = fit(slope, low, ERF_WIDTH / 2 * SLACK, ERF_DEGREE - 1, share, 3)
        worst = max(worst, error)
        constants.append(parts)
        columns.append(column)
    rows = [[c[i] for c in constants] for i in range(2)] + [
        [c[j] for c in columns] for j in range(ERF_DEGREE)
    ]
    rows.append([0.0] * ERF_SEGMENTS)
    print(
        f"\n/* erf(c + t), c = 25/64 k: row 0 + (row 1 + t (row 2 + t (row 3 + ...))), column k"
        f"\n * |t| <= 25/128, error 2^{mpmath.nstr(log(worst, 2), 4)} of the function */"
    )
    table("erf_rows", rows)
    print(
        "\n/* The same, a row a centre: for processors that load a centre's numbers sooner than they pick them. */"
    )
    table("erf_columns", [list(column) for column in zip(*rows, strict=True)])


def constants() -> None:
    array("ln2_parts", split(log(2), 2, 41), "ln 2: the first part times any |n| < 4096 is exact")
    array("ln2_three", split(log(2), 3, 41), "ln 2 once more, to 147 bits")
    array("half_pi_parts", split(pi / 2, 3), "pi/2")
    array("two_thirds_parts", split(mpf(2) / 3, 2), "2/3")
    array("root_two_pi_inverse", split(1 / sqrt(2 * pi), 2), "1/sqrt(2 pi)")
    bits = int(mpmath.floor(2 / pi * mpf(2) ** (64 * 20)))
    words = [0] + [(bits >> (64 * (19 - i))) & (2**64 - 1) for i in range(20)]
    print("\n/* 64 zeros, then the binary digits of 2/pi after the point: enough for every double */")
    print(f"static const uint64_t two_over_pi[{len(words)}] = {{")
    for i in range(0, len(words), 4):
        print("    " + " ".join(f"0x{w:016x}," for w in words[i : i + 4]))
    print("};")


def main() -> None:
    mp.prec = 1600
    print("/* Made by coefficients/generate.py, which says how; not to be edited. */\n/* clang-format off */")
    print("#ifndef HM_COEFFICIENTS_H\n#define HM_COEFFICIENTS_H\n\n#include <stdint.h>")
    constants()
    mp.prec = 600
    elementary()
    scaled_erfc()
    erf_segments()
    print("\n#endif")


if __name__ == "__main__":
    main()
