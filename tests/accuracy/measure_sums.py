"""Largest errors of softmax, losses and CTC against MPFR, as the second table of docs/accuracy.md.

    python tests/accuracy/measure_sums.py

Needs the installed package, gmpy2 and NumPy. Exact values carry 220 bits. Errors are relative and counted in
2^-52, which is an ulp of a number just above a power of two; where the table says so they are absolute.
"""

import math
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import gmpy2
import numpy as np
from gmpy2 import mpfr

from hmath import deeplearning_core as core

PRECISION = 220
UNIT = 2.0**52
SIZES = (1, 10, 1000, 20_000)
ONE_SIGN = "8 + min(n, 4096)/64 + log₂ n"


class Row(NamedTuple):
    """A line of the table; `share` is the largest error over its bound."""

    name: str
    error: float
    bound: str
    share: float
    inputs: str


def relative(got: float, exact: mpfr) -> float:
    return float(abs(mpfr(got) - exact) / abs(exact)) * UNIT if exact else float(got != 0) * math.inf


def of_one_sign(n: int) -> float:
    """The contract's bound of a sum of n terms of one sign, in UNIT."""
    return 8 + min(n, 4096) / 64 + math.log2(n)


def total(terms: Iterator[mpfr]) -> mpfr:
    return gmpy2.fsum(list(terms))


# ---- softmax ----


def rows(rng: np.random.Generator) -> Iterator[np.ndarray]:
    for n in (2, 10, 1000, 4096, 10_000):
        for scale in (1e-3, 1.0, 20.0, 300.0):
            yield rng.normal(0, scale, n)
            yield rng.uniform(-scale, scale, n)
        yield np.where(np.arange(n) == n // 2, 0.0, -0.357)  # every rounding of the sum falls the same way
        yield np.where(np.arange(n) == n // 3, 0.0, -60 - rng.random(n))


def softmax_rows(rng: np.random.Generator) -> Iterator[Row]:
    plain = logarithm = largest_logarithm = share = log_share = largest_share = 0.0
    for x in rows(rng):
        got, got_log = core.softmax(x).tolist(), core.log_softmax(x).tolist()
        most = float(x.max())
        powers = [gmpy2.exp(mpfr(v) - most) for v in x.tolist()]
        everything = gmpy2.fsum(powers)
        place = int(x.argmax())
        beyond = gmpy2.fsum(powers[:place] + powers[place + 1 :])
        for i, v in enumerate(x.tolist()):
            if v - most > -700:  # below, results are subnormal
                error = relative(got[i], powers[i] / everything)
                plain, share = max(plain, error), max(share, error / (most - v + 8))
            if v == most:
                error = relative(got_log[i], -gmpy2.log1p(beyond))
                largest_logarithm = max(largest_logarithm, error)
                largest_share = max(largest_share, error / of_one_sign(len(x)))
            else:
                error = relative(got_log[i], mpfr(v) - most - gmpy2.log(everything))
                logarithm, log_share = max(logarithm, error), max(log_share, error / 16)
    lengths = "2 … 10⁴ entries, spread by 10⁻³ … 300"
    yield Row("softmax", plain, "\\|x − m\\| + 8", share, lengths)
    yield Row("log_softmax, all but the largest entry", logarithm, "16", log_share, lengths)
    yield Row("log_softmax, the largest entry", largest_logarithm, ONE_SIGN, largest_share, lengths)


# ---- losses: terms of one sign, summed ----

Term = Callable[[mpfr, mpfr], mpfr]


def entropy(weight: mpfr, probability: mpfr) -> mpfr:
    return -weight * gmpy2.log(probability) if weight else mpfr(0)


def huber(delta: float) -> Term:
    return lambda t, p: (p - t) ** 2 / 2 if abs(p - t) <= delta else delta * (abs(p - t) - mpfr(delta) / 2)


def smooth(beta: float) -> Term:
    return lambda t, p: (p - t) ** 2 / (2 * mpfr(beta)) if abs(p - t) < beta else abs(p - t) - mpfr(beta) / 2


def logistic(t: mpfr, x: mpfr) -> mpfr:
    return (1 - t) * max(x, mpfr(0)) + t * max(-x, mpfr(0)) + gmpy2.log1p(gmpy2.exp(-abs(x)))


def focal(alpha: float, gamma: float) -> Term:
    def term(t: mpfr, p: mpfr) -> mpfr:
        event, weight = (p, mpfr(alpha)) if t == 1 else (1 - p, 1 - mpfr(alpha))
        return -weight * (1 - event) ** mpfr(gamma) * gmpy2.log(event)

    return term


def anything(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(0, 2, n), rng.normal(0, 2, n) * np.exp2(rng.integers(-6, 6, n))


def probabilities(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    near = rng.random(n) < 0.3
    t, p = rng.random(n), rng.random(n) ** rng.integers(1, 30, n)
    return t, np.clip(np.where(near, 1 - np.exp2(-rng.uniform(1, 50, n)), p), 1e-300, 1 - 2.0**-53)


def classes(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    t, p = probabilities(n, rng)
    return np.round(t), p


def logits(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.random(n), rng.normal(0, 8, n)


def signs(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.choice([-1.0, 1.0], n), rng.normal(0, 2, n)


def losses() -> Iterator[
    tuple[str, Callable[..., float], Term, Callable[..., tuple[np.ndarray, np.ndarray]]]
]:
    def method(selected: object) -> Callable[..., float]:
        return lambda t, p: core.loss(selected, core.Sum, t, p)

    yield "MeanSquaredError", method(core.MeanSquaredError), lambda t, p: (p - t) ** 2, anything
    yield "MeanAbsoluteError", method(core.MeanAbsoluteError), lambda t, p: abs(p - t), anything
    yield "Huber(0.7)", method(core.Huber(0.7)), huber(0.7), anything
    yield "SmoothL1(0.7)", method(core.SmoothL1(0.7)), smooth(0.7), anything
    yield (
        "BinaryCrossEntropy",
        method(core.BinaryCrossEntropy),
        lambda t, p: entropy(t, p) + entropy(1 - t, 1 - p),
        probabilities,
    )
    yield "CategoricalCrossEntropy", method(core.CategoricalCrossEntropy), entropy, probabilities
    yield (
        "NegativeLogLikelihood",
        lambda t, p: core.loss(core.NegativeLogLikelihood, core.Sum, t, -p),
        lambda t, p: t * p,
        probabilities,
    )
    yield "Hinge(0.5)", method(core.Hinge(0.5)), lambda t, p: max(mpfr(0), mpfr(0.5) - t * p), signs
    yield (
        "binary_cross_entropy_logits",
        lambda t, x: core.binary_cross_entropy_logits(core.Sum, t, x),
        logistic,
        logits,
    )
    yield (
        "focal_loss(0.25, 2.5), times n",
        lambda t, p: core.focal_loss(0.25, 2.5, t, p) * t.size,
        focal(0.25, 2.5),
        classes,
    )


def loss_rows(rng: np.random.Generator) -> Iterator[Row]:
    for name, function, term, draw in losses():
        worst = share = 0.0
        for n in SIZES:
            for _ in range(20_000 // n if n > 100 else 400):
                t, p = draw(n, rng)
                exact = total(term(mpfr(a), mpfr(b)) for a, b in zip(t.tolist(), p.tolist(), strict=True))
                if exact == 0:
                    continue
                error = relative(function(t, p), exact)
                worst = max(worst, error)
                share = max(share, error / of_one_sign(n))
        yield Row(name, worst, ONE_SIGN, share, "n = 1 … 2·10⁴")


def divergence_row(rng: np.random.Generator) -> Row:
    """Terms of both signs: the error counts against the sum of their sizes."""
    worst = share = 0.0
    for n in SIZES:
        for _ in range(20_000 // n if n > 100 else 400):
            t, p = probabilities(n, rng)
            p = np.where(rng.random(n) < 0.3, np.minimum(t * (1 + 2.0**-40), 1.0), p)
            terms = [
                mpfr(a) * gmpy2.log(mpfr(a) / mpfr(b)) for a, b in zip(t.tolist(), p.tolist(), strict=True)
            ]
            size = gmpy2.fsum([abs(x) for x in terms])
            got = core.loss(core.KLDivergence, core.Sum, t, p)
            error = float(abs(mpfr(got) - gmpy2.fsum(terms)) / size) * UNIT
            worst, share = max(worst, error), max(share, error / of_one_sign(n))
    return Row("KLDivergence, of the sum of sizes", worst, ONE_SIGN, share, "n = 1 … 2·10⁴")


# ---- CTC, in probabilities: MPFR's exponents have room for all of them ----


def alignments(labels: list[int], frames: list[list[mpfr]]) -> tuple[mpfr, list[list[mpfr]]]:
    """The summed probability of all alignments, and how much of it runs through class k at time t."""
    states = [0]
    for label in labels:
        states += [label, 0]

    def run(frames: list[list[mpfr]], states: list[int]) -> list[list[mpfr]]:
        reached = [[mpfr(0)] * len(states) for _ in frames]
        for s in range(min(2, len(states))):
            reached[0][s] = frames[0][states[s]]
        for t in range(1, len(frames)):
            last = reached[t - 1]
            for s, label in enumerate(states):
                ways = last[s]
                if s > 0:
                    ways += last[s - 1]
                if s > 1 and label != 0 and label != states[s - 2]:
                    ways += last[s - 2]
                reached[t][s] = ways * frames[t][label]
        return reached

    forward = run(frames, states)
    backward = run(frames[::-1], states[::-1])[::-1]
    probability = gmpy2.fsum(forward[-1][-2:])
    shares = [[mpfr(0)] * len(frames[0]) for _ in frames]
    for t, frame in enumerate(frames):
        for s, label in enumerate(states):
            shares[t][label] += forward[t][s] * backward[t][-1 - s] / frame[label] / probability
    return probability, shares


def ctc_rows(rng: np.random.Generator) -> Iterator[Row]:
    worst = steepest = 0.0
    for time, size, length, scale in ((1, 3, 1, 1), (50, 20, 10, 1), (500, 20, 50, 3), (2000, 10, 100, 2)):
        x = np.asarray(core.log_softmax(rng.normal(0, scale, (time, size))))
        labels = rng.integers(1, size, length).tolist()
        frames = [[gmpy2.exp(mpfr(v)) for v in row] for row in x.tolist()]
        probability, shares = alignments(labels, frames)
        loss, gradient = core.ctc_loss_gradient(0, labels, x)
        worst = max(worst, relative(loss, -gmpy2.log(probability)))
        for got, exact in zip(np.asarray(gradient).tolist(), shares, strict=True):
            steepest = max(steepest, *(float(abs(mpfr(g) + s)) for g, s in zip(got, exact, strict=True)))
    inputs = "1 … 2000 frames, 1 … 100 labels"
    yield Row("ctc_loss", worst, "4504 (10⁻¹²)", worst / (1e-12 * UNIT), inputs)
    yield Row("ctc_loss_gradient, absolute", steepest * UNIT, "4.5·10⁸ (10⁻⁷)", steepest / 1e-7, inputs)


def main() -> int:
    gmpy2.get_context().precision = PRECISION
    rng = np.random.default_rng(20240501)
    good = True
    print("| function | largest error (2⁻⁵²) | bound (2⁻⁵²) | largest share of the bound | inputs |")
    print("| --- | --- | --- | --- | --- |")
    for row in (*softmax_rows(rng), *loss_rows(rng), divergence_row(rng), *ctc_rows(rng)):
        verdict = "" if row.share <= 1 else " **too large**"
        good &= row.share <= 1
        print(
            f"| {row.name} | {row.error:.3g}{verdict} | {row.bound} | {row.share:.2g} | {row.inputs} |",
            flush=True,
        )
    return not good


if __name__ == "__main__":
    sys.exit(main())
