"""Graphs made ready to run, and runs of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from .. import _convert, _native
from .._call import CData, check, context, invoke, make
from .._failure import closed, placed, renamed, type_mismatch
from .._hmath import ffi, lib
from .._owner import Handle, Owner, adopt
from .._result import owns
from ..errors import HMathError
from ..tensor import TensorDouble
from ._nodes import Node, _array, _is_number, _listed, _node, _operand, _operands, _owned

if TYPE_CHECKING:
    from .._call import Argument
    from .._signatures import Evaluated, ValueT
    from .._typing import TensorLike
    from ._types import Bindings, Operand, Value, WantedT

_new = ffi.new


def _value(value: CData) -> Value:
    """A float for a Double, a TensorDouble for a Tensor; takes the reference over."""
    if lib.hmath_kind(value) == lib.HMATH_KIND_DOUBLE:
        number = _new("double *")
        lib.hmath_double_get(value, number)
        lib.hmath_release(value)
        return number[0]  # type: ignore[no-any-return]
    return adopt(TensorDouble, _owned(value))


def _described(x: Any, argument: str) -> Argument:
    """What a variable stands for; an array is lent."""
    if isinstance(x, Owner):
        return _convert.value(x, argument, "Double or Tensor Double")
    if _convert.has_axes(x):
        return _convert.tensor(x, argument)
    if not _is_number(x):
        raise type_mismatch(argument, "Double or Tensor Double", x)
    return _convert.double(x, argument)


def _bound(x: Any, argument: str) -> CData:
    """Its handle, of a copy where it is an array."""
    return x._open(argument) if isinstance(x, Owner) else make(_described(x, argument))


def _at(i: int, x: Any, argument: str, variables: Iterable[Any], of: Callable[[Any, str], Any]) -> Any:
    """``of(x, argument)`` for input `i`, which a failure names: by its variable where `variables` are known."""
    try:
        return of(x, argument)
    except HMathError as error:
        variable = next(itertools.islice(variables, i, None), None)
        name = variable.name if isinstance(variable, Node) else None
        raise placed(error, f"for input {name or f'number {i}'}") from None


@owns(lib.HMATH_KIND_PROGRAM)
class Program(Owner):
    """A compiled graph (kind 300): call it with one value per input, in the order of the inputs.

    Immutable: any number of threads may run it at once.
    """

    __slots__ = ("_single",)

    _single: bool

    def __call__(self, *inputs: Value | TensorLike) -> Any:
        """The outputs, floats for Exprs, TensorDoubles for ADTensors; a list where a list was compiled."""
        results = _run(self, inputs, "inputs")
        return results[0] if self._single else results

    def _numbers(self) -> tuple[int, int, int, int]:
        numbers = [_new("int64_t *") for _ in range(4)]
        check(lib.hmath_program_describe(self._open(), *numbers))
        return tuple(number[0] for number in numbers)

    @property
    def steps(self) -> int:
        """How many steps a run takes; elementwise chains are one."""
        return self._numbers()[1]

    @property
    def workspace(self) -> int:
        """Bytes that a run needs besides its results."""
        return self._numbers()[3]

    def _describe(self) -> str:
        nodes, steps, groups, workspace = self._numbers()
        handle = self._open()
        inputs, outputs = lib.hmath_program_inputs(handle), lib.hmath_program_outputs(handle)
        numbers = ", ".join(
            f"{n} {noun if n == 1 else noun + 's'}"
            for n, noun in ((inputs, "input"), (outputs, "output"), (steps, "step"))
        )
        return f"<Program of {nodes} nodes: {numbers} (groups: {groups}), {workspace} bytes of workspace>"

    def __copy__(self) -> Program:
        copy = super().__copy__()
        copy._single = self._single
        return copy


def _run(
    program: Handle, inputs: tuple[Any, ...], argument: str, variables: Iterable[Any] = ()
) -> list[Value]:
    """The outputs: floats for Exprs, TensorDoubles for ADTensors."""
    results = _native.run(program, inputs)
    if results is None:  # an array, or no input at all; or this thread has no context yet
        if program._dropped:
            raise closed("self")
        results = _run_described(
            program, [_at(i, x, argument, variables, _described) for i, x in enumerate(inputs)]
        )
    if not isinstance(results, list):
        try:
            check(results)
        except HMathError as error:
            raise renamed(error, "autodiff.Program", inputs=argument) from None
        raise AssertionError("a failure raises")
    return results


def _run_described(program: Handle, inputs: list[Argument]) -> list[Value] | int:
    """The outputs, or the status of a failure."""
    handle = program._handle  # held for the call, whoever closes the program meanwhile
    if handle is None:
        raise closed("self")
    count = lib.hmath_program_outputs(handle)
    outputs = _new("hmath_value *[]", count)
    status: int = lib.bridge_run(context(), handle, inputs, len(inputs), outputs, count)
    return status or [_value(output) for output in outputs]


def _compile(outputs: list[CData], inputs: list[CData]) -> CData:
    return invoke(lib.hmath_autodiff_compile, _array(outputs), len(outputs), _array(inputs), len(inputs))


def compile(outputs: Node | Sequence[Node], inputs: Sequence[Node]) -> Program:
    """A :class:`Program` that computes the outputs from values for the inputs, which are variables.

    Variables on which no output depends may be among them.
    ``DomainError``: a variable of the graph is missing, or an input is no variable.
    """
    one = isinstance(outputs, Node)
    of = _operands([outputs] if one else outputs, "outputs")
    program = adopt(Program, _compile(of, _operands(inputs, "inputs")))
    program._single = one
    return program


# ---------------------------------------------------------------- evaluation

# Programs kept on a node: a program may keep other nodes alive, of which there may be ever new ones.
_REMEMBERED = 8


def _program(
    node: Node, kind: str, groups: tuple[Iterable[Any], ...], build: Callable[[], tuple[CData, Any]]
) -> Handle:
    """The program for some groups of nodes, kept on the node, of the latest few.

    What `build` returns beside it is kept, too: nodes, whose addresses may not become those of others.
    """
    key = (kind, *(tuple(map(_native.address, group)) for group in groups))
    if any(None in group for group in key[1:]):  # numbers, which have none, and what is to be refused
        return adopt(Handle, build()[0])
    try:
        programs = node._programs
    except AttributeError:
        programs = node._programs = {}
    found = programs.pop(key, None)
    if found is None:
        program, kept = build()
        found = adopt(Handle, program), kept
    programs[key] = found  # the latest stands last
    for oldest in list(programs)[:-_REMEMBERED]:
        programs.pop(oldest, None)
    return found[0]


def _mapping(bindings: Any) -> Bindings:
    if not isinstance(bindings, Mapping):
        raise type_mismatch("bindings", "Mapping from variables to values", bindings)
    return bindings


def _variable(key: Any) -> CData:
    """The handle of a key of bindings."""
    if not isinstance(key, Node):
        raise type_mismatch("bindings", "variables as keys", key)
    return key._open("bindings")


def _bindings(bindings: Bindings) -> tuple[list[CData], list[CData]]:
    """The handles of the variables and of what they stand for."""
    variables = [_variable(v) for v in _mapping(bindings)]
    return variables, _bound_all(bindings, bindings, "bindings")


def _bound_all(values: Bindings, variables: Iterable[Any], argument: str) -> list[CData]:
    """What variables stand for; NULL for those without a value."""
    return [
        _at(i, values[v], argument, variables, _bound) if v in values else ffi.NULL
        for i, v in enumerate(variables)
    ]


@overload
def evaluate(output: Evaluated[WantedT], bindings: Bindings | None = None) -> WantedT: ...
@overload
def evaluate(output: Sequence[Evaluated[WantedT]], bindings: Bindings | None = None) -> list[WantedT]: ...
def evaluate(output: Any, bindings: Bindings | None = None) -> Value | list[Any]:
    """The value of a node, or of several: a float for an Expr, a TensorDouble for an ADTensor.

    `bindings` maps each variable of the graph to a number, a Tensor or an array of float64; one that takes no part
    is let be. ``DomainError``: a variable is missing. ``DimensionMismatch``, ``TypeMismatch``, ``NonFinite``: a value.
    """
    one = isinstance(output, Node)
    owners = [output] if one else _listed(output, "output")
    given = _mapping({} if bindings is None else bindings)

    def build() -> tuple[CData, Any]:
        outputs, (variables, _) = _operands(owners, "output"), _bindings(given)
        try:
            return _compile(outputs, variables), outputs
        except HMathError as error:
            raise renamed(error, "autodiff.compile", outputs="output", inputs="bindings") from None

    if owners and isinstance(owners[0], Node):
        program = _program(owners[0], "value", (owners, given), build)
    else:
        program = adopt(Handle, build()[0])
    results = _run(program, tuple(given.values()), "bindings", given)
    return results[0] if one else results


@overload
def value_and_gradient(
    output: Evaluated[ValueT], bindings: Bindings, wrt: Evaluated[WantedT]
) -> tuple[ValueT, WantedT]: ...
@overload
def value_and_gradient(
    output: Evaluated[ValueT], bindings: Bindings, wrt: Sequence[Evaluated[WantedT]]
) -> tuple[ValueT, list[WantedT]]: ...
@overload
def value_and_gradient(
    output: Evaluated[ValueT], bindings: Bindings, wrt: None = None
) -> tuple[ValueT, list[Value]]: ...
def value_and_gradient(output: Any, bindings: Bindings, wrt: Any = None) -> tuple[Value, Value | list[Any]]:
    """The value of a node of one element and its gradient: ``(value, [gradients])``.

    `wrt` is a list of nodes (by default the variables in `bindings`, in their order); for a single node the
    gradient is single too.
    """
    if not isinstance(output, Node):
        handle = _operand(output, "output")
        try:
            output = _node(invoke(lib.hmath_autodiff_constant, handle))
        except HMathError as error:
            raise renamed(error, "autodiff.constant", value="output") from None
    output._open("output")
    _mapping(bindings)
    asked = [wrt] if isinstance(wrt, Node) else _listed(list(bindings) if wrt is None else wrt, "wrt")

    def build() -> tuple[CData, Any]:
        of, (variables, _), by = output._open("output"), _bindings(bindings), _operands(asked, "wrt")
        arguments = of, _array(variables), len(variables), _array(by), len(by)
        try:
            return invoke(lib.hmath_autodiff_compile_gradient, *arguments), (variables, by)
        except HMathError as error:
            raise renamed(error, inputs="bindings") from None

    program = _program(output, "gradient", (asked, bindings), build)
    results = _run(program, tuple(bindings.values()), "bindings", bindings)
    return results[0], results[1] if isinstance(wrt, Node) else results[1:]


def jacobian(output: Operand, bindings: Bindings, wrt: Node) -> TensorDouble:
    """∂output/∂wrt as a Tensor of shape (*output.shape, *wrt.shape): a row of reverse mode per element."""
    of, by = _operand(output, "output"), _operand(wrt, "wrt")
    variables, values = _bindings(bindings)
    try:
        handle = invoke(lib.hmath_autodiff_jacobian, of, _array(variables), _array(values), len(values), by)
    except HMathError as error:
        raise renamed(error, inputs="bindings", values="bindings") from None
    return adopt(TensorDouble, handle)


@overload
def jvp(output: Evaluated[ValueT], bindings: Bindings, tangents: Bindings) -> tuple[ValueT, ValueT]: ...
@overload
def jvp(output: Operand, bindings: Bindings, tangents: Bindings) -> tuple[Value, Value]: ...
def jvp(output: Any, bindings: Bindings, tangents: Bindings) -> tuple[Value, Value]:
    """Value and tangent of a node where variables move along `tangents` (those left out stand still)."""
    of = _operand(output, "output")
    variables, values = _bindings(bindings)
    if not isinstance(tangents, Mapping):
        raise type_mismatch("tangents", "Mapping from variables to values", tangents)
    for moving in tangents:
        if moving not in bindings:
            raise type_mismatch("tangents", "variables of bindings", moving)
    along = _bound_all(tangents, bindings, "tangents")
    value, tangent = _new("hmath_value **"), _new("hmath_value **")
    given = _array(variables), _array(values), _array(along), len(values)
    try:
        check(lib.hmath_autodiff_jvp(context(), of, *given, value, tangent))
    except HMathError as error:
        raise renamed(error, inputs="bindings", values="bindings") from None
    return _value(value[0]), _value(tangent[0])
