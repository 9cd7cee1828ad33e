"""What a user writes, with the types it has: checked by mypy --strict and pyright in `.ci/run`, and run here.

``assert_type`` is the type checkers' own; when the file runs, it looks at the value instead, so that a signature
cannot promise what a function does not return. Lines under ``refused`` are errors to both checkers.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=error

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

import hmath
from hmath import autodiff as ad
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_metrics as metrics
from hmath import deeplearning_precision as precision
from hmath import optim, random, tensor
from hmath.tensor import TensorDouble, TensorFloat

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: object, expected: Any) -> object:
        """Has the value the type that the type checkers see?"""
        assert fits(value, expected), f"{value!r} is no {expected}"
        return value


def fits(value: object, expected: Any) -> bool:
    origin, arguments = get_origin(expected), get_args(expected)
    if hasattr(origin, "__value__"):  # an alias, as NumPy 2.5 makes NDArray one
        origin = get_origin(origin.__value__)
    if origin is list:
        return isinstance(value, list) and all(fits(item, arguments[0]) for item in value)
    if origin is tuple:
        items: list[Any] = list(value) if isinstance(value, tuple) else []
        return len(items) == len(arguments) and all(map(fits, items, arguments))
    if origin is not None:
        return isinstance(value, np.ndarray if origin is np.ndarray else origin)
    return isinstance(value, expected)


FloatArray = NDArray[np.float64]

NUMBERS = [0.5, 0.25, 0.25]
ARRAY: FloatArray = np.array([[0.5, 0.25]])
TENSOR = tensor.tensor([1, 2], [0.5, 0.25])
MEMORY = array("d", NUMBERS)


def test_lists_give_lists_and_arrays_arrays() -> None:
    assert_type(core.softmax(NUMBERS), list[float])
    assert_type(core.softmax((1, 2, 3)), list[float])
    assert_type(core.softmax(range(3)), list[float])
    assert_type(core.log_softmax(ARRAY), FloatArray)
    assert_type(core.sparsemax(TENSOR), TensorDouble)
    t: TensorDouble = core.softmax(TENSOR)
    memory: array[float] = core.softmax(MEMORY)
    assert memory.typecode == "d"
    assert_type(core.gated_linear_unit(NUMBERS, MEMORY), list[float])
    assert_type(core.loss_gradient(core.MeanSquaredError, core.Mean, NUMBERS, NUMBERS), list[float])
    assert_type(core.loss(core.Huber(1.0), core.Sum, NUMBERS, MEMORY), float)
    assert_type(core.activation(core.GELU, 1), float)
    assert_type(core.activation(core.ELU(1.0), ARRAY), FloatArray)
    assert_type(core.activation_derivative(core.Tanh, t), TensorDouble)
    assert_type(core.ctc_loss_gradient(0, [], [[-1.0, -2.0]]), tuple[float, list[list[float]]])
    assert_type(precision.clip_gradients(1.0, NUMBERS), list[float])
    assert_type(precision.unscale_gradients(precision.initial_loss_scaler(2.0, 3), np.ones(2))[1], FloatArray)
    assert_type(
        metrics.roc_curve([True, False], np.array([0.5, 0.25])), tuple[FloatArray, FloatArray, FloatArray]
    )
    assert_type(metrics.roc_auc(np.array([1, 0]), [0.5, 0.25]), float)
    assert_type(metrics.cosine_similarity_matrix(TENSOR, ARRAY), TensorDouble)


def test_layers() -> None:
    weights = np.ones((3, 2))
    assert_type(layers.dense(TENSOR, weights, [0.0, 0.0, 0.0]), TensorDouble)
    assert_type(layers.dense(ARRAY, tensor.from_numpy(weights), np.zeros(3)), FloatArray)
    state = layers.BatchNormState([0.0, 0.0], [1.0, 1.0], 0)
    output, state = layers.batch_norm(layers.Training.INFERENCE, 0.1, 1e-5, [1, 1], [0, 0], state, TENSOR)
    assert_type(output, TensorDouble)
    assert_type(state, layers.BatchNormState)
    rng = random.seed_rng(random.pcg32(), 42)
    assert_type(layers.dropout(layers.Inference, 0.5, rng, ARRAY), tuple[FloatArray, FloatArray, random.RNG])
    mask = layers.causal_mask(1, 1, 0)
    assert_type(mask, list[list[bool]])
    attended, shares = layers.scaled_dot_product_attention(TENSOR, TENSOR, ARRAY, mask, None)
    assert_type(attended, TensorDouble)
    layers.scaled_dot_product_attention(ARRAY, ARRAY, shares, np.ones((1, 1), bool), [[0.0]])
    with layers.empty_cache(2, 2, 2) as cache, layers.append_cache(cache, TENSOR, ARRAY) as longer:
        assert_type(layers.cache_values(longer), tuple[TensorDouble, TensorDouble])


def test_tensors() -> None:
    assert_type(TENSOR + 1, TensorDouble)
    assert_type(2 * TENSOR, TensorDouble)
    assert_type(TENSOR @ np.ones((2, 1)), TensorDouble)
    assert_type(TENSOR.T.sum(axis=0), TensorDouble)
    assert_type(tensor.exp(TENSOR), TensorDouble)
    assert_type(tensor.exp(ARRAY), FloatArray)
    assert_type(TENSOR.numpy(), FloatArray)
    floats = tensor.demote(TENSOR)
    assert_type(floats, TensorFloat)
    assert_type(floats.numpy(), NDArray[np.float32])
    assert_type(tensor.promote(floats.reshape(2)), TensorDouble)
    assert_type(tensor.from_numpy(ARRAY), TensorDouble)
    assert_type(TENSOR[:1], TensorDouble)
    number: float = TENSOR[0, 1]
    row: TensorDouble = TENSOR[0]
    assert number == row.values[1]
    narrow: NDArray[np.float32] = np.ones(2, np.float32)
    assert_type(tensor.from_numpy(narrow), TensorFloat)
    assert_type(tensor.concatenate([TENSOR, TENSOR]), TensorDouble)


def test_random() -> None:
    rng = random.seed_rng(random.pcg32(), 42)
    assert_type(random.shuffle([1, 2, 3], rng), tuple[list[int], random.RNG])
    shuffled, rng = random.shuffle(np.arange(4), rng)
    assert shuffled.shape == (4,)
    assert_type(random.shuffle(TENSOR, rng), tuple[TensorDouble, random.RNG])
    assert_type(random.shuffle(tensor.demote(TENSOR), rng), tuple[TensorFloat, random.RNG])
    assert_type(random.normal_tensor([2], rng), tuple[TensorDouble, random.RNG])


def test_operators_of_nodes() -> None:
    x, y, w = ad.variable("x"), ad.variable("y", ()), ad.variable("w", (1, 2))
    for node in (x + y, x + 1, 1.0 - x, x * y, 2 / x, x**2, 2**x, -x, +x, abs(x)):
        assert_type(node, ad.Expr)
    for grown in (
        w + w,
        w - 1,
        1 - w,
        w * x,
        x * w,
        w / ARRAY,
        w + TENSOR,
        TENSOR + w,
        w**2,
        2**w,
        -w,
        abs(w),
    ):
        assert_type(grown, ad.ADTensor)
    assert_type(ad.stack([x, y]) + x, ad.ADTensor)
    product: ad.ADTensor = w @ w.T
    inner: ad.Expr = w[0] @ w[0]
    assert_type(product * inner, ad.ADTensor)


def test_functions_of_nodes() -> None:
    x, w = ad.variable("x"), ad.variable("w", (1, 2))
    assert_type(ad.exp(x), ad.Expr)
    assert_type(ad.exp(w), ad.ADTensor)
    assert_type(ad.exp(value=0.0), ad.Expr)
    assert_type(ad.sin(ad.Dual(1.0, 1.0)), ad.Dual)
    assert_type(ad.square(w), ad.ADTensor)
    assert_type(ad.maximum(w, 0.0), ad.ADTensor)
    assert_type(ad.minimum(x, 1), ad.Expr)
    assert_type(ad.power(base=ad.Dual(2.0), exponent=2.0), ad.Dual)
    assert_type(ad.less(x, 1.0), ad.Expr)
    assert_type(ad.select(ad.less(w, x), w, 0.0), ad.ADTensor)
    assert_type(ad.select(ad.less(x, 0.0), 0.0, x), ad.Expr)
    assert_type(ad.activation(core.Mish, w), ad.ADTensor)
    assert_type(core.activation_expr(core.Mish, x), ad.Expr)
    assert_type(core.softmax_expr([x, x]), list[ad.Expr])
    assert_type(core.loss_expr(core.MeanSquaredError, core.Mean, [1.0], [x]), ad.Expr)
    assert_type(ad.constant(1.0), ad.Expr)
    fixed: ad.ADTensor = ad.constant(TENSOR)
    assert_type(ad.dropout(fixed, w), ad.ADTensor)
    assert_type(layers.dense_ad(w, np.ones((3, 2)), [x, 0.0, 1.0]), ad.ADTensor)
    assert_type(ad.custom([x], lambda values: values[0]), ad.Expr)
    assert_type(ad.custom([x], lambda values: np.ones(2), shape=(2,)), ad.ADTensor)
    assert_type(ad.norm([x, w]), ad.Expr)


def test_shapes_of_nodes() -> None:
    w = ad.variable("w", (1, 2))
    assert_type(ad.sum(w), ad.Expr)
    assert_type(w.mean(), ad.Expr)
    assert_type(w.max(axis=0, keepdims=True), ad.ADTensor)
    assert_type(ad.sum(w, axis=1, keepdims=True), ad.ADTensor)
    row_sums: ad.ADTensor = ad.sum(w, axis=1)
    assert_type(w.T, ad.ADTensor)
    assert_type(w.transpose(1, 0), ad.ADTensor)
    assert_type(w.reshape(2), ad.ADTensor)
    assert_type(w.reshape(2, 1), ad.ADTensor)
    assert_type(w.reshape([2, 1]), ad.ADTensor)
    assert_type(row_sums.reshape(()), ad.Expr)
    assert_type(ad.reshape(w, (2,)), ad.ADTensor)
    assert_type(ad.broadcast_to(1.0, (2,)), ad.ADTensor)
    assert_type(w[:1], ad.ADTensor)
    assert_type(w[...], ad.ADTensor)
    row: ad.ADTensor = w[0]
    corner: ad.Expr = w[0, 1]
    assert_type(ad.concatenate([row, row * corner]), ad.ADTensor)
    assert_type(ad.element(w, 1), ad.Expr)
    assert_type(ad.gather(w, [0, 0]), ad.ADTensor)
    assert_type(ad.embedding(w, np.array([0])), ad.ADTensor)


def test_evaluation() -> None:
    x, w = ad.variable("x"), ad.variable("w", (1, 2))
    loss = ad.sum(w * x)
    values = {x: 2.0, w: TENSOR}
    scalars = {x: 2.0}
    assert_type(ad.evaluate(loss, values), float)
    assert_type(ad.evaluate(w * x, {x: 1, w: ARRAY}), TensorDouble)
    assert_type(ad.evaluate([x, x * x], scalars), list[float])
    assert_type(ad.evaluate([w], {w: TENSOR}), list[TensorDouble])
    assert_type(ad.value_and_gradient(loss, values, x), tuple[float, float])
    assert_type(ad.value_and_gradient(loss, values, w), tuple[float, TensorDouble])
    assert_type(ad.value_and_gradient(x * x, scalars, [x]), tuple[float, list[float]])
    assert_type(ad.value_and_gradient(loss, values, [w]), tuple[float, list[TensorDouble]])
    value, gradients = ad.value_and_gradient(loss, values)
    assert_type(value, float)
    assert len(gradients) == 2
    assert_type(ad.jvp(loss, values, {x: 1.0}), tuple[float, float])
    assert_type(ad.jacobian(loss, values, w), TensorDouble)
    assert_type(ad.gradient(loss, w), ad.ADTensor)
    assert_type(ad.gradient(loss, x), ad.Expr)
    assert_type(ad.gradient(loss, [w]), list[ad.ADTensor])
    twice = ad.gradient(ad.sum(ad.square(ad.gradient(loss, w))), x)
    assert_type(twice, ad.Expr)
    program = ad.compile([loss, *ad.gradient(loss, [w])], [x, w])
    result, gradient = program(2.0, TENSOR)
    assert isinstance(result, float) and isinstance(gradient, TensorDouble)


def test_a_training_step() -> None:
    weights, target = ad.variable("weights", (1, 2)), ad.variable("target", (3, 1))
    inputs = ad.variable("inputs", (3, 2))
    hidden: ad.ADTensor = ad.tanh(inputs @ weights.T)
    loss = ad.mean(ad.square(hidden - target))
    state = optim.sgd_state([TENSOR])
    [gradient] = ad.gradient(loss, [weights])
    [updated], velocity = optim.sgd([weights], [gradient], state, rate=0.1, momentum=0.9)
    step = ad.compile([loss, updated, *velocity], [weights, inputs, target])
    assert len(step(TENSOR, np.ones((3, 2)), np.ones((3, 1)))) == 3


def test_optimisers() -> None:
    w, x = ad.variable("w", (1, 2)), ad.variable("x")
    nodes, state = optim.adam([w], [w], optim.adam_variables([w.shape]), rate=x)
    assert_type(nodes, list[ad.ADTensor])
    assert_type(optim.adamw([TENSOR], [ARRAY], optim.adam_state([TENSOR]), rate=0.1)[0], list[TensorDouble])
    assert_type(optim.sgd([x, x], [1.0, x], rate=0.1)[0], list[ad.Expr])
    assert_type(optim.sgd([ARRAY], [TENSOR], [TENSOR], rate=0.1, momentum=0.5)[0], list[TensorDouble])
    [number], _ = optim.sgd([1.0], [2.0], rate=0.5)
    assert number == 0.0
    assert_type(optim.clip_by_global_norm([w, w], 1.0), tuple[list[ad.ADTensor], ad.Expr])
    assert_type(optim.clip_by_global_norm([TENSOR, ARRAY], 1), tuple[list[TensorDouble], float])
    assert_type(optim.cosine(5, 1.0, 10), float)
    assert_type(optim.cosine(x, 1.0, 10), ad.Expr)
    scheduled: ad.Expr = optim.warm_up(state[0], optim.cosine(state[0], 1e-3, 1000), 100)
    assert_type(optim.warm_up(x, scheduled, 10), ad.Expr)
    assert_type(optim.warm_up(0, 0.5, 2), float)


def test_modules_are_attributes() -> None:
    assert_type(hmath.deeplearning_core.softmax([1.0]), list[float])
    assert_type(hmath.autodiff.variable("x"), ad.Expr)


def refused(floats: TensorFloat, narrow: NDArray[np.float32], x: ad.Expr, w: ad.ADTensor) -> None:
    """Errors to the type checkers, as they are at run time; never called."""
    core.softmax(floats)  # type: ignore[call-overload]
    core.softmax(narrow)  # type: ignore[type-var]
    core.softmax("text")  # type: ignore[arg-type]
    core.softmax(1.0)  # type: ignore[call-overload]
    layers.dense(floats, TENSOR, [1.0])  # type: ignore[type-var]
    layers.dense(TENSOR, floats, [1.0])  # type: ignore[arg-type]
    layers.dense([[1.0]], TENSOR, [1.0])  # type: ignore[type-var]
    tensor.exp(floats)  # type: ignore[type-var]
    floats + 1  # type: ignore[misc]
    TENSOR * floats  # type: ignore[operator]
    floats @ TENSOR  # type: ignore[misc]
    -floats  # type: ignore[misc]  # noqa: B018
    floats < 1.0  # type: ignore[misc]  # noqa: B015
    core.activation(core.Activation, 1.0)  # type: ignore[call-overload]
    core.activation(core.LeakyReLU, 1.0)  # type: ignore[call-overload]
    layers.Training("TRAINING").name.nothing  # type: ignore[attr-defined]  # noqa: B018
    hmath.no_such_module  # type: ignore[attr-defined]  # noqa: B018
    random.shuffle(5, random.seed_rng(random.pcg32(), 1))  # type: ignore[call-overload]
    x.transpose(1)  # type: ignore[attr-defined]
    x[0]  # type: ignore[index]
    x + "text"  # type: ignore[call-overload]
    w + None  # type: ignore[arg-type]
    ad.exp("text")  # type: ignore[call-overload]
    optim.sgd([w], [w], rate="fast")  # type: ignore[call-overload]
    optim.sgd(w, [w], rate=0.1)  # type: ignore[call-overload]
    optim.adam([w], [w], rate=0.1)  # type: ignore[call-overload]
    optim.cosine(w, 1.0, 10)  # type: ignore[call-overload]
    optim.clip_by_global_norm([floats], 1.0)  # type: ignore[type-var]
    ad.evaluate(1.0)  # type: ignore[call-overload]
    ad.gradient(x, 1.0)  # type: ignore[call-overload]
