"""Records: frozen dataclasses that stand for an immutable object of the library.

A record keeps plain numbers and lists; it becomes a Value when an operation is given it, and nothing
has to be closed. Constructing one validates nothing: the operations that use it do.
"""

from __future__ import annotations

from dataclasses import fields
from operator import is_
from typing import Any, ClassVar, TypeVar

from ._call import Argument, CData, call
from ._convert import value
from ._hmath import lib
from ._result import handle, plain

Self = TypeVar("Self", bound="Record")


class Record:
    """Base of the records.

    A subclass is a frozen dataclass that names its constructor wrapper, and per field the wrapper that
    reads it and the converter of its type, in the order of the fields.
    """

    __slots__ = ()

    _CREATE: ClassVar[str]
    _READERS: ClassVar[tuple[str, ...]]
    _CONVERTERS: ClassVar[tuple[Any, ...]]

    def __post_init__(self) -> None:
        """Lists are copied, so that nobody else's list is part of the record."""
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, _copied(getattr(self, field.name)))

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without the Value that ``record`` may have made of them."""
        return {name: x for name, x in vars(self).items() if name != "_made"}


def _copied(x: Any) -> Any:
    if hasattr(x, "tolist") and not isinstance(x, type):
        return x.tolist()
    return list(x) if isinstance(x, (list, tuple)) else x


def record(x: Any, cls: type[Record], argument: str) -> Argument:
    """The argument for a record; its fields are named ``options.stride`` in failures."""
    if not isinstance(x, cls):
        return value(x, argument, cls.__name__)
    made: tuple[list[Any], Argument] | None = x.__dict__.get("_made")
    if made is not None and all(map(_same, made[0], vars(x).values())):
        return made[1]
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    arguments = [
        converter(getattr(x, name), f"{argument}.{name}")
        for converter, name in zip(cls._CONVERTERS, names, strict=True)
    ]
    result: Argument = (lib.BRIDGE_VALUE, 0.0, handle(call(cls._CREATE, *arguments)))
    # The Value is made once for as long as the fields hold the same objects: a list can be changed.
    object.__setattr__(x, "_made", ([_copied(getattr(x, name)) for name in names], result))
    return result


def _same(before: Any, now: Any) -> bool:
    if type(before) is list and type(now) is list:
        return len(before) == len(now) and all(map(is_, before, now))
    return before is now


def record_result(cls: type[Self], result: CData) -> Self:
    """The record that a result holds, field by field through its readers."""
    argument = (lib.BRIDGE_VALUE, 0.0, handle(result))
    return cls(*[plain(call(reader, argument), object) for reader in cls._READERS])
