"""The same bits on every instruction set and for every number of threads."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WRAPPERS = json.loads((HERE.parent / "vectors" / "wrappers.json").read_text())["wrappers"]
INSTRUCTION_SETS = ["baseline", "avx2", "avx512"]
THREADS = ["1", "2", "3", "4"]


@cache
def run(instruction_set: str) -> dict:
    """Digests by number of threads, from a process of its own. Caps above what the machine has do nothing."""
    finished = subprocess.run(
        [sys.executable, str(HERE / "reproducibility_cases.py"), *THREADS],
        env={**os.environ, "HMATH_ISA": instruction_set},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    # A machine without the set runs the next best one; baseline is on every machine.
    assert instruction_set != "baseline" or result["instruction_set"] in ("baseline", "neon")
    return result


def differing(one: dict[str, str], other: dict[str, str]) -> list[str]:
    assert one.keys() == other.keys()
    return [name for name in one if one[name] != other[name]]


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_threads_change_no_bit(instruction_set: str) -> None:
    digests = run(instruction_set)["digests"]
    for threads in THREADS[1:]:
        assert differing(digests["1"], digests[threads]) == []


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS[:-1])
def test_instruction_sets_change_no_bit(instruction_set: str) -> None:
    assert differing(run("avx512")["digests"]["1"], run(instruction_set)["digests"]["1"]) == []


def test_every_function_has_a_case() -> None:
    """Graph operations are compared in test_autodiff; constructors compute nothing."""
    covered = {re.split(r"[\[']", name)[0] for name in run("avx512")["digests"]["1"]}
    functions = {
        f"{wrapper['namespace']}.{wrapper['python']}"
        for wrapper in WRAPPERS
        if wrapper["form"] == "function" and not wrapper["python"].endswith(("_expr", "_ad"))
    }
    assert functions - covered == set()
