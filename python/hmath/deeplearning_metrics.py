"""Metrics: what a model got right, from labels and scores.

Labels of classes lie in 0 … classes − 1. Empty data is ``EmptyInput`` everywhere; lists that belong together
have one length. ``[Double]`` and ``[Int]`` parameters take any sequence of numbers or a NumPy array.

Beyond the reference: :func:`roc_curve` and :func:`precision_recall_curve`, the points behind the two areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from ._call import call, call_double
from ._convert import double, double_rows, doubles, integer, integers, tensor
from ._convert import labels as binary_labels
from ._record import Record, record, record_result
from ._result import items, like, plain
from ._surface import shown

if TYPE_CHECKING:
    from ._typing import ArrayT, Booleans, DoubleRows, Doubles, Integers, Numbers, NumbersT, TensorLike

__all__ = [
    "ClassificationMetrics",
    "accuracy",
    "classification_metrics",
    "confusion_matrix",
    "cosine_similarity_matrix",
    "f1_by_class",
    "margin_ranking_loss",
    "perplexity",
    "pr_auc",
    "precision_by_class",
    "precision_recall_curve",
    "recall_by_class",
    "roc_auc",
    "roc_curve",
    "top_k_accuracy",
]

__dir__ = shown(__all__)

# ---------------------------------------------------------------- classification


@dataclass(frozen=True)
class ClassificationMetrics(Record):
    """Accuracy, and precision, recall and F1 of each class. Made as given, without validation."""

    accuracy: float
    precision: list[float]
    recall: list[float]
    f1: list[float]

    _CREATE = "hmath_neural_metrics_classification_metrics_create"
    _READERS = (
        "hmath_neural_metrics_accuracy",
        "hmath_neural_metrics_precision_by_class",
        "hmath_neural_metrics_recall_by_class",
        "hmath_neural_metrics_f1_by_class",
    )
    _CONVERTERS = (double, doubles, doubles, doubles)


def accuracy(metrics: ClassificationMetrics) -> float:
    """The share of rows that were predicted right."""
    return call_double("hmath_neural_metrics_accuracy", record(metrics, ClassificationMetrics, "metrics"))


def precision_by_class(metrics: ClassificationMetrics) -> list[float]:
    """By class: of the rows predicted to be of it, the share that is."""
    argument = record(metrics, ClassificationMetrics, "metrics")
    return plain(call("hmath_neural_metrics_precision_by_class", argument), list[float])


def recall_by_class(metrics: ClassificationMetrics) -> list[float]:
    """By class: of its rows, the share that was predicted to be of it."""
    argument = record(metrics, ClassificationMetrics, "metrics")
    return plain(call("hmath_neural_metrics_recall_by_class", argument), list[float])


def f1_by_class(metrics: ClassificationMetrics) -> list[float]:
    """By class: the harmonic mean of precision and recall."""
    argument = record(metrics, ClassificationMetrics, "metrics")
    return plain(call("hmath_neural_metrics_f1_by_class", argument), list[float])


def confusion_matrix(classes: int, truth: Integers, prediction: Integers) -> list[list[int]]:
    """How often each pair of classes occurs: rows are truth, columns prediction.

    :param classes: how many there are, ≥ 1
    :raises DomainError: `classes`
    :raises DimensionMismatch: `prediction` is not as long as `truth`
    :raises EmptyInput: `truth`
    :raises IndexOutOfBounds: a label
    """
    result = call(
        "hmath_neural_metrics_confusion_matrix",
        integer(classes, "classes"),
        integers(truth, "truth"),
        integers(prediction, "prediction"),
    )
    return plain(result, list[list[int]])


def classification_metrics(classes: int, truth: Integers, prediction: Integers) -> ClassificationMetrics:
    """Accuracy, and by class precision, recall and F1.

    precision = hits / predictions of the class, recall = hits / rows of the class,
    F1 = 2·hits / (predictions + rows), their harmonic mean; 0 for a zero denominator. Each is one quotient
    of counts, correctly rounded.

    Failures as for :func:`confusion_matrix`.
    """
    result = call(
        "hmath_neural_metrics_classification_metrics",
        integer(classes, "classes"),
        integers(truth, "truth"),
        integers(prediction, "prediction"),
    )
    return record_result(ClassificationMetrics, result)


def top_k_accuracy(k: int, truth: Integers, scores: DoubleRows) -> float:
    """The share of rows whose true class is among the k with the highest scores.

    Of equal scores the smaller class index comes first.

    :param k: 1 … classes
    :param truth: a label for each row
    :param scores: rows by classes, finite
    :raises DomainError: `k` < 1
    :raises DimensionMismatch: ragged rows, another number of rows, `k` above the number of classes
    :raises EmptyInput: `truth`
    :raises IndexOutOfBounds: `truth`
    :raises NonFinite: `scores`
    """
    return call_double(
        "hmath_neural_metrics_top_k_accuracy",
        integer(k, "k"),
        integers(truth, "truth"),
        double_rows(scores, "scores"),
    )


# ---------------------------------------------------------------- ranking


def roc_auc(truth: Booleans | Integers | Doubles, scores: Doubles) -> float:
    """The area under the ROC curve.

    The share of pairs of a positive and a negative in which the positive has the higher score; ties count
    one half. The count is exact, the quotient within 2 ulp. Linear in the number of samples.

    :param truth: bools, or numbers that are exactly 0 or 1
    :param scores: finite; only their order counts
    :raises DimensionMismatch: another number of scores
    :raises EmptyInput: `truth`
    :raises NonFinite: an element
    :raises DomainError: an element of `truth` is not 0 or 1; or all are the same

    Source: Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic
    (ROC) curve", Radiology 143, 1982.
    """
    return call_double(
        "hmath_neural_metrics_roc_auc", binary_labels(truth, "truth"), doubles(scores, "scores")
    )


def pr_auc(truth: Booleans | Integers | Doubles, scores: Doubles) -> float:
    """The area under the precision-recall curve, by trapezoids.

    From (recall 0, precision 1), each group of equal scores, from the highest down, adds a point. Average
    precision, a sum of rectangles, is another number.

    Failures as for :func:`roc_auc`, but that a positive is enough.
    """
    return call_double(
        "hmath_neural_metrics_pr_auc", binary_labels(truth, "truth"), doubles(scores, "scores")
    )


@overload
def roc_curve(  # type: ignore[overload-overlap]
    truth: Booleans | Integers | Doubles, scores: NumbersT
) -> tuple[NumbersT, NumbersT, NumbersT]: ...
@overload
def roc_curve(
    truth: Booleans | Integers | Doubles, scores: Sequence[float]
) -> tuple[list[float], list[float], list[float]]: ...
def roc_curve(truth: Booleans | Integers | Doubles, scores: Doubles) -> tuple[Numbers, Numbers, Numbers]:
    """(false positive rates, true positive rates, thresholds), the points of the ROC curve.

    From (0, 0) to (1, 1); point i + 1 belongs to calling positive what scores at least ``thresholds[i]``. The
    thresholds are the different scores, descending: one fewer than points. An addition to the reference.

    Failures as for :func:`roc_auc`.
    """
    return _curve("hmath_neural_metrics_roc_curve", truth, scores)


@overload
def precision_recall_curve(  # type: ignore[overload-overlap]
    truth: Booleans | Integers | Doubles, scores: NumbersT
) -> tuple[NumbersT, NumbersT, NumbersT]: ...
@overload
def precision_recall_curve(
    truth: Booleans | Integers | Doubles, scores: Sequence[float]
) -> tuple[list[float], list[float], list[float]]: ...
def precision_recall_curve(
    truth: Booleans | Integers | Doubles, scores: Doubles
) -> tuple[Numbers, Numbers, Numbers]:
    """(recalls, precisions, thresholds), the points of the precision-recall curve.

    From (0, 1); point i + 1 belongs to calling positive what scores at least ``thresholds[i]``. The
    thresholds are the different scores, descending: one fewer than points. An addition to the reference.

    Failures as for :func:`pr_auc`.
    """
    return _curve("hmath_neural_metrics_precision_recall_curve", truth, scores)


def _curve(
    name: str, truth: Booleans | Integers | Doubles, scores: Doubles
) -> tuple[Numbers, Numbers, Numbers]:
    first, second, thresholds = items(call(name, binary_labels(truth, "truth"), doubles(scores, "scores")))
    return like(first, scores), like(second, scores), like(thresholds, scores)


# ---------------------------------------------------------------- scores


def perplexity(negative_log_probabilities: Doubles) -> float:
    """exp(−mean x) of the log-probabilities x that a model gave the true tokens.

    Despite the parameter's name these are the log-probabilities themselves, negative or 0.

    :param negative_log_probabilities: at least one, finite, ≤ 0
    :raises EmptyInput: no tokens
    :raises NonFinite: an element
    :raises DomainError: an element > 0
    :raises Overflow: a mean below −709.78…
    """
    return call_double(
        "hmath_neural_metrics_perplexity", doubles(negative_log_probabilities, "negative_log_probabilities")
    )


def cosine_similarity_matrix(left: ArrayT, right: TensorLike) -> ArrayT:
    """Element (i, j): the cosine of the angle between row i of `left` and row j of `right`.

    Within [−1, 1]. Rows are brought to length 1 first, at any magnitude, so nothing overflows or vanishes.

    :param left: [M, D], finite, with at least one element
    :param right: [N, D], likewise
    :return: [M, N]
    :raises DimensionMismatch: another rank or width
    :raises EmptyInput: `left` or `right`
    :raises NonFinite: an element
    :raises DomainError: a row of zeros; the index is that of its first element
    """
    result = call(
        "hmath_neural_metrics_cosine_similarity_matrix", tensor(left, "left"), tensor(right, "right")
    )
    return like(result, left)


def margin_ranking_loss(margin: float, left: Doubles, right: Doubles, labels: Integers) -> float:
    """mean max(0, −y·(l − r) + margin) over left l, right r and label y.

    A label is 1 where left should rank higher, −1 where right should.

    :param margin: finite, ≥ 0
    :param labels: each 1 or −1
    :raises NonFinite: `margin`, `left`, `right`
    :raises DomainError: `margin` < 0; a label
    :raises DimensionMismatch: lengths differ
    :raises EmptyInput: `left`
    :raises Overflow: the mean itself is no double
    """
    return call_double(
        "hmath_neural_metrics_margin_ranking_loss",
        double(margin, "margin"),
        doubles(left, "left"),
        doubles(right, "right"),
        integers(labels, "labels"),
    )
