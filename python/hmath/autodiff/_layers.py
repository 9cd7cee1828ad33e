"""The layers that training needs, as nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from .. import _convert
from .. import deeplearning_layers as layers
from .._call import call, check, context, invoke, make
from .._failure import renamed
from .._hmath import ffi, lib
from .._owner import adopt
from .._record import record
from .._result import plain
from ..errors import HMathError
from ._nodes import ADTensor, Node, _axis, _node, _operand, _owned, _shape_of

if TYPE_CHECKING:
    from .._signatures import Either
    from .._typing import BooleanRows
    from ..deeplearning_layers import ConvOptions, PoolMode
    from ._types import Bias, Operand

_new = ffi.new


def _along(function: Any, value: Any, axis: int) -> Any:
    handle = _operand(value, "value")
    rank = len(_shape_of(handle))
    try:
        return _node(invoke(function, handle, _axis(axis, rank, "axis") if rank else 0))
    except HMathError as error:
        raise renamed(error, values="value") from None


def softmax(value: Operand, axis: int = -1) -> ADTensor:
    """Along an axis. First-order. ``EmptyInput`` of nothing."""
    return _along(lib.hmath_autodiff_softmax, value, axis)  # type: ignore[no-any-return]


def log_softmax(value: Operand, axis: int = -1) -> ADTensor:
    """Along an axis. First-order. ``EmptyInput`` of nothing."""
    return _along(lib.hmath_autodiff_log_softmax, value, axis)  # type: ignore[no-any-return]


def sparsemax(value: Operand, axis: int = -1) -> ADTensor:
    """Along an axis. First-order. ``EmptyInput`` of nothing."""
    return _along(lib.hmath_autodiff_sparsemax, value, axis)  # type: ignore[no-any-return]


def dense(input: Operand, weights: Operand, bias: Bias) -> ADTensor:
    """:func:`hmath.deeplearning_layers.dense_ad`."""
    return layers.dense_ad(input, weights, bias)


def convolution(options: ConvOptions, input: Operand, weights: Operand, bias: Bias) -> ADTensor:
    """:func:`hmath.deeplearning_layers.convolution_ad`."""
    return layers.convolution_ad(options, input, weights, bias)


def transposed_convolution(
    output_padding: Sequence[int], options: ConvOptions, input: Operand, weights: Operand, bias: Bias
) -> ADTensor:
    """:func:`hmath.deeplearning_layers.transposed_convolution` as a node."""
    return plain(
        call(
            "hmath_autodiff_transposed_convolution",
            _convert.integers(output_padding, "output_padding"),
            record(options, layers.ConvOptions, "options"),
            _convert.node(input, "input"),
            _convert.node(weights, "weights"),
            _convert.nodes(bias, "bias"),
        ),
        ADTensor,
    )


def pooling(
    mode: PoolMode, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], input: Operand
) -> ADTensor:
    """:func:`hmath.deeplearning_layers.pooling` as a node; the first of equal maxima gets the cotangent."""
    return plain(
        call(
            "hmath_autodiff_pooling",
            _convert.value(mode, "mode", "PoolMode"),
            _convert.integers(kernel, "kernel"),
            _convert.integers(stride, "stride"),
            _convert.integers(padding, "padding"),
            _convert.node(input, "input"),
        ),
        ADTensor,
    )


def layer_norm(axes: int, epsilon: float, input: Operand) -> ADTensor:
    """:func:`hmath.deeplearning_layers.layer_norm_ad`."""
    return layers.layer_norm_ad(axes, epsilon, input)


def rms_norm(axes: int, epsilon: float, input: Operand) -> ADTensor:
    """:func:`hmath.deeplearning_layers.rms_norm_ad`."""
    return layers.rms_norm_ad(axes, epsilon, input)


def group_norm(groups: int, epsilon: float, input: Operand) -> ADTensor:
    """:func:`hmath.deeplearning_layers.group_norm` as a node."""
    return plain(
        call(
            "hmath_autodiff_group_norm",
            _convert.integer(groups, "groups"),
            _convert.double(epsilon, "epsilon"),
            _convert.node(input, "input"),
        ),
        ADTensor,
    )


def instance_norm(epsilon: float, input: Operand) -> ADTensor:
    """:func:`hmath.deeplearning_layers.instance_norm` as a node."""
    return plain(
        call(
            "hmath_autodiff_instance_norm",
            _convert.double(epsilon, "epsilon"),
            _convert.node(input, "input"),
        ),
        ADTensor,
    )


def batch_norm(
    epsilon: float, gamma: Operand, beta: Operand, input: Operand
) -> tuple[ADTensor, ADTensor, ADTensor]:
    """Training form: ``(output, mean, variance)``, by the batch's own population statistics per channel.

    Running statistics are the caller's: ``(1 - momentum) * running + momentum * mean``, and the same with the
    unbiased variance, ``variance * n / (n - 1)`` for n elements a channel.
    """
    handles = [
        make(_convert.double(epsilon, "epsilon")),
        _operand(gamma, "gamma"),
        _operand(beta, "beta"),
        _operand(input, "input"),
    ]
    out = [_new("hmath_value **") for _ in range(3)]
    check(lib.hmath_autodiff_batch_norm(context(), *handles, *out))
    output, average, variance = (adopt(ADTensor, _owned(value[0])) for value in out)
    return output, average, variance


@overload
def dropout(mask: ADTensor, input: Operand) -> ADTensor: ...
@overload
def dropout(mask: Operand, input: ADTensor) -> ADTensor: ...
@overload
def dropout(mask: Operand, input: Operand) -> Either: ...
def dropout(mask: Operand, input: Operand) -> Node:
    """input * mask, for a mask of :func:`hmath.deeplearning_layers.dropout`: drawn outside, replayed here."""
    factor, factored = _operand(mask, "mask"), _operand(input, "input")
    try:
        return _node(invoke(lib.hmath_autodiff_multiply, factored, factor))
    except HMathError as error:
        raise renamed(error, "autodiff.multiply", left="input", right="mask") from None


def multihead_attention(
    heads: int, query: Operand, key: Operand, value: Operand, mask: BooleanRows | None = None
) -> ADTensor:
    """:func:`hmath.deeplearning_layers.multihead_attention` as a node. First-order.

    Query ``[..., N, D]``, key ``[..., M, D]``, value ``[..., M, F]`` with the same leading axes.
    """
    return plain(
        call(
            "hmath_autodiff_multihead_attention",
            _convert.integer(heads, "heads"),
            _convert.node(query, "query"),
            _convert.node(key, "key"),
            _convert.node(value, "value"),
            _convert.maybe(_convert.boolean_rows, mask, "mask"),
        ),
        ADTensor,
    )
