# What .ci/run and .ci/deep share. To be sourced; every function is one step and stops the script where it fails.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/hmath-ci.XXXXXX")
beside=$(mktemp -d "$root/build-ci.XXXXXX")
trap 'rm -rf "$work" "$beside"' EXIT
cd "$root"

python=${PYTHON:-python3}
jobs=$(nproc)
base_path=$PATH
# Tools that pip installs are those of the virtual environments made here.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
# Several steps build the same wheel from nothing, as users do. What one of them has compiled the others find here, where
# nothing is from before this run.
export CCACHE_DIR=$work/ccache
# Reports need functions and lines; variables too nearly double the time in which a sanitized kernel is compiled.
lines=-Dc_args=-g1

say() { printf '\n== %s (%ss)\n' "$*" "$SECONDS"; }

# Steps that keep one core busy each, at the same time; none needs what another makes. Each prints when all before it have
# ended, and one that fails is a failure of the whole.
side_by_side() { # steps...
    local step failed=() started=()
    for step in "$@"; do
        "$step" >"$work/$step.out" 2>&1 &
        started+=("$!")
    done
    for step in "$@"; do
        wait "${started[0]}" || failed+=("$step")
        started=("${started[@]:1}")
        cat "$work/$step.out"
    done
    [ ${#failed[@]} -eq 0 ] || { say "failed: ${failed[*]}"; return 1; }
}

# Debian's packages that the checks need, as far as they are not there.
tools() {
    say "tools"
    local missing=()
    command -v clang-tidy >/dev/null || missing+=(clang-tidy)
    command -v clang >/dev/null || missing+=(clang)
    command -v g++ >/dev/null || missing+=(g++)
    command -v valgrind >/dev/null || missing+=(valgrind)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    command -v cmake >/dev/null || missing+=(cmake)
    command -v ccache >/dev/null || missing+=(ccache)
    missing+=("$@")
    if [ ${#missing[@]} -gt 0 ]; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"
    fi
}

# A new virtual environment whose programs come first from here on.
environment() {
    "$python" -m venv "$work/$1"
    PATH="$work/$1/bin:$base_path"
    hash -r
}

# README's second command. Of the two compilers, its C tests are built by GCC, with every warning an error.
readme_tests() {
    say "README: install and test"
    environment test
    python -m pip install -q '.[test]'
    say "README: test"
    CC=gcc HMATH_TEST_MESON="-Dwerror=true $lines" python -m pytest
}

# README's first command, and the same bits whatever the number of threads.
readme_example() {
    say "README: the example"
    environment examples
    python -m pip install -q '.[examples]'
    (cd "$work" && MPLBACKEND=agg HMATH_NUM_THREADS=1 python "$root/examples/python/digits.py" | tee digits.1)
    (cd "$work" && MPLBACKEND=agg HMATH_NUM_THREADS=2 python "$root/examples/python/digits.py" >digits.2)
    # Times differ from run to run; everything else is the same.
    diff <(grep -v ' s$' "$work/digits.1") <(grep -v ' s$' "$work/digits.2")
}

lint() {
    say "format, lint, types"
    environment lint
    # Versions of clang-format differ in their form.
    python -m pip install -q ruff mypy pyright clang-format==14.0.6 numpy pytest hypothesis cffi meson ninja
    ruff check .
    ruff format --check .
    mypy python/hmath
    mypy tests/python/test_typing.py
    pyright --pythonpath "$work/lint/bin/python" python/hmath tests/python/test_typing.py
    git ls-files '*.c' '*.h' '*.hpp' | xargs clang-format --dry-run --Werror
}

# The pages as a site, without a warning.
site() {
    say "documentation"
    environment docs
    # shellcheck disable=SC2046
    python -m pip install -q $(requirements docs)
    python -m sphinx -q -W docs "$work/site"
}

# The other compiler: every warning an error, assertions on; the C tests.
clang_tests() {
    say "C tests with clang"
    CC=clang meson_build clang -Dwerror=true $lines
    meson test -C "$work/clang" --print-errorlogs
}

# Bugs that compilers do not see. Needs the build of `clang_tests`.
tidy() {
    say "clang-tidy"
    git ls-files 'csrc/*.c' | grep -v per_isa | xargs -P "$jobs" -n 8 clang-tidy --quiet -p "$work/clang"
}

meson_build() { # name, options...
    local name=$1
    shift
    meson setup "$work/$name" "$root" --buildtype=debugoptimized -Db_ndebug=false "$@" >"$work/$name.log" ||
        { cat "$work/$name.log"; return 1; }
    ninja -C "$work/$name" -j "$jobs" >"$work/$name.log" || { tail -60 "$work/$name.log"; return 1; }
}

# Memory errors and undefined behaviour: the C tests, leaks included, then the Python package.
address_sanitizer() {
    say "address and undefined behaviour sanitizers: C"
    environment sanitized
    # shellcheck disable=SC2046
    python -m pip install -q cffi meson ninja $(requirements test)
    meson_build asan $lines -Db_sanitize=address,undefined -Db_lundef=false \
        -Dinstall_layout=wheel --prefix="$work/sanitized"
    # Sizes that cannot be had are asked for on purpose.
    export ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    meson test -C "$work/asan" --print-errorlogs --timeout-multiplier 4
    unset ASAN_OPTIONS UBSAN_OPTIONS
}

# The same build under the Python package; after address_sanitizer.
address_sanitizer_python() {
    say "address and undefined behaviour sanitizers: Python"
    meson install -C "$work/asan" --quiet
    # No report is lost: a process that dies of one would take along what pytest has captured. Of the two, only the
    # address sanitizer also sees to its reports in processes that tests start and expect to fail.
    local reports=$work/reports failed=0
    mkdir -p "$reports"
    # Leaks are counted by the tests themselves (live values): the interpreter has too many of its own.
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
        ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0:log_path=$reports/address \
        UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 HMATH_TEST_PROFILE=quick HMATH_ISA=avx2 \
        python -X faulthandler -m pytest -q --capture=sys -p no:cacheprovider tests/python \
        -k 'not million and not library_is_small and not library_into_itself' || failed=1
    # Warnings are of sizes that cannot be had.
    if grep -rq "ERROR: " "$reports"; then
        grep -rh -A 60 "ERROR: " "$reports"
        failed=1
    fi
    return $failed
}

# What an extra of pyproject.toml asks for.
requirements() { # extra
    python - "$1" <<'PYTHON'
import sys
from pip._vendor import tomli

with open("pyproject.toml", "rb") as file:
    print(*(name.replace(" ", "") for name in tomli.load(file)["project"]["optional-dependencies"][sys.argv[1]]))
PYTHON
}

# Races: the C tests, most of which use the pool; test_threads shares everything that can be shared.
thread_sanitizer() {
    say "thread sanitizer"
    meson_build tsan $lines -Db_sanitize=thread -Db_lundef=false
    TSAN_OPTIONS=allocator_may_return_null=1:die_after_fork=0 \
        meson test -C "$work/tsan" --print-errorlogs --timeout-multiplier 8
}

# An installation without Python, and the examples built against it and against the flags of `wheel`, under valgrind, which
# knows no AVX-512.
examples_c() {
    say "C-only installation and examples"
    environment c-only
    python -m pip install -q meson ninja
    local prefix=$work/prefix flags
    # As far from the sources as a wheel is built, so that its commands are the same to the compilers' cache.
    meson setup "$beside" "$root" --prefix="$prefix" --libdir=lib -Dtests=false >/dev/null
    meson install -C "$beside" --quiet
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs hmath)
    run_examples "$flags -Wl,-rpath,$prefix/lib"
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --static --cflags --libs hmath)
    run_examples "${flags/-lhmath/-l:libhmath.a}"
    cmake_example "$prefix/lib/cmake/hmath"
    environment test-flags
    python -m pip install -q "$work"/wheels/hmath-*.whl
    flags=$(python -m hmath --cflags --libs)
    run_examples "$flags"
    cmake_example "$(python -m hmath --cmakedir)"
}

run_examples() { # flags
    local example
    for example in examples/c/*.c; do
        # shellcheck disable=SC2086
        cc -std=c11 -Wall -Wextra -Werror -g "$example" -o "$work/example" $1 -lm
        HMATH_ISA=avx2 valgrind -q --leak-check=full --show-leak-kinds=all --error-exitcode=1 "$work/example" >/dev/null
        "$work/example"
    done
}

cmake_example() { # directory of hmath-config.cmake
    rm -rf "$work/cmake"
    mkdir "$work/cmake"
    cat >"$work/cmake/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(example C)
find_package(hmath 1.0 REQUIRED)
foreach(kind hmath static)
  add_executable(with_\${kind} "$root/examples/c/01_dense.c")
  target_link_libraries(with_\${kind} hmath::\${kind})
endforeach()
CMAKE
    cmake -S "$work/cmake" -B "$work/cmake/build" "-Dhmath_DIR=$1" >"$work/cmake.log" || { cat "$work/cmake.log"; return 1; }
    cmake --build "$work/cmake/build" >"$work/cmake.log" || { cat "$work/cmake.log"; return 1; }
    "$work/cmake/build/with_hmath"
    "$work/cmake/build/with_static"
}

# Live comparisons of `wheel` with other libraries.
oracles() {
    say "oracles"
    environment oracles
    python -m pip install -q torch==2.13.0
    python -m pip install -q "$(echo "$work"/wheels/hmath-*.whl)[test,oracles]"
    python -m pytest -q tests/oracles
}

# One wheel for every supported Python, on the oldest that is here.
wheel() {
    say "wheel"
    environment wheel
    python -m pip install -q abi3audit
    python -m pip wheel -q --no-deps -w "$work/wheels" .
    abi3audit --strict "$work"/wheels/hmath-*.whl
}
