"""Core against PyTorch in double precision, over random shapes; CTC also against long double at 10^5 frames.

Tolerances. PyTorch sums in another order and clamps some logarithms, so inputs keep clear of its clamps (its
binary cross entropy floors ln at -100, its accuracy near certainty is absolute). Elementwise results agree
within a few roundings of either side; sums of n terms within n roundings of the terms' magnitudes.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from hmath import TypeMismatch
from hmath import deeplearning_core as core

torch = pytest.importorskip("torch")
F = torch.nn.functional

EPSILON = 2.0**-52
CASES = 60


def cases(seed: int, count: int = CASES) -> list[random.Random]:
    return [random.Random(f"{seed}:{i}") for i in range(count)]


def generator(rng: random.Random) -> np.random.Generator:
    return np.random.default_rng(rng.getrandbits(63))


def length(rng: random.Random) -> int:
    return rng.choice([1, 2, 3, 7, 31, 32, 33, 100, 1000, 4095, 4096, 4097, 10000])


def close(got, right, relative, absolute=0.0) -> None:
    got, right = np.asarray(got), np.asarray(right)
    assert got.shape == right.shape
    assert (np.abs(got - right) <= absolute + relative * np.abs(right)).all(), np.abs(got - right).max()


def leaf(x: np.ndarray):
    return torch.from_numpy(x.copy()).requires_grad_()


# ---------------------------------------------------------------- activations

ACTIVATIONS = {
    core.Sigmoid: torch.sigmoid,
    core.Tanh: torch.tanh,
    core.ReLU: F.relu,
    core.LeakyReLU(0.2): lambda x: F.leaky_relu(x, 0.2),
    core.PReLU(-0.5): lambda x: F.prelu(x, torch.tensor([-0.5], dtype=torch.float64)),
    core.ELU(1.5): lambda x: F.elu(x, 1.5),
    core.SELU: F.selu,
    core.GELU: F.gelu,
    core.SiLU: F.silu,
    core.Mish: F.mish,
    core.Softsign: F.softsign,
    core.HardSigmoid: F.hardsigmoid,
    core.HardSwish: F.hardswish,
    core.Softplus: lambda x: F.softplus(x, threshold=100),
}


@pytest.mark.parametrize("method", ACTIVATIONS, ids=repr)
@pytest.mark.parametrize("rng", cases(1, 5))
def test_activations(method, rng):
    x = generator(rng).standard_normal((rng.randint(1, 9), rng.randint(1, 300))) * rng.choice([0.1, 1.0, 5.0])
    z = leaf(x)
    y = ACTIVATIONS[method](z)
    y.sum().backward()
    # PyTorch's own formulas lose absolute accuracy in their tails: compare absolutely there
    close(core.activation(method, x), y.detach().numpy(), 1e-13, 1e-15)
    # and its slope of HardSigmoid is 1/6 in single precision
    loose = 1e-8 if method is core.HardSigmoid else 4e-15
    close(core.activation_derivative(method, x), z.grad.numpy(), 1e-13, loose)


@pytest.mark.parametrize("rng", cases(2))
def test_softmax_family(rng):
    shape = [rng.randint(1, 5) for _ in range(rng.randint(0, 2))] + [length(rng)]
    x = generator(rng).standard_normal(shape) * rng.choice([0.1, 1.0, 30.0, 300.0])
    t = torch.from_numpy(x)
    span = float(x.max() - x.min())
    close(core.softmax(x), torch.softmax(t, -1).numpy(), (span + 64) * EPSILON, 2.0**-1073)
    # of a largest entry near 0 PyTorch's logarithm of the sum keeps absolute accuracy only
    close(core.log_softmax(x), torch.log_softmax(t, -1).numpy(), 64 * EPSILON, 64 * EPSILON)


# ---------------------------------------------------------------- losses


def sums(reduction) -> str:
    return "mean" if reduction is core.Mean else "sum"


REGRESSION = {
    core.MeanSquaredError: lambda p, t, r: F.mse_loss(p, t, reduction=r),
    core.MeanAbsoluteError: lambda p, t, r: F.l1_loss(p, t, reduction=r),
    core.Huber(0.7): lambda p, t, r: F.huber_loss(p, t, reduction=r, delta=0.7),
    core.SmoothL1(0.7): lambda p, t, r: F.smooth_l1_loss(p, t, reduction=r, beta=0.7),
}


@pytest.mark.parametrize("reduction", [core.Sum, core.Mean], ids=repr)
@pytest.mark.parametrize("rng", cases(3))
def test_losses_and_gradients(reduction, rng):
    n, g = length(rng), generator(rng)
    target, prediction = g.standard_normal(n), g.standard_normal(n)
    probability, hard = g.uniform(1e-6, 1 - 1e-6, n), g.uniform(0, 1, n)
    everything = {
        **{method: (f, target, prediction) for method, f in REGRESSION.items()},
        core.BinaryCrossEntropy: (
            lambda p, t, r: F.binary_cross_entropy(p, t, reduction=r),
            hard,
            probability,
        ),
        core.KLDivergence: (
            lambda p, t, r: F.kl_div(p.log(), t, reduction="sum") / (len(t) if r == "mean" else 1),
            hard,
            probability,
        ),
    }
    for method, (function, t, p) in everything.items():
        z = leaf(p)
        right = function(z, torch.from_numpy(t), sums(reduction))
        right.backward()
        size = 1 if method is not core.KLDivergence else np.abs(hard * np.log(hard / probability)).sum()
        bound = (n + 32) * EPSILON
        close(core.loss(method, reduction, t, p), right.item(), bound, bound * size)
        close(core.loss_gradient(method, reduction, t, p), z.grad.numpy(), 1e-9, 1e-12 / n)


@pytest.mark.parametrize("rng", cases(4))
def test_other_losses(rng):
    n, g = length(rng), generator(rng)
    x, y, z = (g.standard_normal(n) for _ in range(3))
    bound = (n + 32) * EPSILON
    t = g.uniform(0, 1, n)
    logits = torch.from_numpy(x * 20)
    for reduction in (core.Sum, core.Mean):
        right = F.binary_cross_entropy_with_logits(logits, torch.from_numpy(t), reduction=sums(reduction))
        close(core.binary_cross_entropy_logits(reduction, t, x * 20), right.item(), bound)
    weights = t / t.sum()
    right = F.cross_entropy(logits, torch.from_numpy(weights))
    close(core.categorical_cross_entropy_logits(weights, x * 20), right.item(), bound)
    right = F.triplet_margin_loss(*(torch.from_numpy(v[None]) for v in (x, y, z)), margin=0.3, eps=0)
    close(core.triplet_loss(0.3, x, y, z), right.item(), bound, bound * np.linalg.norm(x - y))
    # (PyTorch's own cosine losses add 1e-12 to the norms)
    one, other = torch.from_numpy(x), leaf(y)
    right = 1 - one @ other / (one.norm() * other.norm())
    right.backward()
    close(core.loss(core.CosineLoss, core.Sum, x, y), right.item(), bound, 4 * EPSILON)
    close(core.loss_gradient(core.CosineLoss, core.Sum, x, y), other.grad.numpy(), 1e-9, 1e-13)


# ---------------------------------------------------------------- CTC


@pytest.mark.parametrize("rng", cases(5))
def test_ctc(rng):
    g = generator(rng)
    frames, classes = rng.randint(1, 120), rng.randint(2, 40)
    blank = rng.randrange(classes)
    others = [k for k in range(classes) if k != blank]
    labels = [rng.choice(others) for _ in range(rng.randint(0, frames // 2))]
    logits = g.standard_normal((frames, 1, classes)) * rng.choice([0.1, 1.0, 10.0])
    rows = torch.log_softmax(torch.from_numpy(logits), -1).clone().requires_grad_()
    if not labels:
        right = -rows[:, 0, blank].sum()  # PyTorch's own answer for no labels
    else:
        right = F.ctc_loss(
            rows, torch.tensor([labels]), torch.tensor([frames]), torch.tensor([len(labels)]), blank, "sum"
        )
    log_probabilities = rows.detach()[:, 0].numpy()
    loss, gradient = core.ctc_loss_gradient(blank, labels, log_probabilities)
    close(loss, right.item(), 1e-12, 1e-12)
    assert loss == core.ctc_loss(blank, labels, log_probabilities)
    right.backward()
    # PyTorch's gradient is taken through a log-softmax: its rows are probabilities less occupancies
    through = np.exp(log_probabilities) + gradient if labels else gradient
    close(rows.grad[:, 0].numpy(), through, 0, 1e-10)


def long_double_ctc(labels, rows):
    """The textbook recursion in logarithms of extended precision."""
    states = [0]
    for label in labels:
        states += [label, 0]
    states = np.array(states)
    skip = np.zeros(len(states), bool)
    skip[2:] = (states[2:] != 0) & (states[2:] != states[:-2])
    alpha = np.full(len(states), -np.inf, np.longdouble)
    rows = rows.astype(np.longdouble)
    alpha[:2] = rows[0, states[:2]]
    nothing = np.array([-np.inf], np.longdouble)
    for row in rows[1:]:
        one = np.concatenate([nothing, alpha[:-1]])
        two = np.where(skip, np.concatenate([nothing, nothing, alpha[:-2]]), -np.inf)
        alpha = np.logaddexp(np.logaddexp(alpha, one), two) + row[states]
    return -np.logaddexp(alpha[-1], alpha[-2])


@pytest.mark.parametrize("peakedness", [0.3, 3.0, 30.0])
def test_ctc_of_a_hundred_thousand_frames(peakedness):
    g = np.random.default_rng(int(peakedness * 10))
    rows = np.asarray(torch.log_softmax(torch.from_numpy(g.standard_normal((100_000, 6)) * peakedness), -1))
    labels = g.integers(1, 6, 30).tolist()
    right = long_double_ctc(labels, rows)
    assert abs(core.ctc_loss(0, labels, rows) - right) <= 1e-12 * right


def test_torch_scalars_are_numbers_where_they_hold_one() -> None:
    """A 0-dimensional tensor has ``__float__`` and ``__index__`` whatever it holds."""
    assert core.activation(core.ReLU, torch.tensor(2.0)) == core.activation(core.ReLU, torch.tensor(2)) == 2.0
    for wrong in (torch.tensor(True), torch.tensor(1j), torch.tensor(1 + 0j), torch.tensor([1.0])):
        with pytest.raises(TypeMismatch):
            core.activation(core.ReLU, wrong)
        with pytest.raises(TypeMismatch):
            core.ctc_loss(wrong, [], [[0.0]])
