"""What decorates graph functions: ``_signatures.pyi`` has the signatures, which a type checker reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


def _as_it_is(function: FunctionT) -> FunctionT:
    return function


elementwise = elementwise_or_dual = comparison = choice = power_ = _as_it_is
operator = reduction = reduction_method = reshape_method = _as_it_is
descent = moments = clipping = schedule = ramp = _as_it_is
