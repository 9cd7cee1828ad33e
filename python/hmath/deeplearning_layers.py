"""Layers: dropout, normalisation, initialisation, dense, convolution, pooling, attention, positions.

Tensor parameters take a :class:`hmath.tensor.Tensor` of doubles, or a NumPy array of float64, which is
lent for the call and gives a NumPy result. Layouts: dense features stand on the last axis, weights are
``[output, input]``; convolution and pooling inputs are ``[N, C, spatial...]`` with one to three spatial
axes; attention takes ``[sequence, feature]``, and True in a mask permits a key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._call import Argument, CData, Shorts, call, check, short
from ._convert import (
    boolean_rows,
    double,
    double_rows,
    doubles,
    integer,
    integers,
    maybe,
    node,
    nodes,
)
from ._convert import tensor as tensor_argument
from ._convert import value as value_argument
from ._hmath import ffi, lib
from ._owner import Owner
from ._record import Record, record, record_result
from ._result import items, like, owner, owns, plain
from ._selector import Selector, selector
from ._surface import shown
from .random import RNG
from .tensor import TensorDouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._typing import ArrayT, BooleanRows, DoubleRows, Doubles, Integers, TensorLike
    from .autodiff import ADTensor, Expr
    from .autodiff._types import Operand
    from .deeplearning_core import Activation

__all__ = [
    "AveragePool",
    "BatchNormState",
    "ConvOptions",
    "Inference",
    "Initializer",
    "KVCache",
    "KaimingNormal",
    "KaimingUniform",
    "MaxPool",
    "Orthogonal",
    "PoolMode",
    "Training",
    "TruncatedNormal",
    "XavierNormal",
    "XavierUniform",
    "adaptive_pooling",
    "alibi_bias",
    "append_cache",
    "batch_norm",
    "batches_seen",
    "cache_values",
    "causal_mask",
    "convolution",
    "convolution_ad",
    "convolution_dilation",
    "convolution_groups",
    "convolution_padding",
    "convolution_stride",
    "dense",
    "dense_ad",
    "depthwise_convolution",
    "dropout",
    "embedding",
    "empty_cache",
    "global_pooling",
    "group_norm",
    "initialize_weights",
    "instance_norm",
    "layer_norm",
    "layer_norm_ad",
    "multihead_attention",
    "pooling",
    "rms_norm",
    "rms_norm_ad",
    "rotary_embedding",
    "running_mean",
    "running_variance",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_ad",
    "sinusoidal_encoding",
    "spatial_dropout",
    "transformer_feed_forward",
    "transposed_convolution",
    "weight_norm",
]

__dir__ = shown(__all__)

T = TypeVar("T")

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


# ---------------------------------------------------------------- random masks and weights


def dropout(mode: Training, probability: float, rng: RNG, input: ArrayT) -> tuple[ArrayT, ArrayT, RNG]:
    """(output, mask, next RNG): inverted dropout (Srivastava et al. 2014).

    In training one uniform u is drawn an element, row-major, also for probability 0; the mask is
    1/(1 - probability) where u ≥ probability, else 0; output = input · mask. Inference draws nothing:
    the output is the input, the mask all ones, the RNG the same.

    Args:
        mode: ``Training.TRAINING`` or ``Training.INFERENCE``.
        probability: of losing an element, ≥ 0 and < 1.
        rng: from :func:`hmath.random.seed_rng` or the draw before.
        input: of any shape.

    Raises:
        NonFinite: `probability` or an element of `input`. DomainError: `probability`. Overflow: a kept
            element times its mask is no double.

    >>> from hmath import random, tensor
    >>> with random.seed_rng(random.pcg32(), 42) as rng, tensor.tensor([1, 2], [1, 2]) as inputs:
    ...     output, mask, advanced = dropout(Training.TRAINING, 0.5, rng, inputs)
    ...     (output.values, mask.values)
    ([2.0, 4.0], [2.0, 2.0])
    """
    return _dropped(call("hmath_neural_layers_dropout", *_drop(mode, probability, rng, input)), input)


def spatial_dropout(
    mode: Training, probability: float, rng: RNG, input: ArrayT
) -> tuple[ArrayT, ArrayT, RNG]:
    """:func:`dropout` of whole planes: one uniform for each (n, c) of an input ``[N, C, spatial...]``.

    The mask has the shape of the input (Tompson et al. 2015).

    Raises:
        As :func:`dropout`, and DimensionMismatch: rank below 3.
    """
    result = call("hmath_neural_layers_spatial_dropout", *_drop(mode, probability, rng, input))
    return _dropped(result, input)


def _drop(mode: Training, probability: float, rng: RNG, input: Any) -> tuple[Argument, ...]:
    return (
        value_argument(mode, "mode", "Training"),
        double(probability, "probability"),
        value_argument(rng, "rng", "RNG"),
        tensor_argument(input, "input"),
    )


def _dropped(result: CData, input: ArrayT) -> tuple[ArrayT, ArrayT, RNG]:
    output, mask, following = items(result)
    return like(output, input), like(mask, input), owner(RNG, following)


def initialize_weights(
    method: Initializer, fan_in: int, fan_out: int, shape: Integers, rng: RNG
) -> tuple[TensorDouble, RNG]:
    """(weights, next RNG), filled row-major. The fans are what the caller says: no layout is guessed.

    ``XavierUniform`` U(-a, a) with a = √(6/(fan_in+fan_out)), ``XavierNormal`` s = √(2/(fan_in+fan_out))
    (Glorot and Bengio 2010); ``KaimingUniform`` a = √(6/fan_in), ``KaimingNormal`` s = √(2/fan_in) (He et
    al. 2015); ``Orthogonal(scale)`` scale times a Haar-distributed matrix with orthonormal columns, or
    rows where there are fewer of them (Saxe et al. 2014); ``TruncatedNormal(mean, s, bound)`` mean + s·z,
    abs(z) ≤ bound, so that the bound counts standard deviations. The last two only check the fans.

    Args:
        method: an initializer.
        fan_in: > 0.
        fan_out: > 0.
        shape: up to eight extents ≥ 0; two extents > 0 for ``Orthogonal``.
        rng: from :func:`hmath.random.seed_rng` or the draw before.

    Raises:
        NonFinite, DomainError: a field of `method`, a fan, an extent. DimensionMismatch: the number of
            extents. Overflow: a weight is no double.

    >>> from hmath import random
    >>> with random.seed_rng(random.pcg32(), 42) as rng:
    ...     weights, advanced = initialize_weights(XavierUniform, 3, 2, [2, 3], rng)
    ...     weights.shape, weights.values[0]
    ((2, 3), 0.2854953848987636)
    """
    weights, following = items(
        call(
            "hmath_neural_layers_initialize_weights",
            value_argument(method, "method", "Initializer"),
            integer(fan_in, "fan_in"),
            integer(fan_out, "fan_out"),
            integers(shape, "shape"),
            value_argument(rng, "rng", "RNG"),
        )
    )
    return owner(TensorDouble, weights), owner(RNG, following)


# ---------------------------------------------------------------- normalisation


def batch_norm(
    mode: Training,
    momentum: float,
    epsilon: float,
    gamma: Doubles,
    beta: Doubles,
    state: BatchNormState,
    input: ArrayT,
) -> tuple[ArrayT, BatchNormState]:
    """gamma·(x - mean)/√(variance + epsilon) + beta, by channel (Ioffe and Szegedy 2015).

    Training takes the batch's mean and population variance; the state returned holds
    (1 - momentum)·running + momentum·batch, with the unbiased variance (the population's where a channel
    has one element), and one more batch. Inference takes the state's and returns it unchanged.

    Args:
        mode: ``Training.TRAINING`` or ``Training.INFERENCE``.
        momentum: in [0, 1], the weight of the new batch.
        epsilon: > 0.
        gamma, beta: one entry a channel.
        state: one entry a channel; running_variance ≥ 0.
        input: ``[N, C, spatial...]``, rank ≥ 2.

    Raises:
        NonFinite, DomainError, DimensionMismatch: a parameter, a shape, an element.
        EmptyInput: training without an element.
        Overflow: an element of the result, or of the new state, is no double.

    >>> state = BatchNormState([0.0], [1.0], 0)
    >>> with tensor.tensor([4, 1], [1, 2, 3, 4]) as x:
    ...     y, state = batch_norm(Training.TRAINING, 0.5, 1e-5, [1.0], [0.0], state, x)
    >>> state
    BatchNormState(running_mean=[1.25], running_variance=[1.3333333333333335], batches_seen=1)
    """
    result, updated = items(
        call(
            "hmath_neural_layers_batch_norm",
            value_argument(mode, "mode", "Training"),
            double(momentum, "momentum"),
            double(epsilon, "epsilon"),
            doubles(gamma, "gamma"),
            doubles(beta, "beta"),
            record(state, BatchNormState, "state"),
            tensor_argument(input, "input"),
        )
    )
    return like(result, input), record_result(BatchNormState, updated)


def layer_norm(axes: int, epsilon: float, input: ArrayT) -> ArrayT:
    """(x - mean)/√(variance + epsilon) over the last `axes` axes (Ba, Kiros and Hinton 2016).

    Population variance, two-pass or better at every magnitude; no affine part.

    Args:
        axes: how many trailing axes form a group, 1 ... rank.
        epsilon: > 0.

    Raises:
        DomainError, NonFinite, DimensionMismatch: a parameter, or `axes` beyond the rank.
        EmptyInput: groups of no element.

    >>> with tensor.tensor([2], [1e8, 1e8 + 2]) as x:
    ...     layer_norm(1, 1e-12, x).values
    [-0.9999999999995, 0.9999999999995]
    """
    normalized: ArrayT = _normalized("hmath_neural_layers_layer_norm", axes, epsilon, input)
    return normalized


def rms_norm(axes: int, epsilon: float, input: ArrayT) -> ArrayT:
    """x/√(mean of x² + epsilon) over the last `axes` axes (Zhang and Sennrich 2019).

    Arguments and failures are those of :func:`layer_norm`.
    """
    normalized: ArrayT = _normalized("hmath_neural_layers_rms_norm", axes, epsilon, input)
    return normalized


_norms = Shorts("idv")


def _normalized(name: str, axes: int, epsilon: float, input: Any) -> Any:
    result = _norms[name](axes, epsilon, input)
    if result is not None:
        return result
    return like(
        call(name, integer(axes, "axes"), double(epsilon, "epsilon"), tensor_argument(input, "input")), input
    )


_instance_norm = short("hmath_neural_layers_instance_norm", "dv")


def instance_norm(epsilon: float, input: ArrayT) -> ArrayT:
    """Layer normalisation of each image and channel over its spatial axes; rank ≥ 3.

    Ulyanov, Vedaldi and Lempitsky (2016). Failures are those of :func:`layer_norm`.
    """
    result: ArrayT | None = _instance_norm(epsilon, input)
    if result is not None:
        return result
    return like(
        call(
            "hmath_neural_layers_instance_norm",
            double(epsilon, "epsilon"),
            tensor_argument(input, "input"),
        ),
        input,
    )


def group_norm(groups: int, epsilon: float, input: ArrayT) -> ArrayT:
    """Layer normalisation of each image over groups of neighbouring channels (Wu and He 2018).

    Args:
        groups: ≥ 1; a divisor of the number of channels, else DimensionMismatch.
        input: ``[N, C, spatial...]``, rank ≥ 2.
    """
    result: ArrayT | None = _norms["hmath_neural_layers_group_norm"](groups, epsilon, input)
    if result is not None:
        return result
    return like(
        call(
            "hmath_neural_layers_group_norm",
            integer(groups, "groups"),
            double(epsilon, "epsilon"),
            tensor_argument(input, "input"),
        ),
        input,
    )


def weight_norm(axis: int, scales: Doubles, input: ArrayT) -> ArrayT:
    """scales[i]·v/‖v‖ for each slice v along `axis` (Salimans and Kingma 2016).

    Args:
        axis: 0 ... rank - 1, else IndexOutOfBounds.
        scales: one entry a slice.

    Raises:
        DomainError: a slice of zeros has no direction; `index` is its first element's.
        DimensionMismatch, EmptyInput, NonFinite: as everywhere.
    """
    return like(
        call(
            "hmath_neural_layers_weight_norm",
            integer(axis, "axis"),
            doubles(scales, "scales"),
            tensor_argument(input, "input"),
        ),
        input,
    )


# ---------------------------------------------------------------- rows of tables


def embedding(weights: ArrayT, indices: Integers) -> ArrayT:
    """Rows of ``[vocabulary, features]`` weights in the order of `indices`.

    Raises:
        IndexOutOfBounds: an index outside 0 ... vocabulary - 1; negative ones do not count from the end.

    >>> with tensor.tensor([3, 2], [1, 2, 3, 4, 5, 6]) as table:
    ...     embedding(table, [2, 0]).values
    [5.0, 6.0, 1.0, 2.0]
    """
    return like(
        call(
            "hmath_neural_layers_embedding",
            tensor_argument(weights, "weights"),
            integers(indices, "indices"),
        ),
        weights,
    )


# ---------------------------------------------------------------- dense


_dense = short("hmath_neural_layers_dense", "vvl")


def dense(input: ArrayT, weights: TensorLike, bias: Doubles) -> ArrayT:
    """input·weightsᵀ + bias over the last axis: ``[..., in]`` gives ``[..., out]``.

    Each element is one chain of fused multiply-adds in increasing feature order, then the bias: the
    same bits whatever the batch, the threads and the instruction set.

    Args:
        input: ``[..., in]``, rank ≥ 1.
        weights: ``[out, in]``.
        bias: `out` numbers.

    Raises:
        DimensionMismatch, NonFinite: a shape, an element.
        Overflow: a chain that is not finite.

    >>> with tensor.tensor([1, 2], [1, 2]) as x, tensor.tensor([1, 2], [3, 4]) as weights:
    ...     dense(x, weights, [1]).values
    [12.0]
    """
    result: ArrayT | None = _dense(input, weights, bias)
    if result is not None:
        return result
    return like(
        call(
            "hmath_neural_layers_dense",
            tensor_argument(input, "input"),
            tensor_argument(weights, "weights"),
            doubles(bias, "bias"),
        ),
        input,
    )


# ---------------------------------------------------------------- convolution


def convolution(options: ConvOptions, input: ArrayT, weights: TensorLike, bias: Doubles) -> ArrayT:
    """Cross-correlation in one to three dimensions, in groups, with zero padding.

    Output extent ⌊(in + 2·padding - dilation·(kernel - 1) - 1)/stride⌋ + 1. Each element is one chain of
    fused multiply-adds over (input channel of its group, kernel axes row-major), then the bias; padding
    is no term.

    Args:
        options: stride, dilation ≥ 1 and padding ≥ 0, one entry a spatial axis; groups ≥ 1, a divisor of
            both channel counts.
        input: ``[N, Cin, spatial...]`` with one to three spatial axes.
        weights: ``[Cout, Cin/groups, kernel...]``.
        bias: Cout numbers.

    Raises:
        DomainError: a field of `options`; `argument` says which, ``options.stride`` for example.
        DimensionMismatch: ranks, channels, lengths, an output extent below 1.
        EmptyInput: images or kernels without an element.
        NonFinite, Overflow: an element, a chain.

    >>> with tensor.tensor([1, 1, 4], [1, 2, 3, 4]) as x, tensor.tensor([1, 1, 2], [1, 10]) as w:
    ...     convolution(ConvOptions([1], [1], [1], 1), x, w, [0.5]).values
    [10.5, 21.5, 32.5, 43.5, 4.5]
    """
    return like(
        call(
            "hmath_neural_layers_convolution",
            record(options, ConvOptions, "options"),
            tensor_argument(input, "input"),
            tensor_argument(weights, "weights"),
            doubles(bias, "bias"),
        ),
        input,
    )


def depthwise_convolution(options: ConvOptions, input: ArrayT, weights: TensorLike, bias: Doubles) -> ArrayT:
    """:func:`convolution` with as many groups as input channels; ``options.groups`` is ignored.

    `weights` is ``[Cin·multiplier, 1, kernel...]``: the outputs of one channel stand together.
    """
    return like(
        call(
            "hmath_neural_layers_depthwise_convolution",
            record(options, ConvOptions, "options"),
            tensor_argument(input, "input"),
            tensor_argument(weights, "weights"),
            doubles(bias, "bias"),
        ),
        input,
    )


def transposed_convolution(
    output_padding: Integers,
    options: ConvOptions,
    input: ArrayT,
    weights: TensorLike,
    bias: Doubles,
) -> ArrayT:
    """The adjoint of :func:`convolution`, plus a bias: each input pixel adds a kernel to the output.

    Output extent (in - 1)·stride - 2·padding + dilation·(kernel - 1) + output_padding + 1. Each element
    is one chain over (input channel of its group, kernel axes row-major).

    Args:
        output_padding: one entry a spatial axis, 0 ≤ entry < stride: rows at the far end.
        options: as for :func:`convolution`; padding crops the output.
        input: ``[N, Cin, spatial...]``.
        weights: ``[Cin, Cout/groups, kernel...]``.
        bias: Cout numbers.

    Raises:
        DomainError: an entry of `output_padding` or of `options`.
        DimensionMismatch, EmptyInput, NonFinite, Overflow: as for :func:`convolution`.
    """
    return like(
        call(
            "hmath_neural_layers_transposed_convolution",
            integers(output_padding, "output_padding"),
            record(options, ConvOptions, "options"),
            tensor_argument(input, "input"),
            tensor_argument(weights, "weights"),
            doubles(bias, "bias"),
        ),
        input,
    )


# ---------------------------------------------------------------- pooling


def pooling(mode: PoolMode, kernel: Integers, stride: Integers, padding: Integers, input: ArrayT) -> ArrayT:
    """The largest element of each window, or the mean of its real ones.

    Padded cells take no part, neither in the maximum nor in the count. Output extent
    ⌊(in + 2·padding - kernel)/stride⌋ + 1.

    Args:
        mode: ``MaxPool`` or ``AveragePool``.
        kernel, stride, padding: one entry a spatial axis; kernel, stride ≥ 1, padding ≥ 0.
        input: ``[N, C, spatial...]`` with one to three spatial axes.

    Raises:
        DomainError: an entry, or padding ≥ kernel, which leaves a window without a real cell.
        DimensionMismatch, EmptyInput, NonFinite: as everywhere.

    >>> with tensor.tensor([1, 1, 4], [1, 5, 2, 3]) as x:
    ...     pooling(MaxPool, [2], [2], [0], x).values
    [5.0, 3.0]
    """
    return like(
        call(
            "hmath_neural_layers_pooling",
            value_argument(mode, "mode", "PoolMode"),
            integers(kernel, "kernel"),
            integers(stride, "stride"),
            integers(padding, "padding"),
            tensor_argument(input, "input"),
        ),
        input,
    )


def adaptive_pooling(mode: PoolMode, shape: Integers, input: ArrayT) -> ArrayT:
    """Pooling into `shape` bins: bin i of out covers the cells ⌊i·in/out⌋ ... ⌈(i+1)·in/out⌉ - 1.

    Args:
        mode: ``MaxPool`` or ``AveragePool``.
        shape: the output's spatial extents, each ≥ 1.
        input: ``[N, C, spatial...]`` with one to three spatial axes.
    """
    return like(
        call(
            "hmath_neural_layers_adaptive_pooling",
            value_argument(mode, "mode", "PoolMode"),
            integers(shape, "shape"),
            tensor_argument(input, "input"),
        ),
        input,
    )


def global_pooling(mode: PoolMode, input: ArrayT) -> ArrayT:
    """One value an image and channel: ``[N, C]`` of ``[N, C, spatial...]``."""
    return like(
        call(
            "hmath_neural_layers_global_pooling",
            value_argument(mode, "mode", "PoolMode"),
            tensor_argument(input, "input"),
        ),
        input,
    )


# ---------------------------------------------------------------- attention


def scaled_dot_product_attention(
    query: ArrayT,
    key: TensorLike,
    value: TensorLike,
    mask: BooleanRows | None,
    bias: DoubleRows | None,
) -> tuple[ArrayT, ArrayT]:
    """(attended values, weights): softmax(query·keyᵀ/√D + bias)·value (Vaswani et al. 2017).

    A masked key takes no part, however large; a row whose keys are all masked is exactly zero in both.

    Args:
        query: ``[N, D]``.
        key: ``[M, D]``.
        value: ``[M, F]``.
        mask: N rows of M, True where the key may be seen: lists of bools, or a NumPy array of bool, which is lent;
            or None.
        bias: N rows of M, added to the scores; or None.

    Raises:
        DimensionMismatch: a rank, a width, a mask or a bias of another shape.
        EmptyInput: a query without keys, or without features.
        NonFinite: an element, of masked keys too.
        Overflow: a score that takes part, or a result, is no double.

    >>> with tensor.tensor([1, 2], [1, 0]) as q, tensor.tensor([2, 2], [5, 0, 0, 5]) as k:
    ...     out, weights = scaled_dot_product_attention(q, k, k, [[False, True]], None)
    >>> out.values, weights.values
    ([0.0, 5.0], [0.0, 1.0])
    """
    result, weights = items(
        call(
            "hmath_neural_layers_scaled_dot_product_attention",
            tensor_argument(query, "query"),
            tensor_argument(key, "key"),
            tensor_argument(value, "value"),
            maybe(boolean_rows, mask, "mask"),
            maybe(double_rows, bias, "bias"),
        )
    )
    return like(result, query), like(weights, query)


def multihead_attention(
    heads: int, query: ArrayT, key: TensorLike, value: TensorLike, mask: BooleanRows | None
) -> ArrayT:
    """Attention in `heads` equal parts of the features, side by side again in the result ``[N, F]``.

    Part h of query and key, scaled by the root of its own width, weighs part h of value. One mask serves
    all. Projections are dense layers of the caller's.

    Args:
        heads: ≥ 1, a divisor of the widths of query and value, else DimensionMismatch.

    Other arguments and failures are those of :func:`scaled_dot_product_attention`.
    """
    return like(
        call(
            "hmath_neural_layers_multihead_attention",
            integer(heads, "heads"),
            tensor_argument(query, "query"),
            tensor_argument(key, "key"),
            tensor_argument(value, "value"),
            maybe(boolean_rows, mask, "mask"),
        ),
        query,
    )


# ---------------------------------------------------------------- positions


def causal_mask(queries: int, keys: int, offset: int) -> list[list[bool]]:
    """allowed[i][j] = (j ≤ i + offset): query i stands behind `offset` cached keys. All ≥ 0.

    >>> causal_mask(2, 3, 1)
    [[True, True, False], [True, True, True]]
    """
    return _windows(_causal_mask, queries, keys, offset)


def _causal_mask(queries: int, keys: int, offset: int) -> list[list[bool]]:
    return plain(
        call(
            "hmath_neural_layers_causal_mask",
            integer(queries, "queries"),
            integer(keys, "keys"),
            integer(offset, "offset"),
        ),
        list[list[bool]],
    )


_WINDOWED = 2**28  # elements; whether there is memory for more, the library finds out before it is taken


def _windows(
    matrix: Callable[[int, int, int], list[list[T]]], queries: int, keys: int, offset: int
) -> list[list[T]]:
    """A matrix whose elements depend on i + offset - j alone, as windows of one long row.

    That is the row of the last query, continued to the left by the other queries. The rows are lists of their
    own, whose elements are the same objects.
    """
    usual = type(queries) is type(keys) is type(offset) is int
    if not usual or min(queries, keys) < 1 or queries * keys > _WINDOWED or not 0 <= offset < 2**32:
        return matrix(queries, keys, offset)
    (row,) = matrix(1, queries + keys - 1, queries - 1 + offset)
    return [row[start : start + keys] for start in range(queries - 1, -1, -1)]


def alibi_bias(slope: float, queries: int, keys: int, offset: int) -> list[list[float]]:
    """-slope·|(i + offset) - j| (Press, Smith and Lewis 2022); slope and counts ≥ 0.

    Symmetric: combine it with a causal mask where the future must stay unseen.

    >>> alibi_bias(0.5, 1, 3, 2)
    [[-1.0, -0.5, 0.0]]
    """
    return _windows(partial(_alibi_bias, slope), queries, keys, offset)


def _alibi_bias(slope: float, queries: int, keys: int, offset: int) -> list[list[float]]:
    return plain(
        call(
            "hmath_neural_layers_alibi_bias",
            double(slope, "slope"),
            integer(queries, "queries"),
            integer(keys, "keys"),
            integer(offset, "offset"),
        ),
        list[list[float]],
    )


def rotary_embedding(base: float, offset: int, input: ArrayT) -> ArrayT:
    """Turn each pair of neighbouring features by its angle (Su et al. 2021).

    In row r features (2i, 2i+1) turn by (offset + r)·base^(-2i/d). Angles are formed in double-double:
    their sine and cosine are within 4·2⁻⁵³ for positions up to 2³¹.

    Args:
        base: > 0; 10000 is usual.
        offset: ≥ 0, the position of the first row.
        input: ``[sequence, d]``, d even.

    Raises:
        DomainError: `base`, `offset`, or offset + sequence ≥ 2⁵³.
        DimensionMismatch: another rank, an odd d.
        NonFinite, Overflow: an element; a result, or an angle, beyond the range of a double.

    >>> with tensor.tensor([1, 2], [1, 0]) as x:
    ...     rotary_embedding(10000.0, 1, x).values
    [0.5403023058681398, 0.8414709848078965]
    """
    return like(
        call(
            "hmath_neural_layers_rotary_embedding",
            double(base, "base"),
            integer(offset, "offset"),
            tensor_argument(input, "input"),
        ),
        input,
    )


def sinusoidal_encoding(length: int, dimensions: int, offset: int) -> TensorDouble:
    """Sines and cosines of positions offset, offset + 1, ... (Vaswani et al. 2017).

    Column 2i is sin(position/10000^(2i/dimensions)), column 2i+1 the cosine of the same; an odd width
    ends on a sine. Absolute error at most 4·2⁻⁵³ for positions up to 2³¹.

    Args:
        length, dimensions: ≥ 1.
        offset: ≥ 0; offset + length < 2⁵³.

    >>> sinusoidal_encoding(1, 2, 0).values
    [0.0, 1.0]
    """
    return owner(
        TensorDouble,
        call(
            "hmath_neural_layers_sinusoidal_encoding",
            integer(length, "length"),
            integer(dimensions, "dimensions"),
            integer(offset, "offset"),
        ),
    )


# ---------------------------------------------------------------- the KV cache


@owns(lib.HMATH_KIND_KV_CACHE)
class KVCache(Owner):
    """Keys and values of past positions, immutable: appending makes a new version.

    Versions share memory. Appending to the newest one costs the new rows only; appending a second time
    to an older one copies what it shows. Memory grows with what is held, not with the capacity.
    """

    __slots__ = ()

    def _parts(self) -> tuple[int, int, int, int]:
        """Capacity, length, and the widths of keys and values."""
        numbers = ffi.new("int64_t[4]")
        pointers = [numbers + i for i in range(4)]
        check(lib.hmath_kv_cache_get(self._open(), *pointers))
        return tuple(numbers)

    @property
    def capacity(self) -> int:
        """How many rows it may ever hold."""
        return self._parts()[0]

    def __len__(self) -> int:
        return self._parts()[1]

    def __bool__(self) -> bool:
        return not self.closed  # an empty cache is a cache

    @property
    def key_dimensions(self) -> int:
        return self._parts()[2]

    @property
    def value_dimensions(self) -> int:
        return self._parts()[3]

    def __reduce__(self) -> tuple[Any, ...]:
        capacity, _, key_width, value_width = self._parts()
        return _restore, (capacity, key_width, value_width, *cache_values(self))

    def _describe(self) -> str:
        capacity, length, key_width, value_width = self._parts()
        return f"<KVCache with {length} of {capacity} rows, widths {key_width} and {value_width}>"


def _restore(
    capacity: int, key_width: int, value_width: int, keys: TensorDouble, values: TensorDouble
) -> KVCache:
    """A KVCache from what ``__reduce__`` gave; the library checks the parts."""
    with empty_cache(capacity, key_width, value_width) as cache:
        return append_cache(cache, keys, values)


def empty_cache(capacity: int, key_dimensions: int, value_dimensions: int) -> KVCache:
    """A cache without rows that can hold up to `capacity` of them; all three ≥ 1."""
    return owner(
        KVCache,
        call(
            "hmath_neural_layers_empty_cache",
            integer(capacity, "capacity"),
            integer(key_dimensions, "key_dimensions"),
            integer(value_dimensions, "value_dimensions"),
        ),
    )


_append_cache = short("hmath_neural_layers_append_cache", "vvv")


def append_cache(cache: KVCache, key: TensorLike, value: TensorLike) -> KVCache:
    """A new cache with the rows of `key` and `value` behind those of `cache`, which stays as it is.

    Raises:
        DimensionMismatch: a width, unequal numbers of rows, or more rows than there is room for.
        NonFinite: an element of `key` or `value`.
    """
    result: KVCache | None = _append_cache(cache, key, value)
    if result is not None:
        return result
    return owner(
        KVCache,
        call(
            "hmath_neural_layers_append_cache",
            value_argument(cache, "cache", "KVCache"),
            tensor_argument(key, "key"),
            tensor_argument(value, "value"),
        ),
    )


def cache_values(cache: KVCache) -> tuple[TensorDouble, TensorDouble]:
    """(keys, values): ``[length, key_dimensions]`` and ``[length, value_dimensions]``, without a copy.

    >>> with empty_cache(8, 2, 1) as cache, tensor.tensor([1, 2], [1, 2]) as key:
    ...     with tensor.tensor([1, 1], [3]) as value, append_cache(cache, key, value) as longer:
    ...         [part.values for part in cache_values(longer)]
    [[1.0, 2.0], [3.0]]
    """
    keys, values = items(call("hmath_neural_layers_cache_values", value_argument(cache, "cache", "KVCache")))
    return owner(TensorDouble, keys), owner(TensorDouble, values)


# ---------------------------------------------------------------- feed-forward


def transformer_feed_forward(
    activation: Activation,
    input: ArrayT,
    first_weights: TensorLike,
    first_bias: Doubles,
    second_weights: TensorLike,
    second_bias: Doubles,
) -> ArrayT:
    """dense, activation, dense: the bits of the three by themselves.

    Args:
        activation: a selector of :mod:`hmath.deeplearning_core`.
        input: ``[..., in]``.
        first_weights, first_bias: ``[hidden, in]`` and hidden numbers.
        second_weights, second_bias: ``[out, hidden]`` and out numbers.

    Raises:
        NonFinite, DomainError: ``activation.parameter``, or an element.
        DimensionMismatch, Overflow: as for :func:`dense`; Overflow also of the hidden features.
    """
    return like(
        call(
            "hmath_neural_layers_transformer_feed_forward",
            value_argument(activation, "activation", "Activation"),
            tensor_argument(input, "input"),
            tensor_argument(first_weights, "first_weights"),
            doubles(first_bias, "first_bias"),
            tensor_argument(second_weights, "second_weights"),
            doubles(second_bias, "second_bias"),
        ),
        input,
    )


# ---------------------------------------------------------------- graphs


def _graph(name: str, *arguments: Any) -> Any:
    """The node that a wrapper makes."""

    return plain(call(f"hmath_neural_layers_{name}", *arguments), object)


def dense_ad(input: Operand, weights: Operand, bias: Sequence[Expr | float] | Operand) -> ADTensor:
    """:func:`dense` as a node, with derivatives through input, weights and bias.

    Args:
        input: ``[..., in]``.
        weights: ``[out, in]``.
        bias: a list of scalar nodes, or an ADTensor, of length out.
    """
    tensor: ADTensor = _graph("dense_ad", node(input, "input"), node(weights, "weights"), nodes(bias, "bias"))
    return tensor


def convolution_ad(
    options: ConvOptions, input: Operand, weights: Operand, bias: Sequence[Expr | float] | Operand
) -> ADTensor:
    """:func:`convolution` as a node, with derivatives through input, weights and bias."""
    tensor: ADTensor = _graph(
        "convolution_ad",
        record(options, ConvOptions, "options"),
        node(input, "input"),
        node(weights, "weights"),
        nodes(bias, "bias"),
    )
    return tensor


def layer_norm_ad(axes: int, epsilon: float, input: Operand) -> ADTensor:
    """:func:`layer_norm` as a node. An affine part is a product and a sum that broadcast."""
    tensor: ADTensor = _graph(
        "layer_norm_ad", integer(axes, "axes"), double(epsilon, "epsilon"), node(input, "input")
    )
    return tensor


def rms_norm_ad(axes: int, epsilon: float, input: Operand) -> ADTensor:
    """:func:`rms_norm` as a node; its denominator includes all trailing axes."""
    tensor: ADTensor = _graph(
        "rms_norm_ad", integer(axes, "axes"), double(epsilon, "epsilon"), node(input, "input")
    )
    return tensor


def scaled_dot_product_attention_ad(
    query: Operand, key: Operand, value: Operand, mask: BooleanRows | None = None
) -> ADTensor:
    """The output of :func:`scaled_dot_product_attention` as a node. First-order.

    True in the mask permits a key. A fully masked row is zero and passes back exact zeros. Leading axes,
    the same for all three, are batches.
    """
    tensor: ADTensor = _graph(
        "scaled_dot_product_attention_ad",
        node(query, "query"),
        node(key, "key"),
        node(value, "value"),
        maybe(boolean_rows, mask, "mask"),
    )
    return tensor
