"""Precision: 8-bit quantization, 16-bit products, loss scaling and gradient clipping.

A quantized tensor stands for ``x = scale·(q − zero_point)`` with integers q in −128 … 127. Tensor
parameters take a :class:`hmath.tensor.Tensor` of doubles or a NumPy array of float64; ``[Double]``
parameters also take any sequence of numbers, and the result has the container of the argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from ._call import call, call_double, check, context
from ._convert import boolean, double, doubles, integer, maybe, tensor, value
from ._hmath import ffi, lib
from ._owner import Owner, wrap
from ._record import Record, record, record_result
from ._result import handle, items, like, owner, owns, plain
from ._selector import Selector, selector
from ._surface import shown
from .tensor import TensorDouble

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from ._typing import ArrayT, Doubles, Numbers, NumbersT, TensorLike

__all__ = [
    "BF16",
    "FP16",
    "Asymmetric",
    "LossScaler",
    "Precision",
    "Quantization",
    "QuantizedTensor",
    "Symmetric",
    "clip_gradients",
    "dequantize",
    "finite_steps",
    "gradient_norm",
    "initial_loss_scaler",
    "int8_gemm",
    "loss_scale",
    "quantization_scales",
    "quantization_zero_points",
    "quantize",
    "quantized_values",
    "reduced_gemm",
    "scale_growth_interval",
    "scale_loss",
    "unscale_gradients",
    "update_loss_scaler",
]

__dir__ = shown(__all__)

# ---------------------------------------------------------------- selectors


class Quantization(Selector):
    """How numbers are mapped to integers: ``Symmetric`` or ``Asymmetric``."""

    __slots__ = ()


Symmetric = selector(Quantization, "Symmetric", "hmath_neural_precision_symmetric_create")
Asymmetric = selector(Quantization, "Asymmetric", "hmath_neural_precision_asymmetric_create")

# ---------------------------------------------------------------- quantized tensors

_SCHEMES = {
    lib.HMATH_QUANTIZATION_SYMMETRIC: Symmetric,
    lib.HMATH_QUANTIZATION_ASYMMETRIC: Asymmetric,
}
_PER_TENSOR = -1


@owns(lib.HMATH_KIND_QUANTIZED_TENSOR)
class QuantizedTensor(Owner):
    """Integers q in −128 … 127, with the scales and zero points that say what they stand for.

    Made by :func:`quantize`. Immutable; an owned handle with ``close()``, a context manager, and pickling.
    """

    __slots__ = ()

    def _parts(self) -> tuple[int, int, tuple[int, ...]]:
        scheme, axis = ffi.new("int32_t *"), ffi.new("int64_t *")
        rank, shape = ffi.new("int32_t *"), ffi.new("int64_t **")
        check(lib.hmath_quantized_tensor_get(self._open(), scheme, axis, rank, shape))
        return scheme[0], axis[0], tuple(ffi.unpack(shape[0], rank[0])) if rank[0] else ()

    @property
    def scheme(self) -> Quantization:
        """``Symmetric`` or ``Asymmetric``."""
        return _SCHEMES[self._parts()[0]]

    @property
    def axis(self) -> int | None:
        """The axis whose slices have a scale each, or None where one scale serves all."""
        axis = self._parts()[1]
        return None if axis == _PER_TENSOR else axis

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor that was quantized."""
        return self._parts()[2]

    @property
    def values(self) -> list[int]:
        """The integers, row-major."""
        return quantized_values(self)

    @property
    def scales(self) -> list[float]:
        """One scale, or one for each slice along ``axis``."""
        return quantization_scales(self)

    @property
    def zero_points(self) -> list[int]:
        """One zero point, or one for each slice along ``axis``."""
        return quantization_zero_points(self)

    def numpy(self) -> NDArray[numpy.int8]:
        """The integers as a read-only NumPy array of int8 in the tensor's shape, not copied."""
        import numpy

        shape = self.shape
        result = call("hmath_neural_precision_quantized_values", value(self, "self", "QuantizedTensor"))
        values, data, length = handle(result), result.data, result.length
        # The destructor frees nothing: its closure is what keeps the list.
        memory = ffi.buffer(ffi.gc(ffi.cast("char *", data), lambda _: values), length)
        array = numpy.frombuffer(memory, numpy.int8).reshape(shape)
        array.flags.writeable = False
        return array

    def _describe(self) -> str:
        scheme, _, shape = self._parts()
        return f"<QuantizedTensor {_SCHEMES[scheme].name} shape={shape} axis={self.axis}>"

    def __reduce__(self) -> tuple[Any, ...]:
        scheme, axis, shape = self._parts()
        values = bytes(q & 0xFF for q in self.values)
        return _restore, (scheme, axis, shape, values, self.scales, self.zero_points)


def _restore(
    scheme: int,
    axis: int,
    shape: tuple[int, ...],
    values: bytes,
    scales: Sequence[float],
    zero_points: Sequence[int],
) -> QuantizedTensor:
    """A QuantizedTensor from what ``__reduce__`` gave; the library checks the parts."""
    extents, data = ffi.new("int64_t[]", shape), ffi.from_buffer("int8_t[]", values)
    steps, zeros = ffi.new("double[]", scales), ffi.new("int64_t[]", zero_points)
    expected, slices = 1, 1 if axis == _PER_TENSOR else extents[axis]
    for extent in extents:
        expected *= extent
    if len(data) != expected or len(steps) != slices or len(zeros) != slices:
        raise ValueError("a pickled QuantizedTensor is damaged: its parts do not fit its shape")
    out = ffi.new("hmath_value **")
    check(
        lib.hmath_quantized_tensor_create(
            context(),
            scheme,
            axis,
            len(extents),
            extents,
            data,
            steps,
            zeros,
            out,
        )
    )
    return wrap(QuantizedTensor, out[0])


def quantize(scheme: Quantization, axis: int | None, input: TensorLike) -> QuantizedTensor:
    """Code a tensor as 8-bit integers: q = clamp(rne(x / scale) + zero_point).

    ``Symmetric``: scale = max|x| / 127, zero point 0, q in −127 … 127. ``Asymmetric``:
    lo = min(0, min x), hi = max(0, max x), scale = hi/255 − lo/255,
    zero_point = clamp(rne(−128 − lo/scale), −128, 127), q in −128 … 127. rne rounds to nearest, ties to
    even. All-zero data has scale 1 and zero point 0; a scale that would underflow to 0 is the smallest
    positive double.

    :param scheme: ``Symmetric`` or ``Asymmetric``
    :param axis: calibrate each slice along this axis (0 … rank − 1), or None for the whole tensor
    :param input: a tensor of any shape with at least one element, all finite
    :raises IndexOutOfBounds: `axis`
    :raises EmptyInput: `input`
    :raises NonFinite: `input`

    Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference", CVPR 2018.
    """
    result = call(
        "hmath_neural_precision_quantize",
        value(scheme, "scheme", "Quantization"),
        maybe(integer, axis, "axis"),
        tensor(input, "input"),
    )
    return owner(QuantizedTensor, result)


def dequantize(quantized: QuantizedTensor) -> TensorDouble:
    """The tensor that the integers stand for: scale·(q − zero_point), rounded once.

    :raises Overflow: where that is no finite double, as can be for data near the largest double
    """
    result = call("hmath_neural_precision_dequantize", value(quantized, "quantized", "QuantizedTensor"))
    return owner(TensorDouble, result)


def quantized_values(quantized: QuantizedTensor) -> list[int]:
    """The integers, row-major."""
    result = call("hmath_neural_precision_quantized_values", value(quantized, "quantized", "QuantizedTensor"))
    return plain(result, list[int])


def quantization_scales(quantized: QuantizedTensor) -> list[float]:
    """One positive scale, or one for each slice along the axis."""
    result = call(
        "hmath_neural_precision_quantization_scales", value(quantized, "quantized", "QuantizedTensor")
    )
    return plain(result, list[float])


def quantization_zero_points(quantized: QuantizedTensor) -> list[int]:
    """One zero point in −128 … 127, or one for each slice along the axis."""
    result = call(
        "hmath_neural_precision_quantization_zero_points",
        value(quantized, "quantized", "QuantizedTensor"),
    )
    return plain(result, list[int])


# ---------------------------------------------------------------- products


class Precision(Selector):
    """A sixteen-bit format: ``FP16`` or ``BF16``."""

    __slots__ = ()


FP16 = selector(Precision, "FP16", "hmath_neural_precision_fp16_create")
BF16 = selector(Precision, "BF16", "hmath_neural_precision_bf16_create")


def int8_gemm(left: QuantizedTensor, right: QuantizedTensor) -> TensorDouble:
    """Σₖ (aᵢₖ − zaᵢ)(bₖⱼ − zbⱼ)·scale_aᵢ·scale_bⱼ, the sum in exact integers.

    The sum has to be a signed 32-bit integer; the two products with the scales are scale-safe, within
    3·2⁻⁵³ relative.

    :param left: (M, K), calibrated per tensor or per row (axis 0)
    :param right: (K, N), calibrated per tensor or per column (axis 1)
    :returns: (M, N)
    :raises DimensionMismatch: `left`, `right`: rank, axis, inner extent
    :raises Overflow: a sum outside the signed 32-bit integers, or a result that is no finite double
    """
    result = call(
        "hmath_neural_precision_int8_gemm",
        value(left, "left", "QuantizedTensor"),
        value(right, "right", "QuantizedTensor"),
    )
    return owner(TensorDouble, result)


def reduced_gemm(precision: Precision, left: ArrayT, right: TensorLike) -> ArrayT:
    """left·right with operands rounded to sixteen bits and sums in binary32.

    Operands are rounded directly from double, to nearest, ties to even, subnormals kept. Each result
    element is one chain of binary32 fused multiply-adds in increasing k from +0, then widened.

    :param precision: ``FP16`` (11 significant bits) or ``BF16`` (8)
    :param left: (M, K), finite
    :param right: (K, N), finite
    :returns: (M, N), in the container of `left`
    :raises DimensionMismatch: `left`, `right`: rank, inner extent
    :raises NonFinite: `left`, `right`
    :raises Overflow: an operand that rounds to infinity, or a chain that leaves binary32
    """
    result = call(
        "hmath_neural_precision_reduced_gemm",
        value(precision, "precision", "Precision"),
        tensor(left, "left"),
        tensor(right, "right"),
    )
    return like(result, left)


# ---------------------------------------------------------------- loss scaling


@dataclass(frozen=True)
class LossScaler(Record):
    """State of dynamic loss scaling. Made as given; the operations that use it check it."""

    scale: float
    growth_interval: int
    finite_steps: int

    _CREATE = "hmath_neural_precision_loss_scaler_create"
    _READERS = (
        "hmath_neural_precision_loss_scale",
        "hmath_neural_precision_scale_growth_interval",
        "hmath_neural_precision_finite_steps",
    )
    _CONVERTERS = (double, integer, integer)


def loss_scale(state: LossScaler) -> float:
    """The scale of a LossScaler."""
    return call_double("hmath_neural_precision_loss_scale", record(state, LossScaler, "state"))


def scale_growth_interval(state: LossScaler) -> int:
    """How many finite steps in a row double the scale."""
    return plain(
        call("hmath_neural_precision_scale_growth_interval", record(state, LossScaler, "state")), int
    )


def finite_steps(state: LossScaler) -> int:
    """How many finite steps there were since the scale last changed."""
    return plain(call("hmath_neural_precision_finite_steps", record(state, LossScaler, "state")), int)


def initial_loss_scaler(scale: float, growth_interval: int) -> LossScaler:
    """A checked LossScaler without finite steps.

    :param scale: finite, > 0
    :param growth_interval: ≥ 1
    :raises NonFinite: `scale`
    :raises DomainError: `scale`, `growth_interval`
    """
    result = call(
        "hmath_neural_precision_initial_loss_scaler",
        double(scale, "scale"),
        integer(growth_interval, "growth_interval"),
    )
    return record_result(LossScaler, result)


def scale_loss(state: LossScaler, loss: float) -> float:
    """loss·scale.

    :param loss: finite
    :raises NonFinite: `state.scale`, `loss`
    :raises DomainError: `state.scale`
    :raises Overflow: the product is no finite double
    """
    return call_double(
        "hmath_neural_precision_scale_loss", record(state, LossScaler, "state"), double(loss, "loss")
    )


@overload
def unscale_gradients(state: LossScaler, gradients: NumbersT) -> tuple[bool, NumbersT]: ...  # type: ignore[overload-overlap]
@overload
def unscale_gradients(state: LossScaler, gradients: Sequence[float]) -> tuple[bool, list[float]]: ...
def unscale_gradients(state: LossScaler, gradients: Doubles) -> tuple[bool, Numbers]:
    """``(True, gradients / scale)``, or ``(False, [])`` where a gradient or a quotient is not finite.

    False means that every caller must skip the whole update. This is the one operation that takes
    non-finite elements, since telling of them is its purpose.

    :raises NonFinite: `state.scale`
    :raises DomainError: `state.scale`
    :raises DimensionMismatch: a tensor whose rank is not 1
    """
    result = call(
        "hmath_neural_precision_unscale_gradients",
        record(state, LossScaler, "state"),
        doubles(gradients, "gradients"),
    )
    finite, quotients = items(result)
    return plain(finite, bool), like(quotients, gradients)


def update_loss_scaler(finite: bool, state: LossScaler) -> LossScaler:
    """The state after one step.

    After an overflow (`finite` is False) half the scale, but not below the smallest normal double, and
    no finite steps. Else one finite step more; where that reaches `growth_interval` the scale doubles,
    unless that exceeds 2²⁴, and the count returns to 0.

    :raises NonFinite: `state.scale`
    :raises DomainError: `state.scale` ≤ 0, `state.growth_interval` < 1, `state.finite_steps` < 0

    Source: Micikevicius et al., "Mixed Precision Training", ICLR 2018.
    """
    result = call(
        "hmath_neural_precision_update_loss_scaler",
        boolean(finite, "finite"),
        record(state, LossScaler, "state"),
    )
    return record_result(LossScaler, result)


# ---------------------------------------------------------------- gradients


def gradient_norm(gradient: Doubles) -> float:
    """√Σg², without overflow or underflow on the way; 0 for an empty gradient.

    :param gradient: finite, any length
    :raises DimensionMismatch: a tensor whose rank is not 1
    :raises NonFinite: `gradient`
    :raises Overflow: the norm itself is no finite double
    """
    return call_double("hmath_neural_precision_gradient_norm", doubles(gradient, "gradient"))


@overload
def clip_gradients(maximum: float, gradient: NumbersT) -> NumbersT: ...  # type: ignore[overload-overlap]
@overload
def clip_gradients(maximum: float, gradient: Sequence[float]) -> list[float]: ...
def clip_gradients(maximum: float, gradient: Doubles) -> Numbers:
    """The gradient where its norm is at most `maximum`, else (g/‖g‖)·maximum.

    Also where ‖g‖ is no double and where maximum/‖g‖ would underflow; the bound has no epsilon in it.

    :param maximum: finite, > 0
    :param gradient: finite, any length
    :raises NonFinite: `maximum`, `gradient`
    :raises DomainError: `maximum`
    :raises DimensionMismatch: a tensor whose rank is not 1

    Source: Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks",
    ICML 2013.
    """
    result = call(
        "hmath_neural_precision_clip_gradients",
        double(maximum, "maximum"),
        doubles(gradient, "gradient"),
    )
    return like(result, gradient)
