"""A class where an instance is wanted is a TypeMismatch that names the argument, in every public function."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hmath import DimensionMismatch, TypeMismatch, autodiff, optim, random, tensor
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_metrics as metrics
from hmath import deeplearning_precision as precision

CLASSES = [
    core.Activation,
    core.Loss,
    layers.Training,
    layers.BatchNormState,
    layers.ConvOptions,
    layers.KVCache,
    precision.QuantizedTensor,
    random.Generator,
    random.RNG,
    tensor.Tensor,
    tensor.TensorDouble,
    tensor.TensorFloat,
    autodiff.Node,
    autodiff.Expr,
    autodiff.ADTensor,
    autodiff.Dual,
    np.ndarray,
    np.float64,
    float,
    int,
    list,
    dict,
    str,
    object,
]

TENSOR = tensor.tensor([1, 2], [1.0, 2.0])
SCALAR = autodiff.variable("scalar")
NODE = autodiff.variable("node", [1, 2])

# An argument of the right kind by its type in the reference. Kinds are looked at before everything else, so
# that the rest need not fit together.
OF_TYPE: dict[str, Any] = {
    "Bool": True,
    "Int": 1,
    "Double": 1.0,
    "[Bool]": [True],
    "[Int]": [1],
    "[Double]": [1.0],
    "Maybe Int": None,
    "Maybe [[Bool]]": None,
    "Maybe [[Double]]": None,
    "[[Double]]": [[1.0]],
    "Tensor": TENSOR,
    "RNG": random.seed_rng(random.pcg32(), 42),
    "Activation": core.Sigmoid,
    "Loss": core.MeanSquaredError,
    "Reduction": core.Mean,
    "Training": layers.Inference,
    "Initializer": layers.XavierNormal,
    "PoolMode": layers.MaxPool,
    "Quantization": precision.Symmetric,
    "Precision": precision.FP16,
    "BatchNormState": layers.BatchNormState([0.0], [1.0], 0),
    "ConvOptions": layers.ConvOptions([1], [0], [1], 1),
    "LossScaler": precision.initial_loss_scaler(1.0, 1),
    "ClassificationMetrics": metrics.ClassificationMetrics(1.0, [1.0], [1.0], [1.0]),
    "KVCache": layers.empty_cache(2, 1, 1),
    "QuantizedTensor": precision.quantize(precision.Symmetric, None, TENSOR),
    "ADExpr": SCALAR,
    "ADTensor": NODE,
    "[ADExpr]": [SCALAR],
    "[[ADExpr]]": [[SCALAR]],
}

# Of the other functions an argument by its name, or by its module and name; the rest are numbers or nodes.
OF_NAME: dict[str, Any] = {
    "array": np.ones(2),
    "axes": [1, 0],
    "axis": 0,
    "bindings": {NODE: TENSOR},
    "bias": [1.0],
    "condition": NODE,
    "epsilon": 1e-5,
    "forward": None,
    "generator": random.pcg32(),
    "gradients": [TENSOR],
    "groups": 1,
    "heads": 1,
    "index": 0,
    "indices": [0],
    "input": NODE,
    "inputs": [NODE],
    "kernel": [1],
    "keepdims": False,
    "mask": None,
    "method": core.Sigmoid,
    "mode": layers.MaxPool,
    "n": 1,
    "name": "name",
    "nesterov": False,
    "options": OF_TYPE["ConvOptions"],
    "output_padding": [0],
    "outputs": [NODE],
    "padding": [0],
    "parameters": [TENSOR],
    "reverse": None,
    "rng": OF_TYPE["RNG"],
    "scores": [0.25, 0.75],
    "seed": 1,
    "seeds": [TENSOR],
    "shape": [1, 2],
    "shapes": [[1, 2]],
    "source": np.ones(2),
    "stride": [1],
    "tangents": {NODE: TENSOR},
    "tensors": [TENSOR],
    "truth": [0, 1],
    "values": [1.0, 2.0],
    "weights": NODE,
    "autodiff.axes": 1,
    "autodiff.dropout.mask": NODE,
    "autodiff.concatenate.values": [NODE],
    "autodiff.constant.value": 1.0,
    "autodiff.custom.forward": len,
    "autodiff.jacobian.wrt": NODE,
    "autodiff.norm.values": [NODE],
    "autodiff.pull_back.wrt": [NODE],
    "autodiff.push_forward.tangents": [TENSOR],
    "autodiff.push_forward.wrt": [NODE],
    "autodiff.stack.shape": None,
    "autodiff.stack.values": [NODE],
    "autodiff.transpose.axes": [1, 0],
    "optim.adam.state": optim.adam_state([TENSOR]),
    "optim.adamw.state": optim.adam_state([TENSOR]),
    "optim.sgd.state": optim.sgd_state([TENSOR]),
    "tensor.full.value": 1.0,
    "tensor.input": TENSOR,
    "tensor.left": TENSOR,
    "tensor.right": TENSOR,
}

# A function may be a class.
TAKE_CLASSES = {"autodiff.custom.forward", "autodiff.custom.reverse"}


def of_name(module: str, function: str, parameter: str) -> Any:
    for name in (f"{module}.{function}.{parameter}", f"{module}.{parameter}", parameter):
        if name in OF_NAME:
            return OF_NAME[name]
    return 0.5 if module == "optim" else 1 if module == "random" else NODE


def calls(wrappers: list[dict[str, Any]]) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Every public function with arguments of the right kinds."""
    for wrapper in wrappers:
        if wrapper["form"] == "function":
            module = importlib.import_module(f"hmath.deeplearning_{wrapper['namespace']}")
            arguments = {p["name"]: OF_TYPE[p["type"]] for p in wrapper["parameters"]}
            yield f"{wrapper['namespace']}.{wrapper['python']}", getattr(module, wrapper["python"]), arguments
    for module in (tensor, random, autodiff, optim):
        short = module.__name__.removeprefix("hmath.")
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and name != "to_dot":
                parameters = inspect.signature(function).parameters
                yield f"{short}.{name}", function, {p: of_name(short, name, p) for p in parameters}


def problem(function: Callable[..., Any], arguments: dict[str, Any], name: str, cls: type) -> str | None:
    """What is wrong with how a function refuses a class."""
    try:
        function(**{**arguments, name: cls})
    except TypeMismatch as error:
        fits = (error.math_error.argument or "").startswith(name) and f"the class {cls.__name__}" in str(
            error
        )
        return None if fits else str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "was taken"


def test_a_class_is_no_instance(wrappers: list[dict[str, Any]]) -> None:
    wrong = {
        f"{label}({name}={cls.__name__})": found
        for label, function, arguments in calls(wrappers)
        for name in arguments
        if f"{label}.{name}" not in TAKE_CLASSES
        for cls in CLASSES
        if (found := problem(function, arguments, name, cls)) is not None
    }
    assert not wrong


@pytest.mark.parametrize(
    "cls",
    [
        core.Activation,
        core.Loss,
        core.Reduction,
        layers.Initializer,
        layers.PoolMode,
        layers.Training,
        precision.Precision,
        precision.Quantization,
        random.RNG,
        tensor.TensorDouble,
        autodiff.Expr,
    ],
)
def test_classes_of_what_the_library_makes_are_not_called(cls: type) -> None:
    with pytest.raises(
        TypeError, match=rf"^{cls.__name__} objects are made by functions, not by their class"
    ):
        cls()


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (1, "an int"),
        (None, "a NoneType"),
        (np.ones(2, np.uint8), "an ndarray of uint8"),
        (OF_TYPE["RNG"], "an RNG"),
        (core.Sigmoid, "an Activation"),
        (SCALAR, "an Expr"),
        (NODE, "an ADTensor"),
        (TENSOR, "a Tensor Double"),
        (layers.Training, "the class Training"),
    ],
)
def test_kinds_come_with_their_article(found: object, text: str) -> None:
    with pytest.raises(TypeMismatch, match=rf"state is {text}; required BatchNormState"):
        layers.running_mean(found)  # type: ignore[arg-type]


def test_the_library_s_own_messages_have_articles_too() -> None:
    # A bridge argument of another kind, which no converter would make.
    from hmath._call import call

    with pytest.raises(TypeMismatch, match=r"values is an Int; required"):
        call("hmath_neural_core_softmax", integer_argument())


def integer_argument() -> tuple[Any, ...]:
    from hmath._convert import integer

    return integer(1, "values")


_KEY = np.ones((1, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: core.activation(core.LeakyReLU, 1.0),
            "core.activation: method is the function LeakyReLU; required Activation, which "
            "LeakyReLU(parameter) makes",
        ),
        (
            lambda: core.loss(core.Huber, core.Mean, [1.0], [1.0]),
            "core.loss: method is the function Huber; required Loss, which Huber(parameter) makes",
        ),
        (
            lambda: layers.initialize_weights(layers.TruncatedNormal, 1, 1, [1], OF_TYPE["RNG"]),
            "method is the function TruncatedNormal; required Initializer, which "
            "TruncatedNormal(mean, standard_deviation, bound) makes",
        ),
        (
            lambda: random.seed_rng(random.pcg32, 1),
            "random.seed_rng: generator is the function pcg32; required Generator, which pcg32(stream) makes",
        ),
        (lambda: random.uniform(len), "rng is a builtin_function_or_method; required RNG"),
        (
            lambda: metrics.roc_auc(np.array([[0, 1]]), [0.25, 0.75]),
            "metrics.roc_auc: truth is an ndarray of int64 of rank 2; required List of Int",
        ),
        (
            lambda: metrics.pr_auc(np.array([[False, True]]), [0.25, 0.75]),
            "metrics.pr_auc: truth is an ndarray of bool of rank 2; required List of Bool",
        ),
        (
            lambda: core.ctc_loss(0, np.ones((1, 2), np.int32), [[-1.0]]),
            "core.ctc_loss: labels is an ndarray of int32 of rank 2; required List of Int",
        ),
        (
            lambda: tensor.zeros(np.ones((1, 2), int)),
            "tensor.zeros: shape is an ndarray of int64 of rank 2; required List of Int",
        ),
        (
            lambda: layers.multihead_attention(1, _KEY, _KEY, _KEY, np.ones(1, bool)),
            "mask is an ndarray of bool of rank 1; required List of lists of Bool",
        ),
        (
            lambda: layers.multihead_attention(1, _KEY, _KEY, _KEY, np.ones((1, 1), int)),
            "mask is an ndarray of int64; required List of lists of Bool",
        ),
        (
            lambda: autodiff.evaluate(NODE, {NODE: [1.0, 2.0]}),
            "bindings is a list; required Double or Tensor Double; for input node",
        ),
    ],
)
def test_the_way_out_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeMismatch) as caught:
        call()
    assert str(caught.value).endswith(message)


@pytest.mark.parametrize("given", [[1.0, 2.0, 3.0], None, "text", 1.0, autodiff.ADTensor])
def test_what_a_custom_node_has_to_give_is_named(given: Any) -> None:
    forward = autodiff.custom([SCALAR], lambda values: given, shape=(3,))
    with pytest.raises(TypeMismatch, match=r"forward is .*; required Tensor Double of shape \(3,\)$"):
        autodiff.evaluate(forward, {SCALAR: 1.0})
    reverse = autodiff.custom([SCALAR, NODE], lambda values: 1.0, lambda values, adjoint: [1.0, given])
    with pytest.raises(TypeMismatch, match=r"reverse\[1\] is .*; required Tensor Double of shape \(1, 2\)$"):
        autodiff.value_and_gradient(reverse, {SCALAR: 1.0, NODE: TENSOR})


@pytest.mark.parametrize("given", [[1.0], None, "text"])
def test_a_custom_number_has_to_be_one(given: Any) -> None:
    with pytest.raises(TypeMismatch, match=r"custom: forward is .*; required Double$"):
        autodiff.evaluate(autodiff.custom([SCALAR], lambda values: given), {SCALAR: 1.0})
    node = autodiff.custom([SCALAR], lambda values: 1.0, lambda values, adjoint: (x for x in [given]))
    with pytest.raises(TypeMismatch, match=r"custom: reverse\[0\] is .*; required Double$"):
        autodiff.value_and_gradient(node, {SCALAR: 1.0})


@pytest.mark.parametrize("count", [0, 2])
def test_cotangents_are_counted(count: int) -> None:
    node = autodiff.custom([SCALAR], lambda values: 1.0, lambda values, adjoint: [1.0] * count)
    with pytest.raises(DimensionMismatch, match=rf"reverse has dimension {count}; required 1"):
        autodiff.value_and_gradient(node, {SCALAR: 1.0})
