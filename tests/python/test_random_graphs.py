"""Programs of random elementwise graphs: the bits of each node computed alone, however they are put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hmath
from hmath import autodiff as ad
from hmath import deeplearning_core as core

ONE: list[Callable[[Any], Any]] = [
    ad.exp,
    ad.sin,
    ad.tanh,
    ad.sqrt,
    ad.square,
    ad.log1p,
    abs,
    lambda x: -x,
    lambda x: 0.75 * x,
    lambda x: x / 1.25,
    lambda x: 1.5 / x,
    lambda x: 2.0 - x,
    lambda x: ad.activation(core.GELU, x),
    lambda x: ad.activation(core.ReLU, x),
]
ARITHMETIC: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / y,
]
TWO = [*ARITHMETIC, ad.maximum, ad.minimum]
EXTENTS = [1, 2, 3, 7, 33]


@pytest.fixture(autouse=True)
def threads_as_before() -> Any:
    yield
    hmath.set_num_threads(0)


class Graph:
    """Nodes, and beside each its numbers, which no program of more than one operation has computed."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        # Shapes that broadcast, or one that takes several tiles.
        self.shape = tuple(rng.choice(EXTENTS, rng.integers(0, 4))) if rng.random() < 0.85 else (2500,)
        self.newest = rng.choice([0.5, 0.9, 1.0])  # how often the newest node is the operand
        self.functions = rng.choice([0.0, 0.3])
        self.numbers = [np.asarray(rng.uniform(0.5, 2.0, self.shrunk())) for _ in range(rng.integers(1, 5))]
        self.variables = [ad.variable(f"x{i}", x.shape) for i, x in enumerate(self.numbers)]
        self.inputs = [bound(x) for x in self.numbers]
        self.nodes: list[Any] = list(self.variables)

    def shrunk(self) -> tuple[int, ...]:
        """The shape with some extents 1, or without the first ones."""
        kept = [1 if self.rng.random() < 0.25 else int(n) for n in self.shape]
        return tuple(kept[self.rng.integers(0, len(kept) + 1) if self.rng.random() < 0.2 else 0 :])

    def operand(self) -> int:
        near = max(0, len(self.nodes) - 12)
        return (
            len(self.nodes) - 1
            if self.rng.random() < self.newest
            else int(self.rng.integers(near, len(self.nodes)))
        )

    def grow(self) -> None:
        """One more node, unless its numbers are not to be had, or grow out of hand."""
        one = self.rng.random() < 0.4
        choices: list[Any] = (
            (ONE if self.functions else ONE[6:12]) if one else (TWO if self.functions else ARITHMETIC)
        )
        make = choices[self.rng.integers(0, len(choices))]
        at = [self.operand() for _ in range(1 if one else 2)]
        alone = [ad.variable("x", self.numbers[i].shape) for i in at]
        try:
            bindings = {x: bound(self.numbers[i]) for x, i in zip(alone, at, strict=True)}
            result = np.asarray(ad.evaluate(make(*alone), bindings))
        except hmath.HMathError:
            return
        if np.all(np.abs(result) < 1e60):
            self.nodes.append(make(*(self.nodes[i] for i in at)))
            self.numbers.append(result)


def bound(x: np.ndarray) -> Any:
    return x if x.ndim else float(x)


@given(st.integers(0, 2**32 - 1))
def test_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = Graph(rng)
    for _ in range(rng.choice([5, 20, 150])):
        graph.grow()
    wanted = [*rng.integers(0, len(graph.nodes), rng.integers(0, 4)), len(graph.nodes) - 1]
    program = ad.compile([graph.nodes[i] for i in wanted], graph.variables)
    for threads in (1, 2):
        hmath.set_num_threads(threads)
        for i, result in zip(wanted, program(*graph.inputs), strict=True):
            assert np.asarray(result).tobytes() == graph.numbers[i].tobytes(), (i, threads)
