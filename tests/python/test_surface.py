"""Roll-call of the surface: every wrapper of the reference is declared, exported and bound.

Names in ``not_built.txt`` do not exist yet; whoever builds one takes it off the list, and a listed name
that exists is a failure.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
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


# ---------------------------------------------------------------- what modules show

MODULES = [
    "autodiff",
    "deeplearning_core",
    "deeplearning_layers",
    "deeplearning_metrics",
    "deeplearning_precision",
    "errors",
    "optim",
    "random",
    "tensor",
]


def test_every_module_is_known() -> None:
    found = {module.name for module in pkgutil.iter_modules(hmath.__path__)}
    assert sorted(name for name in found if not name.startswith("_")) == MODULES


@pytest.mark.parametrize("name", MODULES)
def test_a_module_shows_its_public_names_and_nothing_else(name: str) -> None:
    module = importlib.import_module(f"hmath.{name}")
    assert dir(module) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        assert not public.startswith("_")
        found = getattr(module, public)
        assert getattr(found, "__module__", module.__name__) == module.__name__, (
            f"{public} is another module's"
        )
    star: dict[str, Any] = {}
    exec(f"from hmath.{name} import *", star)
    assert star.keys() - {"__builtins__"} == set(module.__all__)
    # What is made here and looks public is meant to be.
    for name, found in vars(module).items():
        made = (inspect.isfunction(found) or inspect.isclass(found)) and found.__module__ == module.__name__
        assert not made or name.startswith(("_", "hmath_python_")) or name in module.__all__, name


def test_every_name_of_the_reference_is_shown() -> None:
    for wrapper in WRAPPERS:
        module = importlib.import_module(f"hmath.deeplearning_{wrapper['namespace']}")
        assert wrapper["python"].partition(".")[0] in module.__all__


def test_modules_are_loaded_when_they_are_asked_for() -> None:
    program = (
        "import sys, hmath; modules = sys.argv[1:];"
        "assert not ({f'hmath.{name}' for name in modules} - {'hmath.errors'}) & sys.modules.keys();"
        "assert set(modules) <= set(dir(hmath));"
        "assert all(getattr(hmath, name) is sys.modules[f'hmath.{name}'] for name in modules);"
        "assert not hasattr(hmath, 'ffi')"
    )
    subprocess.run([sys.executable, "-c", program, *MODULES], check=True)
    with pytest.raises(AttributeError, match="module 'hmath' has no attribute 'autodif'"):
        hmath.autodif  # type: ignore[attr-defined]  # noqa: B018
    assert all(name in dir(hmath) for name in hmath.__all__)
