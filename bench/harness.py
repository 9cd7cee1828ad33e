"""Cases and how they are timed.

A case defines its inputs once and has two sides: hmath, and the library its users would run instead. Both
sides are prepared once and timed in turn in one process, again and again, so that a machine that speeds
up or slows down does so for both. What counts is the ratio peer time / hmath time of each turn, above 1
where hmath is faster; absolute times are kept for orientation only.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Inputs = dict[str, Any]
Side = Callable[[Inputs], Callable[[], Any]]
"""Given the inputs, prepares and returns the call that is timed."""


@dataclass(frozen=True)
class Case:
    """One thing to time."""

    name: str
    group: str
    inputs: Callable[[], Inputs]
    hmath: Side
    peer: Side
    work: float
    """How much one call does, in `unit`."""
    unit: str = "elem"
    """"elem", "flop" or "call"."""
    row: str = ""
    """The row of the target table that the case belongs to."""
    tolerance: float | None = 1e-9
    """Largest difference of the two results, relative to their largest element; None: not comparable."""
    peer_name: str = "PyTorch"
    quick: bool = True
    """Part of a quick run."""
    steady: bool = False
    """Called in long loops, so that what counts is the speed once the caches hold what they will hold."""


CASES: dict[str, Case] = {}


def case(
    name: str, group: str, inputs: Callable[[], Inputs], hmath: Side, peer: Side, work: float, **details: Any
) -> None:
    """Register a case."""
    if name in CASES:
        raise ValueError(f"two cases are called {name}")
    CASES[name] = Case(name, group, inputs, hmath, peer, float(work), **details)


def normal(*shape: int, seed: int, scale: float = 1.0) -> np.ndarray:
    """Normal numbers, the same in every run."""
    return np.random.default_rng(seed).standard_normal(shape) * scale


def uniform(*shape: int, seed: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape)


# ---------------------------------------------------------------- agreement


def as_arrays(result: Any) -> list[np.ndarray]:
    """Every array in a result, whichever library made it."""
    if isinstance(result, (tuple, list)) and result and not isinstance(result[0], (int, float)):
        return [array for part in result for array in as_arrays(part)]
    if hasattr(result, "detach"):
        result = result.detach()
        if result.dtype.is_floating_point and result.element_size() < 4:
            result = result.float()
        return [result.cpu().numpy()]
    if hasattr(result, "numpy"):
        return [result.numpy()]
    if isinstance(result, (int, float, list, np.ndarray, np.generic)):
        return [np.asarray(result, np.float64)]
    return []


def difference(ours: Any, theirs: Any) -> float:
    """The largest difference of two results relative to the largest element; NaN where shapes differ."""
    pairs = list(zip(as_arrays(ours), as_arrays(theirs), strict=False))
    worst = math.nan if not pairs else 0.0
    for a, b in pairs:
        if a.size != b.size:
            return math.nan
        if a.size:
            a, b = a.reshape(-1).astype(np.float64), b.reshape(-1).astype(np.float64)
            finite = np.isfinite(b)
            scale = np.abs(b[finite]).max(initial=0.0) or 1.0
            worst = max(worst, float(np.abs(a[finite] - b[finite]).max(initial=0.0) / scale))
    return worst


# ---------------------------------------------------------------- timing


@dataclass
class Timing:
    """What one case took on one number of threads."""

    hmath: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [theirs / ours for ours, theirs in zip(self.hmath, self.peer, strict=True)]

    def summary(self) -> dict[str, float]:
        ratios = sorted(self.ratios)
        return {
            "hmath_seconds": statistics.median(self.hmath),
            "peer_seconds": statistics.median(self.peer),
            "ratio": statistics.median(ratios),
            "ratio_low": ratios[len(ratios) // 4],
            "ratio_high": ratios[(3 * len(ratios)) // 4],
        }


def repetitions(call: Callable[[], Any], seconds: float) -> int:
    """How many calls make up a sample of about `seconds`."""
    call()
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        elapsed = time.perf_counter() - start
        if elapsed >= seconds or count >= 1 << 20:
            return count
        count = max(2 * count, int(count * seconds / max(elapsed, 1e-9)))


def sample(call: Callable[[], Any], count: int) -> float:
    """Seconds a call, over `count` calls; one call before warms the caches."""
    call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def set_threads(threads: int) -> None:
    import hmath

    hmath.set_num_threads(threads)
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(threads)


# A sample begins after a pause and on the other side's caches: where calls are long, few make up a sample,
# and where they go through much memory the first ones are slow on both sides. Training steps run in loops of
# thousands, which a longer sample stands for.
STEADY = 0.25

# PyTorch's OpenMP workers go on spinning for up to 5 ms after their last region, on cores that the other
# side would use: with a shorter pause hmath's figures on two threads are those of one thread.
SETTLE = 0.015


def measure(chosen: Case, threads: int, turns: int, seconds: float) -> dict[str, Any]:
    """Time both sides in turn, each after the other side's threads have gone to sleep."""
    inputs = chosen.inputs()
    set_threads(threads)
    ours, theirs = chosen.hmath(inputs), chosen.peer(inputs)
    result: dict[str, Any] = {"work": chosen.work, "unit": chosen.unit, "peer": chosen.peer_name}
    if chosen.tolerance is not None:
        result["difference"] = difference(ours(), theirs())
        result["agrees"] = result["difference"] <= chosen.tolerance
    if chosen.steady:
        seconds = max(seconds, STEADY)
    counts = repetitions(ours, seconds), repetitions(theirs, seconds)
    timing = Timing()
    for _ in range(turns):
        time.sleep(SETTLE)
        timing.hmath.append(sample(ours, counts[0]))
        time.sleep(SETTLE)
        timing.peer.append(sample(theirs, counts[1]))
    return {**result, **timing.summary(), "turns": turns}
