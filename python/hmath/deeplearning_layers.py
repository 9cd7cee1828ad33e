"""Layers: dropout, normalisation, initialisation, dense, convolution, pooling, attention, positions.

Tensor parameters take a :class:`hmath.tensor.Tensor` of doubles, or a NumPy array of float64, which is
lent for the call and gives a NumPy result. Layouts: dense features stand on the last axis, weights are
``[output, input]``; convolution and pooling inputs are ``[N, C, spatial...]`` with one to three spatial
axes; attention takes ``[sequence, feature]``, and True in a mask permits a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ._call import call
from ._convert import doubles, integer, integers
from ._record import Record, record
from ._result import plain
from ._selector import Selector, selector

# ---------------------------------------------------------------- selectors


class Training(Selector):
    """Whether a layer learns or is put to use: ``Training.TRAINING`` or ``Training.INFERENCE``."""

    __slots__ = ()

    TRAINING: ClassVar[Training]
    INFERENCE: ClassVar[Training]


Training.TRAINING = selector(Training, "Training.TRAINING", "hmath_neural_layers_training_create")
Training.INFERENCE = selector(Training, "Training.INFERENCE", "hmath_neural_layers_inference_create")
Inference = Training.INFERENCE


class PoolMode(Selector):
    """How pooling sees a window: ``MaxPool`` or ``AveragePool``."""

    __slots__ = ()


MaxPool = selector(PoolMode, "MaxPool", "hmath_neural_layers_max_pool_create")
AveragePool = selector(PoolMode, "AveragePool", "hmath_neural_layers_average_pool_create")


class Initializer(Selector):
    """How ``initialize_weights`` draws."""

    __slots__ = ()


XavierUniform = selector(Initializer, "XavierUniform", "hmath_neural_layers_xavier_uniform_create")
XavierNormal = selector(Initializer, "XavierNormal", "hmath_neural_layers_xavier_normal_create")
KaimingUniform = selector(Initializer, "KaimingUniform", "hmath_neural_layers_kaiming_uniform_create")
KaimingNormal = selector(Initializer, "KaimingNormal", "hmath_neural_layers_kaiming_normal_create")


def Orthogonal(scale: float) -> Initializer:
    """A random orthogonal matrix times `scale` (Saxe, McClelland and Ganguli 2014)."""
    return selector(Initializer, "Orthogonal", "hmath_neural_layers_orthogonal_create", scale=scale)


def TruncatedNormal(mean: float, standard_deviation: float, bound: float) -> Initializer:
    """mean + standard_deviation·z with \\|z\\| ≤ `bound`: the bound counts standard deviations."""
    return selector(
        Initializer,
        "TruncatedNormal",
        "hmath_neural_layers_truncated_normal_create",
        mean=mean,
        standard_deviation=standard_deviation,
        bound=bound,
    )


# ---------------------------------------------------------------- records


@dataclass(frozen=True)
class BatchNormState(Record):
    """Running statistics of batch normalisation, one entry a channel, and how many batches they saw."""

    running_mean: list[float]
    running_variance: list[float]
    batches_seen: int

    _CREATE = "hmath_neural_layers_batch_norm_state_create"
    _READERS = (
        "hmath_neural_layers_running_mean",
        "hmath_neural_layers_running_variance",
        "hmath_neural_layers_batches_seen",
    )
    _CONVERTERS = (doubles, doubles, integer)


def running_mean(state: BatchNormState) -> list[float]:
    """The running mean, one entry a channel."""
    return plain(
        call("hmath_neural_layers_running_mean", record(state, BatchNormState, "state")), list[float]
    )


def running_variance(state: BatchNormState) -> list[float]:
    """The running variance, one entry a channel."""
    return plain(
        call("hmath_neural_layers_running_variance", record(state, BatchNormState, "state")), list[float]
    )


def batches_seen(state: BatchNormState) -> int:
    """How many batches the running statistics have seen."""
    return plain(call("hmath_neural_layers_batches_seen", record(state, BatchNormState, "state")), int)


@dataclass(frozen=True)
class ConvOptions(Record):
    """Stride, padding and dilation with one entry a spatial axis, and the number of channel groups."""

    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int

    _CREATE = "hmath_neural_layers_conv_options_create"
    _READERS = (
        "hmath_neural_layers_convolution_stride",
        "hmath_neural_layers_convolution_padding",
        "hmath_neural_layers_convolution_dilation",
        "hmath_neural_layers_convolution_groups",
    )
    _CONVERTERS = (integers, integers, integers, integer)


def convolution_stride(options: ConvOptions) -> list[int]:
    """The stride, one entry a spatial axis."""
    return plain(
        call("hmath_neural_layers_convolution_stride", record(options, ConvOptions, "options")), list[int]
    )


def convolution_padding(options: ConvOptions) -> list[int]:
    """The padding, one entry a spatial axis."""
    return plain(
        call("hmath_neural_layers_convolution_padding", record(options, ConvOptions, "options")), list[int]
    )


def convolution_dilation(options: ConvOptions) -> list[int]:
    """The dilation, one entry a spatial axis."""
    return plain(
        call("hmath_neural_layers_convolution_dilation", record(options, ConvOptions, "options")), list[int]
    )


def convolution_groups(options: ConvOptions) -> int:
    """The number of channel groups."""
    return plain(call("hmath_neural_layers_convolution_groups", record(options, ConvOptions, "options")), int)
