"""Each public header stands alone, in C and in C++, without a warning."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import hmath

HEADERS = sorted(path.name for path in Path(hmath.get_include()).iterdir())
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGES = [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17")]
COMPILERS = {"c": ["gcc", "clang", "cc"], "c++": ["g++", "clang++", "c++"]}
CASES = [
    (header, language, standard)
    for header in HEADERS
    for language, standard in LANGUAGES
    if standard == "c++17" or not header.endswith(".hpp")
]


@pytest.mark.parametrize(("header", "language", "standard"), CASES)
def test_header_alone(header: str, language: str, standard: str, tmp_path: Path) -> None:
    compilers = [found for name in COMPILERS[language] if (found := shutil.which(name))]
    if not compilers:
        pytest.skip(f"no compiler for {language} here")
    # Twice: a header guards itself.
    source = tmp_path / "alone.c"
    source.write_text(f"#include <{header}>\n#include <{header}>\nextern int alone;\nint alone;\n")
    for compiler in compilers:
        command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, "-fsyntax-only"]
        done = subprocess.run([*command, f"-I{hmath.get_include()}", source], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
