"""hmath: checked, reproducible double-precision neural primitives.

The numbers come from ``libhmath``, the C library that this package carries; it serves both languages.

    >>> from hmath import deeplearning_core as core
    >>> core.activation(core.Sigmoid, 0.0)
    0.5

Modules: ``deeplearning_core``, ``deeplearning_layers``, ``deeplearning_precision``,
``deeplearning_metrics``, ``tensor``, ``random``, ``autodiff``, ``optim`` and ``errors``. Each is loaded when it
is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._build import get_include, get_library, numerics_version, version
from ._call import get_num_threads, instruction_set, set_num_threads
from ._surface import shown
from .errors import (
    DimensionMismatch,
    DomainError,
    EmptyInput,
    HMathError,
    IndexOutOfBounds,
    MathError,
    NonFinite,
    Overflow,
    TypeMismatch,
)

if TYPE_CHECKING:
    from . import autodiff as autodiff
    from . import deeplearning_core as deeplearning_core
    from . import deeplearning_layers as deeplearning_layers
    from . import deeplearning_metrics as deeplearning_metrics
    from . import deeplearning_precision as deeplearning_precision
    from . import errors as errors
    from . import optim as optim
    from . import random as random
    from . import tensor as tensor

__version__ = version()

__all__ = [
    "DimensionMismatch",
    "DomainError",
    "EmptyInput",
    "HMathError",
    "IndexOutOfBounds",
    "MathError",
    "NonFinite",
    "Overflow",
    "TypeMismatch",
    "__version__",
    "get_include",
    "get_library",
    "get_num_threads",
    "instruction_set",
    "numerics_version",
    "set_num_threads",
]

_MODULES = [
    "autodiff",
    "deeplearning_core",
    "deeplearning_layers",
    "deeplearning_metrics",
    "deeplearning_precision",
    "errors",
    "optim",
    "random",
    "tensor",
]

__dir__ = shown(__all__ + _MODULES)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """The modules, at their first use: importing hmath alone stays cheap."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
