"""Optimisers and schedules: pure functions of (parameters, gradients, state).

Each step function returns the new parameters and the new state and changes nothing. Given nodes of
:mod:`hmath.autodiff` it returns nodes, so that loss, gradients and update compile to one program::

    weights, state = ad.variable("w", (3,)), optim.adam_variables([(3,)])
    loss = ad.sum(ad.square(weights - 1.0))
    [new], new_state = optim.adam([weights], ad.gradient(loss, [weights]), state, rate=0.1)
    step = ad.compile([loss, new, *new_state], [weights, *state])

Given Tensors (or arrays of float64) it returns Tensors, by the same graph and with the same bits.

    >>> from hmath import optim, tensor
    >>> [p], state = optim.sgd([tensor.tensor([2], [1.0, 2.0])], [tensor.tensor([2], [1.0, -1.0])], rate=0.5)
    >>> p.values
    [0.5, 2.5]

A state is a flat tuple, so that it can be passed to a program and be taken from one: momentum SGD keeps one
velocity a parameter, Adam keeps the number of steps, then the first moments, then the second ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, ldexp, prod
from typing import TYPE_CHECKING, Any

from . import autodiff as ad
from ._call import make
from ._convert import _float, boolean, double, has_axes, int_list, sequence, tensor
from ._failure import dimension_mismatch, domain_error, non_finite, type_mismatch
from ._owner import Owner, adopt
from ._signatures import clipping, descent, moments, ramp, schedule
from ._surface import shown
from .errors import NonFinite
from .tensor import TensorDouble, zeros

if TYPE_CHECKING:
    from typing import TypeAlias

    from ._typing import TensorLike
    from .autodiff._types import Operand

    # A parameter of an update or of a schedule: a number, also in a Tensor or an array of rank 0; or a node.
    Number: TypeAlias = "TensorLike | float"
    Scalar: TypeAlias = "ad.Expr | Number"
    # Flat, of numbers or of nodes, as the functions say.
    State: TypeAlias = "tuple[Any, ...]"

__all__ = [
    "adam",
    "adam_state",
    "adam_variables",
    "adamw",
    "clip_by_global_norm",
    "cosine",
    "sgd",
    "sgd_state",
    "sgd_variables",
    "warm_up",
]

__dir__ = shown(__all__)


def _is_node(x: Any) -> bool:
    return isinstance(x, ad.Node)


def _is_graph(*groups: Sequence[Any]) -> bool:
    """Is there a node among the operands?"""
    return any(_is_node(x) for group in groups for x in group)


def _finish(nodes: Sequence[Any], graph: bool) -> list[Any]:
    """Nodes as they are, or their values where everything they are made of is known."""
    return list(nodes) if graph else ad.evaluate([_node(x) for x in nodes])


def _node(x: Any) -> Any:
    return x if _is_node(x) else ad.constant(x)


# What a caller gave is looked at first, so that failures name the caller's parameter: kinds, then the numbers that
# are parameters, then shapes, then elements. A node's number is known when the graph runs: what it may be is for
# the operations to say.


def _number(x: Any, argument: str) -> float:
    return double(x, argument)[1]  # type: ignore[no-any-return]


_AT_LEAST_0 = ">= 0"
_ABOVE_0 = "> 0"
_SHARE = ">= 0 and < 1"


def _check_numbers(requirement: str, **numbers: Any) -> None:
    """Plain numbers are finite and in their domain, in the order given."""
    for argument, x in numbers.items():
        if type(x) is not float:
            continue
        if x - x != 0.0:
            raise non_finite(argument, x)
        if x < 0.0 or (x == 0.0 and requirement == _ABOVE_0) or (x >= 1.0 and requirement == _SHARE):
            raise domain_error(argument, x, requirement)


def _scalar(x: Any, argument: str) -> ad.Expr | float:
    """A parameter: a number, also one in a Tensor or an array of rank 0, as a float; or an Expr."""
    if not isinstance(x, ad.Node):
        return _number(x, argument)
    x._open(argument)
    if not isinstance(x, ad.Expr):
        raise type_mismatch(argument, "Double or Expr", x)
    return x


def _operand(x: Any, argument: str, index: int) -> Any:
    """A part of a list: a number as a float, a node, or a Tensor of a Tensor or an array."""
    if isinstance(x, ad.Node):
        x._open(argument)
        return x
    if isinstance(x, Owner) or has_axes(x):
        return adopt(TensorDouble, make(tensor(x, argument)))
    return _float(x, argument, index)


def _sequence(x: Any, argument: str, expected: str) -> Sequence[Any]:
    if isinstance(x, Owner):  # a Tensor's rows are no parameters
        raise type_mismatch(argument, expected, x)
    return sequence(x, argument, expected)


def _operands(values: Any, argument: str) -> list[Any]:
    given = _sequence(values, argument, "List of Expr or ADTensor")
    return [_operand(x, argument, i) for i, x in enumerate(given)]


def _shape(x: Any) -> tuple[int, ...]:
    return () if type(x) is float else x.shape


def _check_shapes(argument: str, given: Sequence[Any], expected: Sequence[tuple[int, ...]]) -> None:
    if len(given) != len(expected):
        raise dimension_mismatch(argument, len(expected), len(given))
    for i, (x, shape) in enumerate(zip(given, expected, strict=True)):
        if _shape(x) != shape:
            raise dimension_mismatch(argument, shape, _shape(x), i)


def _nodes(operands: Sequence[Any], argument: str) -> list[Any]:
    """Operands as nodes. An element that is not finite is counted over the elements of all of them."""
    nodes: list[Any] = []
    before = 0
    for x in operands:
        try:
            nodes.append(_node(x))
        except NonFinite as error:
            found = error.math_error
            raise non_finite(argument, found.value, before + (found.index or 0)) from None
        before += prod(_shape(x))
    return nodes


def _zeros(parameters: Any) -> list[Any]:
    """A zero, or a Tensor of zeros, for each parameter."""
    nodes = _nodes(_operands(parameters, "parameters"), "parameters")
    return [zeros(node.shape) if node.shape else 0.0 for node in nodes]


def _variables(name: str, shapes: Any) -> list[Any]:
    """A variable for each shape."""
    given = _sequence(shapes, "shapes", "List of lists of Int")
    return [ad.variable(f"{name}{i}", int_list(shape, "shapes")) for i, shape in enumerate(given)]


# ---------------------------------------------------------------- gradient descent


def sgd_state(parameters: Sequence[Operand]) -> State:
    """Velocities of 0 for each parameter."""
    return tuple(_zeros(parameters))


def sgd_variables(shapes: Sequence[Sequence[int]]) -> State:
    """A state of variables, for a graph."""
    return tuple(_variables("velocity", shapes))


_STATELESS = "a state, as sgd_state makes it, to keep the velocities"


@descent
def sgd(
    parameters: Sequence[Operand],
    gradients: Sequence[Operand],
    state: Sequence[Operand] | None = None,
    *,
    rate: Scalar,
    momentum: Scalar = 0.0,
    nesterov: bool = False,
    weight_decay: Scalar = 0.0,
) -> tuple[list[Any], State]:
    """Gradient descent: ``(new parameters, new state)``.

    With g the gradient plus ``weight_decay`` times the parameter, and v the velocity (`state`; without one there
    is no momentum, and the state stays empty)::

        v <- momentum * v + g
        p <- p - rate * v                      (Polyak 1964)
        p <- p - rate * (g + momentum * v)     with nesterov (Sutskever et al. 2013)

    ``NonFinite``, ``DomainError``: rate, momentum and weight_decay are >= 0; a `momentum` other than 0, or
    `nesterov`, without a state, see :func:`sgd_state`.
    """
    values, slopes = _operands(parameters, "parameters"), _operands(gradients, "gradients")
    moving = None if state is None else _operands(state, "state")
    rate, momentum = _scalar(rate, "rate"), _scalar(momentum, "momentum")
    nesterov, weight_decay = boolean(nesterov, "nesterov")[3], _scalar(weight_decay, "weight_decay")
    _check_numbers(_AT_LEAST_0, rate=rate, momentum=momentum, weight_decay=weight_decay)
    if moving is None and momentum != 0.0:
        found = momentum if isinstance(momentum, float) else "stands without a state"
        raise domain_error("momentum", found, _STATELESS)
    if moving is None and nesterov:
        raise domain_error("nesterov", "stands without a state", _STATELESS)
    shapes = list(map(_shape, values))
    _check_shapes("gradients", slopes, shapes)
    if moving is not None:
        _check_shapes("state", moving, shapes)
    graph = _is_graph(values, slopes, moving or (), (rate, momentum, weight_decay))
    values, slopes = _nodes(values, "parameters"), _nodes(slopes, "gradients")
    moving = None if moving is None else _nodes(moving, "state")
    velocities: list[Any] = []
    updated: list[Any] = []
    for i, (p, g) in enumerate(zip(values, slopes, strict=True)):
        if weight_decay != 0.0:
            g = g + weight_decay * p
        step = g
        if moving is not None:
            velocity = momentum * moving[i] + g
            velocities.append(velocity)
            step = g + momentum * velocity if nesterov else velocity
        updated.append(p - rate * step)
    results = _finish(updated + velocities, graph)
    return results[: len(updated)], tuple(results[len(updated) :])


# ---------------------------------------------------------------- Adam


def adam_state(parameters: Sequence[Operand]) -> State:
    """No steps, and moments of 0 for each parameter."""
    moments = _zeros(parameters)
    return (0.0, *moments, *moments)


def adam_variables(shapes: Sequence[Sequence[int]]) -> State:
    """A state of variables, for a graph."""
    first, second = _variables("first", shapes), _variables("second", shapes)
    return (ad.variable("steps"), *first, *second)


@moments
def adam(
    parameters: Sequence[Operand],
    gradients: Sequence[Operand],
    state: Sequence[Operand],
    *,
    rate: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    weight_decay: Scalar = 0.0,
) -> tuple[list[Any], State]:
    """Adam (Kingma and Ba 2015): ``(new parameters, new state)``.

    With g the gradient plus ``weight_decay`` times the parameter, after t steps::

        m <- beta1 * m + (1 - beta1) * g
        v <- beta2 * v + (1 - beta2) * g^2
        p <- p - rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)

    ``NonFinite``, ``DomainError``: rate and weight_decay are >= 0, both betas >= 0 and < 1, epsilon > 0.
    """
    return _adam(parameters, gradients, state, rate, beta1, beta2, epsilon, weight_decay, decoupled=False)


@moments
def adamw(
    parameters: Sequence[Operand],
    gradients: Sequence[Operand],
    state: Sequence[Operand],
    *,
    rate: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    weight_decay: Scalar = 0.01,
) -> tuple[list[Any], State]:
    """Adam with decoupled decay (Loshchilov and Hutter 2019): p <- p * (1 - rate * weight_decay) first."""
    return _adam(parameters, gradients, state, rate, beta1, beta2, epsilon, weight_decay, decoupled=True)


def _adam(
    parameters: Sequence[Operand],
    gradients: Sequence[Operand],
    state: Sequence[Operand],
    rate: Scalar,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    weight_decay: Scalar,
    decoupled: bool,
) -> tuple[list[Any], State]:
    values, slopes = _operands(parameters, "parameters"), _operands(gradients, "gradients")
    n, moments = len(values), _operands(state, "state")
    rate, beta1, beta2 = _scalar(rate, "rate"), _scalar(beta1, "beta1"), _scalar(beta2, "beta2")
    epsilon, weight_decay = _scalar(epsilon, "epsilon"), _scalar(weight_decay, "weight_decay")
    _check_numbers(_AT_LEAST_0, rate=rate)
    _check_numbers(_SHARE, beta1=beta1, beta2=beta2)
    _check_numbers(_ABOVE_0, epsilon=epsilon)
    _check_numbers(_AT_LEAST_0, weight_decay=weight_decay)
    shapes = list(map(_shape, values))
    _check_shapes("gradients", slopes, shapes)
    _check_shapes("state", moments, [(), *shapes, *shapes])
    graph = _is_graph(values, slopes, moments, (rate, beta1, beta2, epsilon, weight_decay))
    values, slopes = _nodes(values, "parameters"), _nodes(slopes, "gradients")
    moments = _nodes(moments, "state")
    steps = moments[0] + 1.0
    size = rate / (1.0 - ad.power(beta1, steps))
    spread = ad.sqrt(1.0 - ad.power(beta2, steps))
    decays = weight_decay != 0.0
    shrink = 1.0 - _node(rate) * weight_decay if decays and decoupled else None
    updated, first, second = [], [], []
    for i, (p, g) in enumerate(zip(values, slopes, strict=True)):
        if shrink is not None:
            p = p * shrink
        elif decays:
            g = g + weight_decay * p
        m = beta1 * moments[1 + i] + (1.0 - beta1) * g
        v = beta2 * moments[1 + n + i] + (1.0 - beta2) * ad.square(g)
        updated.append(p - size * (m / (ad.sqrt(v) / spread + epsilon)))
        first.append(m)
        second.append(v)
    results = _finish([*updated, steps, *first, *second], graph)
    return results[:n], tuple(results[n:])


# ---------------------------------------------------------------- clipping and schedules


@clipping
def clip_by_global_norm(gradients: Sequence[Operand], maximum: Number) -> tuple[list[Any], Any]:
    """``(gradients, norm)``: scaled by maximum / norm where the norm over all of them is above `maximum`.

    The norm is the Euclidean one of all elements of all gradients, without overflow on the way; it is returned
    as it was before (Pascanu, Mikolov and Bengio 2013). ``NonFinite``, ``DomainError``: maximum is > 0.
    """
    given, maximum = _operands(gradients, "gradients"), _number(maximum, "maximum")
    _check_numbers(_ABOVE_0, maximum=maximum)
    nodes = _nodes(given, "gradients")
    norm = ad.norm(nodes)
    factors = _clipping(norm, maximum)
    results = _finish([*(_scaled(g, factors) for g in nodes), norm], _is_graph(given))
    return results[:-1], results[-1]


def _clipping(norm: Any, maximum: float) -> list[Any]:
    """maximum / norm, or 1 where the norm is not above `maximum`, as factors to be applied one by one.

    The quotient of a maximum below 4 and a norm near the largest double may be below 2^-1022, the smallest double
    of full precision. Beyond 2^-1021 its significand comes at a safe exponent, and powers of two follow.
    """
    factor = ad.select(ad.less(maximum, norm), maximum / ad.maximum(norm, maximum), 1.0)
    if maximum >= 4.0:
        return [factor]
    limit = ldexp(maximum, 1021)
    far = ad.less(limit, norm)
    raised = 100 - frexp(maximum)[1]  # maximum * 2^raised is near 2^100, its quotient by any double normal
    high = ldexp(maximum, raised) / ad.maximum(norm, limit)
    # Powers of two that are normal doubles themselves.
    steps = [raised] if raised <= 1022 else [raised // 2, raised - raised // 2]
    return [ad.select(far, high, factor), *(ad.select(far, ldexp(1.0, -step), 1.0) for step in steps)]


def _scaled(x: Any, factors: Sequence[Any]) -> Any:
    for factor in factors:
        x = x * factor
    return x


@schedule
def cosine(step: Scalar, rate: Scalar, steps: Number, final: Scalar = 0.0) -> Any:
    """From `rate` at step 0 down half a cosine to `final` at `steps`, and `final` from there on.

    final + (rate - final) * (1 + cos(pi * min(step, steps) / steps)) / 2 (Loshchilov and Hutter 2017). A
    number, or a node where `step` is one. ``NonFinite``, ``DomainError``: step, rate and final are >= 0, steps > 0.

    >>> cosine(5, 1.0, 10)
    0.5
    """
    step, rate = _scalar(step, "step"), _scalar(rate, "rate")
    steps, final = _number(steps, "steps"), _scalar(final, "final")
    _check_numbers(_AT_LEAST_0, step=step, rate=rate)
    _check_numbers(_ABOVE_0, steps=steps)
    _check_numbers(_AT_LEAST_0, final=final)
    done = ad.minimum(_node(step), steps) / steps
    node = final + (rate - final) * ((1.0 + ad.cos(3.141592653589793 * done)) * 0.5)
    return _finish([node], _is_graph((step, rate, final)))[0]


@ramp
def warm_up(step: Scalar, rate: Scalar, steps: Number) -> Any:
    """`rate` times min(1, (step + 1) / steps): a straight line up during the first `steps` steps.

    `rate` may itself be a schedule: ``warm_up(step, cosine(step, 1e-3, 1000), 100)``. ``NonFinite``,
    ``DomainError``: step and rate are >= 0, steps > 0.
    """
    step, rate, steps = _scalar(step, "step"), _scalar(rate, "rate"), _number(steps, "steps")
    _check_numbers(_AT_LEAST_0, step=step, rate=rate)
    _check_numbers(_ABOVE_0, steps=steps)
    node = ad.minimum(_node(step) + 1.0, steps) / steps * rate
    return _finish([node], _is_graph((step, rate)))[0]
