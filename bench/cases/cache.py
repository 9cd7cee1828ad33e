"""The KV cache: 4,096 appends of one row each against one copy of all the rows.

A cache that copied what it holds at every append would move 4096 * 4097 / 2 rows, two thousand times what
the copy moves.
"""

import numpy as np
from harness import case, normal

from hmath import deeplearning_layers as layers
from hmath import tensor

ROWS, WIDTH = 4096, 1024


def inputs():
    return {"key": normal(ROWS, WIDTH, seed=1), "value": normal(ROWS, WIDTH, seed=2)}


def appends(given):
    keys, values = ([tensor.from_numpy(row[None]) for row in given[name]] for name in ("key", "value"))

    def run():
        cache = layers.empty_cache(ROWS, WIDTH, WIDTH)
        for key, value in zip(keys, values, strict=True):
            cache = layers.append_cache(cache, key, value)
        return layers.cache_values(cache)

    return run


def one_copy(given):
    return lambda: (np.copy(given["key"]), np.copy(given["value"]))


case(
    "kv_cache_4096_appends",
    "attention",
    inputs,
    appends,
    one_copy,
    2 * ROWS * WIDTH,
    unit="elem",
    tolerance=0.0,
    peer_name="one copy of the rows",
)
