"""Random tensors, dropout and initialisers. Both sides draw their own numbers, so nothing is compared."""

import torch
import torch.nn.functional as F
from harness import case, normal
from sides import theirs

from hmath import deeplearning_layers as layers
from hmath import random, tensor

N = 1 << 20
GENERATORS = (
    random.pcg32,
    random.pcg64,
    random.xoshiro256starstar,
    random.splitmix64,
    random.philox4x32,
    random.mt19937,
)


def nothing():
    return {}


def draws(maker, draw):
    """hmath drawing N numbers; the RNG is immutable, so every call draws the same ones."""

    def prepare(inputs):
        rng = random.seed_rng(maker(), 1)
        return lambda: draw([N], rng)

    return prepare


def torch_draws(function):
    return lambda inputs: lambda: function(N, dtype=torch.float64)


for maker in GENERATORS:
    for name, draw, peer in (
        ("uniform", random.uniform_tensor, torch.rand),
        ("normal", random.normal_tensor, torch.randn),
    ):
        case(
            f"{name}_{maker.__name__}_1M",
            "random",
            nothing,
            draws(maker, draw),
            torch_draws(peer),
            N,
            tolerance=None,
            quick=maker is random.pcg64,
        )


def drop(function):
    def prepare(inputs):
        x, rng = tensor.from_numpy(inputs["x"]), random.seed_rng(random.pcg64(), 1)
        return lambda: function(layers.Training.TRAINING, 0.5, rng, x)

    return prepare


case(
    "dropout_1M",
    "random",
    lambda: {"x": normal(N, seed=1)},
    drop(layers.dropout),
    theirs(lambda x: F.dropout(x, 0.5), "x"),
    N,
    tolerance=None,
)
case(
    "spatial_dropout_32x64x32x32",
    "random",
    lambda: {"x": normal(32, 64, 32, 32, seed=1)},
    drop(layers.spatial_dropout),
    theirs(lambda x: F.dropout2d(x, 0.5), "x"),
    32 * 64 * 32 * 32,
    tolerance=None,
)


def initialise(method, n):
    def prepare(inputs):
        rng = random.seed_rng(random.pcg64(), 1)
        return lambda: layers.initialize_weights(method, n, n, [n, n], rng)

    return prepare


def torch_initialise(function, n):
    def prepare(inputs):
        return lambda: function(torch.empty(n, n, dtype=torch.float64))

    return prepare


INITIALISERS = {
    "xavier_uniform": (layers.XavierUniform, torch.nn.init.xavier_uniform_, 512),
    "kaiming_normal": (layers.KaimingNormal, torch.nn.init.kaiming_normal_, 512),
    "truncated_normal": (layers.TruncatedNormal(0.0, 1.0, 2.0), torch.nn.init.trunc_normal_, 512),
    "orthogonal_64": (layers.Orthogonal(1.0), torch.nn.init.orthogonal_, 64),
    "orthogonal_512": (layers.Orthogonal(1.0), torch.nn.init.orthogonal_, 512),
}
for name, (method, peer, n) in INITIALISERS.items():
    case(
        f"initialise_{name}",
        "random",
        nothing,
        initialise(method, n),
        torch_initialise(peer, n),
        n * n,
        tolerance=None,
        quick=name == "orthogonal_512",
    )
