"""Metrics against scikit-learn and PyTorch in double precision.

Tolerances: both sides round a few times per result; scikit-learn sums trapezoids one after the other, n
roundings of terms of one sign, hence n * 2^-53 in the areas. Counts are equal.
"""

from __future__ import annotations

import numpy as np
import pytest

from hmath import deeplearning_metrics as metrics

sklearn = pytest.importorskip("sklearn.metrics")
torch = pytest.importorskip("torch")

EPSILON = 2.0**-52


@pytest.mark.parametrize("seed", range(20))
def test_classification(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes, n = int(rng.integers(1, 12)), int(rng.integers(1, 3000))
    truth, prediction = rng.integers(0, classes, n), rng.integers(0, classes, n)
    labels = list(range(classes))
    right = sklearn.confusion_matrix(truth, prediction, labels=labels)
    assert metrics.confusion_matrix(classes, truth, prediction) == right.tolist()
    got = metrics.classification_metrics(classes, truth, prediction)
    assert got.accuracy == sklearn.accuracy_score(truth, prediction)
    parts = sklearn.precision_recall_fscore_support(truth, prediction, labels=labels, zero_division=0)
    for mine, theirs in zip((got.precision, got.recall, got.f1), parts, strict=False):
        np.testing.assert_allclose(mine, theirs, rtol=4 * EPSILON, atol=0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("tied", [False, True])
def test_areas(seed: int, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5000))
    truth = rng.integers(0, 2, n)
    truth[:2] = 0, 1
    scores = rng.integers(0, 50, n).astype(float) if tied else rng.standard_normal(n)
    np.testing.assert_allclose(
        metrics.roc_auc(truth, scores), sklearn.roc_auc_score(truth, scores), rtol=n * EPSILON
    )
    # scikit-learn's curve ends at (0, 1) without a threshold and drops nothing, so auc() is ours.
    precision, recall, _ = sklearn.precision_recall_curve(truth, scores)
    right = sklearn.auc(recall, precision)
    np.testing.assert_allclose(metrics.pr_auc(truth, scores), right, rtol=n * EPSILON)
    false_rate, true_rate, thresholds = metrics.roc_curve(truth, scores)
    theirs = sklearn.roc_curve(truth, scores, drop_intermediate=False)
    np.testing.assert_array_equal(thresholds, theirs[2][1:])
    np.testing.assert_allclose(false_rate, theirs[0], rtol=2 * EPSILON)
    np.testing.assert_allclose(true_rate, theirs[1], rtol=2 * EPSILON)


@pytest.mark.parametrize("seed", range(10))
def test_top_k(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes, n = int(rng.integers(3, 30)), int(rng.integers(1, 500))
    scores, truth = rng.standard_normal((n, classes)), rng.integers(0, classes, n)
    k = int(rng.integers(1, classes))
    right = sklearn.top_k_accuracy_score(truth, scores, k=k, labels=range(classes))
    assert metrics.top_k_accuracy(k, truth, scores) == pytest.approx(right, rel=EPSILON)


@pytest.mark.parametrize("seed", range(10))
def test_cosine_similarity_and_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((17, 33)), rng.standard_normal((9, 33))
    got = metrics.cosine_similarity_matrix(left, right)
    np.testing.assert_allclose(
        got, sklearn.pairwise.cosine_similarity(left, right), rtol=0, atol=40 * EPSILON
    )
    a, b = left[0], left[1]
    labels = np.where(rng.integers(0, 2, 33), 1, -1)
    wanted = torch.nn.functional.margin_ranking_loss(
        torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(labels.astype(float)), margin=0.3
    )
    assert metrics.margin_ranking_loss(0.3, a, b, labels) == pytest.approx(float(wanted), rel=16 * EPSILON)
