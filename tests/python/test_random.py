"""hmath.random: published vectors, NumPy's generators as oracles, statistics, contracts, bad input."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hmath
from hmath import errors, random, tensor

MAKERS: list[Callable[[], random.Generator]] = [
    random.pcg32,
    random.pcg64,
    random.xoshiro256starstar,
    random.splitmix64,
    random.philox4x32,
    random.mt19937,
]
WORD = 2**64
makers = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)


def seeded(maker: Callable[[], random.Generator], seed: int = 42) -> random.RNG:
    return random.seed_rng(maker(), seed)


def stream_of(draw: Callable[[random.RNG], tuple[Any, random.RNG]], rng: random.RNG) -> Iterator[Any]:
    """What drawing again and again gives."""
    while True:
        value, rng = draw(rng)
        yield value


def take(n: int, draw: Callable[[random.RNG], tuple[Any, random.RNG]], rng: random.RNG) -> list[Any]:
    values = stream_of(draw, rng)
    return [next(values) for _ in range(n)]


# ---------------------------------------------------------------- published numbers

VECTORS = re.findall(
    r"^VECTOR\((\w+), (\d+), (\d+), (\d+), (\w+)\)",
    (Path(__file__).resolve().parent.parent / "vectors" / "random.inc").read_text(),
    re.MULTILINE,
)


def test_every_published_vector_is_read() -> None:
    assert len(VECTORS) == 22


@pytest.mark.parametrize(
    ("name", "seed", "stream", "index", "output"),
    [
        (name, int(seed), int(stream), int(index), int(output, 0))
        for name, seed, stream, index, output in VECTORS
    ],
)
def test_published_outputs(name: str, seed: int, stream: int, index: int, output: int) -> None:
    make = getattr(random, name)
    rng = random.seed_rng(make(stream) if name.startswith("pcg") else make(), seed)
    assert take(index + 1, random.bits, rng)[index] == output


# ---------------------------------------------------------------- NumPy's generators


def numpy_pcg64(seed: int, stream: int) -> np.random.PCG64:
    """The author's srandom, in exact integers; NumPy seeds differently but steps alike."""
    multiplier, increment = 0x2360ED051FC65DA44385DF649FCCF645, stream << 1 | 1
    state = ((increment + seed) * multiplier + increment) % 2**128
    bit_generator = np.random.PCG64()
    bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": increment},
        "has_uint32": 0,
        "uinteger": 0,
    }
    return bit_generator


@pytest.mark.parametrize("stream", [0, 54, 2**63, WORD - 1])
@pytest.mark.parametrize("seed", [0, 42, 2**63, WORD - 1])
def test_pcg64_is_numpys(seed: int, stream: int) -> None:
    oracle, rng = numpy_pcg64(seed, stream), random.seed_rng(random.pcg64(stream), seed)
    assert take(20, random.bits, rng) == oracle.random_raw(20).tolist()
    jumped = random.jump(rng)
    oracle = numpy_pcg64(seed, stream).advance(2**64)
    assert take(20, random.bits, jumped) == oracle.random_raw(20).tolist()
    oracle = numpy_pcg64(seed, stream)
    values, _ = random.uniform_tensor([100_000], rng)
    assert np.array_equal(values.numpy(), np.random.Generator(oracle).random(100_000))


@pytest.mark.parametrize("seed", [0, 1, 5489, 2**32 - 1, 2**32, 0x0123456789ABCDEF, WORD - 1])
def test_mt19937_is_numpys(seed: int) -> None:
    oracle = np.random.MT19937()
    oracle._legacy_seeding(seed if seed < 2**32 else [seed % 2**32, seed >> 32])
    rng = seeded(random.mt19937, seed)
    assert take(1300, random.bits, rng) == oracle.random_raw(1300).tolist()
    oracle._legacy_seeding(seed if seed < 2**32 else [seed % 2**32, seed >> 32])
    values, _ = random.uniform_tensor([70_001], rng)
    assert np.array_equal(values.numpy(), np.random.RandomState(oracle).random_sample(70_001))


# ---------------------------------------------------------------- contracts


@makers
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_filling_is_drawing_one_by_one(maker: Callable[[], random.Generator], data: st.DataObject) -> None:
    rng = seeded(maker, data.draw(st.integers(0, WORD - 1), label="seed"))
    for _ in range(data.draw(st.integers(0, 3), label="outputs before")):
        _, rng = random.bits(rng)
    if data.draw(st.booleans(), label="a normal pending"):
        _, rng = random.normal(rng)
    n = data.draw(st.integers(0, 70), label="n")
    for draw, fill in ((random.uniform, random.uniform_tensor), (random.normal, random.normal_tensor)):
        values, after = fill([n], rng)
        expected, single = [], rng
        for _ in range(n):
            value, single = draw(single)
            expected.append(value)
        assert values.values == expected
        assert after == single


@makers
def test_threads_change_nothing(maker: Callable[[], random.Generator]) -> None:
    usual = hmath.get_num_threads()
    try:
        digests = set()
        for threads in (1, 2, 7):
            hmath.set_num_threads(threads)
            _, rng = random.normal(seeded(maker))
            values, after = random.normal_tensor([3, 50_001], rng)
            uniforms, last = random.uniform_tensor([150_003], after)
            digests.add((values.numpy().tobytes(), uniforms.numpy().tobytes(), last))
        assert len(digests) == 1
    finally:
        hmath.set_num_threads(usual)


@makers
def test_an_rng_is_immutable(maker: Callable[[], random.Generator]) -> None:
    rng = seeded(maker)
    before = pickle.dumps(rng)
    first = random.normal(rng)
    random.permutation(100, rng)
    random.uniform_tensor([100], rng)
    assert pickle.dumps(rng) == before
    assert random.normal(rng) == first


@makers
def test_tensors_have_the_shape_asked_for(maker: Callable[[], random.Generator]) -> None:
    rng = seeded(maker)
    for shape in ([], [0], [2, 0, 3], [2, 3], (4,), np.array([2, 2]), [1] * 8):
        values, after = random.uniform_tensor(shape, rng)
        assert values.shape == tuple(shape)
        assert isinstance(values, tensor.TensorDouble)
        assert (after == rng) == (values.numpy().size == 0)


@pytest.mark.parametrize(
    "bound", [1, 2, 3, 1000, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**62 + 1, 2**63 - 1]
)
@makers
def test_bounded_is_lemires_algorithm(maker: Callable[[], random.Generator], bound: int) -> None:
    """By definition: floor(x·bound/2^w), x drawn again where x·bound mod 2^w < 2^w mod bound."""
    rng = expected = seeded(maker, 7)
    wide = maker.__name__ in ("pcg64", "xoshiro256starstar", "splitmix64")
    width = 64 if wide or bound > 2**32 else 32
    for _ in range(40):
        while True:
            x, expected = random.bits(expected)
            if width == 64 and not wide:
                low, expected = random.bits(expected)
                x = x << 32 | low
            if x * bound % 2**width >= 2**width % bound:
                break
        value, rng = random.bounded(bound, rng)
        assert value == x * bound >> width
    assert rng == expected


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, WORD - 1), n=st.integers(0, 60))
def test_permutation_is_fisher_yates_from_the_end(seed: int, n: int) -> None:
    rng = seeded(random.xoshiro256starstar, seed)
    order, after = random.permutation(n, rng)
    expected = list(range(n))
    for i in range(n - 1, 0, -1):
        j, rng = random.bounded(i + 1, rng)
        expected[i], expected[j] = expected[j], expected[i]
    assert order == expected
    assert after == rng


def test_shuffle_follows_the_container() -> None:
    rng = seeded(random.pcg32)
    order, after = random.permutation(6, rng)
    words = ["a", 2, None, 4.5, [5], {"six": 6}]
    assert random.shuffle(words, rng) == ([words[i] for i in order], after)
    assert random.shuffle(tuple(words), rng)[0] == [words[i] for i in order]
    assert random.shuffle(range(6), rng)[0] == order

    rows = np.arange(12.0).reshape(6, 2)
    for data in (rows, rows.astype(np.int8), np.array(list("abcdef"))):
        shuffled, following = random.shuffle(data, rng)
        assert isinstance(shuffled, np.ndarray)
        assert shuffled.dtype == data.dtype
        assert np.array_equal(shuffled, data[order])
        assert following == after
    for make in (tensor.tensor, tensor.tensor_float):
        block = make([6, 2], rows.ravel().tolist())
        moved, following = random.shuffle(block, rng)
        assert type(moved) is type(block)
        assert np.array_equal(moved.numpy(), rows[order])
        assert following == after
    assert random.shuffle([], rng) == ([], rng)


def test_jump_drops_the_pending_normal_and_uniforms_keep_it() -> None:
    _, rng = random.normal(seeded(random.philox4x32))
    assert rng.pending
    sine, _ = random.normal(rng)
    for draw in (random.uniform, random.bits, lambda r: random.bounded(9, r)):
        _, after = draw(rng)
        assert after.pending
        assert random.normal(after)[0] == sine
    assert not random.jump(rng).pending


@makers
def test_jumped_streams_do_not_overlap(maker: Callable[[], random.Generator]) -> None:
    if maker is random.mt19937:
        with pytest.raises(errors.DomainError, match="rng is mt19937; required a generator that has a jump"):
            random.jump(seeded(maker))
        return
    rng = seeded(maker)
    windows = [set(zip(*[iter(take(400, random.bits, rng))] * 2, strict=True))]
    for _ in range(3):
        rng = random.jump(rng)
        windows.append(set(zip(*[iter(take(400, random.bits, rng))] * 2, strict=True)))
    assert sum(map(len, windows)) == len(set().union(*windows))


# ---------------------------------------------------------------- statistics
#
# Seeds are fixed, so these tests cannot fail by chance: the limit on p is the size of fault that counts.

LIKELY = 1e-3


@makers
def test_uniforms_are_uniform(maker: Callable[[], random.Generator]) -> None:
    values = random.uniform_tensor([50_000], seeded(maker, 1))[0].numpy()
    assert values.min() >= 0.0
    assert values.max() < 1.0
    assert stats.kstest(values, "uniform").pvalue > LIKELY
    pairs = np.histogram2d(values[::2], values[1::2], bins=16, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(pairs.ravel()).pvalue > LIKELY
    low_bits = (values * 2**53).astype(np.int64) & 255
    assert stats.chisquare(np.bincount(low_bits, minlength=256)).pvalue > LIKELY


@makers
def test_normals_are_normal(maker: Callable[[], random.Generator]) -> None:
    values = random.normal_tensor([50_000], seeded(maker, 2))[0].numpy()
    assert stats.kstest(values, "norm").pvalue > LIKELY
    # The two of a pair share their radius, and must still be independent.
    counts = np.histogram2d(values[::2] > 0.7, np.abs(values[1::2]) > 1.2, bins=2)[0]
    assert stats.chi2_contingency(counts).pvalue > LIKELY
    assert abs(np.corrcoef(values[::2], values[1::2])[0, 1]) < 4 / math.sqrt(25_000)
    assert abs(np.corrcoef(values[1:-1:2], values[2::2])[0, 1]) < 4 / math.sqrt(25_000)


@pytest.mark.parametrize("bound", [2, 7, 100])
@makers
def test_bounded_integers_are_equally_likely(maker: Callable[[], random.Generator], bound: int) -> None:
    values = take(5000, lambda rng: random.bounded(bound, rng), seeded(maker, 3))
    assert stats.chisquare(np.bincount(values, minlength=bound)).pvalue > LIKELY


def test_bounded_integers_have_no_bias_where_a_remainder_would() -> None:
    """3·2^30 of 2^32: by plain remainder the lowest third would come twice as often."""
    bound = 3 * 2**30
    values = np.array(take(6000, lambda rng: random.bounded(bound, rng), seeded(random.pcg32, 4)))
    assert stats.chisquare(np.histogram(values, bins=3, range=(0, bound))[0]).pvalue > LIKELY


@makers
def test_permutations_are_equally_likely(maker: Callable[[], random.Generator]) -> None:
    orders = Counter(map(tuple, take(4800, lambda rng: random.permutation(4, rng), seeded(maker, 5))))
    assert stats.chisquare([orders[order] for order in permutations(range(4))]).pvalue > LIKELY


# ---------------------------------------------------------------- owners


@makers
def test_names_pickles_and_copies(maker: Callable[[], random.Generator], no_leak: None) -> None:
    generator = maker()
    arguments = "stream=54" if maker.__name__.startswith("pcg") else ""
    assert repr(generator) == f"{maker.__name__}({arguments})"
    assert generator.name == maker.__name__
    assert generator.stream == (54 if arguments else None)
    assert generator == maker()
    assert hash(generator) == hash(maker())

    rng = random.seed_rng(generator, 9)
    assert repr(rng) == f"<RNG {maker.__name__}({arguments})>"
    assert rng.generator == generator
    _, half = random.normal(rng)
    assert repr(half) == f"<RNG {maker.__name__}({arguments}), a normal pending>"
    for owner in (generator, rng, half):
        for twin in (copy.copy(owner), copy.deepcopy(owner), pickle.loads(pickle.dumps(owner))):
            assert twin == owner
            assert type(twin) is type(owner)
            assert hash(twin) == hash(owner)
            twin.close()
        assert not owner.closed
    assert rng != half
    assert rng != generator
    assert random.normal(pickle.loads(pickle.dumps(half))) == random.normal(half)


def test_streams_differ_and_come_back() -> None:
    for make in (random.pcg32, random.pcg64):
        rngs = [random.seed_rng(make(stream=stream), 1) for stream in range(50)]
        assert len({tuple(take(4, random.bits, rng)) for rng in rngs}) == 50
        assert make(7) != make(8)
        assert random.seed_rng(make(7), 0).generator == make(7)
    assert random.seed_rng(random.pcg64(WORD - 1), 0).stream == WORD - 1


def test_with_blocks_close() -> None:
    with random.pcg32() as generator, random.seed_rng(generator, 1) as rng:
        assert not rng.closed
    assert rng.closed
    assert repr(rng) == "<closed RNG>"
    rng.close()
    for call in (
        lambda: random.uniform(rng),
        lambda: random.normal_tensor([2], rng),
        lambda: random.shuffle([1, 2], rng),
        lambda: random.bounded(3, rng),
        lambda: rng.pending,
        lambda: pickle.dumps(rng),
        lambda: copy.copy(rng),
    ):
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(ValueError, match=r"random\.seed_rng: generator is closed"):
        random.seed_rng(generator, 1)


def test_owners_are_made_by_functions() -> None:
    for cls in (random.RNG, random.Generator):
        with pytest.raises(TypeError):
            cls()


# ---------------------------------------------------------------- stored states


@settings(max_examples=200, deadline=None)
@given(maker=st.sampled_from(MAKERS), data=st.data())
def test_hostile_states_are_refused(maker: Callable[[], random.Generator], data: st.DataObject) -> None:
    load, (state,) = seeded(maker).__reduce__()
    at = data.draw(st.integers(0, len(state) - 1))
    changed = bytearray(state)
    changed[at] ^= data.draw(st.integers(1, 255))
    for bad in (bytes(changed), state[:at], state + b"\0"):
        with pytest.raises((errors.DomainError, errors.DimensionMismatch)):
            load(bad)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_noise_is_no_state(noise: bytes) -> None:
    load, _ = seeded(random.pcg32).__reduce__()
    with pytest.raises(errors.HMathError):
        load(noise)


def test_stored_states_never_change() -> None:
    """The bytes that version 1 wrote: every later version has to read them."""
    load, (state,) = random.normal(seeded(random.pcg32))[1].__reduce__()
    assert state == bytes.fromhex(STORED)
    assert load(bytes.fromhex(STORED)) == random.normal(seeded(random.pcg32))[1]


STORED = (
    "484d72616e646f6d01000000010000000100000001000000ab53b83e3156f6bf"
    "94f616aa979ebfeb6d000000000000003936253f94d7aaeb"
)


# ---------------------------------------------------------------- bad input

RNG = seeded(random.pcg64)
GENERATOR = random.pcg64()

BAD: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: random.seed_rng(GENERATOR, -1),
        errors.DomainError,
        "seed = -1; required >= 0 and < 2",
    ),
    (lambda: random.seed_rng(GENERATOR, WORD), errors.Overflow, "seed"),
    (lambda: random.seed_rng(GENERATOR, -(2**63) - 1), errors.Overflow, "seed"),
    (lambda: random.seed_rng(GENERATOR, True), errors.TypeMismatch, "seed is a bool; required Int"),
    (lambda: random.seed_rng(GENERATOR, np.True_), errors.TypeMismatch, "seed"),
    (lambda: random.seed_rng(GENERATOR, 2.0), errors.TypeMismatch, "seed is a float"),
    (lambda: random.seed_rng(GENERATOR, "1"), errors.TypeMismatch, "seed is a str"),
    (lambda: random.seed_rng(GENERATOR, None), errors.TypeMismatch, "seed"),
    (lambda: random.seed_rng(RNG, 1), errors.TypeMismatch, "generator is an RNG; required Generator"),
    (lambda: random.seed_rng(RNG, -1), errors.TypeMismatch, "generator is an RNG"),
    (lambda: random.seed_rng(RNG, WORD), errors.TypeMismatch, "generator is an RNG"),
    (lambda: random.seed_rng("pcg32", 1), errors.TypeMismatch, "generator is a str"),
    (lambda: random.seed_rng("pcg32", -1), errors.TypeMismatch, "generator"),
    (lambda: random.pcg32(-1), errors.DomainError, "stream"),
    (lambda: random.pcg64(stream=WORD), errors.Overflow, "stream"),
    (lambda: random.pcg64(1.5), errors.TypeMismatch, "stream"),
    (lambda: random.uniform(GENERATOR), errors.TypeMismatch, "rng is a Generator; required RNG"),
    (lambda: random.uniform(42), errors.TypeMismatch, "rng is an int; required RNG"),
    (lambda: random.normal(tensor.tensor([1], [1])), errors.TypeMismatch, "rng is a Tensor Double"),
    (lambda: random.bits(None), errors.TypeMismatch, "rng"),
    (lambda: random.bounded(0, RNG), errors.DomainError, "random.bounded: bound = 0; required >= 1"),
    (lambda: random.bounded(-5, RNG), errors.DomainError, "bound = -5"),
    (lambda: random.bounded(2**63, RNG), errors.Overflow, "bound"),
    (lambda: random.bounded(True, RNG), errors.TypeMismatch, "bound"),
    (lambda: random.bounded(6.0, RNG), errors.TypeMismatch, "bound"),
    (lambda: random.bounded(0, GENERATOR), errors.TypeMismatch, "rng"),
    (lambda: random.permutation(-1, RNG), errors.DomainError, "n = -1; required >= 0"),
    (lambda: random.permutation(2.5, RNG), errors.TypeMismatch, "n"),
    (lambda: random.permutation(2**60, RNG), MemoryError, "memory"),
    (lambda: random.uniform_tensor([2, -3], RNG), errors.DomainError, r"shape\[1\] = -3"),
    (lambda: random.normal_tensor([1] * 9, RNG), errors.DimensionMismatch, "shape"),
    (lambda: random.normal_tensor([-1] * 9, GENERATOR), errors.TypeMismatch, "rng"),
    (lambda: random.uniform_tensor([2**40, 2**40], RNG), MemoryError, "memory"),
    (lambda: random.uniform_tensor([2**58], RNG), MemoryError, "memory"),
    (lambda: random.uniform_tensor([2**63], RNG), errors.Overflow, "shape"),
    (lambda: random.uniform_tensor(3, RNG), errors.TypeMismatch, "shape"),
    (lambda: random.uniform_tensor([2.0], RNG), errors.TypeMismatch, "shape"),
    (lambda: random.uniform_tensor("22", RNG), errors.TypeMismatch, "shape"),
    (lambda: random.shuffle(5, RNG), errors.TypeMismatch, "values is an int"),
    (lambda: random.shuffle("abc", RNG), errors.TypeMismatch, "values is a str"),
    (lambda: random.shuffle({1: 2}, RNG), errors.TypeMismatch, "values"),
    (lambda: random.shuffle([1, 2], GENERATOR), errors.TypeMismatch, "rng"),
    (lambda: random.shuffle(np.array(1.0), RNG), errors.DimensionMismatch, "rank 0"),
    (lambda: random.shuffle(np.array(1.0), GENERATOR), errors.TypeMismatch, "rng"),
    (lambda: random.shuffle(tensor.tensor([], [1]), GENERATOR), errors.TypeMismatch, "rng"),
    (lambda: random.shuffle(tensor.tensor([], [1]), RNG), errors.DimensionMismatch, "rank 0"),
    (lambda: random.jump(GENERATOR), errors.TypeMismatch, "rng"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input(call: Callable[[], object], error: type[Exception], text: str) -> None:
    before = pickle.dumps(RNG)
    with pytest.raises(error, match=text if error is not errors.Overflow else "representable"):
        call()
    assert pickle.dumps(RNG) == before


def test_failures_lose_nothing(no_leak: None) -> None:
    for call, error, _ in BAD:
        with pytest.raises(error):
            call()


def test_seeds_may_be_numpys() -> None:
    expected = seeded(random.pcg64, 2**63)
    assert random.seed_rng(GENERATOR, np.uint64(2**63)) == expected
    assert random.seed_rng(GENERATOR, np.int8(7)) == seeded(random.pcg64, 7)
    with pytest.raises(errors.DomainError):
        random.seed_rng(GENERATOR, np.int64(-7))


def test_shuffle_names_itself() -> None:
    for values in ([1, 2], np.arange(2), tensor.zeros([2])):
        with pytest.raises(hmath.TypeMismatch, match=r"random\.shuffle: rng is a NoneType"):
            random.shuffle(values, None)  # type: ignore[type-var]


def test_a_stored_state_is_as_long_as_its_memory() -> None:
    class Misleading(bytes):
        def __len__(self) -> int:
            return 1000

    restore, (state,) = random.pcg64().__reduce__()
    assert restore(Misleading(state)) == random.pcg64()
