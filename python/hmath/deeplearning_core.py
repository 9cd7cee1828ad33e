"""Core: activations, the softmax family, losses and their gradients, connectionist temporal classification.

A ``[Double]`` parameter takes a sequence of numbers, an ``array.array``, a float64 NumPy array or a Tensor
of rank 1; a result that is a list comes in the same container. The first failure in this order is the one
reported: kinds, parameters, lengths, emptiness, elements argument by argument, the result. Every NaN and
infinity in an argument is a ``NonFinite``; ``docs/core.md`` has formulas, domains and accuracy in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from ._call import Shorts, call, call_double, short
from ._convert import (
    boolean,
    double,
    double_rows,
    doubles,
    has_axes,
    integer,
    integers,
    node,
    node_rows,
    nodes,
)
from ._convert import tensor as tensor_argument
from ._convert import value as value_argument
from ._native import Handle
from ._result import items, like, mapped, plain
from ._selector import Selector, selector
from ._surface import shown

if TYPE_CHECKING:
    from ._typing import ArrayT, DoubleRows, Doubles, Integers, Numbers, NumbersT, TensorLike
    from .autodiff import ADTensor, Expr, Node

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "BinaryCrossEntropy",
    "CategoricalCrossEntropy",
    "CosineLoss",
    "HardSigmoid",
    "HardSwish",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LeakyReLU",
    "Loss",
    "Mean",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Mish",
    "NegativeLogLikelihood",
    "PReLU",
    "ReLU",
    "Reduction",
    "SiLU",
    "Sigmoid",
    "SmoothL1",
    "Softplus",
    "Softsign",
    "Sum",
    "Tanh",
    "activation",
    "activation_derivative",
    "activation_expr",
    "binary_cross_entropy_logits",
    "categorical_cross_entropy_logits",
    "contrastive_loss",
    "ctc_loss",
    "ctc_loss_expr",
    "ctc_loss_gradient",
    "dice_loss",
    "focal_loss",
    "gated_linear_unit",
    "iou_loss",
    "log_softmax",
    "log_softmax_expr",
    "loss",
    "loss_expr",
    "loss_gradient",
    "regularization",
    "softmax",
    "softmax_expr",
    "sparsemax",
    "sparsemax_expr",
    "triplet_loss",
]

__dir__ = shown(__all__)

__dir__ = shown(__all__)

# ---------------------------------------------------------------- activations


class Activation(Selector):
    """Which activation; see the table in ``docs/core.md``."""

    __slots__ = ()


Sigmoid = selector(Activation, "Sigmoid", "hmath_neural_core_sigmoid_create")
Tanh = selector(Activation, "Tanh", "hmath_neural_core_tanh_create")
ReLU = selector(Activation, "ReLU", "hmath_neural_core_relu_create")
SELU = selector(Activation, "SELU", "hmath_neural_core_selu_create")
GELU = selector(Activation, "GELU", "hmath_neural_core_gelu_create")
SiLU = selector(Activation, "SiLU", "hmath_neural_core_silu_create")
Mish = selector(Activation, "Mish", "hmath_neural_core_mish_create")
Softplus = selector(Activation, "Softplus", "hmath_neural_core_softplus_create")
Softsign = selector(Activation, "Softsign", "hmath_neural_core_softsign_create")
HardSigmoid = selector(Activation, "HardSigmoid", "hmath_neural_core_hard_sigmoid_create")
HardSwish = selector(Activation, "HardSwish", "hmath_neural_core_hard_swish_create")


def LeakyReLU(parameter: float) -> Activation:
    """x for x > 0, else `parameter`·x; used with a finite slope (Maas, Hannun and Ng 2013)."""
    return selector(Activation, "LeakyReLU", "hmath_neural_core_leaky_relu_create", parameter=parameter)


def PReLU(parameter: float) -> Activation:
    """x for x > 0, else `parameter`·x, the slope being learnt (He et al. 2015)."""
    return selector(Activation, "PReLU", "hmath_neural_core_prelu_create", parameter=parameter)


def ELU(parameter: float) -> Activation:
    """x for x > 0, else `parameter`·(eˣ - 1); used with `parameter` > 0 (Clevert et al. 2016)."""
    return selector(Activation, "ELU", "hmath_neural_core_elu_create", parameter=parameter)


@overload
def activation(method: Activation, value: ArrayT) -> ArrayT: ...
@overload
def activation(method: Activation, value: float) -> float: ...
def activation(method: Activation, value: TensorLike | float) -> TensorLike | float:
    """The activation of a number, or of every element of a Tensor or array; within 4 ulp.

    Args:
        method: Sigmoid, Tanh, ReLU, LeakyReLU(a), PReLU(a), ELU(alpha), SELU, GELU, SiLU, Mish, Softplus,
            Softsign, HardSigmoid or HardSwish.
        value: a number, or a Tensor or float64 array of any shape, which gives another one.

    Raises:
        NonFinite: the selector's parameter or an element.
        DomainError: ELU with a parameter that is not above 0.
        Overflow: a result beyond the largest double.

    >>> activation(Sigmoid, 0.0), activation(ReLU, -2.0), activation(GELU, 1.0)
    (0.5, 0.0, 0.8413447460685429)
    """
    return _activation("hmath_neural_core_activation", method, value)


@overload
def activation_derivative(method: Activation, value: ArrayT) -> ArrayT: ...
@overload
def activation_derivative(method: Activation, value: float) -> float: ...
def activation_derivative(method: Activation, value: TensorLike | float) -> TensorLike | float:
    """The analytic first derivative of the activation; arguments and failures as for ``activation``.

    At a kink: ReLU 0, LeakyReLU, PReLU, ELU and SELU the left slope, HardSigmoid 0, HardSwish 0 at -3 and 1
    at 3.

    >>> activation_derivative(Tanh, 0.0), activation_derivative(LeakyReLU(0.1), 0.0)
    (1.0, 0.1)
    """
    return _activation("hmath_neural_core_activation_derivative", method, value)


_activations = Shorts("vx")


def _activation(name: str, method: Activation, value: Any) -> TensorLike | float:
    result: TensorLike | float | None = _activations[name](method, value)
    if result is not None:
        return result
    selected = value_argument(method, "method", "Activation")
    if _is_array(value):
        array: TensorLike = like(call(name, selected, tensor_argument(value, "value")), value)
        return array
    return call_double(name, selected, double(value, "value"))


def _is_array(x: Any) -> bool:
    return isinstance(x, Handle) or has_axes(x)


# ---------------------------------------------------------------- the softmax family


@overload
def softmax(values: NumbersT) -> NumbersT: ...  # type: ignore[overload-overlap]
@overload
def softmax(values: Sequence[float]) -> list[float]: ...
def softmax(values: Doubles) -> Numbers:
    """e^(x_i - max x) / Σ_j e^(x_j - max x), of a vector or along the last axis of a Tensor or array.

    Sums to 1; entries that underflow are 0; never fails on finite input. The relative error of an entry is
    at most (|x - max| + 8)·2⁻⁵².

    Raises:
        EmptyInput, NonFinite, DimensionMismatch (a Tensor of rank 0).

    >>> softmax([1.0, 1.0]), softmax([1e308, -1e308])
    ([0.5, 0.5], [1.0, 0.0])
    """
    return mapped("hmath_neural_core_softmax", values)


@overload
def log_softmax(values: NumbersT) -> NumbersT: ...  # type: ignore[overload-overlap]
@overload
def log_softmax(values: Sequence[float]) -> list[float]: ...
def log_softmax(values: Doubles) -> Numbers:
    """(x_i - max x) - ln Σ_j e^(x_j - max x), as ``softmax``; the largest entry keeps its relative accuracy.

    Raises:
        EmptyInput, NonFinite, DimensionMismatch as ``softmax``.
        Overflow: x - max x beyond the largest double.

    >>> [f"{x:.9e}" for x in log_softmax([0.0, -100.0])]
    ['-3.720075976e-44', '-1.000000000e+02']
    """
    return mapped("hmath_neural_core_log_softmax", values)


@overload
def sparsemax(values: NumbersT) -> NumbersT: ...  # type: ignore[overload-overlap]
@overload
def sparsemax(values: Sequence[float]) -> list[float]: ...
def sparsemax(values: Doubles) -> Numbers:
    """The nearest point of the probability simplex (Martins and Astudillo 2016), as ``softmax``.

    An entry exactly on the boundary of the support is 0. Linear time, no sorting.

    >>> sparsemax([0.0, 0.5, 1.0])
    [0.0, 0.25, 0.75]
    """
    return mapped("hmath_neural_core_sparsemax", values)


_gated_linear_unit = short("hmath_neural_core_gated_linear_unit", "Ll")


@overload
def gated_linear_unit(values: NumbersT, gate: Doubles) -> NumbersT: ...  # type: ignore[overload-overlap]
@overload
def gated_linear_unit(values: Sequence[float], gate: Doubles) -> list[float]: ...
def gated_linear_unit(values: Doubles, gate: Doubles) -> Numbers:
    """values_i · σ(gate_i) (Dauphin et al. 2017), in the container of `values`.

    Within 4 ulp also where σ(gate) alone would be below the smallest double.

    Raises:
        DimensionMismatch: lengths that differ. NonFinite.

    >>> gated_linear_unit([2.0, 1e308], [0.0, -745.0])
    [1.0, 2.8223507304719374e-16]
    """
    result: Numbers | None = _gated_linear_unit(values, gate)
    if result is not None:
        return result
    return like(
        call("hmath_neural_core_gated_linear_unit", doubles(values, "values"), doubles(gate, "gate")), values
    )


# ---------------------------------------------------------------- losses


class Reduction(Selector):
    """What becomes of the elementwise losses: their ``Sum``, or their ``Mean``."""

    __slots__ = ()


Sum = selector(Reduction, "Sum", "hmath_neural_core_sum_create")
Mean = selector(Reduction, "Mean", "hmath_neural_core_mean_create")


class Loss(Selector):
    """Which loss; see the table in ``docs/core.md``."""

    __slots__ = ()


MeanSquaredError = selector(Loss, "MeanSquaredError", "hmath_neural_core_mean_squared_error_create")
MeanAbsoluteError = selector(Loss, "MeanAbsoluteError", "hmath_neural_core_mean_absolute_error_create")
BinaryCrossEntropy = selector(Loss, "BinaryCrossEntropy", "hmath_neural_core_binary_cross_entropy_create")
CategoricalCrossEntropy = selector(
    Loss, "CategoricalCrossEntropy", "hmath_neural_core_categorical_cross_entropy_create"
)
NegativeLogLikelihood = selector(
    Loss, "NegativeLogLikelihood", "hmath_neural_core_negative_log_likelihood_create"
)
KLDivergence = selector(Loss, "KLDivergence", "hmath_neural_core_kl_divergence_create")
CosineLoss = selector(Loss, "CosineLoss", "hmath_neural_core_cosine_loss_create")


def Huber(parameter: float) -> Loss:
    """e²/2 for |e| ≤ `parameter`, else parameter·(|e| - parameter/2); used with `parameter` > 0."""
    return selector(Loss, "Huber", "hmath_neural_core_huber_create", parameter=parameter)


def SmoothL1(parameter: float) -> Loss:
    """e²/(2·parameter) for |e| < `parameter`, else |e| - parameter/2; used with `parameter` > 0."""
    return selector(Loss, "SmoothL1", "hmath_neural_core_smooth_l1_create", parameter=parameter)


def Hinge(parameter: float) -> Loss:
    """max(0, parameter - t·p) for targets of exactly -1 or 1; used with `parameter` ≥ 0."""
    return selector(Loss, "Hinge", "hmath_neural_core_hinge_create", parameter=parameter)


_loss = short("hmath_neural_core_loss", "vvll")
_loss_gradient = short("hmath_neural_core_loss_gradient", "vvlL")
_binary_cross_entropy_logits = short("hmath_neural_core_binary_cross_entropy_logits", "vll")
_categorical_cross_entropy_logits = short("hmath_neural_core_categorical_cross_entropy_logits", "ll")
_regularization = short("hmath_neural_core_regularization", "ddl")
_contrastive_loss = short("hmath_neural_core_contrastive_loss", "dbll")
_triplet_loss = short("hmath_neural_core_triplet_loss", "dlll")
_focal_loss = short("hmath_neural_core_focal_loss", "ddll")
_dice_loss = short("hmath_neural_core_dice_loss", "dll")
_iou_loss = short("hmath_neural_core_iou_loss", "dll")


def loss(method: Loss, reduction: Reduction, target: Doubles, prediction: Doubles) -> float:
    """The loss of `prediction` against `target`, reduced.

    Args:
        method: MeanSquaredError, MeanAbsoluteError, Huber(delta), SmoothL1(beta), BinaryCrossEntropy,
            CategoricalCrossEntropy, NegativeLogLikelihood, KLDivergence, CosineLoss or Hinge(margin).
        reduction: Sum, or Mean, which divides by the number of elements; CosineLoss is one number for the
            vector and is left alone.
        target, prediction: of the same length, at least one.

    Raises:
        DomainError: a parameter or an element outside the method's domain, an impossible event, a zero
            vector.
        NonFinite, DimensionMismatch, EmptyInput.
        Overflow: only where the loss itself is beyond the largest double.

    >>> loss(MeanSquaredError, Mean, [1.0, 2.0], [1.5, 1.0])
    0.625
    >>> loss(KLDivergence, Sum, [1.0, 0.0], [0.25, 0.75])
    1.3862943611198906
    """
    result: float | None = _loss(method, reduction, target, prediction)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_loss",
        value_argument(method, "method", "Loss"),
        value_argument(reduction, "reduction", "Reduction"),
        doubles(target, "target"),
        doubles(prediction, "prediction"),
    )


@overload
def loss_gradient(method: Loss, reduction: Reduction, target: Doubles, prediction: NumbersT) -> NumbersT: ...  # type: ignore[overload-overlap]
@overload
def loss_gradient(
    method: Loss, reduction: Reduction, target: Doubles, prediction: Sequence[float]
) -> list[float]: ...
def loss_gradient(method: Loss, reduction: Reduction, target: Doubles, prediction: Doubles) -> Numbers:
    """The derivative of ``loss`` with respect to each prediction, in the container of `prediction`.

    At a kink: MeanAbsoluteError 0, Huber and SmoothL1 continuous, Hinge 0 where margin - t·p is 0.

    >>> loss_gradient(BinaryCrossEntropy, Mean, [1.0, 0.0], [0.25, 0.75])
    [-2.0, 2.0]
    """
    result: Numbers | None = _loss_gradient(method, reduction, target, prediction)
    if result is not None:
        return result
    return like(
        call(
            "hmath_neural_core_loss_gradient",
            value_argument(method, "method", "Loss"),
            value_argument(reduction, "reduction", "Reduction"),
            doubles(target, "target"),
            doubles(prediction, "prediction"),
        ),
        prediction,
    )


def binary_cross_entropy_logits(reduction: Reduction, target: Doubles, logits: Doubles) -> float:
    """Binary cross entropy of logits x: (1-t)·max(x, 0) + t·max(-x, 0) + ln(1 + e^-|x|), reduced.

    Args:
        target: in [0, 1].
        logits: any finite numbers, of the same length, at least one.

    >>> f"{binary_cross_entropy_logits(Sum, [0.0], [-100.0]):.9e}"
    '3.720075976e-44'
    """
    result: float | None = _binary_cross_entropy_logits(reduction, target, logits)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_binary_cross_entropy_logits",
        value_argument(reduction, "reduction", "Reduction"),
        doubles(target, "target"),
        doubles(logits, "logits"),
    )


def categorical_cross_entropy_logits(target: Doubles, logits: Doubles) -> float:
    """-Σ t_i · log_softmax(logits)_i of one vector of class logits; entries with t_i = 0 are left out.

    Args:
        target: ≥ 0, with a sum within 1e-9 of 1.

    >>> categorical_cross_entropy_logits([1.0, 0.0], [-30.0, 30.0])
    60.0
    """
    result: float | None = _categorical_cross_entropy_logits(target, logits)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_categorical_cross_entropy_logits",
        doubles(target, "target"),
        doubles(logits, "logits"),
    )


def regularization(l1: float, l2: float, weights: Doubles) -> float:
    """l1·Σ|w| + l2/2·Σw²; both coefficients ≥ 0; 0 for no weights.

    >>> regularization(0.5, 0.25, [3.0, -4.0, 0.5])
    6.90625
    """
    result: float | None = _regularization(l1, l2, weights)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_regularization",
        double(l1, "l1"),
        double(l2, "l2"),
        doubles(weights, "weights"),
    )


def contrastive_loss(margin: float, similar: bool, left: Doubles, right: Doubles) -> float:
    """d² of a similar pair, else max(0, margin - d)², d the Euclidean distance; `margin` > 0.

    Hadsell, Chopra and LeCun (2006), without their factor one half.

    >>> contrastive_loss(2.0, False, [0.0, 0.0], [0.6, 0.8])
    1.0
    """
    result: float | None = _contrastive_loss(margin, similar, left, right)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_contrastive_loss",
        double(margin, "margin"),
        boolean(similar, "similar"),
        doubles(left, "left"),
        doubles(right, "right"),
    )


def triplet_loss(margin: float, anchor: Doubles, positive: Doubles, negative: Doubles) -> float:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), distances Euclidean; `margin` ≥ 0.

    >>> triplet_loss(0.25, [0.0, 0.0], [3.0, 4.0], [0.0, 1.0])
    4.25
    """
    result: float | None = _triplet_loss(margin, anchor, positive, negative)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_triplet_loss",
        double(margin, "margin"),
        doubles(anchor, "anchor"),
        doubles(positive, "positive"),
        doubles(negative, "negative"),
    )


def focal_loss(alpha: float, gamma: float, target: Doubles, prediction: Doubles) -> float:
    """The mean of alpha·(1-p)^gamma·(-ln p) where t = 1 and (1-alpha)·p^gamma·(-ln(1-p)) where t = 0.

    Lin et al. (2017). Targets are exactly 0 or 1, predictions in [0, 1], `alpha` in [0, 1], `gamma` ≥ 0. An
    impossible event is a DomainError unless its weight, alpha or 1 - alpha, is 0.

    >>> focal_loss(0.25, 2.0, [1.0, 0.0], [0.5, 0.5])
    0.08664339756999316
    """
    result: float | None = _focal_loss(alpha, gamma, target, prediction)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_focal_loss",
        double(alpha, "alpha"),
        double(gamma, "gamma"),
        doubles(target, "target"),
        doubles(prediction, "prediction"),
    )


def dice_loss(smooth: float, target: Doubles, prediction: Doubles) -> float:
    """1 - (2·Σtp + smooth)/(Σt + Σp + smooth), for t and p in [0, 1] (Milletari et al. 2016).

    Nothing cancels where the sets nearly agree. A denominator of 0 is a DomainError.

    >>> dice_loss(0.0, [1.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    0.3333333333333333
    """
    result: float | None = _dice_loss(smooth, target, prediction)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_dice_loss",
        double(smooth, "smooth"),
        doubles(target, "target"),
        doubles(prediction, "prediction"),
    )


def iou_loss(smooth: float, target: Doubles, prediction: Doubles) -> float:
    """1 - (Σtp + smooth)/(Σt + Σp - Σtp + smooth): intersection over union, as ``dice_loss``.

    >>> iou_loss(0.0, [1.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    0.5
    """
    result: float | None = _iou_loss(smooth, target, prediction)
    if result is not None:
        return result
    return call_double(
        "hmath_neural_core_iou_loss",
        double(smooth, "smooth"),
        doubles(target, "target"),
        doubles(prediction, "prediction"),
    )


# ---------------------------------------------------------------- connectionist temporal classification


def ctc_loss(blank: int, labels: Integers, log_probabilities: DoubleRows) -> float:
    """-ln of what all alignments of `labels` with the frames come to (Graves et al. 2006).

    Args:
        blank: the class that stands for no label.
        labels: classes other than blank; may be empty.
        log_probabilities: [time][class], each finite and ≤ 0; rows need not be normalised.

    Raises:
        IndexOutOfBounds: `blank`, or a label.
        DomainError: a label that is blank, a positive log-probability, too few frames for the labels and the
            blanks between equal ones.
        NonFinite (minus infinity, too), DimensionMismatch, Overflow.

    >>> round(ctc_loss(0, [1], [[-0.5, -1.0], [-1.0, -0.5]]), 12)
    0.319730329358
    """
    return call_double(
        "hmath_neural_core_ctc_loss",
        integer(blank, "blank"),
        integers(labels, "labels"),
        double_rows(log_probabilities, "log_probabilities"),
    )


@overload
def ctc_loss_gradient(blank: int, labels: Integers, log_probabilities: ArrayT) -> tuple[float, ArrayT]: ...
@overload
def ctc_loss_gradient(
    blank: int, labels: Integers, log_probabilities: Sequence[Sequence[float]]
) -> tuple[float, list[list[float]]]: ...
def ctc_loss_gradient(blank: int, labels: Integers, log_probabilities: Any) -> Any:
    """The loss, and minus the share of alignments that are in each class at each time.

    That is its derivative with respect to the log-probabilities as independent variables, before any
    log-softmax: each row sums to -1. It comes in the container of `log_probabilities`.

    >>> ctc_loss_gradient(0, [], [[-0.5, -1.0]])
    (0.5, [[-1.0, 0.0]])
    """
    found, gradient = items(
        call(
            "hmath_neural_core_ctc_loss_gradient",
            integer(blank, "blank"),
            integers(labels, "labels"),
            double_rows(log_probabilities, "log_probabilities"),
        )
    )
    return plain(found, float), like(gradient, log_probabilities)


# ---------------------------------------------------------------- graphs


def _graph(name: str, *arguments: Any) -> Any:
    """The node, or list of nodes, that a wrapper makes."""
    from . import autodiff as _  # noqa: F401 (registers the owners of nodes)

    return plain(call(f"hmath_neural_core_{name}", *arguments), object)


@overload
def activation_expr(method: Activation, value: Expr | float) -> Expr: ...
@overload
def activation_expr(method: Activation, value: ADTensor) -> ADTensor: ...
def activation_expr(method: Activation, value: Any) -> Any:
    """The activation of a node, with its analytic derivative and the kinks of :func:`activation_derivative`.

    Of an :class:`~hmath.autodiff.Expr`, or of every element of an :class:`~hmath.autodiff.ADTensor`.

    Raises:
        NonFinite, DomainError: ``method.parameter``. Elements are checked when the graph is evaluated.
    """
    return _graph("activation_expr", value_argument(method, "method", "Activation"), node(value, "value"))


@overload
def softmax_expr(values: Sequence[Expr]) -> list[Expr]: ...
@overload
def softmax_expr(values: ADTensor) -> ADTensor: ...
def softmax_expr(values: Any) -> Any:
    """:func:`softmax` of scalar nodes, or along the last axis of an ADTensor. First-order.

    Its derivative couples all coordinates: p * (u - p·u). ``EmptyInput`` of nothing.
    """
    return _graph("softmax_expr", nodes(values, "values"))


@overload
def log_softmax_expr(values: Sequence[Expr]) -> list[Expr]: ...
@overload
def log_softmax_expr(values: ADTensor) -> ADTensor: ...
def log_softmax_expr(values: Any) -> Any:
    """:func:`log_softmax` of scalar nodes, or along the last axis of an ADTensor. First-order.

    Its derivative is u - p * sum(u): rows of gradients sum to 0. ``EmptyInput`` of nothing.
    """
    return _graph("log_softmax_expr", nodes(values, "values"))


@overload
def sparsemax_expr(values: Sequence[Expr]) -> list[Expr]: ...
@overload
def sparsemax_expr(values: ADTensor) -> ADTensor: ...
def sparsemax_expr(values: Any) -> Any:
    """:func:`sparsemax` of scalar nodes, or along the last axis of an ADTensor. First-order.

    Its derivative subtracts the mean over the support; a coordinate on the boundary counts as outside.
    """
    return _graph("sparsemax_expr", nodes(values, "values"))


def loss_expr(
    method: Loss, reduction: Reduction, target: Doubles | Node, prediction: Sequence[Expr] | ADTensor
) -> Expr:
    """:func:`loss` as a node, with the derivative of :func:`loss_gradient`.

    Target and prediction have one shape, which may be any: ``Mean`` divides by the number of elements. The
    target is numbers, or an ADTensor where it changes from run to run; no derivative flows into it.

    Raises:
        NonFinite, DomainError: ``method.parameter``. DimensionMismatch, EmptyInput. Elements are checked when
            the graph is evaluated, as :func:`loss` does.
    """
    expr: Expr = _graph(
        "loss_expr",
        value_argument(method, "method", "Loss"),
        value_argument(reduction, "reduction", "Reduction"),
        nodes(target, "target"),
        nodes(prediction, "prediction"),
    )
    return expr


def ctc_loss_expr(
    blank: int, labels: Integers, log_probabilities: Sequence[Sequence[Expr]] | ADTensor
) -> Expr:
    """:func:`ctc_loss` of a [time][class] matrix of nodes. First-order.

    Its derivative is that of :func:`ctc_loss_gradient`: minus the occupancies, no differences.
    """
    expr: Expr = _graph(
        "ctc_loss_expr",
        integer(blank, "blank"),
        integers(labels, "labels"),
        node_rows(log_probabilities, "log_probabilities"),
    )
    return expr
