"""Token by token and all at once are the same: 03_decode.c in Python, with NumPy arrays for weights."""

import numpy as np

from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers

WIDTH, HEADS, HIDDEN, TOKENS = 32, 4, 64, 24
draw = np.random.default_rng(42).standard_normal
table, logits = draw((50, WIDTH)), draw((50, WIDTH))
wq, wk, wv, wo = (draw((WIDTH, WIDTH)) / WIDTH**0.5 for _ in range(4))
first, second = draw((HIDDEN, WIDTH)) / WIDTH**0.5, draw((WIDTH, HIDDEN)) / HIDDEN**0.5
zeros = np.zeros(HIDDEN)


def block(tokens, position, cache):
    """Rows for `tokens`, which stand behind those in the cache, and the cache with them."""
    x = layers.embedding(table, tokens)
    q, k, v = (layers.dense(layers.rms_norm(1, 1e-6, x), w, zeros[:WIDTH]) for w in (wq, wk, wv))
    q, k = (layers.rotary_embedding(10000.0, position, a) for a in (q, k))
    cache = layers.append_cache(cache, k, v)
    mask = layers.causal_mask(len(tokens), position + len(tokens), position)
    x = x + layers.dense(
        layers.multihead_attention(HEADS, q, *layers.cache_values(cache), mask), wo, zeros[:WIDTH]
    )
    normed = layers.rms_norm(1, 1e-6, x)
    return x + layers.transformer_feed_forward(core.GELU, normed, first, zeros, second, zeros[:WIDTH]), cache


tokens, rows, cache = [7], [], layers.empty_cache(TOKENS, WIDTH, WIDTH)
for position in range(TOKENS):
    row, cache = block(tokens[-1:], position, cache)
    rows.append(row)
    tokens.append(int(np.argmax(layers.dense(row, logits, np.zeros(50)))))
whole, _ = block(tokens[:TOKENS], 0, layers.empty_cache(TOKENS, WIDTH, WIDTH))

print(*tokens)
print(f"{TOKENS} rows, {int((np.concatenate(rows) != whole).sum())} numbers differ")
assert np.array_equal(np.concatenate(rows), whole)
