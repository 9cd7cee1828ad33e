"""Learn to read handwritten digits: a softmax classifier, with every gradient written out.

    python -m pip install '.[examples]' && python examples/python/digits.py

The data beside this file are 1,797 images of 8 x 8 pixels: the test part of "Optical Recognition of
Handwritten Digits" by E. Alpaydin and C. Kaynak (UCI Machine Learning Repository, 1998, doi
10.24432/C50P49, CC BY 4.0), as scikit-learn's load_digits has them. 80 % of them, drawn at random, are
learnt from; the rest is never looked at before the end.

Every number printed but the times is the same on every machine and for every number of threads, to the
last bit: see the digest of the weights.
"""

from __future__ import annotations

import gzip
import hashlib
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from tqdm import tqdm

import hmath
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_metrics as metrics
from hmath import random, tensor

HERE = Path(__file__).resolve().parent
FIGURE = Path("digits.png")

CLASSES, PIXELS = 10, 64
EPOCHS, BATCH, RATE, DECAY = 60, 32, 0.5, 1e-4


def load() -> tuple[np.ndarray, np.ndarray]:
    """Images as rows of 64 grey values in [0, 1], and what they show."""
    with gzip.open(HERE / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    return table[:, :PIXELS] / 16.0, table[:, PIXELS].astype(np.int64)


def one_hot(labels: np.ndarray) -> np.ndarray:
    return np.eye(CLASSES)[labels]


def train(
    images: np.ndarray, labels: np.ndarray, rng: random.RNG
) -> tuple[tensor.Tensor, np.ndarray, list[float], random.RNG]:
    """Minibatch gradient descent on the mean cross entropy, with weight decay."""
    weights, rng = layers.initialize_weights(layers.XavierUniform, PIXELS, CLASSES, [CLASSES, PIXELS], rng)
    bias = np.zeros(CLASSES)
    losses = []
    progress = tqdm(range(EPOCHS), desc="training", unit="epoch")
    for _ in progress:
        order, rng = random.permutation(len(labels), rng)
        total = 0.0
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            inputs = tensor.from_numpy(images[batch])
            target = tensor.from_numpy(one_hot(labels[batch]))

            # Forward: logits = inputs * weights^T + bias, and the loss from their log-softmax.
            logits = layers.dense(inputs, weights, bias)
            total -= (core.log_softmax(logits) * target).sum().item()

            # Backward: the loss's gradient with respect to the logits is softmax(logits) - target.
            delta = (core.softmax(logits) - target) / len(batch)
            weights = weights - RATE * (delta.T @ inputs + DECAY * weights)
            bias = bias - RATE * delta.sum(axis=0).numpy()
        losses.append(total / len(order))
        progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return weights, bias, losses, rng


def draw(losses: list[float], images: np.ndarray, truth: np.ndarray, prediction: np.ndarray) -> None:
    """The loss over the epochs, and the first digits that were read wrongly."""
    wrong = np.flatnonzero(truth != prediction)[:8]
    figure, axes = plt.subplot_mosaic(
        [["loss", *range(4)], ["loss", *range(4, 8)]],
        figsize=(10, 4.5),
        width_ratios=[2.5, 1, 1, 1, 1],
        layout="constrained",
    )
    axes["loss"].plot(range(1, len(losses) + 1), losses)
    axes["loss"].set(xlabel="epoch", ylabel="mean cross entropy", yscale="log", title="training loss")
    for place in range(8):
        axes[place].axis("off")
        if place < len(wrong):
            index = wrong[place]
            axes[place].imshow(images[index].reshape(8, 8), cmap="gray_r")
            axes[place].set_title(f"{truth[index]} read as {prediction[index]}", fontsize=9)
    figure.suptitle("Handwritten digits, and those that were misread")
    figure.savefig(FIGURE, dpi=120)


def main() -> None:
    print(f"hmath {hmath.__version__}, numerics contract {hmath.numerics_version()}")
    images, labels = load()
    rng = random.seed_rng(random.pcg64(), 2026)
    order, rng = random.permutation(len(labels), rng)
    cut = len(order) * 4 // 5
    learn, held_out = order[:cut], order[cut:]
    print(f"{len(learn)} digits to learn from, {len(held_out)} held out")

    start = time.perf_counter()
    weights, bias, losses, rng = train(images[learn], labels[learn], rng)
    print(f"trained {EPOCHS} epochs; first loss {losses[0]:.4f}, last loss {losses[-1]:.4f}")
    print(f"time for training: {time.perf_counter() - start:.2f} s")

    logits = layers.dense(images[held_out], weights, bias)
    prediction, truth = logits.argmax(axis=1), labels[held_out]
    scores = metrics.classification_metrics(CLASSES, truth, prediction)
    print(f"accuracy on held-out digits: {100 * scores.accuracy:.2f} %")
    print("F1 by digit: " + "  ".join(f"{digit}: {f1:.3f}" for digit, f1 in enumerate(scores.f1)))

    digest = hashlib.sha256(weights.numpy().tobytes() + np.asarray(bias).tobytes()).hexdigest()
    print(f"digest of the weights: {digest[:32]}")

    draw(losses, images[held_out], truth, prediction)
    print(f"figure: {FIGURE}")


if __name__ == "__main__":
    main()
