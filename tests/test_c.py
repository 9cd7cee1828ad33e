"""The C tests, one pytest test a program: each is built by meson and run by itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def programs() -> list[str]:
    """The names in the table of tests/meson.build."""
    table = re.search(r"c_tests = \{(.*?)\}", (HERE / "meson.build").read_text(), re.DOTALL)
    assert table is not None
    return re.findall(r"'(\w+)':", table.group(1))


@pytest.mark.parametrize("name", programs())
def test_program(name: str, c_build: Path) -> None:
    done = subprocess.run(
        [c_build / "tests" / name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-8000:]
