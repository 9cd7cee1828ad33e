"""Faults that users of other libraries reported: ``vectors/reported.jsonl``, one test a line.

``vectors/reported.format.md`` explains the format. Cases that need a function of ``not_built.txt`` wait
for it and are run from the moment it exists; nothing else is left out.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hmath

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
CASES = [json.loads(line) for line in (VECTORS / "reported.jsonl").read_text().splitlines()]
# What a case that must fail fails with: constructor and argument.
ERRORS = json.loads((VECTORS / "reported_errors.json").read_text())
NOT_BUILT = set((Path(__file__).resolve().parent / "not_built.txt").read_text().split())

NON_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def names(part: Any) -> Iterator[str]:
    """Every callable and selector that a part of a case names."""
    if isinstance(part, list):
        for item in part:
            yield from names(item)
    elif isinstance(part, dict):
        for key in ("fn", "sel", "call"):
            if key in part:
                yield part[key]
        for item in part.values():
            yield from names(item)


RUNNABLE = [case for case in CASES if not NOT_BUILT.intersection(names(case))]


def resolve(name: str) -> Any:
    namespace, _, path = name.partition(".")
    found: Any = importlib.import_module(f"hmath.deeplearning_{namespace}")
    for part in path.split("."):
        found = getattr(found, part)
    return found


def build(part: Any) -> Any:
    """An argument of a case as a Python object."""
    if isinstance(part, str):
        return NON_FINITE[part]
    if isinstance(part, list):
        return [build(item) for item in part]
    if not isinstance(part, dict):
        return part
    if "tensor" in part:
        return build_tensor(part["tensor"])
    if "sel" in part:
        return resolve(part["sel"])(*part["args"]) if part["args"] else resolve(part["sel"])
    if "call" in part:
        result = resolve(part["call"])(*build(part["args"]))
        return result[part["item"]] if "item" in part else result
    assert set(part) == {"rng"}
    from hmath import random

    generator = getattr(random, part["rng"]["generator"])()
    return random.seed_rng(generator, part["rng"]["seed"])


def build_tensor(part: dict[str, Any]) -> Any:
    from hmath import tensor

    values = [part["fill"]] * math.prod(part["shape"]) if "fill" in part else part["values"]
    return tensor.tensor(part["shape"], [build(value) for value in values])


def close(got: float, right: float, tolerance: dict[str, float]) -> bool:
    if got == right or (math.isnan(got) and math.isnan(right)):
        return True
    if not (math.isfinite(got) and math.isfinite(right)):
        return False
    if "ulp" in tolerance:
        return abs(got - right) <= tolerance["ulp"] * math.ulp(right)
    return abs(got - right) <= tolerance["abs"] + tolerance["rel"] * abs(right)


def check(got: Any, expected: Any, tolerance: dict[str, float], where: str = "result") -> None:
    """`got` is `expected`, within the tolerance; both may be nested."""
    if isinstance(expected, dict) and "any" in expected:
        return
    if isinstance(expected, dict) and "tensor" in expected:
        assert list(got.shape) == expected["tensor"]["shape"], where
        check(got.values, list(build_tensor(expected["tensor"]).values), tolerance, f"{where}.values")
    elif isinstance(expected, dict):
        assert set(expected) == {"record"}
        fields = [getattr(got, name) for name in got.__dataclass_fields__]
        check(fields, expected["record"], tolerance, where)
    elif isinstance(expected, list):
        assert len(got) == len(expected), where
        for i, (item, right) in enumerate(zip(got, expected, strict=True)):
            check(item, right, tolerance, f"{where}[{i}]")
    elif isinstance(expected, bool) or isinstance(got, bool):
        assert got is expected, where
    else:
        right = NON_FINITE.get(expected, expected)
        assert close(float(got), float(right), tolerance), f"{where}: {got!r}, right is {right!r}"


@pytest.mark.parametrize("case", RUNNABLE, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    function, arguments = resolve(case["fn"]), build(case["args"])
    expected = case["expect"]
    if isinstance(expected, dict) and "error" in expected:
        with pytest.raises(hmath.HMathError) as caught:
            function(*arguments)
        error = caught.value.math_error
        assert [error.constructor, error.argument] == ERRORS[case["id"]], error.message
        return
    check(function(*arguments), expected, case["tol"])


def test_every_case_runs_or_waits_for_a_listed_name() -> None:
    waiting = [case["id"] for case in CASES if case not in RUNNABLE]
    assert len(RUNNABLE) + len(waiting) == len(CASES) == 185
    assert waiting == [] or NOT_BUILT


def test_every_expected_error_is_pinned() -> None:
    failing = {c["id"] for c in CASES if isinstance(c["expect"], dict) and "error" in c["expect"]}
    assert failing == set(ERRORS)
