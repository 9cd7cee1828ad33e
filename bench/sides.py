"""Small helpers that turn NumPy inputs into what each side works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Inputs, Side

from hmath import tensor


def ours(function: Callable[..., Any], *names: str) -> Side:
    """Call `function` on hmath Tensors of the named inputs."""

    def prepare(inputs: Inputs) -> Callable[[], Any]:
        arguments = [tensor.from_numpy(inputs[name]) for name in names]
        return lambda: function(*arguments)

    return prepare


def ours_arrays(function: Callable[..., Any], *names: str) -> Side:
    """Call `function` on the NumPy arrays themselves, which are lent for the call."""

    def prepare(inputs: Inputs) -> Callable[[], Any]:
        arguments = [inputs[name] for name in names]
        return lambda: function(*arguments)

    return prepare


def theirs(function: Callable[..., Any], *names: str) -> Side:
    """Call `function` on PyTorch tensors of the named inputs."""

    def prepare(inputs: Inputs) -> Callable[[], Any]:
        import torch

        arguments = [torch.from_numpy(inputs[name]) for name in names]
        return lambda: function(*arguments)

    return prepare
