# Owners of handles, and the short ways into the library: python/native/.
#
# A short way returns None where anything is not usual, a refusal included: take the longer way then.
from collections.abc import Callable
from typing import Any, TypeVar

H = TypeVar("H", bound=Handle)

class Handle:
    """One reference to a value of the library, given back when the object goes."""

    @property
    def _handle(self) -> Any:
        """The handle as cffi's functions take it; None: dropped."""
    @property
    def _dropped(self) -> bool:
        """Whether the reference was given back."""
    def _drop(self) -> None:
        """Give the reference back. Doing it twice is fine."""

def own(cls: type[H], address: int, /) -> H:
    """A handle for a reference that is ours."""

def adopt(cls: type[H], view: Any, /) -> H:
    """A handle for a cdata that owns its reference."""

def owns(kind: int, cls: type[Handle], /) -> None:
    """From now on results of this kind are handles of this class."""

def address(x: Any, /) -> int | None:
    """Of an open handle's value; None for anything else."""

def views(view_of: Callable[[int], Any], address_of: Callable[[Any], int], /) -> None:
    """How cffi makes its owning object of an address that has a reference, and back."""

def context() -> int:
    """The address of this thread's context, or 0."""

def use_context(address: int, /) -> None:
    """Make a context this thread's, which has none yet. It goes with the thread."""

def know_array(array_class: type[Any], /) -> None:
    """NumPy's ndarray: from now on arrays may stand for lists."""

def short(address: int, form: str, /) -> Callable[..., Any]:
    """The short way into the function at an address; the forms are listed in short.c."""

def reduction(address: int, /) -> Callable[..., Any]:
    """The short way into a reduction: of a tensor and an axis, None for all."""

def packed(rows: Any, count: int, columns: int, bools: bool, address: int, /) -> bool:
    """Write the elements of equal rows, plain bools or plain numbers, to an address; False: they are not."""

def unpacked(address: int, rows: int, columns: int, bools: bool, /) -> list[list[Any]]:
    """The bools or doubles at an address as a list of lists, each row one of its own."""

def tensor(shape: Any, values: Any, /) -> Any:
    """A TensorDouble."""

def zeros(shape: Any, /) -> Any:
    """A TensorDouble of zeros."""

def reshaped(tensor: Any, shape: Any, /) -> Any:
    """The tensor under another shape, in which one extent may be -1."""

def picked(tensor: Any, index: Any, /) -> Any:
    """What an int, a slice, or as many ints as there are axes pick: a number or a tensor."""

def shape(tensor: Any, /) -> tuple[int, ...] | None:
    """The extents of a tensor."""

def values(tensor: Any, /) -> list[float] | None:
    """The elements of a TensorDouble, row-major."""

def run(program: Handle, inputs: tuple[Any, ...], /) -> list[Any] | int | None:
    """The outputs of a program; None, and nothing ran, where an input is not usual; a failure's status."""

def capsule(address: int, versioned: bool, /) -> Any:
    """A DLPack capsule that owns the structure there."""

def take(capsule: Any, versioned: bool, /) -> int:
    """Take the structure of a capsule: its address; 0 where it is none of that version or was taken."""

def give_back(capsule: Any, versioned: bool, /) -> None:
    """What was taken is the capsule's again."""
