"""Where the C library is that this package carries, for programs that are built against it."""

from __future__ import annotations

import os.path

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
    return os.path.realpath(path)


def get_include() -> str:
    """Directory of the C headers."""
    installed = os.path.join(os.path.dirname(library_directory()), "include")
    if os.path.exists(os.path.join(installed, "hmath.h")):
        return installed
    # An editable install leaves the headers where they are; the package knows each file's place.
    from importlib.resources import files  # takes longer to import than all of hmath

    return os.path.dirname(str(files("hmath") / "include" / "hmath.h"))


def library_directory() -> str:
    return os.path.dirname(get_library())


def pkgconfig_directory() -> str:
    """Directory of ``hmath.pc``."""
    return _beside_library("pkgconfig")


def cmake_directory() -> str:
    """Directory to put into ``CMAKE_PREFIX_PATH`` or ``hmath_DIR``."""
    return _beside_library("cmake", "hmath")


def _beside_library(*parts: str) -> str:
    path = os.path.join(library_directory(), *parts)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{path} does not exist: an editable install has no such files; "
            "use --cflags and --libs, or install the package"
        )
    return path


def cflags() -> str:
    """Flags to compile a C program with."""
    return f"-I{get_include()}"


def libs() -> str:
    """Flags to link a C program with; it finds the library without further settings."""
    return f"{get_library()} -Wl,-rpath,{library_directory()}"


def static_libs() -> str:
    """Flags to link a C program with that takes the library into itself."""
    return f"{_beside_library('libhmath.a')} -lm -pthread"
