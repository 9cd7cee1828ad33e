"""Learn to read handwritten digits, and then do it in eight bits, and in sixteen.

    python -m pip install '.[examples]' && python examples/python/digits.py

1. A small convolutional network is trained; loss, gradients and update are one compiled program
   (digits_network.py).
2. The digits that were held out are read, and what was misread is drawn (digits_data.py says where the
   digits come from).
3. The trained network is quantized and runs on 8-bit integers (digits_quantized.py).
4. A smaller network is trained with products in FP16 and a loss scale that adapts (digits_mixed.py).

Every number printed but the times is the same on every machine and for every number of threads, to the
last bit: see the digest of the weights.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import digits_mixed
import digits_network
import digits_quantized
import matplotlib.pyplot as plt
import numpy as np
from digits_data import CLASSES, SIDE, Digits, load
from tqdm import tqdm

import hmath
from hmath import deeplearning_core as core
from hmath import deeplearning_metrics as metrics
from hmath import random

FIGURE = Path("digits.png")


def digest(arrays: list[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[
        :32
    ]


def train(learn: Digits, rng: random.RNG) -> tuple[digits_network.Parameters, list[float], random.RNG]:
    start = time.perf_counter()
    with tqdm(total=digits_network.EPOCHS, desc="training", unit="epoch") as progress:

        def report(loss: float) -> None:
            progress.update()
            progress.set_postfix(loss=f"{loss:.4f}")

        parameters, losses, rng = digits_network.train(learn, rng, report)
    print(f"trained {digits_network.EPOCHS} epochs; first loss {losses[0]:.4f}, last loss {losses[-1]:.4f}")
    print(f"digest of the weights: {digest([p.numpy() for p in parameters])}")
    print(f"time for training: {time.perf_counter() - start:.2f} s")
    return parameters, losses, rng


def evaluate(parameters: digits_network.Parameters, held_out: Digits) -> np.ndarray:
    """Print how well the held-out digits are read; returns the logits."""
    logits = digits_network.predict(parameters, held_out).numpy()
    scores = metrics.classification_metrics(CLASSES, held_out.labels, logits.argmax(axis=1))
    print(f"accuracy on held-out digits: {100 * scores.accuracy:.2f} %")
    print("F1 by digit: " + "  ".join(f"{digit}: {f1:.3f}" for digit, f1 in enumerate(scores.f1)))
    return logits


def evaluate_quantized(parameters: digits_network.Parameters, held_out: Digits, logits: np.ndarray) -> None:
    """The same in eight bits, beside the double result."""
    quantized = digits_quantized.predict(digits_quantized.quantize(parameters), held_out)
    accuracy = np.mean(quantized.argmax(axis=1) == held_out.labels)
    error = np.abs(quantized - logits).max()
    print(f"in 8-bit integers: accuracy {100 * accuracy:.2f} %")
    print(f"largest error of a logit in 8-bit integers: {error:.3f}; logits reach {np.abs(logits).max():.1f}")


def train_mixed(learn: Digits, held_out: Digits, rng: random.RNG) -> list[float]:
    """Training in sixteen bits; returns the loss scale at every step."""
    weights, scales, skipped = digits_mixed.train(learn, rng)
    accuracy = digits_mixed.accuracy(weights, held_out)
    print(
        f"trained in FP16: accuracy {100 * accuracy:.2f} %, {skipped} of {len(scales)} steps skipped on overflow"
    )
    return scales


# ---------------------------------------------------------------- the figure


def draw_roc(axes: plt.Axes, logits: np.ndarray, truth: np.ndarray) -> None:
    """One curve a digit, against all others. Nearly everything happens in the upper left corner."""
    probabilities = core.softmax(logits)
    for digit in range(CLASSES):
        is_digit, scores = truth == digit, np.ascontiguousarray(probabilities[:, digit])
        false_positive, true_positive, *_ = metrics.roc_curve(is_digit, scores)
        axes.plot(false_positive, true_positive, label=f"{digit}: {metrics.roc_auc(is_digit, scores):.4f}")
    axes.set(
        xlabel="false positives", ylabel="true positives", xlim=(-0.002, 0.05), ylim=(0.9, 1.002), title="ROC"
    )
    axes.legend(title="area", fontsize=6, title_fontsize=7)


def draw_misread(axes: dict[int, plt.Axes], held_out: Digits, prediction: np.ndarray) -> None:
    wrong = np.flatnonzero(held_out.labels != prediction)
    for place, panel in axes.items():
        panel.axis("off")
        if place < len(wrong):
            index = wrong[place]
            panel.imshow(held_out.images[index].reshape(SIDE, SIDE), cmap="gray_r")
            panel.set_title(f"{held_out.labels[index]} read as {prediction[index]}", fontsize=9)


def draw(losses: list[float], logits: np.ndarray, held_out: Digits, scales: list[float]) -> None:
    """Loss, ROC curves, the loss scale of the FP16 run, and the first digits that were misread."""
    figure, axes = plt.subplot_mosaic(
        [["loss", "loss", "roc", "roc"], ["scale", "scale", 0, 1], ["scale", "scale", 2, 3]],
        figsize=(10, 8),
        height_ratios=[2, 1, 1],
        layout="constrained",
    )
    axes["loss"].plot(range(1, len(losses) + 1), losses)
    axes["loss"].set(xlabel="epoch", ylabel="mean cross entropy", yscale="log", title="training loss")
    draw_roc(axes["roc"], logits, held_out.labels)
    axes["scale"].step(range(len(scales)), scales)
    axes["scale"].set_yscale("log", base=2)
    axes["scale"].set(xlabel="step", ylabel="loss scale", title="loss scale, training in FP16")
    draw_misread({place: axes[place] for place in range(4)}, held_out, logits.argmax(axis=1))
    figure.savefig(FIGURE, dpi=120)
    print(f"figure: {FIGURE}")


def main() -> None:
    print(f"hmath {hmath.__version__}, numerics contract {hmath.numerics_version()}")
    learn, held_out, rng = load(random.seed_rng(random.pcg64(), 2026))
    print(f"{len(learn)} digits to learn from, {len(held_out)} held out")
    parameters, losses, rng = train(learn, rng)
    logits = evaluate(parameters, held_out)
    evaluate_quantized(parameters, held_out, logits)
    scales = train_mixed(learn, held_out, rng)
    draw(losses, logits, held_out, scales)


if __name__ == "__main__":
    main()
