"""Owners, and the short ways into the library: they leak nothing, and answer as the longer way does."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import pickle
import sys
import threading
import weakref
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hmath
from hmath import HMathError, _native, autodiff, random, tensor
from hmath import deeplearning_core as core
from hmath import deeplearning_layers as layers
from hmath import deeplearning_precision as precision
from hmath._hmath import ffi, lib
from hmath._native import Handle, own
from hmath._owner import Owner
from hmath.autodiff import _custom


def ones(*shape: int) -> tensor.TensorDouble:
    return tensor.full(shape, 1.0)


# ---------------------------------------------------------------- owners


def test_the_value_goes_with_its_owner() -> None:
    alive = lib.hmath_live_values()
    made = ones(3)
    assert lib.hmath_live_values() == alive + 1
    del made
    assert lib.hmath_live_values() == alive


@pytest.mark.parametrize("look", [lambda x: None, lambda x: x._handle, repr, lambda x: x + 1.0])
def test_closing_gives_back_both_forms(look: Callable[[Any], object]) -> None:
    alive = lib.hmath_live_values()
    made = ones(3)
    look(made)
    made.close()
    made.close()
    assert made.closed and made._handle is None
    assert lib.hmath_live_values() == alive
    with pytest.raises(ValueError, match=r"tensor\.add: left is closed"):
        made + 1.0


def test_a_view_outlives_its_owner(no_leak: None) -> None:
    """A call that is under way in another thread has one."""
    made = ones(3)
    view = made._handle
    assert made._handle is view
    made.close()
    assert lib.hmath_tensor_size(view) == 3


def test_what_a_call_returned_is_held_as_it_is_needed(no_leak: None) -> None:
    """From a view alone, as nodes are made, the short way finds the value."""
    x = autodiff.variable("x")
    y = (x * 2.0 + 1.0) ** 2
    assert autodiff.evaluate(y, {x: 1.0}) == 9.0
    del x, y
    gc.collect()


def test_owners_are_weakly_referenced_compared_and_copied(no_leak: None) -> None:
    made = ones(2)
    seen: list[object] = []
    reference = weakref.ref(made, seen.append)
    assert reference() is made
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(other) is tensor.TensorDouble and other is not made and other.identical(made)
        other.close()
        assert not made.closed
    del made, other
    assert reference() is None and seen == [reference]


def test_subclasses_are_owners_of_their_own(no_leak: None) -> None:
    class Named(tensor.TensorDouble):
        me: Named

    made = own(Named, hmath._owner._address_of(lib.hmath_retain(ones(2, 2)._handle)))
    made.me = made  # a cycle, which the collector finds
    assert type(made.reshape(4)) is Named and type(made[0]) is Named
    assert type(made + 1.0) is tensor.TensorDouble
    assert isinstance(made, Handle) and (made + 1.0).values == [2.0] * 4
    del made


@pytest.mark.parametrize(
    "cls", [tensor.TensorDouble, random.RNG, layers.KVCache, autodiff.Expr, autodiff.Program]
)
def test_an_owner_of_nothing_is_closed(cls: type[Owner]) -> None:
    """``cls.__new__(cls)`` had no attribute ``_handle``."""
    nothing = cls.__new__(cls)
    assert nothing.closed and repr(nothing) == f"<closed {cls.__name__}>"
    nothing.close()
    with pytest.raises(ValueError, match="is closed"), nothing:
        pass
    with pytest.raises(TypeError, match="made by functions"):
        cls()


@pytest.mark.parametrize("cls", [core.Activation, core.Loss, core.Reduction, layers.Training])
def test_there_is_no_selector_of_nothing(cls: Any) -> None:
    """It had no name to show, to compare or to hash."""
    for make in (cls, lambda: cls.__new__(cls)):
        with pytest.raises(
            TypeError, match=f"^{cls.__name__} objects are made by functions, not by their class$"
        ):
            make()


def test_arguments_are_referenced_no_longer_than_the_call() -> None:
    made, numbers, method = ones(2, 2), [1.0, 2.0], core.Huber(1.0)
    arguments: list[Any] = [made, numbers, method]
    before = [sys.getrefcount(x) for x in arguments]
    for _ in range(100):
        made + made
        made + 1.0
        made.sum(0)
        made[0]
        made.reshape(-1)
        layers.dense(made, made, numbers)
        core.loss(method, core.Mean, numbers, numbers)
        core.softmax(numbers)
        tensor.tensor([2], numbers)
        for refused in (lambda: made + ones(3), lambda: core.loss(method, core.Mean, numbers, [1.0])):
            with pytest.raises(HMathError):
                refused()
    assert [sys.getrefcount(x) for x in arguments] == before


def test_calls_leave_no_memory_behind(no_leak: None) -> None:
    """Blocks of Python's own allocator: a reference lost a call would be a thousand of them."""
    made, numbers, line = ones(2, 2), [1.0, 2.0], np.array([1.0, 2.0])

    def calls() -> None:
        for _ in range(1000):
            _ = made.sum(), made[0], made[0, 1], made[:1], made.values, made.shape
            core.activation(core.GELU, 0.5), core.activation(core.GELU, made)
            core.softmax(numbers), core.softmax(line), core.loss(core.CosineLoss, core.Sum, line, numbers)
            _ = tensor.tensor([2], numbers)._handle

    calls()
    gc.collect()
    before = sys.getallocatedblocks()
    calls()
    gc.collect()
    assert sys.getallocatedblocks() - before < 100


def test_values_go_while_an_exception_is_on_its_way(no_leak: None) -> None:
    """Functions of Python's go with a graph, and memory of NumPy's with a tensor."""
    x, before = autodiff.variable("x"), len(_custom._customs)

    def never(*_: object) -> None: ...

    for make in (
        lambda: autodiff.custom([x], lambda values: 1.0),
        lambda: tensor.from_dlpack(np.zeros(3)),
        lambda: tensor.zeros([2]).__dlpack__(),
    ):
        with pytest.raises(ZeroDivisionError):
            never(make(), 1 / 0)
    assert len(_custom._customs) == before


# ---------------------------------------------------------------- threads


def test_one_thread_closes_what_another_one_uses(no_leak: None) -> None:
    """Every use is a result or the failure of a closed owner, in both ways, above and below the tiny size."""
    failures: list[BaseException] = []

    def try_one(operation: Callable[[Any], object], x: Any) -> None:
        try:
            operation(x)
        except BaseException as error:
            if not isinstance(error, ValueError) or "is closed" not in str(error):
                failures.append(error)

    def use(shared: list[Any], start: threading.Barrier, operation: Callable[[Any], object]) -> None:
        start.wait()
        for x in shared:
            try_one(operation, x)

    def close(shared: list[Any], start: threading.Barrier) -> None:
        start.wait()
        for x in shared:
            x.close()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for size in (4, 2048):
            for operation in (
                lambda x: x + x,
                lambda x: x.sum(),
                lambda x: x.values,
                lambda x: x._handle,
                lambda x: tensor.concatenate([x, x]),
            ):
                shared = [ones(size) for _ in range(300)]
                start = threading.Barrier(2)
                threads = [
                    threading.Thread(target=use, args=(shared, start, operation)),
                    threading.Thread(target=close, args=(shared, start)),
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                del shared, threads
    finally:
        sys.setswitchinterval(interval)
    assert failures == []


def test_a_context_goes_with_its_thread() -> None:
    """Two thousand threads leave nothing: a context that stayed would be 4 kB and more each."""

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def run(count: int) -> None:
        for _ in range(count):
            thread = threading.Thread(target=lambda: ones(2) + tensor.concatenate([ones(1), ones(1)]))
            thread.start()
            thread.join()

    run(100)
    before = resident()
    run(2000)
    assert resident() - before < 4 << 20


# Python 3.12 and later warn of threads at a fork; pytest-xdist has some, as the library's own pool has.
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_goes_on() -> None:
    made = ones(2)
    child = os.fork()
    if child == 0:
        os._exit(0 if (made + 1.0).values == [2.0, 2.0] and (ones(2, 2) @ ones(2, 2))[0, 0] == 2.0 else 1)
    assert os.waitpid(child, 0)[1] == 0


# ---------------------------------------------------------------- short and long


NUMBERS = [0.25, 0.5, 0.125]
WEIGHTS = [[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]]
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "loss": lambda x: core.loss(core.BinaryCrossEntropy, core.Mean, x, x),
    "gradient": lambda x: core.loss_gradient(core.MeanSquaredError, core.Mean, NUMBERS, x),
    "logits": lambda x: core.binary_cross_entropy_logits(core.Sum, x, x),
    "regularization": lambda x: core.regularization(1, 0.5, x),
    "contrastive": lambda x: core.contrastive_loss(1.0, False, x, [0.0, 0.0, 1]),
    "triplet": lambda x: core.triplet_loss(1.0, x, [0.0, 0.0, 1], x),
    "focal": lambda x: core.focal_loss(0.25, 2, [1.0, 0.0, 1.0], x),
    "dice": lambda x: core.dice_loss(1.0, x, x),
    "iou": lambda x: core.iou_loss(1.0, x, x),
    "softmax": core.softmax,
    "log_softmax": core.log_softmax,
    "sparsemax": core.sparsemax,
    "gated": lambda x: core.gated_linear_unit(x, NUMBERS),
    "dense": lambda x: layers.dense(tensor.tensor([1, 3], NUMBERS), tensor.tensor([3, 3], [*NUMBERS] * 3), x),
}


def plain(x: Any) -> Any:
    return x.tolist() if hasattr(x, "tolist") else x


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_both_ways_give_the_same_bits(operation: Callable[[Any], Any], no_leak: None) -> None:
    """An ``array.array`` takes the longer way; results come in the container of the argument."""
    longer = plain(operation(array("d", NUMBERS)))
    as_array = operation(np.array(NUMBERS))
    for given in (NUMBERS, tuple(NUMBERS), np.array(NUMBERS), tensor.tensor([3], NUMBERS)):
        assert plain(operation(given)) == longer
    assert plain(as_array) == longer
    if isinstance(longer, list) and type(as_array) is not tensor.TensorDouble:
        assert type(as_array) is np.ndarray and as_array.flags.writeable
        assert type(operation(NUMBERS)) is list and type(operation(tuple(NUMBERS))) is list
        assert type(operation(tensor.tensor([3], NUMBERS))) is tensor.TensorDouble


@pytest.mark.parametrize("container", [list, np.array, lambda x: tensor.tensor([3], x)])
@pytest.mark.parametrize("other", [list, tuple, np.array, lambda x: tensor.tensor([3], x)])
def test_the_container_is_that_of_one_argument(container: Any, other: Any, no_leak: None) -> None:
    x, y = container(NUMBERS), other(NUMBERS)
    assert type(core.gated_linear_unit(x, y)) is type(x)
    assert type(core.loss_gradient(core.MeanSquaredError, core.Mean, y, x)) is type(x)


@pytest.mark.parametrize(
    "given",
    [
        np.ma.array(NUMBERS, mask=[0, 1, 0]),
        np.array(NUMBERS, "float32"),
        np.array(["a", "b", "c"]),
        np.array(NUMBERS, complex),
        [0.25, True, 0.125],
        [0.25, "0.5", 0.125],
        {0.25, 0.5},
    ],
)
def test_the_short_way_takes_nothing_that_the_longer_refuses(given: Any) -> None:
    np.array(NUMBERS).sum()
    core.softmax(np.array(NUMBERS))  # from now on arrays are known
    for operation in OPERATIONS.values():
        with pytest.raises(hmath.TypeMismatch):
            operation(given)


@pytest.mark.parametrize(
    "given", [np.array(NUMBERS)[::-1], np.array(NUMBERS, ">f8"), np.repeat(NUMBERS, 2)[::2], NUMBERS * 100]
)
def test_what_is_unusual_takes_the_longer_way(given: Any) -> None:
    expected = core.softmax([float(x) for x in given])
    assert plain(core.softmax(given)) == expected


def test_indices_of_every_kind(no_leak: None) -> None:
    numbers = np.arange(24.0).reshape(4, 3, 2)
    made = tensor.from_numpy(numbers)
    for index in (0, -1, 3, slice(1, 3), slice(None, None, -2), slice(3, 1), (1, 2, 1), (-1, -1, -1), (0, 1)):
        assert np.array_equal(np.array(made[index]), numbers[index])
    line = tensor.tensor([4], [0.0, 1.0, 2.0, 3.0])
    assert line[-1] == 3.0 and line[::-1].values == [3.0, 2.0, 1.0, 0.0] and line[:: 2**70].values == [0.0]
    for wrong, error in ((4, IndexError), (-5, IndexError), (2**70, IndexError), ("a", TypeError)):
        with pytest.raises(error):
            line[wrong]
    with pytest.raises(TypeError):
        line["a":"b"]  # type: ignore[misc]
    with pytest.raises(ValueError, match="step"):
        line[::0]
    empty = tensor.zeros([0, 2])
    assert empty[:].shape == (0, 2)
    with pytest.raises(IndexError):
        empty[0]


def test_numbers_that_are_no_doubles() -> None:
    for call in (
        lambda: tensor.tensor([1], [10**400]),
        lambda: tensor.tensor([10**400], [1.0]),
        lambda: core.softmax([10**400]),
        lambda: core.activation(core.Sigmoid, 10**400),
        lambda: layers.layer_norm(10**400, 1e-5, ones(2)),
        lambda: ones(2) + 10**400,
    ):
        with pytest.raises(hmath.Overflow):
            call()


# ---------------------------------------------------------------- programs


def test_a_callback_that_fails_is_called_once(no_leak: None) -> None:
    """The short way into a program does not fall back on the longer one when the run has failed."""
    calls: list[Any] = []

    def forward(values: list[Any]) -> Any:
        calls.append(values)
        raise ArithmeticError("forward")

    x = autodiff.variable("x")
    y = autodiff.custom([x], forward)
    program = autodiff.compile(y, [x])
    for run in (lambda: program(1.0), lambda: autodiff.evaluate(y, {x: 1.0})):
        calls.clear()
        with pytest.raises(ArithmeticError, match="forward"):
            run()
        assert calls == [[1.0]]


def test_programs_of_many_inputs_and_outputs(no_leak: None) -> None:
    variables = [autodiff.variable(f"x{i}") for i in range(40)]
    program = autodiff.compile([x * 2.0 for x in reversed(variables)], variables)
    numbers = [float(i) for i in range(40)]
    assert program(*numbers) == [2.0 * x for x in reversed(numbers)]
    assert program(*map(np.float64, numbers)) == [2.0 * x for x in reversed(numbers)]
    with pytest.raises(hmath.DimensionMismatch):
        program(*numbers[1:])
    with pytest.raises(hmath.TypeMismatch, match="inputs is a str"):
        program(*numbers[1:], "a")
    program.close()
    with pytest.raises(ValueError, match=r"autodiff\.Program: self is closed"):
        program(*numbers)


def test_gradients_with_respect_to_constants_are_not_mixed_up(no_leak: None) -> None:
    """Programs are remembered by their nodes' addresses, which numbers and arrays have none of."""
    x = autodiff.variable("x", (2,))
    y = autodiff.sum(x * x)
    at = {x: tensor.tensor([2], [1.0, 2.0])}
    for constant, zero in ((1.0, 0.0), (np.zeros(3), [0.0] * 3), (2.0, 0.0)):
        value, [gradient] = autodiff.value_and_gradient(y, at, [constant])
        assert value == 5.0 and plain(gradient) == zero


def test_a_new_thread_runs_programs(no_leak: None) -> None:
    """It has no context yet."""
    x = autodiff.variable("x")
    program, found = autodiff.compile(x + 1.0, [x]), []
    thread = threading.Thread(target=lambda: found.append(program(1.0)))
    thread.start()
    thread.join()
    assert found == [2.0]


# ---------------------------------------------------------------- rows


def test_rows_are_packed_into_the_room_there_is() -> None:
    """Another thread may change a list between the look at its lengths and the packing of its elements."""
    rows = [[1.0, 2.0], [3, 4.5]]
    room = ffi.new("double[]", 6)
    address = int(ffi.cast("uintptr_t", room))
    assert _native.packed(rows, 2, 2, False, address)
    assert list(room) == [1.0, 2.0, 3.0, 4.5, 0.0, 0.0]
    assert not _native.packed([*rows, [5.0, 6.0]], 2, 2, False, address)
    assert not _native.packed(rows, 3, 2, False, address)
    assert not _native.packed([[1.0, 2.0, 3.0]], 1, 2, False, address)
    assert not _native.packed([(1.0, True)], 1, 2, False, address)
    assert not _native.packed([[True, False]], 1, 2, False, address)
    assert not _native.packed([[1, 0]], 1, 2, True, address)
    assert not _native.packed([None], 1, 2, True, address)
    assert not _native.packed(iter(rows), 2, 2, False, address)
    assert list(room)[4:] == [0.0, 0.0]
    assert _native.packed([(True, False)], 1, 2, True, address)
    assert list(ffi.cast("uint8_t *", room)[0:2]) == [1, 0]
    assert _native.unpacked(address, 1, 2, True) == [[True, False]]


def test_a_handle_is_not_to_be_set(no_leak: None) -> None:
    """Anything could stand there, and was taken for a value."""
    for owner in (tensor.zeros([2]), autodiff.Dual(1.0, 2.0), random.pcg64()):
        with pytest.raises(AttributeError):
            owner._handle = 5  # type: ignore[misc]
    assert autodiff.Dual(1.0, tangent=2.0).tangent == 2.0


def _owners() -> list[Owner]:
    x = autodiff.variable("x")
    return [
        tensor.zeros([2]),
        tensor.tensor_float([2], [1.0, 2.0]),
        x,
        autodiff.variable("y", (2,)),
        autodiff.compile([x * 2.0], [x]),
        autodiff.Dual(1.0, 2.0),
        random.pcg64(),
        random.seed_rng(random.pcg64(), 1),
        precision.quantize(precision.Symmetric, None, tensor.tensor([2], [1.0, 2.0])),
    ]


# What closes or makes an object, or is of every object.
_OF_ANY = {"close", "_drop", "__exit__", "__new__", "__class__"}


def _uses(cls: type[Any]) -> list[Callable[[Any], object]]:
    """Everything that may be read of the class's objects or called on them with no argument or a plain one."""
    uses: list[Callable[[Any], object]] = []
    for base in cls.__mro__[:-1]:
        for name, member in vars(base).items():
            if name in _OF_ANY:
                continue
            if isinstance(member, property):
                uses.append(member.fget)  # type: ignore[arg-type]
            elif callable(member):
                uses += [
                    lambda x, f=member, more=more: f(x, *more)  # type: ignore[misc]
                    for more in ((), (1,), ((2,),), (slice(None),))
                ]
    return uses


def test_what_is_of_another_class_is_refused(no_leak: None) -> None:
    """Memory was read by the class of an object, which need not be that of its value."""
    classes = [type(owner) for owner in _owners()]
    for cls in classes:
        uses = _uses(cls)
        for owner in _owners():
            for use in uses:
                with contextlib.suppress(Exception):  # to be refused is all that is asked for
                    use(owner)
        for owner in _owners():
            with contextlib.suppress(TypeError):  # of another layout
                owner.__class__ = cls
            for use in uses:
                with contextlib.suppress(Exception):
                    use(owner)
    for read in (tensor.Tensor.values, tensor.Tensor.shape):
        with pytest.raises(hmath.TypeMismatch, match="self is an Expr; required Tensor"):
            read.fget(autodiff.variable("x"))  # type: ignore[attr-defined]
    disguised: Any = random.seed_rng(random.pcg64(), 1)
    disguised.__class__ = tensor.TensorDouble
    for use in (lambda: disguised.values, lambda: disguised.numpy(), lambda: core.softmax(disguised)):
        with pytest.raises(hmath.TypeMismatch):
            use()
