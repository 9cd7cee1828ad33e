"""Roll-call of the surface: every wrapper of the reference is declared, exported and bound.

Names in ``not_built.txt`` do not exist yet; whoever builds one takes it off the list, and a listed name
that exists is a failure.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hmath

VECTORS = Path(__file__).resolve().parent.parent / "vectors"
REFERENCE = json.loads((VECTORS / "wrappers.json").read_text())
WRAPPERS = REFERENCE["wrappers"]

MISSING = object()


def full_name(wrapper: dict[str, Any]) -> str:
    return f"{wrapper['namespace']}.{wrapper['python']}"


def python_object(name: str) -> Any:
    """The object behind ``core.softmax`` or ``layers.Training.TRAINING``, or MISSING."""
    namespace, _, path = name.partition(".")
    try:
        found: Any = importlib.import_module(f"hmath.deeplearning_{namespace}")
    except ModuleNotFoundError:
        return MISSING
    for part in path.split("."):
        found = getattr(found, part, MISSING)
    return found


@cache
def declarations() -> dict[str, int]:
    """The functions of the installed header, and how many pointers each takes."""
    text = (Path(hmath.get_include()) / "hmath_deeplearning.h").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.findall(r"HMATH_CALL\s+(hmath_neural_\w+)\s*\(([^)]*)\)\s*;", text)
    return {name: parameters.count("*") - parameters.count("**") for name, parameters in found}


def test_the_reference_is_whole() -> None:
    assert len(WRAPPERS) == 135
    assert len({wrapper["c"] for wrapper in WRAPPERS}) == 135


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=full_name)
def test_wrapper(wrapper: dict[str, Any], not_built: set[str]) -> None:
    name = full_name(wrapper)
    found = python_object(name)
    if name in not_built:
        assert found is MISSING, f"{name} exists: take it off not_built.txt"
        return
    assert found is not MISSING, f"{name} does not exist"
    # One pointer each: the context, the arguments, out.
    assert declarations().get(wrapper["c"]) == wrapper["c_pointer_arguments"], "declaration in the header"
    assert hasattr(ctypes.CDLL(hmath.get_library()), wrapper["c"]), "symbol in the library"
    if wrapper["form"] == "selector":
        assert type(found).__name__ == wrapper["result"]
        return
    expected = [parameter["name"] for parameter in wrapper["parameters"]]
    parameters = list(inspect.signature(found).parameters.values())
    assert [parameter.name for parameter in parameters] == expected
    assert all(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    assert found.__doc__, "docstring"


def test_not_built_lists_wrappers_only(not_built: set[str]) -> None:
    assert not_built <= {full_name(wrapper) for wrapper in WRAPPERS}


def test_kinds_are_the_reference_s() -> None:
    from hmath._hmath import lib

    spelled = {
        "Tensor": "TENSOR_DOUBLE",
        "RNG": "RNG",
        "ADExpr": "AD_EXPR",
        "ADTensor": "AD_TENSOR",
        "KVCache": "KV_CACHE",
    }
    for kind, number in REFERENCE["kinds"].items():
        constant = spelled.get(kind) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).upper()
        assert getattr(lib, f"HMATH_KIND_{constant}") == number
    assert lib.HMATH_CHECKED == REFERENCE["checked_failure_status"]
