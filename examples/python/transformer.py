"""A small transformer learns to write, character by character.

    python -m pip install '.[examples]' && python examples/python/transformer.py

The text is the beginning of Lewis Carroll's "Alice's Adventures in Wonderland" (1865, public domain), which
ships beside this file. Two pre-norm blocks with causal attention learn to tell the next character; a whole
training step (forward, backward, clipping, Adam with warm-up and cosine schedule) is one compiled program
and one call. Every number printed but the times is the same on every machine and for every number of
threads.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hmath import autodiff as ad
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import optim, random, tensor

SEQUENCE, WIDTH, HEADS, HIDDEN, BLOCKS = 64, 64, 4, 192, 2
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 1500

text = (Path(__file__).parent / "alice.txt").read_text(encoding="ascii")
alphabet = sorted(set(text))
number = {character: i for i, character in enumerate(alphabet)}
codes = np.array([number[character] for character in text], dtype=np.float64)


class Parameters:
    """Variables, and their first values drawn from one continuing generator."""

    def __init__(self) -> None:
        self.variables: list[Any] = []
        self.values: list[Any] = []
        self._rng = random.seed_rng(random.pcg64(), 42)

    def __call__(self, *shape: int, scale: float | None = None) -> Any:
        if scale == 0.0:
            value = tensor.zeros(list(shape))
        else:
            deviation = shape[-1] ** -0.5 if scale is None else scale
            normal, self._rng = random.normal_tensor(shape, self._rng)
            value = normal * deviation
        self.values.append(value)
        self.variables.append(ad.variable(f"p{len(self.variables)}", shape))
        return self.variables[-1]

    def dense(self, x: Any, out: int, width: int) -> Any:
        return layers.dense_ad(x, self(out, width), self(out, scale=0.0))

    def norm(self, x: Any) -> Any:
        return layers.layer_norm_ad(1, 1e-5, x) * (self(WIDTH, scale=0.0) + 1.0) + self(WIDTH, scale=0.0)


parameters = Parameters()
inputs = ad.variable("inputs", (SEQUENCE,))
targets = ad.variable("targets", (SEQUENCE, len(alphabet)))
mask = layers.causal_mask(SEQUENCE, SEQUENCE, 0)

x = ad.embedding(parameters(len(alphabet), WIDTH, scale=0.5), inputs)
x = x + layers.sinusoidal_encoding(SEQUENCE, WIDTH, 0) * 0.5
for _ in range(BLOCKS):
    h = parameters.norm(x)
    query, key, value = (parameters.dense(h, WIDTH, WIDTH) for _ in range(3))
    attended = ad.multihead_attention(HEADS, query, key, value, mask)
    x = x + parameters.dense(attended, WIDTH, WIDTH)
    hidden = ad.activation(core.GELU, parameters.dense(parameters.norm(x), HIDDEN, WIDTH))
    x = x + parameters.dense(hidden, WIDTH, HIDDEN)
scores = parameters.dense(parameters.norm(x), len(alphabet), WIDTH)
loss = -ad.sum(ad.log_softmax(scores) * targets) / float(SEQUENCE)

state = optim.adam_variables([p.shape for p in parameters.variables])
rate = optim.warm_up(state[0], optim.cosine(state[0], 3e-3, float(STEPS), 1e-4), 50.0)
gradients, _ = optim.clip_by_global_norm(ad.gradient(loss, parameters.variables), 1.0)
updated, new_state = optim.adam(parameters.variables, gradients, state, rate=rate)
step = ad.compile([loss, *updated, *new_state], [inputs, targets, *parameters.variables, *state])
predict = ad.compile(scores, [inputs, *parameters.variables])
print(step)

values, moments = parameters.values, optim.adam_state(parameters.values)
rng, one_hot, start, mean = (
    random.seed_rng(random.pcg64(), 7),
    np.eye(len(alphabet)),
    time.perf_counter(),
    0.0,
)
for i in range(STEPS):
    at, rng = random.bounded(len(codes) - SEQUENCE - 1, rng)
    window = codes[at : at + SEQUENCE + 1]
    error, *results = step(window[:-1].copy(), one_hot[window[1:].astype(int)], *values, *moments)
    values, moments = results[: len(values)], results[len(values) :]
    mean = error if i == 0 else 0.98 * mean + 0.02 * error
    if i % 250 == 0 or i == STEPS - 1:
        print(f"step {i:5d}  loss {mean:.4f}  ({time.perf_counter() - start:.0f} s)")

digest = hashlib.sha256(b"".join(np.asarray(v).tobytes() for v in values)).hexdigest()
print(f"digest of the weights: {digest[:16]}")

# Write on: each character is drawn from the softmax of the scores at the end of the window.
written = list(codes[:SEQUENCE])
for _ in range(300):
    window = np.array(written[-SEQUENCE:])
    last = predict(window, *values)[SEQUENCE - 1]
    chances = np.cumsum(core.softmax((last * 1.5).values))
    u, rng = random.uniform(rng)
    written.append(float(min(int(np.searchsorted(chances, u)), len(alphabet) - 1)))
print("".join(alphabet[int(c)] for c in written[SEQUENCE:]))
