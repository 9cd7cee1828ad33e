"""Owned handles: a Python object that holds one reference to an immutable value."""

from __future__ import annotations

from types import TracebackType
from typing import Any, ClassVar, TypeVar

from . import _native
from ._failure import closed, made_by_functions
from ._hmath import ffi, lib
from ._native import Handle, adopt, own

__all__ = ["Handle", "Owner", "adopt", "own", "view_of", "wrap"]

Self = TypeVar("Self", bound="Owner")
_gc = ffi.gc
_cast = ffi.cast
_release = lib.hmath_release
_VALUE = ffi.typeof("hmath_value *")
_ADDRESS = ffi.typeof("uintptr_t")


def view_of(address: int) -> Any:
    """cffi's object for a reference that is ours: it gives it back when it goes."""
    return _gc(_cast(_VALUE, address), _release)


def _address_of(view: Any) -> int:
    return int(_cast(_ADDRESS, view))


_native.views(view_of, _address_of)


class Owner(Handle):
    """Base of everything that owns a handle of the library.

    The handle is given back by ``close()``, at the end of a ``with`` block, or when the object goes.
    Values are immutable, so an owner may be used from several threads, and a copy shares the value.
    Using an owner after it was closed is a ``ValueError``.
    """

    __slots__ = ()

    KIND: ClassVar[int]
    """``HMATH_KIND_...`` of the values that this class owns."""

    def __init__(self, *_: object, **__: object) -> None:
        raise made_by_functions(type(self))

    # Only the reference is dropped: another thread may be inside a call with the same value.
    close = Handle._drop

    @property
    def closed(self) -> bool:
        return self._dropped

    def __enter__(self: Self) -> Self:
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __copy__(self: Self) -> Self:
        """Another owner of the same value, closed on its own."""
        return adopt(type(self), self._open())

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} objects cannot be pickled")

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<closed {name}>" if self._dropped else self._describe()

    def _describe(self) -> str:
        """The repr of an open owner."""
        return f"<{type(self).__name__}>"

    def _open(self, argument: str = "self") -> Any:
        """The handle; a ValueError where the owner is closed."""
        handle = self._handle
        if handle is None:
            raise closed(argument)
        return handle


def wrap(cls: type[Self], value: Any) -> Self:
    """An owner of the class for a reference that is ours, as a function of the library wrote it."""
    return own(cls, _address_of(value))
