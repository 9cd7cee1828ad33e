"""Where the C library is that this package carries, for programs that are built against it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ._hmath import ffi, lib


def version() -> str:
    """Version of the library that is loaded."""
    text: str = ffi.string(lib.hmath_version()).decode()
    return text


def numerics_version() -> int:
    """Version of the numerics contract: equal versions mean equal bits."""
    return int(lib.hmath_numerics_version())


def get_library() -> str:
    """Path of the shared library, the very file that this process has loaded."""
    path: str = ffi.string(lib.bridge_library_path()).decode()
    return str(Path(path).resolve())


def get_include() -> str:
    """Directory of the C headers."""
    installed = Path(get_library()).parent.parent / "include"
    if (installed / "hmath.h").exists():
        return str(installed)
    # An editable install leaves the headers where they are; the package knows each file's place.
    header = files("hmath") / "include" / "hmath.h"
    return str(Path(str(header)).parent)


def library_directory() -> str:
    return str(Path(get_library()).parent)


def pkgconfig_directory() -> str:
    """Directory of ``hmath.pc``."""
    return _beside_library("pkgconfig")


def cmake_directory() -> str:
    """Directory to put into ``CMAKE_PREFIX_PATH`` or ``hmath_DIR``."""
    return _beside_library("cmake", "hmath")


def _beside_library(*parts: str) -> str:
    directory = Path(get_library()).parent.joinpath(*parts)
    if not directory.is_dir():
        raise FileNotFoundError(
            f"{directory} does not exist: an editable install has no such files; "
            "use --cflags and --libs, or install the package"
        )
    return str(directory)


def cflags() -> str:
    """Flags to compile a C program with."""
    return f"-I{get_include()}"


def libs() -> str:
    """Flags to link a C program with; it finds the library without further settings."""
    return f"{get_library()} -Wl,-rpath,{library_directory()}"
