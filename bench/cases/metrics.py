"""Metrics of a million samples against scikit-learn."""

import numpy as np
import sklearn.metrics
from harness import case
from sides import ours_arrays

from hmath import deeplearning_metrics as metrics

N = 1_000_000


def binary():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, N).astype(bool)
    return {"truth": truth, "scores": np.round(rng.standard_normal(N) + truth, 3)}


def classes():
    rng = np.random.default_rng(2)
    return {"truth": rng.integers(0, 10, N), "prediction": rng.integers(0, 10, N)}


def ranked():
    rng = np.random.default_rng(3)
    return {"truth": rng.integers(0, 10, N), "scores": rng.standard_normal((N, 10))}


def peer(function, *names):
    def prepare(inputs):
        arguments = [inputs[name] for name in names]
        return lambda: function(*arguments)

    return prepare


def trapezoid_pr(truth, scores):
    precision, recall, _ = sklearn.metrics.precision_recall_curve(truth, scores)
    return sklearn.metrics.auc(recall, precision)


def metric(name, inputs, ours_function, theirs_function, *names):
    case(
        name,
        "metrics",
        inputs,
        ours_arrays(ours_function, *names),
        peer(theirs_function, *names),
        N,
        row="metrics 1M",
        peer_name="scikit-learn",
    )


metric("roc_auc_1M", binary, metrics.roc_auc, sklearn.metrics.roc_auc_score, "truth", "scores")
metric("pr_auc_1M", binary, metrics.pr_auc, trapezoid_pr, "truth", "scores")
metric(
    "confusion_matrix_1M",
    classes,
    lambda t, p: np.asarray(metrics.confusion_matrix(10, t, p)),
    sklearn.metrics.confusion_matrix,
    "truth",
    "prediction",
)
metric(
    "top_k_accuracy_1M",
    ranked,
    lambda t, s: metrics.top_k_accuracy(3, t, s),
    lambda t, s: sklearn.metrics.top_k_accuracy_score(t, s, k=3),
    "truth",
    "scores",
)
