"""The package as its users meet it: import cost, build flags, versions, threads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import hmath
from hmath import tensor

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def module(*arguments: str) -> list[str]:
    return run(sys.executable, "-m", "hmath", *arguments).split()


def test_import_loads_nothing_heavy() -> None:
    """What makes the import quick, which bench/import_time.py measures: it loads cffi and little else."""
    program = (
        "import sys, cffi; before = set(sys.modules); import hmath;"
        "from hmath import tensor, deeplearning_core, deeplearning_layers;"
        "heavy = {'numpy', 'ctypes', 'pathlib', 'importlib.resources', 'asyncio', 'pickle'};"
        "print(*sorted(heavy & (set(sys.modules) - before)))"
    )
    assert run(sys.executable, "-c", program).split() == []


def test_library_is_small() -> None:
    assert Path(hmath.get_library()).stat().st_size < 2 << 20


def test_flags_name_what_exists() -> None:
    assert (Path(hmath.get_include()) / "hmath_deeplearning.h").exists()
    assert Path(hmath.get_library()).exists()
    assert module("--version") == [hmath.__version__]
    assert module("--includedir") == [hmath.get_include()]
    (libdir,) = module("--libdir")
    assert (Path(libdir) / Path(hmath.get_library()).name).exists()


def test_flags_that_need_an_installed_package() -> None:
    if not (Path(hmath.get_library()).parent / "pkgconfig").exists():
        done = subprocess.run(
            [sys.executable, "-m", "hmath", "--pkgconfigdir"], capture_output=True, text=True
        )
        assert done.returncode == 2 and "editable" in done.stderr
        return
    (pkgconfigdir,), (cmakedir,) = module("--pkgconfigdir"), module("--cmakedir")
    assert (Path(pkgconfigdir) / "hmath.pc").exists()
    assert (Path(cmakedir) / "hmath-config.cmake").exists()


def test_without_options_the_help_is_printed() -> None:
    printed = run(sys.executable, "-m", "hmath")
    assert printed == run(sys.executable, "-m", "hmath", "--help")
    assert "--cflags" in printed and "--static" in printed


PROGRAM = """
#include <hmath_deeplearning.h>
#include <stdio.h>
int main(void)
{
    hmath_context *ctx;
    hmath_value *v;
    double x = 0;
    if (hmath_context_create(NULL, &ctx) || hmath_double_create(ctx, 0.5, &v) || hmath_double_get(v, &x))
        return 1;
    hmath_release(v);
    hmath_context_destroy(ctx);
    printf("%g %s\\n", x, hmath_version());
    return 0;
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    return source


def test_a_c_program_builds_with_the_printed_flags(program: Path) -> None:
    assert COMPILER is not None
    built = program.with_suffix("")
    run(COMPILER, program, "-o", built, *module("--cflags", "--libs"))
    assert run(built) == f"0.5 {hmath.__version__}\n"


def test_a_c_program_takes_the_library_into_itself(program: Path) -> None:
    if not (Path(hmath.get_library()).parent / "libhmath.a").exists():
        pytest.skip("an editable install")
    assert COMPILER is not None
    built = program.with_suffix("")
    run(COMPILER, program, "-o", built, *module("--cflags", "--static"))
    assert run(built) == f"0.5 {hmath.__version__}\n"
    assert b"libhmath.so" not in built.read_bytes()


def test_a_c_program_builds_with_pkg_config(program: Path) -> None:
    pkg_config = shutil.which("pkg-config")
    directory = Path(hmath.get_library()).parent / "pkgconfig"
    if pkg_config is None or not directory.exists():
        pytest.skip("no pkg-config here, or an editable install")
    flags = run(pkg_config, "--cflags", "--libs", "hmath", PKG_CONFIG_PATH=str(directory)).split()
    built = program.with_suffix("")
    assert COMPILER is not None
    run(COMPILER, program, "-o", built, *flags)
    assert run(built) == f"0.5 {hmath.__version__}\n"


def test_set_num_threads() -> None:
    before = hmath.get_num_threads()
    try:
        hmath.set_num_threads(3)
        assert hmath.get_num_threads() == 3
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(hmath.get_num_threads()))
        thread.start()
        thread.join()
        assert seen == [3]
    finally:
        hmath.set_num_threads(before)


@pytest.mark.parametrize(
    ("threads", "error"), [(-1, ValueError), (2**31, ValueError), (1.0, TypeError), (True, TypeError)]
)
def test_set_num_threads_refuses(threads: object, error: type[Exception]) -> None:
    before = hmath.get_num_threads()
    with pytest.raises(error, match="threads"):
        hmath.set_num_threads(threads)  # type: ignore[arg-type]
    assert hmath.get_num_threads() == before


def test_environment_sets_threads_and_instruction_set() -> None:
    program = "import hmath; print(hmath.get_num_threads(), hmath.instruction_set())"
    got = run(sys.executable, "-c", program, HMATH_NUM_THREADS="5", HMATH_ISA="baseline").split()
    # On AArch64 the baseline is NEON.
    assert got in (["5", "baseline"], ["5", "neon"])


@pytest.mark.parametrize(
    ("threads", "isa"),
    [("0", "AVX2"), ("-1", "none"), ("3x", ""), ("257", " avx2"), ("9" * 30, "0"), ("", "512")],
)
def test_environment_that_says_nothing_is_ignored(threads: str, isa: str) -> None:
    program = "import hmath; print(hmath.get_num_threads(), hmath.instruction_set())"
    environment = {k: v for k, v in os.environ.items() if k not in ("HMATH_NUM_THREADS", "HMATH_ISA")}
    wanted = subprocess.check_output([sys.executable, "-c", program], env=environment)
    environment |= {"HMATH_NUM_THREADS": threads, "HMATH_ISA": isa}
    assert subprocess.check_output([sys.executable, "-c", program], env=environment) == wanted


WITHOUT_NUMPY = """
import array, copy, pickle, sys

sys.modules["numpy"] = None  # from here on importing it is an ImportError
from hmath import autodiff, deeplearning_core as core, deeplearning_layers as layers
from hmath import deeplearning_metrics as metrics, deeplearning_precision as precision, errors, random, tensor

assert core.softmax([0.0, 0.0]) == [0.5, 0.5]
assert core.softmax(array.array("d", [0.0, 0.0])) == array.array("d", [0.5, 0.5])
x = tensor.tensor([2, 2], [1, 2, 3, 4])
assert (x @ x).values == [7.0, 10.0, 15.0, 22.0] and x[1, 0] == 3.0 and repr(x)
assert pickle.loads(pickle.dumps(x)).values == copy.copy(x).values == x.values
assert layers.dense(x, x, [0.0, 0.0]).values == [5.0, 11.0, 11.0, 25.0]
assert precision.dequantize(precision.quantize(precision.Symmetric, None, x)).shape == (2, 2)
assert metrics.roc_auc([True, False], [0.9, 0.1]) == 1.0
drawn, rng = random.uniform_tensor([3], random.seed_rng(random.pcg32(), 42))
v = autodiff.variable("v", (2, 2))
value, (gradient,) = autodiff.value_and_gradient(autodiff.sum(v * v), {v: x}, [v])
assert value == 30.0 and gradient.values == [2.0, 4.0, 6.0, 8.0]
for refused in (lambda: core.softmax(object()), lambda: layers.dense([[1.0]], x, [0.0])):
    try:
        refused()
    except errors.TypeMismatch:
        pass
    else:
        raise AssertionError(refused)
try:
    x.numpy()
except ImportError:
    print("done")
"""


def test_everything_but_arrays_works_without_numpy() -> None:
    assert run(sys.executable, "-W", "error", "-c", WITHOUT_NUMPY) == "done\n"


def test_versions() -> None:
    assert hmath.__version__.count(".") == 2
    assert hmath.numerics_version() == 1


LOCALE = """comment_char %
escape_char /
LC_NUMERIC
decimal_point ","
thousands_sep ""
grouping -1
END LC_NUMERIC
"""

NUMBERS = """
import locale
from hmath import autodiff, deeplearning_core as core

locale.setlocale(locale.LC_NUMERIC, "comma")
print(locale.str(0.5), autodiff.variable("x") * 0.25, end=" ")
try:
    core.activation(core.ELU(-1.5), 1.0)
except ValueError as error:
    print(error)
"""


def test_texts_are_the_same_in_every_locale(tmp_path: Path) -> None:
    localedef = shutil.which("localedef")
    if localedef is None:
        pytest.skip("no localedef here, to make a locale with a decimal comma")
    (tmp_path / "comma.src").write_text(LOCALE)
    # Categories that are not defined make it grumble; -c goes on.
    subprocess.run(
        [localedef, "-c", "--no-archive", "-i", "comma.src", "./comma"], cwd=tmp_path, capture_output=True
    )
    if not (tmp_path / "comma" / "LC_NUMERIC").exists():
        pytest.skip("localedef lacks its character maps here")
    got = run(sys.executable, "-c", NUMBERS, LOCPATH=str(tmp_path))
    assert got == "0,5 <Expr: x * 0.25> core.activation: method.parameter = -1.5; required > 0\n"


OWNERS_LEFT = """
from hmath import autodiff, deeplearning_layers as layers, random, tensor

rng = random.seed_rng(random.pcg32(), 1)
numbers = tensor.full([4, 4], 1.0)
cache = layers.empty_cache(4, 2, 2)
x = autodiff.variable("x")
custom = autodiff.custom([x], lambda values: values[0], lambda values, adjoint: [adjoint])
program = autodiff.compile([custom], [x])
"""


@pytest.mark.parametrize("ending", ["", "import sys; sys.exit()", "cycle = [custom]; cycle.append(cycle)"])
def test_an_interpreter_ends_quietly_with_owners_of_every_kind(ending: str) -> None:
    done = subprocess.run([sys.executable, "-c", OWNERS_LEFT + ending], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_million_tensors_leave_no_trace(no_leak: None) -> None:
    """Memory after the second half million is what it was after the first, but for a page cache's noise."""

    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    shape, values = [2, 4], [0.0] * 8
    for _ in range(500_000):
        tensor.tensor(shape, values)
    before = resident()
    for _ in range(500_000):
        tensor.tensor(shape, values)
    # 500,000 leaked tensors would be at least 32 MB.
    assert resident() - before < 4 << 20


def test_eight_threads_at_once(no_leak: None) -> None:
    """Each thread makes, moves and reads tensors of its own and shared ones; every result is right."""
    shared = tensor.tensor([4, 8], list(map(float, range(32))))
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def work(seed: int) -> None:
        try:
            start.wait()
            for i in range(300):
                mine = tensor.full([8], float(seed * 1000 + i))
                joined = tensor.concatenate([shared, mine.reshape(1, 8)])
                assert joined.shape == (5, 8)
                assert joined[4].values == [float(seed * 1000 + i)] * 8
                assert joined[1:2, ::-1].values == [float(x) for x in range(15, 7, -1)]
                with pytest.raises(hmath.IndexOutOfBounds):
                    joined[5]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.close()
    del threads, work
    assert failures == []
