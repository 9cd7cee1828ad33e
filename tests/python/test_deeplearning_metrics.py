"""deeplearning_metrics: against counting in exact rational arithmetic, mpmath, and every failure."""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import hmath
from hmath import deeplearning_metrics as metrics
from hmath import tensor

EPSILON = 2.0**-53

# Few different scores, so that there are ties, zeros of both signs among them; and any finite ones.
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, 0.5000000000000001, -3.0, 1e-300]),
    st.floats(allow_nan=False, allow_infinity=False),
)
SAMPLES = st.lists(st.tuples(st.booleans(), SCORES), min_size=1, max_size=60)
PAIRS = st.integers(1, 6).flatmap(
    lambda classes: st.tuples(
        st.just(classes),
        st.lists(
            st.tuples(st.integers(0, classes - 1), st.integers(0, classes - 1)), min_size=1, max_size=80
        ),
    )
)


def near(got, exact, units):
    """Within so many units of 2^-53 of an exact value."""
    return abs(Fraction(got) - exact) <= units * Fraction(EPSILON) * abs(exact)


def quotient(part, whole):
    return float(Fraction(part, whole)) if whole else 0.0


# ---------------------------------------------------------------- classification


@given(PAIRS)
def test_confusion_matrix_counts_pairs(case):
    classes, pairs = case
    counts = Counter(pairs)
    got = metrics.confusion_matrix(classes, [t for t, _ in pairs], [p for _, p in pairs])
    assert got == [[counts[t, p] for p in range(classes)] for t in range(classes)]


@given(PAIRS)
def test_classification_metrics_are_quotients_of_counts(case):
    classes, pairs = case
    got = metrics.classification_metrics(classes, [t for t, _ in pairs], [p for _, p in pairs])
    hits = [sum(t == p == c for t, p in pairs) for c in range(classes)]
    rows = [sum(t == c for t, _ in pairs) for c in range(classes)]
    predicted = [sum(p == c for _, p in pairs) for c in range(classes)]
    assert got.accuracy == quotient(sum(hits), len(pairs))
    assert got.precision == [quotient(h, n) for h, n in zip(hits, predicted, strict=True)]
    assert got.recall == [quotient(h, n) for h, n in zip(hits, rows, strict=True)]
    sums = [a + b for a, b in zip(rows, predicted, strict=True)]
    assert got.f1 == [quotient(2 * h, n) for h, n in zip(hits, sums, strict=True)]


def test_the_record_and_its_readers():
    precision = [0.5, 0.25]
    made = metrics.ClassificationMetrics(2.0, precision, [1.0], [])  # nothing is validated
    precision[0] = 7.0
    assert made.precision == [0.5, 0.25]
    assert metrics.accuracy(made) == 2.0
    assert metrics.precision_by_class(made) == [0.5, 0.25]
    assert metrics.recall_by_class(made) == [1.0]
    assert metrics.f1_by_class(made) == []
    with pytest.raises(AttributeError):
        made.accuracy = 1.0


def test_many_classes_need_no_square_of_memory():
    got = metrics.classification_metrics(10**6, [999_999, 0], [999_999, 1])
    assert got.accuracy == 0.5
    assert got.recall[999_999] == 1.0
    with pytest.raises(MemoryError):
        metrics.confusion_matrix(2**40, [0], [0])


@given(
    st.integers(1, 5).flatmap(
        lambda classes: st.tuples(
            st.integers(1, classes),
            st.lists(
                st.tuples(st.integers(0, classes - 1), st.lists(SCORES, min_size=classes, max_size=classes)),
                min_size=1,
                max_size=20,
            ),
        )
    )
)
def test_top_k_by_sorting(case):
    k, rows = case
    hits = 0
    for truth, scores in rows:
        order = sorted(range(len(scores)), key=lambda c: (-scores[c], c))
        hits += truth in order[:k]
    got = metrics.top_k_accuracy(k, [t for t, _ in rows], [s for _, s in rows])
    assert got == quotient(hits, len(rows))
    assert metrics.top_k_accuracy(k, np.array([t for t, _ in rows]), np.array([s for _, s in rows])) == got


# ---------------------------------------------------------------- ranking


def exact_roc(samples):
    positive = [s for t, s in samples if t]
    negative = [s for t, s in samples if not t]
    twice = sum((p > n) * 2 + (p == n) for p in positive for n in negative)
    return Fraction(twice, 2 * len(positive) * len(negative))


def exact_curve(samples):
    """(true positives, false positives) after each group of equal scores, from the highest."""
    points = [(0, 0)]
    for threshold in sorted({s for _, s in samples}, reverse=True):
        called = [t for t, s in samples if s >= threshold]
        points.append((sum(called), len(called) - sum(called)))
    return points


def exact_pr(samples):
    positives = sum(t for t, _ in samples)
    area, recall, precision = Fraction(0), Fraction(0), Fraction(1)
    for hits, misses in exact_curve(samples)[1:]:
        next_recall, next_precision = Fraction(hits, positives), Fraction(hits, hits + misses)
        area += (next_recall - recall) * (precision + next_precision) / 2
        recall, precision = next_recall, next_precision
    return area


def split(samples):
    return [t for t, _ in samples], [s for _, s in samples]


@given(SAMPLES)
def test_roc_auc_counts_pairs(samples):
    truth, scores = split(samples)
    assume(any(truth) and not all(truth))
    got = metrics.roc_auc(truth, scores)
    assert near(got, exact_roc(samples), 3)  # a count, a product and a quotient, each rounded once
    flipped = metrics.roc_auc(truth, [-s for s in scores])
    assert near(flipped, 1 - exact_roc(samples), 3)
    assert metrics.roc_auc([int(t) for t in truth], scores) == got
    assert metrics.roc_auc([float(t) for t in truth], np.array(scores)) == got
    assert metrics.roc_auc(np.array(truth), np.array(scores)) == got
    reordered = metrics.roc_auc(truth[::-1], scores[::-1])
    assert reordered == got


@given(SAMPLES)
def test_pr_auc_by_trapezoids(samples):
    truth, scores = split(samples)
    assume(any(truth))
    exact = exact_pr(samples)
    # Terms of one sign: a quotient, a sum and a product each, 32 lanes of two terms and their tree, and
    # the last division.
    assert near(metrics.pr_auc(truth, scores), exact, 16)


@given(SAMPLES)
def test_curves_are_the_points_behind_the_areas(samples):
    truth, scores = split(samples)
    assume(any(truth) and not all(truth))
    positives, negatives = sum(truth), len(truth) - sum(truth)
    points = exact_curve(samples)
    false_rate, true_rate, thresholds = metrics.roc_curve(truth, scores)
    assert true_rate == [quotient(hits, positives) for hits, _ in points]
    assert false_rate == [quotient(misses, negatives) for _, misses in points]
    assert thresholds == sorted(set(scores), reverse=True)
    recall, precision, thresholds = metrics.precision_recall_curve(truth, scores)
    assert recall == true_rate
    assert precision == [1.0] + [quotient(hits, hits + misses) for hits, misses in points[1:]]
    assert thresholds == sorted(set(scores), reverse=True)


def test_curves_follow_the_container_of_the_scores():
    truth, scores = [True, False, True], [0.1, 0.2, 0.3]
    assert all(type(part) is list for part in metrics.roc_curve(truth, scores))
    assert all(type(part) is np.ndarray for part in metrics.roc_curve(truth, np.array(scores)))
    with tensor.tensor([3], scores) as t:
        parts = metrics.precision_recall_curve(truth, t)
        assert [part.values for part in parts] == list(metrics.precision_recall_curve(truth, scores))
        for part in parts:
            part.close()


@pytest.mark.parametrize("n", [31, 32, 33, 34, 100, 5000])
def test_sorting_by_radix_and_by_insertion(n):
    """The same area from ranks by NumPy, in integers (Mann and Whitney 1947)."""
    rng = np.random.default_rng(n)
    scores = np.concatenate(
        [rng.standard_normal(n), rng.integers(-3, 3, n), np.ldexp(1.0, rng.integers(-1000, 1000, n))]
    )
    truth = rng.integers(0, 2, 3 * n).astype(bool)
    order = np.sort(scores)
    ranks = np.searchsorted(order, scores, "left") + np.searchsorted(order, scores, "right") + 1
    p, q = int(truth.sum()), int((~truth).sum())
    twice = int(ranks[truth].sum()) - p * (p + 1)
    assert near(metrics.roc_auc(truth, scores), Fraction(twice, 2 * p * q), 3)


# ---------------------------------------------------------------- scores


@given(st.lists(st.floats(-700, 0), min_size=1, max_size=100))
def test_perplexity(x):
    with mpmath.workprec(200):
        mean = -mpmath.fsum(x) / len(x)
        exact = mpmath.exp(mean)
        # The mean is off by a few of its ulp, which the exponential multiplies by the mean.
        assert abs(mpmath.mpf(metrics.perplexity(x)) - exact) <= exact * (8 * mean + 2) * EPSILON


def test_perplexity_at_the_edge():
    assert metrics.perplexity([-0.0]) == 1.0
    assert metrics.perplexity([-709.0, -710.0]) == pytest.approx(math.exp(709.5), rel=1e-12)
    with pytest.raises(hmath.Overflow):
        metrics.perplexity([-710.0])
    with pytest.raises(hmath.Overflow):
        metrics.perplexity([-1.7e308, -1.7e308])


@given(
    st.integers(1, 5), st.integers(1, 5), st.integers(1, 6), st.integers(-1000, 900), st.integers(0, 2**32)
)
def test_cosine_similarity_matrix(m, n, d, exponent, seed):
    rng = np.random.default_rng(seed)
    left = np.ldexp(rng.standard_normal((m, d)), exponent)
    right = np.ldexp(rng.standard_normal((n, d)), -exponent)
    got = metrics.cosine_similarity_matrix(left, right)
    assert got.shape == (m, n)
    with mpmath.workprec(200):
        for i in range(m):
            for j in range(n):
                a, b = [mpmath.mpf(x) for x in left[i]], [mpmath.mpf(x) for x in right[j]]
                exact = mpmath.fdot(a, b) / mpmath.sqrt(mpmath.fdot(a, a) * mpmath.fdot(b, b))
                # Units and their products are off by a few ulp of at most 1.
                assert abs(got[i, j] - exact) <= (d + 8) * 2 * EPSILON
    assert (np.abs(got) <= 1).all()


def test_cosine_of_extreme_rows():
    rows = np.array([[5e-324, 0.0], [1.7e308, 1.7e308], [-3e-310, 4e-310], [1e308, 1e-308]])
    got = metrics.cosine_similarity_matrix(rows, rows)
    half = math.sqrt(0.5)
    expected = [[1, half, -0.6, 1], [half, 1, half / 5, half], [-0.6, half / 5, 1, -0.6], [1, half, -0.6, 1]]
    np.testing.assert_allclose(got, expected, rtol=0, atol=8 * EPSILON)
    with tensor.tensor([1, 2], [3, 4]) as t:
        same = metrics.cosine_similarity_matrix(t, t)
        assert isinstance(same, tensor.TensorDouble)
        assert same.values == [1.0]
        same.close()


@given(
    st.floats(0, 1e300),
    st.lists(
        st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.sampled_from([1, -1])),
        min_size=1,
        max_size=60,
    ),
)
def test_margin_ranking_loss(margin, rows):
    terms = [max(Fraction(0), Fraction(margin) - y * (Fraction(a) - Fraction(b))) for a, b, y in rows]
    exact = sum(terms) / len(rows)
    got = metrics.margin_ranking_loss(margin, *map(list, zip(*rows, strict=True)))
    # SEMANTICS: (8 + n/64 + log2 n) * 2^-52 for sums of one sign; and one unit of the smallest subnormal
    # where a term is subnormal.
    assert near(got, exact, 2 * 15) or abs(Fraction(got) - exact) <= Fraction(5e-324)


def test_margin_ranking_loss_where_margin_and_difference_cancel():
    left, right = [1.0], [2.0**-60]
    margin = 1.0
    assert metrics.margin_ranking_loss(margin, left, right, [1]) == 2.0**-60


def test_margin_ranking_loss_in_range_though_its_terms_are_not():
    huge = 1.5e308
    loss = metrics.margin_ranking_loss(0.0, [-huge, huge, huge], [huge, huge, -huge], [1, 1, 1])
    assert loss == pytest.approx(1e308, rel=4 * EPSILON)
    with pytest.raises(hmath.Overflow):
        metrics.margin_ranking_loss(0.0, [-huge], [huge], [1])


# ---------------------------------------------------------------- failures

NAN, INF = math.nan, math.inf
MATRIX = [[0.1, 0.2], [0.3, 0.4]]


def array(*rows):
    return np.array(rows, dtype=float)


FAILURES = [
    (lambda: metrics.confusion_matrix(0, [0], [0]), "DomainError", "classes", None),
    (lambda: metrics.confusion_matrix(2, [0, 1], [0]), "DimensionMismatch", "prediction", None),
    (lambda: metrics.confusion_matrix(2, [], []), "EmptyInput", "truth", None),
    (lambda: metrics.confusion_matrix(2, [0, 2], [5, 0]), "IndexOutOfBounds", "truth", 1),
    (lambda: metrics.confusion_matrix(2, [0, 1], [0, -1]), "IndexOutOfBounds", "prediction", 1),
    (lambda: metrics.confusion_matrix(2.0, [0], [0]), "TypeMismatch", "classes", None),
    (lambda: metrics.confusion_matrix(2, [0.0], [0]), "TypeMismatch", "truth", 0),
    (lambda: metrics.confusion_matrix(2, [0], [True]), "TypeMismatch", "prediction", 0),
    (lambda: metrics.classification_metrics(-1, [], [0]), "DomainError", "classes", None),
    (lambda: metrics.classification_metrics(2, [], [0]), "DimensionMismatch", "prediction", None),
    (lambda: metrics.classification_metrics(2, [], []), "EmptyInput", "truth", None),
    (lambda: metrics.classification_metrics(2, [0], [2]), "IndexOutOfBounds", "prediction", 0),
    (lambda: metrics.top_k_accuracy(0, [0], [[NAN]]), "DomainError", "k", None),
    (lambda: metrics.top_k_accuracy(1, [0], [[1.0], [2.0, 3.0]]), "DimensionMismatch", "scores", None),
    (lambda: metrics.top_k_accuracy(1, [0], MATRIX), "DimensionMismatch", "scores", None),
    (lambda: metrics.top_k_accuracy(3, [0, 1], MATRIX), "DimensionMismatch", "k", None),
    (lambda: metrics.top_k_accuracy(1, [0], array(1, 2)), "DimensionMismatch", "scores", None),
    (lambda: metrics.top_k_accuracy(1, [], []), "EmptyInput", "truth", None),
    (lambda: metrics.top_k_accuracy(1, [0, 2], MATRIX), "IndexOutOfBounds", "truth", 1),
    (lambda: metrics.top_k_accuracy(1, [0, 1], [[1.0, 2.0], [INF, 0.0]]), "NonFinite", "scores", 2),
    (lambda: metrics.roc_auc([True], [0.5, 0.5]), "DimensionMismatch", "scores", None),
    (lambda: metrics.roc_auc([], []), "EmptyInput", "truth", None),
    (lambda: metrics.roc_auc([0, 1, 2], [NAN, 1.0, 1.0]), "DomainError", "truth", 2),
    (lambda: metrics.roc_auc([0.0, 0.5], [1.0, 1.0]), "DomainError", "truth", 1),
    (lambda: metrics.roc_auc([0.5, NAN], [1.0, 1.0]), "NonFinite", "truth", 1),
    (lambda: metrics.roc_auc([True, False], [0.5, -INF]), "NonFinite", "scores", 1),
    (lambda: metrics.roc_auc([True, True], [0.5, 0.7]), "DomainError", "truth", None),
    (lambda: metrics.roc_auc([0, 0], [0.5, 0.7]), "DomainError", "truth", None),
    (lambda: metrics.roc_auc(["x"], [0.5]), "TypeMismatch", "truth", 0),
    (lambda: metrics.roc_auc([True, False], array([0.5], [0.7])), "DimensionMismatch", "scores", None),
    (lambda: metrics.pr_auc([False, False], [0.5, 0.7]), "DomainError", "truth", None),
    (lambda: metrics.pr_auc([], []), "EmptyInput", "truth", None),
    (lambda: metrics.pr_auc([True], [NAN]), "NonFinite", "scores", 0),
    (lambda: metrics.roc_curve([True], [0.5]), "DomainError", "truth", None),
    (lambda: metrics.precision_recall_curve([False], [0.5]), "DomainError", "truth", None),
    (lambda: metrics.perplexity([]), "EmptyInput", "negative_log_probabilities", None),
    (lambda: metrics.perplexity([-1.0, 5e-324]), "DomainError", "negative_log_probabilities", 1),
    (lambda: metrics.perplexity([1.0, -INF]), "NonFinite", "negative_log_probabilities", 1),
    (lambda: metrics.perplexity(array([-1.0])), "DimensionMismatch", "negative_log_probabilities", None),
    (lambda: metrics.cosine_similarity_matrix(array(1), array([1])), "DimensionMismatch", "left", None),
    (lambda: metrics.cosine_similarity_matrix(array([1]), array([1, 2])), "DimensionMismatch", "right", None),
    (lambda: metrics.cosine_similarity_matrix(np.zeros((0, 2)), array([1, 2])), "EmptyInput", "left", None),
    (lambda: metrics.cosine_similarity_matrix(array([1, 2]), np.zeros((0, 2))), "EmptyInput", "right", None),
    (
        lambda: metrics.cosine_similarity_matrix(array([1, 2], [0, INF]), array([0, 0])),
        "NonFinite",
        "left",
        3,
    ),
    (
        lambda: metrics.cosine_similarity_matrix(array([1, 2], [0, 0]), array([0, 0])),
        "DomainError",
        "left",
        2,
    ),
    (
        lambda: metrics.cosine_similarity_matrix(array([1, 2]), array([1, 1], [0, -0.0])),
        "DomainError",
        "right",
        2,
    ),
    (lambda: metrics.margin_ranking_loss(NAN, [], [1.0], []), "NonFinite", "margin", None),
    (lambda: metrics.margin_ranking_loss(-0.5, [1.0], [], []), "DomainError", "margin", None),
    (lambda: metrics.margin_ranking_loss(0.0, [1.0], [], [1]), "DimensionMismatch", "right", None),
    (lambda: metrics.margin_ranking_loss(0.0, [1.0], [1.0], []), "DimensionMismatch", "labels", None),
    (lambda: metrics.margin_ranking_loss(0.0, [], [], []), "EmptyInput", "left", None),
    (lambda: metrics.margin_ranking_loss(0.0, [1.0], [NAN], [0]), "NonFinite", "right", 0),
    (lambda: metrics.margin_ranking_loss(0.0, [1.0, 1.0], [1.0, 1.0], [1, 0]), "DomainError", "labels", 1),
]


@pytest.mark.parametrize(("call", "constructor", "argument", "index"), FAILURES)
@pytest.mark.usefixtures("no_leak")
def test_failures(call, constructor, argument, index):
    with pytest.raises(hmath.HMathError) as caught:
        call()
    error = caught.value.math_error
    assert (error.constructor, error.argument, error.index) == (constructor, argument, index)
    assert error.operation.startswith("metrics.")
