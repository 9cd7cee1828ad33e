"""The ABI only grows: exported equals declared, and nothing that was ever recorded changes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

# The neighbour, by its path: test folders are no packages.
_spec = importlib.util.spec_from_file_location("surface", Path(__file__).resolve().parent / "surface.py")
assert _spec is not None and _spec.loader is not None
surface = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(surface)

PARTS = ("constants", "functions", "structs")


def test_exported_symbols_are_the_declared_functions() -> None:
    exported = surface.exported_symbols()
    functions = {name for name in exported if not name.startswith("HMATH_")}
    assert functions == surface.declared_functions()


def test_every_symbol_has_a_version() -> None:
    nodes = {version for name, version in surface.exported_symbols().items() if name.startswith("hmath_")}
    assert nodes == {"HMATH_1"}


@pytest.mark.parametrize("part", PARTS)
def test_nothing_recorded_changes(part: str) -> None:
    now: dict[str, Any] = surface.state()[part]
    for name, before in surface.recorded()[part].items():
        if part == "structs":  # these grow at their end
            assert before.items() <= now[name].items(), name
        elif name != "HMATH_ABI_VERSION":  # which counts the additions
            assert now.get(name) == before, name


@pytest.mark.parametrize("part", PARTS)
def test_everything_is_recorded(part: str) -> None:
    new = surface.state()[part].keys() - surface.recorded()[part].keys()
    assert not new, "added: `python tests/abi/surface.py` records it for ever"
