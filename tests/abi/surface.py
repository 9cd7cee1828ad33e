"""The ABI as the installed library and its headers have it, for the tests beside this file.

Run as a program it records the present state in ``abi.json``: done whenever something is added. What is
recorded there may never change or go.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import hmath
from hmath._hmath import ffi, lib

RECORD = Path(__file__).resolve().parent / "abi.json"

# Structures that callers fill in or read; all others are opaque.
STRUCTS = ("hmath_options", "hmath_error")


def headers() -> list[Path]:
    return sorted(Path(hmath.get_include()).glob("hmath*.h"))


def declared_functions() -> set[str]:
    """Every function that a public header declares."""
    found: set[str] = set()
    for header in headers():
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        text = re.sub(r"^\s*#.*?(?<!\\)$", "", text, flags=re.DOTALL | re.MULTILINE)
        found.update(re.findall(r"HMATH_(?:API|CALL)\b[^;]*?\b(hmath_\w+)\s*\(", text))
    return found


def exported_symbols() -> dict[str, str]:
    """Every symbol of the shared library, and the version node it stands in."""
    done = subprocess.run(
        ["nm", "--dynamic", "--defined-only", hmath.get_library()], capture_output=True, text=True, check=True
    )
    symbols = (line.split()[-1].partition("@@") for line in done.stdout.splitlines())
    return {name: version for name, _, version in symbols}


def state() -> dict[str, Any]:
    """Constants, function types and structure layouts, as they are now."""
    constants, functions = {}, {}
    for name in sorted(dir(lib)):
        if name.startswith("HMATH_"):
            constants[name] = getattr(lib, name)
        elif name.startswith("hmath_"):
            functions[name] = ffi.typeof(ffi.addressof(lib, name)).cname
    structs = {name: {field: layout.offset for field, layout in ffi.typeof(name).fields} for name in STRUCTS}
    return {"constants": constants, "functions": functions, "structs": structs}


def recorded() -> dict[str, Any]:
    return json.loads(RECORD.read_text())


def main() -> None:
    RECORD.write_text(json.dumps(state(), indent=1) + "\n")


if __name__ == "__main__":
    main()
