"""The handwritten digits that the examples learn from.

The file beside this one has 1,797 images of 8 x 8 pixels: the test part of "Optical Recognition of
Handwritten Digits" by E. Alpaydin and C. Kaynak (UCI Machine Learning Repository, 1998, doi
10.24432/C50P49, CC BY 4.0), as scikit-learn's load_digits has them.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hmath import random

CLASSES, SIDE = 10, 8


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 grey values in [0, 1], and the digit that each shows."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: object) -> Digits:
        return Digits(self.images[index], self.labels[index])

    @property
    def one_hot(self) -> np.ndarray:
        return np.eye(CLASSES)[self.labels]


def load(rng: random.RNG) -> tuple[Digits, Digits, random.RNG]:
    """80 % of the digits, drawn at random, to learn from; the rest, to be looked at in the end only."""
    with gzip.open(Path(__file__).resolve().parent / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    digits = Digits(table[:, : SIDE * SIDE] / 16.0, table[:, SIDE * SIDE].astype(np.int64))
    order, rng = random.permutation(len(digits), rng)
    cut = len(order) * 4 // 5
    return digits[order[:cut]], digits[order[cut:]], rng
