"""Every documented failure of deeplearning_core: constructor, argument, index and value."""

import math

import numpy as np
import pytest

import hmath
from hmath import deeplearning_core as core
from hmath import tensor

NAN, INF = math.nan, math.inf
HUGE = 1.7e308


def fails(constructor, argument, index, value, function, *arguments):
    name = function.__name__
    label = f"{name}-{constructor}-{argument}-{index}"
    return pytest.param(constructor, argument, index, value, function, arguments, id=label)


def pairs(function, *before, names=("target", "prediction"), good=(0.5, 0.5)):
    """What every function of two equally long vectors refuses."""
    first, second = names
    one, other = [good[0]] * 3, [good[1]] * 3
    yield fails("DimensionMismatch", second, None, None, function, *before, one, other[:2])
    yield fails("DimensionMismatch", first, None, None, function, *before, np.array([one]), np.array([other]))
    yield fails("DimensionMismatch", second, None, None, function, *before, one, np.array([other]))
    for bad in (NAN, INF, -INF):
        spoiled = [one[0], bad, one[2]]
        yield fails("NonFinite", first, 1, bad, function, *before, spoiled, other)
        yield fails("NonFinite", second, 2, bad, function, *before, one, [*other[:2], bad])
        # an earlier argument is the one reported
        yield fails("NonFinite", first, 1, bad, function, *before, spoiled, [bad] * 3)
    yield fails("TypeMismatch", first, None, None, function, *before, "text", other)
    yield fails("TypeMismatch", second, None, None, function, *before, one, np.zeros(3, np.float32))


def emptiness(function, *before, names=("target", "prediction")):
    yield fails("EmptyInput", names[0], None, None, function, *before, [], [])


def scalars(function, names, good, after):
    """Each scalar parameter in turn, not finite; parameters come before lengths and elements."""
    for i, name in enumerate(names):
        for bad in (NAN, INF, -INF):
            arguments = [*good[:i], bad, *good[i + 1 :]]
            yield fails("NonFinite", name, None, bad, function, *arguments, *after)


METHODS = {
    "regression": [core.MeanSquaredError, core.MeanAbsoluteError, core.Huber(1.0), core.SmoothL1(1.0)],
    "probability": [core.BinaryCrossEntropy, core.CategoricalCrossEntropy, core.KLDivergence],
}


def loss_cases(function):
    for method in [*METHODS["regression"], *METHODS["probability"], core.CosineLoss]:
        yield from pairs(function, method, core.Mean)
        yield from emptiness(function, method, core.Sum)
    yield from pairs(function, core.NegativeLogLikelihood, core.Sum, good=(0.5, -0.5))
    yield from pairs(function, core.Hinge(1.0), core.Sum, good=(1.0, 0.5))
    for method in METHODS["probability"]:
        yield fails("DomainError", "target", 1, 1.5, function, method, core.Sum, [0.5, 1.5], [0.5, 0.5])
        yield fails("DomainError", "target", 0, -0.5, function, method, core.Sum, [-0.5, 0.5], [0.5, 7.0])
        yield fails("DomainError", "prediction", 1, 1.5, function, method, core.Sum, [0.5, 0.5], [0.5, 1.5])
        yield fails("DomainError", "prediction", 1, 0.0, function, method, core.Sum, [0.5, 0.5], [0.5, 0.0])
    bce = core.BinaryCrossEntropy
    yield fails("DomainError", "prediction", 0, 1.0, function, bce, core.Sum, [0.5, 0.5], [1.0, 0.5])
    yield fails("DomainError", "prediction", 0, 1.0, function, bce, core.Sum, [0.0, 0.5], [1.0, 0.0])
    nll = core.NegativeLogLikelihood
    yield fails("DomainError", "target", 0, 2.0, function, nll, core.Sum, [2.0], [-1.0])
    yield fails("DomainError", "prediction", 0, 0.5, function, nll, core.Sum, [1.0], [0.5])
    for target in (0.0, 0.5, -2.0):
        yield fails(
            "DomainError", "target", 1, target, function, core.Hinge(1.0), core.Sum, [1.0, target], [1, 1]
        )
    yield fails("DomainError", "target", None, 0.0, function, core.CosineLoss, core.Sum, [0, 0], [1, 2])
    yield fails("DomainError", "prediction", None, 0.0, function, core.CosineLoss, core.Sum, [1, 2], [0, 0])
    for make, bad in [(core.Huber, 0.0), (core.SmoothL1, -1.0), (core.Hinge, -0.5)]:
        yield fails("DomainError", "method.parameter", None, bad, function, make(bad), core.Sum, [], [1.0])
        yield fails("NonFinite", "method.parameter", None, INF, function, make(INF), core.Sum, [NAN], [1.0])
    mse = core.MeanSquaredError
    yield fails("TypeMismatch", "method", None, None, function, core.Sum, core.Sum, [1.0], [1.0])
    yield fails("TypeMismatch", "method", None, None, function, 1.0, core.Sum, [1.0], [1.0])
    yield fails("TypeMismatch", "reduction", None, None, function, mse, mse, [1.0], [1.0])
    yield fails("Overflow", None, None, None, function, mse, core.Sum, [HUGE], [-HUGE])


CASES = [
    *[
        fails("NonFinite", "value", None, bad, function, core.Sigmoid, bad)
        for function in (core.activation, core.activation_derivative)
        for bad in (NAN, INF, -INF)
    ],
    *[
        case
        for function in (core.activation, core.activation_derivative)
        for case in (
            fails("TypeMismatch", "method", None, None, function, 1.0, 2.0),
            fails("TypeMismatch", "method", None, None, function, core.Sum, 2.0),
            fails("TypeMismatch", "value", None, None, function, core.Sigmoid, "text"),
            fails("TypeMismatch", "value", None, None, function, core.Sigmoid, True),
            fails("TypeMismatch", "value", None, None, function, core.Sigmoid, [1.0]),
            fails("TypeMismatch", "value", None, None, function, core.Sigmoid, np.zeros(3, np.float32)),
            fails("NonFinite", "value", 4, NAN, function, core.GELU, np.array([[1, 2], [3, 4], [NAN, 6]])),
            fails("NonFinite", "method.parameter", None, NAN, function, core.LeakyReLU(NAN), NAN),
            fails("NonFinite", "method.parameter", None, INF, function, core.PReLU(INF), 1.0),
            fails("DomainError", "method.parameter", None, 0.0, function, core.ELU(0.0), 1.0),
            fails("DomainError", "method.parameter", None, -1.0, function, core.ELU(-1.0), np.array([NAN])),
        )
    ],
    fails("Overflow", None, None, None, core.activation, core.SELU, 1.79e308),
    fails("Overflow", None, None, None, core.activation, core.LeakyReLU(10.0), -HUGE),
    fails("Overflow", None, None, None, core.activation, core.LeakyReLU(10.0), np.array([1.0, -HUGE])),
    *[
        case
        for function in (core.softmax, core.log_softmax, core.sparsemax)
        for case in (
            fails("EmptyInput", "values", None, None, function, []),
            fails("EmptyInput", "values", None, None, function, np.zeros((3, 0))),
            fails("DimensionMismatch", "values", None, None, function, np.array(1.0)),
            fails("NonFinite", "values", 1, -INF, function, [1.0, -INF, NAN]),
            fails("NonFinite", "values", 5, NAN, function, np.array([[1, 2, 3], [4, 5, NAN]])),
            fails("NonFinite", "values", 4999, INF, function, np.array([0.0] * 4999 + [INF])),
            fails("TypeMismatch", "values", None, None, function, 1.0),
            fails("TypeMismatch", "values", 1, None, function, [1.0, "text"]),
            fails("TypeMismatch", "values", None, None, function, np.zeros(3, np.float32)),
        )
    ],
    fails("Overflow", None, None, None, core.log_softmax, [1e308, -1e308]),
    fails("Overflow", None, None, None, core.log_softmax, np.array([1e308] + [-1e308] * 5000)),
    *pairs(core.gated_linear_unit, names=("values", "gate")),
    *loss_cases(core.loss),
    *loss_cases(core.loss_gradient),
    fails("Overflow", None, None, None, core.loss, core.MeanAbsoluteError, core.Sum, [HUGE, HUGE], [0, 0]),
    fails("Overflow", None, None, None, core.loss, core.Huber(HUGE), core.Mean, [HUGE], [-HUGE]),
    fails(
        "Overflow", None, None, None, core.loss, core.NegativeLogLikelihood, core.Sum, [1, 1], [-HUGE, -HUGE]
    ),
    fails("Overflow", None, None, None, core.loss_gradient, core.KLDivergence, core.Sum, [1.0], [1e-310]),
    *pairs(core.binary_cross_entropy_logits, core.Sum, names=("target", "logits")),
    *emptiness(core.binary_cross_entropy_logits, core.Sum, names=("target", "logits")),
    fails("DomainError", "target", 1, -0.5, core.binary_cross_entropy_logits, core.Sum, [0.5, -0.5], [0, 0]),
    fails("Overflow", None, None, None, core.binary_cross_entropy_logits, core.Sum, [0, 0], [HUGE, HUGE]),
    fails("TypeMismatch", "reduction", None, None, core.binary_cross_entropy_logits, core.Sigmoid, [0], [0]),
    *pairs(core.categorical_cross_entropy_logits, names=("target", "logits"), good=(1 / 3, 0.5)),
    *emptiness(core.categorical_cross_entropy_logits, names=("target", "logits")),
    fails("DomainError", "target", 1, -0.5, core.categorical_cross_entropy_logits, [1.5, -0.5], [0, NAN]),
    fails("DomainError", "target", None, 0.75, core.categorical_cross_entropy_logits, [0.5, 0.25], [0, NAN]),
    fails("Overflow", None, None, None, core.categorical_cross_entropy_logits, [0, 1], [HUGE, -HUGE]),
    *scalars(core.regularization, ("l1", "l2"), (0.5, 0.5), ([NAN],)),
    fails("DomainError", "l1", None, -1.0, core.regularization, -1.0, -1.0, [NAN]),
    fails("DomainError", "l2", None, -1.0, core.regularization, 1.0, -1.0, [NAN]),
    fails("DimensionMismatch", "weights", None, None, core.regularization, 1.0, 1.0, np.zeros((2, 2))),
    fails("NonFinite", "weights", 1, INF, core.regularization, 0.0, 0.0, [0.0, INF]),
    fails("Overflow", None, None, None, core.regularization, 0.0, 1.0, [1e200]),
    *scalars(core.contrastive_loss, ("margin",), (1.0,), (True, [NAN], [])),
    fails("DomainError", "margin", None, 0.0, core.contrastive_loss, 0.0, True, [1.0], []),
    fails("TypeMismatch", "similar", None, None, core.contrastive_loss, 1.0, 1, [1.0], [1.0]),
    *pairs(core.contrastive_loss, 1.0, True, names=("left", "right")),
    *emptiness(core.contrastive_loss, 1.0, False, names=("left", "right")),
    fails("Overflow", None, None, None, core.contrastive_loss, 1.0, True, [1e200], [0.0]),
    fails("Overflow", None, None, None, core.contrastive_loss, 1e200, False, [0.0], [0.0]),
    *scalars(core.triplet_loss, ("margin",), (1.0,), ([NAN], [], [1.0])),
    fails("DomainError", "margin", None, -1.0, core.triplet_loss, -1.0, [1.0], [1.0], [1.0]),
    fails("DimensionMismatch", "positive", None, None, core.triplet_loss, 1.0, [1.0], [1, 2], [1, 2, 3]),
    fails("DimensionMismatch", "negative", None, None, core.triplet_loss, 1.0, [1.0], [1.0], [1, 2, 3]),
    fails("EmptyInput", "anchor", None, None, core.triplet_loss, 1.0, [], [], []),
    fails("NonFinite", "anchor", 1, NAN, core.triplet_loss, 1.0, [0, NAN], [NAN, 0], [0, 0]),
    fails("NonFinite", "positive", 0, INF, core.triplet_loss, 1.0, [0, 0], [INF, 0], [NAN, 0]),
    fails("NonFinite", "negative", 0, -INF, core.triplet_loss, 1.0, [0, 0], [0, 0], [-INF, 0]),
    fails("Overflow", None, None, None, core.triplet_loss, 1.0, [HUGE], [-HUGE], [HUGE]),
    *scalars(core.focal_loss, ("alpha", "gamma"), (0.5, 2.0), ([NAN], [])),
    fails("DomainError", "alpha", None, 1.5, core.focal_loss, 1.5, -1.0, [1.0], [0.5]),
    fails("DomainError", "gamma", None, -1.0, core.focal_loss, 0.5, -1.0, [1.0], [0.5]),
    *pairs(core.focal_loss, 0.5, 2.0, good=(1.0, 0.5)),
    *emptiness(core.focal_loss, 0.5, 2.0),
    fails("DomainError", "target", 1, 0.5, core.focal_loss, 0.5, 2.0, [1.0, 0.5], [0.5, 0.5]),
    fails("DomainError", "prediction", 0, 1.5, core.focal_loss, 0.5, 2.0, [1.0], [1.5]),
    fails("DomainError", "prediction", 1, 0.0, core.focal_loss, 0.5, 2.0, [1.0, 1.0], [0.5, 0.0]),
    fails("DomainError", "prediction", 0, 1.0, core.focal_loss, 0.5, 0.0, [0.0], [1.0]),
    *[
        case
        for function in (core.dice_loss, core.iou_loss)
        for case in (
            *pairs(function, 1.0),
            *scalars(function, ("smooth",), (1.0,), ([NAN], [1.0, 2.0])),
            fails("DomainError", "smooth", None, -1.0, function, -1.0, [1.0], []),
            fails("DomainError", "target", 0, 2.0, function, 1.0, [2.0], [2.0]),
            fails("DomainError", "prediction", 0, 2.0, function, 1.0, [1.0], [2.0]),
            fails("DomainError", "prediction", None, 0.0, function, 0.0, [0.0, 0.0], [0.0, 0.0]),
            fails("DomainError", "prediction", None, 0.0, function, 0.0, [], []),
        )
    ],
]

FRAMES = [[-0.5, -1.0, -2.0], [-1.0, -0.5, -3.0], [-2.0, -2.0, -0.5]]


def ctc_cases(function):
    yield fails("IndexOutOfBounds", "blank", None, 3, function, 3, [7], FRAMES)
    yield fails("IndexOutOfBounds", "blank", None, -1, function, -1, [7], [[NAN]])
    yield fails("IndexOutOfBounds", "blank", None, -1, function, -1, [], [])
    yield fails("IndexOutOfBounds", "labels", 1, 3, function, 0, [1, 3], [[NAN] * 3])
    yield fails("IndexOutOfBounds", "labels", 0, -1, function, 0, [-1, 0], FRAMES)
    yield fails("DomainError", "labels", 1, 0, function, 0, [1, 0], [[NAN] * 3])
    yield fails("DimensionMismatch", "log_probabilities", None, None, function, 0, [], [[0.0, 0.0], [0.0]])
    yield fails("DimensionMismatch", "log_probabilities", None, None, function, 0, [], np.zeros(3))
    yield fails("NonFinite", "log_probabilities", 1, -INF, function, 0, [1], [[-1.0, -INF, 1.0]])
    yield fails("NonFinite", "log_probabilities", 5, NAN, function, 0, [1] * 9, [[-1, -1, -1], [-1, -1, NAN]])
    yield fails("DomainError", "log_probabilities", 2, 0.5, function, 0, [1], [[-1.0, -1.0, 0.5]])
    yield fails("DomainError", "log_probabilities", None, 3.0, function, 0, [1, 2, 1, 2], FRAMES)
    yield fails("DomainError", "log_probabilities", None, 3.0, function, 0, [1, 1, 2], FRAMES)
    yield fails("DomainError", "log_probabilities", None, 0.0, function, 5, [99], [])
    yield fails("TypeMismatch", "blank", None, None, function, 0.0, [1], FRAMES)
    yield fails("TypeMismatch", "labels", 0, None, function, 0, [1.0], FRAMES)
    yield fails("TypeMismatch", "log_probabilities", None, None, function, 0, [1], 1.0)
    yield fails("Overflow", None, None, None, function, 0, [], [[-HUGE], [-HUGE]])


CASES += [*ctc_cases(core.ctc_loss), *ctc_cases(core.ctc_loss_gradient)]


@pytest.mark.parametrize(("constructor", "argument", "index", "value", "function", "arguments"), CASES)
def test_failure(constructor, argument, index, value, function, arguments):
    live = hmath.live_values() if hasattr(hmath, "live_values") else None
    with pytest.raises(hmath.HMathError) as caught:
        function(*arguments)
    error = caught.value.math_error
    assert error.constructor == constructor, error.message
    assert error.argument == argument, error.message
    assert error.operation == f"core.{function.__name__}"
    if constructor != "TypeMismatch":
        assert error.index == index, error.message
    if value is None:
        assert constructor == "TypeMismatch" or error.value is None, error.message
    else:
        assert error.value == value or (math.isnan(value) and math.isnan(error.value)), error.message
    assert live is None or hmath.live_values() == live


def test_messages_name_operation_argument_index_value_and_requirement():
    with pytest.raises(hmath.DomainError) as caught:
        core.loss(core.CategoricalCrossEntropy, core.Sum, [0.5, 0.25], [0.5, 0.0])
    assert caught.value.math_error.requirement == "> 0"
    assert str(caught.value) == (
        "core.loss: prediction[1] = 0.0 gives an impossible event (target 0.25 > 0); required > 0"
    )


def test_closed_owners_are_value_errors():
    closed = tensor.tensor([2], [1.0, 2.0])
    closed.close()
    for function in (core.softmax, core.log_softmax, core.sparsemax):
        with pytest.raises(ValueError):
            function(closed)
    with pytest.raises(ValueError):
        core.activation(core.Sigmoid, closed)
    with pytest.raises(ValueError):
        core.loss(core.MeanSquaredError, core.Sum, [1.0, 2.0], closed)
