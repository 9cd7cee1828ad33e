"""The same bits on every instruction set and for every number of threads."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors"
WRAPPERS = json.loads((VECTORS / "wrappers.json").read_text())["wrappers"]
RECORDED = json.loads((VECTORS / "digests.json").read_text())
INSTRUCTION_SETS = ["neon"] if platform.machine() == "aarch64" else ["baseline", "avx2", "avx512"]
THREADS = ["1", "2", "3", "4"]


@cache
def run(instruction_set: str) -> dict:
    """Digests by number of threads, from a process of its own."""
    finished = subprocess.run(
        [sys.executable, str(HERE / "reproducibility_cases.py"), *THREADS],
        env={**os.environ, "HMATH_ISA": instruction_set},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def best() -> dict:
    """A cap above what the machine has does nothing."""
    return run(INSTRUCTION_SETS[-1])


def run_or_skip(instruction_set: str) -> dict:
    """The same set twice would agree with itself."""
    result = run(instruction_set)
    if result["instruction_set"] != instruction_set:
        assert instruction_set not in ("baseline", "neon")
        pytest.skip(f"this machine has no {instruction_set}")
    return result


def differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    assert one.keys() == other.keys()
    return [name for name in one if one[name] != other[name]]


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_threads_change_no_bit(instruction_set: str) -> None:
    digests = run_or_skip(instruction_set)["digests"]
    for threads in THREADS[1:]:
        assert differing(digests["1"], digests[threads]) == []


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS[1:])
def test_instruction_sets_change_no_bit(instruction_set: str) -> None:
    digests = run_or_skip(instruction_set)["digests"]["1"]
    assert differing(run(INSTRUCTION_SETS[0])["digests"]["1"], digests) == []


def test_machines_change_no_bit() -> None:
    """What others got, those with instruction sets among them that this one has not."""
    record = best()["record"]
    assert record["numerics_version"] == RECORDED["numerics_version"]
    assert differing(RECORDED["digests"], record["digests"]) == []


def test_every_function_has_a_case() -> None:
    """Graph operations stand in programs; constructors compute nothing."""
    covered = best()["record"]["digests"].keys()
    functions = {
        f"{wrapper['namespace']}.{wrapper['python']}"
        for wrapper in WRAPPERS
        if wrapper["form"] == "function" and not wrapper["python"].endswith(("_expr", "_ad"))
    }
    assert functions - covered == set()
