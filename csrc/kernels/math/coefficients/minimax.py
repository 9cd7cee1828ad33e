"""Nearly minimax polynomials with double coefficients.

`fit(f, low, high, degree)` makes the largest |p(x) - f(x)| * weight(x) on [low, high] small: least squares on
a dense Chebyshev grid, reweighted by the errors as C. L. Lawson (1961) does until they are level. Normal
equations are good enough at 600 bits. Coefficients are rounded to doubles one by one, lowest first, each time
fitting the rest anew, so that the rounding of a coefficient is made good by those above it.
"""

from collections.abc import Callable

from mpmath import cos, lu_solve, matrix, mp, mpf

mp.prec = 600

Function = Callable[[mpf], mpf]
ROUNDS = 24  # of reweighting; the error is then within a few per cent of the minimum


def one(_: mpf) -> mpf:
    return mpf(1)


def evaluate(coefficients: list[mpf], x: mpf) -> mpf:
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def chebyshev_points(low: mpf, high: mpf, count: int) -> list[mpf]:
    middle, radius = (low + high) / 2, (high - low) / 2
    return [middle - radius * cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def level(xs: list[mpf], ys: list[mpf], weights: list[mpf], degree: int) -> list[mpf]:
    """Coefficients of the polynomial whose largest weighted error on the points is nearly the smallest."""
    powers = [[mpf(1)] for _ in xs]
    for row, x in zip(powers, xs, strict=True):
        for _ in range(2 * degree):
            row.append(row[-1] * x)
    lawson = [mpf(1)] * len(xs)
    best: tuple[mpf, list[mpf]] | None = None
    for _ in range(ROUNDS):
        share = [v * w * w for v, w in zip(lawson, weights, strict=True)]
        moments = [
            sum(s * row[j] for s, row in zip(share, powers, strict=True)) for j in range(2 * degree + 1)
        ]
        right = [
            sum(s * row[j] * y for s, row, y in zip(share, powers, ys, strict=True))
            for j in range(degree + 1)
        ]
        system = matrix([[moments[i + j] for j in range(degree + 1)] for i in range(degree + 1)])
        coefficients = list(lu_solve(system, matrix(right)))
        errors = [abs(evaluate(coefficients, x) - y) * w for x, y, w in zip(xs, ys, weights, strict=True)]
        largest = max(errors)
        if best is None or largest < best[0]:
            best = (largest, coefficients)
        lawson = [v * e for v, e in zip(lawson, errors, strict=True)]
        total = sum(lawson)
        lawson = [v / total for v in lawson]
    assert best is not None
    return best[1]


def fit(
    f: Function, low: float, high: float, degree: int, weight: Function = one, one_by_one: int = 3
) -> tuple[list[float], mpf]:
    """Double coefficients c0 ... c_degree and their largest weighted error; `one_by_one` as said above."""
    xs = chebyshev_points(mpf(low), mpf(high), 10 * (degree + 2))
    ys, weights = [f(x) for x in xs], [weight(x) for x in xs]
    fixed: list[float] = []
    while len(fixed) <= degree:
        k = len(fixed)
        exact = [mpf(c) for c in fixed]
        rest = [(y - evaluate(exact, x)) / x**k for x, y in zip(xs, ys, strict=True)]
        free = level(xs, rest, [w * abs(x) ** k for x, w in zip(xs, weights, strict=True)], degree - k)
        fixed += [float(c) for c in (free[:1] if k < one_by_one else free)]
    exact = [mpf(c) for c in fixed]
    dense = chebyshev_points(mpf(low), mpf(high), 24 * (degree + 2))
    return fixed, max(abs(evaluate(exact, x) - f(x)) * weight(x) for x in dense)
