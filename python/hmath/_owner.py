"""Owned handles: a Python object that holds one reference to an immutable value."""

from __future__ import annotations

from types import TracebackType
from typing import Any, ClassVar, TypeVar

from ._failure import closed
from ._hmath import ffi, lib

Self = TypeVar("Self", bound="Owner")
_gc = ffi.gc
_release = lib.hmath_release


class Owner:
    """Base of everything that owns a handle of the library.

    The handle is given back by ``close()``, at the end of a ``with`` block, or when the object goes.
    Values are immutable, so an owner may be used from several threads, and a copy shares the value.
    Using an owner after it was closed is a ``ValueError``.
    """

    __slots__ = ("__weakref__", "_handle")

    KIND: ClassVar[int]
    """``HMATH_KIND_...`` of the values that this class owns."""

    _handle: Any

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError(f"{type(self).__name__} objects are made by functions, not by their class")

    def close(self) -> None:
        """Give the handle back. Closing twice is fine."""
        # Only the reference is dropped: another thread may be inside a call with the same handle.
        self._handle = None

    @property
    def closed(self) -> bool:
        return self._handle is None

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
        return wrap(type(self), lib.hmath_retain(self._open()))

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<closed {name}>" if self._handle is None else self._describe()

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
    """An owner of the class for a reference that is ours."""
    owner: Self = cls.__new__(cls)
    owner._handle = _gc(value, _release)
    return owner


def adopt(cls: type[Self], handle: Any) -> Self:
    """An owner of the class for a handle that is already owned (by ``ffi.gc``)."""
    owner: Self = cls.__new__(cls)
    owner._handle = handle
    return owner
