"""Selectors: named, immutable choices, with parameters where the choice has some."""

from __future__ import annotations

import re
import sys
from typing import Any, ClassVar, TypeVar

from ._call import call
from ._convert import double
from ._failure import made_by_functions
from ._hmath import lib
from ._owner import Handle, own

Self = TypeVar("Self", bound="Selector")


class Selector(Handle):
    """Base of the selectors. Compares by name and parameters, pickles by name."""

    __slots__ = ("name", "parameters")

    KIND: ClassVar[int]
    """``HMATH_KIND_...`` of the class's values, from its name."""

    name: str
    parameters: tuple[float, ...]

    def __new__(cls, *_: object, **__: object) -> Selector:
        raise made_by_functions(cls)

    def __init_subclass__(cls) -> None:
        constant = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).upper()
        cls.KIND = getattr(lib, f"HMATH_KIND_{constant}")

    def __repr__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(map(repr, self.parameters))})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.name == other.name and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash((type(self), self.name, self.parameters))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self).__module__, self.name, self.parameters)


def selector(cls: type[Self], name: str, c_name: str, **parameters: float) -> Self:
    """Make a selector through its wrapper; parameters are converted, never validated."""
    arguments = [double(value, argument) for argument, value in parameters.items()]
    result = call(c_name, *arguments)
    self = own(cls, result.value)
    set_slot = object.__setattr__
    set_slot(self, "name", name)
    set_slot(self, "parameters", tuple(number for _, number in arguments))
    return self


def _restore(module: str, name: str, parameters: tuple[float, ...]) -> Any:
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    return found(*parameters) if parameters else found
