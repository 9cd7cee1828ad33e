"""Derivatives as nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from .._call import check, context, invoke
from .._failure import dimension_mismatch
from .._hmath import ffi, lib
from ._nodes import Node, _array, _node, _operand, _operands, _owned

if TYPE_CHECKING:
    from .._signatures import Either, NodeT
    from ._types import Operand

_new = ffi.new
_HANDLES = ffi.typeof("hmath_value *[]")


@overload
def gradient(output: Operand, wrt: NodeT) -> NodeT: ...
@overload
def gradient(output: Operand, wrt: Sequence[NodeT]) -> list[NodeT]: ...
def gradient(output: Operand, wrt: Node | Sequence[Node]) -> Node | list[Any]:
    """The gradient of a node of one element with respect to others, as nodes.

    Zeros where it does not depend on them. Gradients can be differentiated again, except through softmax,
    log_softmax, sparsemax, CTC, attention and custom nodes: there a ``DomainError`` names the operation.
    ``DimensionMismatch``: `output` has other than one element.
    """
    of, one = _operand(output, "output"), isinstance(wrt, Node)
    asked = _operands([wrt] if one else wrt, "wrt")
    out = _new(_HANDLES, len(asked))
    check(lib.hmath_autodiff_gradient(context(), of, _array(asked), len(asked), out))
    found = [_node(_owned(out[i])) for i in range(len(asked))]
    return found[0] if one else found


def pull_back(outputs: Sequence[Operand], seeds: Sequence[Operand], wrt: Sequence[NodeT]) -> list[NodeT]:
    """Σᵢ (∂outputs[i]/∂wrt)ᵀ seeds[i] as nodes: reverse mode from outputs of any shape."""
    of, by, asked = _operands(outputs, "outputs"), _operands(seeds, "seeds"), _operands(wrt, "wrt")
    if len(of) != len(by):
        raise dimension_mismatch("seeds", len(of), len(by))
    out = _new(_HANDLES, len(asked))
    check(
        lib.hmath_autodiff_pull_back(
            context(), _array(of), _array(by), len(of), _array(asked), len(asked), out
        )
    )
    found: list[Any] = [_node(_owned(out[i])) for i in range(len(asked))]
    return found


@overload
def push_forward(output: NodeT, wrt: Sequence[Node], tangents: Sequence[Operand]) -> NodeT: ...
@overload
def push_forward(output: Operand, wrt: Sequence[Node], tangents: Sequence[Operand]) -> Either: ...
def push_forward(output: Operand, wrt: Sequence[Node], tangents: Sequence[Operand]) -> Node:
    """Σⱼ (∂output/∂wrt[j]) tangents[j] as a node: forward mode."""
    of, asked, along = _operand(output, "output"), _operands(wrt, "wrt"), _operands(tangents, "tangents")
    if len(asked) != len(along):
        raise dimension_mismatch("tangents", len(asked), len(along))
    return _node(invoke(lib.hmath_autodiff_push_forward, of, _array(asked), _array(along), len(asked)))
