"""Random numbers as values: generators, immutable continuations, and what is drawn from them.

A :class:`Generator` names an algorithm (and of some, one of many streams); seeding it gives an
:class:`RNG`, which is the algorithm, its state, and the standard normal that the latest draw may have
left over. Every draw returns what was drawn and the next RNG. The old one stays what it was and draws
the same again; there is no hidden state and no global generator::

    from hmath import random

    with random.pcg32() as generator, random.seed_rng(generator, 42) as rng:
        u, rng1 = random.uniform(rng)  # 0.6303102186438938, here and everywhere
        z, rng2 = random.normal(rng1)

The streams are a contract: the same seed gives the same draws, to the last bit, on every machine and for
every number of threads, in all versions with the same ``HMATH_NUMERICS_VERSION``. Drawing n numbers at
once is drawing them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._call import check, context, invoke
from ._convert import _numpy_array, int_list, integer, sequence, value
from ._failure import dimension_mismatch, domain_error, overflow, type_mismatch
from ._hmath import ffi, lib
from ._owner import Owner, adopt, wrap
from ._result import owns
from ._surface import shown
from .tensor import Tensor, TensorDouble

if TYPE_CHECKING:
    from ._typing import Integers, RowsT

__all__ = [
    "RNG",
    "Generator",
    "bits",
    "bounded",
    "jump",
    "mt19937",
    "normal",
    "normal_tensor",
    "pcg32",
    "pcg64",
    "permutation",
    "philox4x32",
    "seed_rng",
    "shuffle",
    "splitmix64",
    "uniform",
    "uniform_tensor",
    "xoshiro256starstar",
]

__dir__ = shown(__all__)

T = TypeVar("T")

_new = ffi.new
_VALUE_OUT = ffi.typeof("hmath_value **")
_DOUBLE_OUT = ffi.typeof("double *")
_INT_OUT = ffi.typeof("int64_t *")
_WORD_OUT = ffi.typeof("uint64_t *")


# ---------------------------------------------------------------- owners


class _Saved(Owner):
    """An owner whose value has a stored form: it pickles by it, and compares by it."""

    __slots__ = ()

    def _save(self) -> bytes:
        handle = self._open()
        size = lib.hmath_random_saved_size(handle)
        out = _new("unsigned char[]", size)
        check(lib.hmath_random_save(handle, out, size))
        return bytes(ffi.buffer(out))

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self._save(),)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return self._save() == other._save()

    def __hash__(self) -> int:
        return hash(self._save())

    @property
    def name(self) -> str:
        """The algorithm: the name of the function that makes its generator."""
        return str(ffi.string(lib.hmath_random_generator_name(self._open())).decode())

    @property
    def stream(self) -> int | None:
        """Which of the algorithm's streams; None where it has only one."""
        out = _new(_WORD_OUT)
        status = lib.hmath_random_generator_stream(self._open(), out)
        return None if status else int(out[0])

    def _call_text(self) -> str:
        stream = self.stream
        return f"{self.name}()" if stream is None else f"{self.name}(stream={stream})"


def _load(state: bytes) -> Any:
    """What was pickled. Any bytes may come here: those that are no saved state are a MathError."""
    data = ffi.from_buffer(state)
    handle = invoke(lib.hmath_random_load, data, len(data))
    return adopt(_CLASSES[lib.hmath_kind(handle)], handle)


@owns(lib.HMATH_KIND_GENERATOR)
class Generator(_Saved):
    """An algorithm for random numbers, before it is seeded. Two that name the same are equal."""

    __slots__ = ()

    def _describe(self) -> str:
        return self._call_text()


@owns(lib.HMATH_KIND_RNG)
class RNG(_Saved):
    """A seeded generator at one point of its stream: immutable. Equal ones draw the same for ever.

    Made by :func:`seed_rng` and by every draw. Copies share the state; pickles carry all of it.
    """

    __slots__ = ()

    @property
    def generator(self) -> Generator:
        """The generator it was seeded from."""
        return adopt(Generator, invoke(lib.hmath_random_generator, self._open()))

    @property
    def pending(self) -> bool:
        """Whether the next normal is already there, from the pair that the latest one came from."""
        return bool(lib.hmath_random_pending(self._open()) == 1)

    def _describe(self) -> str:
        pending = ", a normal pending" if self.pending else ""
        return f"<RNG {self._call_text()}{pending}>"


_CLASSES: dict[int, type[Any]] = {
    lib.HMATH_KIND_GENERATOR: Generator,
    lib.HMATH_KIND_RNG: RNG,
}


# ---------------------------------------------------------------- arguments


def _word(x: Any, argument: str) -> int:
    """An integer of 0 ... 2**64 - 1."""
    if type(x) is int and 0 <= x < 2**64:
        return x
    if type(x).__name__ == "uint64":  # NumPy's: may hold what 64 signed bits cannot
        x = int(x)
    elif type(x) is not int:
        x = integer(x, argument)[3]
    if x >= 2**64 or x < -(2**63):
        raise overflow(argument)
    if x < 0:
        raise domain_error(argument, x, ">= 0 and < 2**64")
    return int(x)


def _handle(x: Any, argument: str, expected: str) -> Any:
    return value(x, argument, expected)[2]


def _draw(function: Any, out: Any, *arguments: Any) -> tuple[Any, RNG]:
    """``function(context, *arguments, out, next)``; what stands in `out` afterwards, and the next RNG."""
    following = _new(_VALUE_OUT)
    check(function(context(), *arguments, out, following))
    return out[0], wrap(RNG, following[0])


# ---------------------------------------------------------------- generators


def pcg32(stream: int = 54) -> Generator:
    """PCG-XSH-RR 64/32 (O'Neill 2014): 32-bit outputs, period 2**64.

    Args:
        stream: 0 ... 2**64 - 1, of which the lower 63 bits count; 54 is the published demonstration's.

    Raises:
        TypeMismatch, DomainError, Overflow: `stream` is no integer, is negative, is 2**64 or more.
    """
    return adopt(Generator, invoke(lib.hmath_random_pcg32_create, _word(stream, "stream")))


def pcg64(stream: int = 54) -> Generator:
    """PCG-XSL-RR 128/64 (O'Neill 2014): 64-bit outputs, period 2**128. `stream` as for :func:`pcg32`."""
    return adopt(Generator, invoke(lib.hmath_random_pcg64_create, _word(stream, "stream")))


def xoshiro256starstar() -> Generator:
    """xoshiro256** (Blackman and Vigna 2021): 64-bit outputs, period 2**256 - 1."""
    return adopt(Generator, invoke(lib.hmath_random_xoshiro256starstar_create))


def splitmix64() -> Generator:
    """splitmix64 (Steele, Lea and Flood 2014; Vigna 2015): 64-bit outputs, period 2**64."""
    return adopt(Generator, invoke(lib.hmath_random_splitmix64_create))


def philox4x32() -> Generator:
    """Philox4x32-10 (Salmon et al. 2011): counter-based, 32-bit outputs, period 2**130."""
    return adopt(Generator, invoke(lib.hmath_random_philox4x32_create))


def mt19937() -> Generator:
    """The Mersenne Twister (Matsumoto and Nishimura 1998): 32-bit outputs, period 2**19937 - 1, no jump."""
    return adopt(Generator, invoke(lib.hmath_random_mt19937_create))


def seed_rng(generator: Generator, seed: int) -> RNG:
    """The generator at the start of its stream, by its published seeding procedure.

    Args:
        generator: what to seed.
        seed: 0 ... 2**64 - 1. ``mt19937`` takes seeds below 2**32 by ``init_genrand``, others as the key
            array [low, high]; ``philox4x32`` as its key, with counter 0.

    Raises:
        TypeMismatch, DomainError, Overflow: `seed` is no integer, is negative, is 2**64 or more.
    """
    if not isinstance(generator, Generator):  # kinds come before what the seed is
        raise type_mismatch("generator", "Generator", generator)
    handle = _handle(generator, "generator", "Generator")
    return adopt(RNG, invoke(lib.hmath_random_seed, handle, _word(seed, "seed")))


# ---------------------------------------------------------------- single draws


def bits(rng: RNG) -> tuple[int, RNG]:
    """The generator's next output as it is, an integer of 32 or 64 bits: the published sequence."""
    return _draw(lib.hmath_random_bits, _new(_WORD_OUT), _handle(rng, "rng", "RNG"))


def uniform(rng: RNG) -> tuple[float, RNG]:
    """U[0, 1): a multiple of 2**-53, from one output of 64 bits or two of 32."""
    return _draw(lib.hmath_random_uniform, _new(_DOUBLE_OUT), _handle(rng, "rng", "RNG"))


def normal(rng: RNG) -> tuple[float, RNG]:
    """N(0, 1) by Box and Muller (1958): √(-2 ln(1-u₁))·cos 2πu₂ of two uniforms.

    The sine of the same pair stays pending and is the next normal, which then takes no uniforms.
    """
    return _draw(lib.hmath_random_normal, _new(_DOUBLE_OUT), _handle(rng, "rng", "RNG"))


def bounded(bound: int, rng: RNG) -> tuple[int, RNG]:
    """An integer of 0 ... bound - 1, each equally likely (Lemire 2019).

    Takes 64 bits, or 32 where the generator gives 32 and bound ≤ 2**32; seldom more.

    Raises:
        DomainError: bound < 1.
    """
    number = integer(bound, "bound")[3]
    return _draw(lib.hmath_random_bounded, _new(_INT_OUT), number, _handle(rng, "rng", "RNG"))


# ---------------------------------------------------------------- many draws


def uniform_tensor(shape: Integers, rng: RNG) -> tuple[TensorDouble, RNG]:
    """A tensor of uniforms, filled row-major: element i is draw i.

    Args:
        shape: up to eight extents ≥ 0.

    Raises:
        DomainError: an extent is negative. DimensionMismatch: more than eight. MemoryError: too many
            elements.
    """
    return _draw_tensor(lib.hmath_random_uniform_tensor, shape, rng)


def normal_tensor(shape: Integers, rng: RNG) -> tuple[TensorDouble, RNG]:
    """A tensor of standard normals; the first is the pending one, if there is one.

    `shape` and errors as for :func:`uniform_tensor`.
    """
    return _draw_tensor(lib.hmath_random_normal_tensor, shape, rng)


def _draw_tensor(function: Any, shape: Integers, rng: RNG) -> tuple[TensorDouble, RNG]:
    extents = int_list(shape, "shape")
    handle = _handle(rng, "rng", "RNG")
    out, following = _draw(function, _new(_VALUE_OUT), len(extents), extents, handle)
    return wrap(TensorDouble, out), following


def permutation(n: int, rng: RNG) -> tuple[list[int], RNG]:
    """0 ... n - 1 in random order (Fisher and Yates, from the end), each of the n! equally likely.

    Raises:
        DomainError: n < 0.
    """
    return _permutation(integer(n, "n")[3], rng)


def _permutation(n: int, rng: RNG) -> tuple[list[int], RNG]:
    out, following = _draw(lib.hmath_random_permutation, _new(_VALUE_OUT), n, _handle(rng, "rng", "RNG"))
    return _integers_of(out), following


def _integers_of(handle: Any) -> list[int]:
    """The numbers of a list of Int that is ours to release."""
    data, length = _new("const int64_t **"), _new("size_t *")
    try:
        check(lib.hmath_list_ints(handle, data, length))
        return list(ffi.unpack(data[0], length[0])) if length[0] else []
    finally:
        lib.hmath_release(handle)


@overload
def shuffle(values: RowsT, rng: RNG) -> tuple[RowsT, RNG]: ...
@overload
def shuffle(values: Sequence[T], rng: RNG) -> tuple[list[T], RNG]: ...
def shuffle(values: Any, rng: RNG) -> tuple[Any, RNG]:
    """The same elements in random order: ``values[order[0]], values[order[1]], ...`` of :func:`permutation`.

    Args:
        values: any sequence, whose elements are never looked at, giving a list; or a Tensor or a NumPy
            array of any type, whose rows (along axis 0) change places.

    Raises:
        TypeMismatch: no sequence. DimensionMismatch: a Tensor or array of rank 0.
    """
    if isinstance(values, Tensor):
        handle = _handle(values, "values", "Tensor")
        out, following = _draw(lib.hmath_random_shuffle, _new(_VALUE_OUT), handle, _handle(rng, "rng", "RNG"))
        return wrap(type(values), out), following
    rows = _numpy_array(values)
    if rows is None:
        items = sequence(values, "values", "List or Tensor")
        order, following = _permutation(len(items), rng)
        return [items[i] for i in order], following
    order, following = _permutation(len(rows) if rows.ndim else 0, rng)
    if not rows.ndim:  # only now: the kind of rng comes first
        raise dimension_mismatch("values", "rank >= 1", "rank 0")
    return values[order], following


def jump(rng: RNG) -> RNG:
    """Far ahead in the same stream: 2**128 outputs for xoshiro256starstar, 2**64 for pcg64 and
    philox4x32, 2**32 for pcg32 and splitmix64. A pending normal is dropped.

    RNGs that are jumps apart can be used side by side without ever drawing the same numbers.

    Raises:
        DomainError: mt19937, which has no jump.
    """
    return adopt(RNG, invoke(lib.hmath_random_jump, _handle(rng, "rng", "RNG")))
