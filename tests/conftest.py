"""Fixtures that several test folders share."""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# How hard property tests look: HMATH_TEST_PROFILE=quick|normal|thorough. Times vary too much between
# machines and under sanitizers to be deadlines.
for profile, examples in {"quick": 10, "normal": 100, "thorough": 2000}.items():
    settings.register_profile(profile, max_examples=examples, deadline=None)
settings.load_profile(os.environ.get("HMATH_TEST_PROFILE", "normal"))

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "tests" / "vectors"


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """`python -m pytest` shares the tests out among processes, one a core, where pytest-xdist is there.

    Folders, files and tests that are named stay in this process, as does everything under `-n 0` or a debugger.
    """
    option, cores = config.option, len(os.sched_getaffinity(0))
    worker = hasattr(config, "workerinput")
    decided = getattr(option, "numprocesses", 0) is not None or option.dist != "no" or option.usepdb
    if worker or decided or cores == 1 or config.args_source is not config.ArgsSource.TESTPATHS:
        return
    # Each process collects all tests, which beyond a few costs more than it saves. Neighbours stay together, and
    # whoever has nothing left takes over some of another's.
    option.numprocesses, option.dist = min(cores, 8), "worksteal"


def pytest_collection_finish() -> None:
    """Modules and tests stay: collections of garbage, of which some tests make two each, need not go through them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def root() -> Path:
    """The source tree."""
    return ROOT


@pytest.fixture(scope="session")
def wrappers() -> list[dict[str, Any]]:
    """The 135 wrappers of the reference."""
    return json.loads((VECTORS / "wrappers.json").read_text())["wrappers"]


@pytest.fixture(scope="session")
def not_built() -> set[str]:
    """Python names of wrappers that do not exist yet: the one list of them."""
    return set((ROOT / "tests" / "python" / "not_built.txt").read_text().split())


@pytest.fixture
def no_leak() -> Iterator[None]:
    """The test leaves as many values alive as it found."""
    from hmath._hmath import lib

    # The selectors of these modules are values that live as long as the modules.
    for module in ("core", "layers", "metrics", "precision"):
        importlib.import_module(f"hmath.deeplearning_{module}")
    gc.collect()
    before = lib.hmath_live_values()
    yield
    gc.collect()
    assert lib.hmath_live_values() == before


@pytest.fixture(scope="session")
def c_build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C tests, built with assertions; kept from run to run, so that only changes are compiled.

    HMATH_TEST_MESON has options for them, such as -Dwerror=true.
    """
    cache = getattr(request.config, "cache", None)  # None under `-p no:cacheprovider`
    build = cache.mkdir("c-build") if cache else tmp_path_factory.mktemp("c-build")
    with open(build / "lock", "w") as lock:  # one process builds, others wait for it
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (build / "build.ninja").exists():
            options = ["--buildtype=debugoptimized", "-Db_ndebug=false"]
            options += os.environ.get("HMATH_TEST_MESON", "").split()
            run_meson("setup", str(build), str(ROOT), *options)
        run_meson("compile", "-C", str(build))
    return build


def run_meson(*arguments: str) -> str:
    """Run meson, with the ninja of this environment; its output is the failure."""
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ.get("PATH", "")}
    done = subprocess.run(
        [sys.executable, "-m", "mesonbuild.mesonmain", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        pytest.fail(done.stdout[-8000:], pytrace=False)
    return done.stdout
