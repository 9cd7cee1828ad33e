"""hmath: checked, reproducible double-precision neural primitives.

The numbers come from ``libhmath``, the C library that this package carries; it serves both languages.

    >>> from hmath import deeplearning_core as core
    >>> core.activation(core.Sigmoid, 0.0)
    0.5

Modules: ``deeplearning_core``, ``deeplearning_layers``, ``deeplearning_precision``,
``deeplearning_metrics``, ``tensor``, ``random``, ``autodiff``, ``optim`` and ``errors``.
"""

from __future__ import annotations

from ._build import get_include, get_library, numerics_version, version
from ._call import get_num_threads, instruction_set, set_num_threads
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
