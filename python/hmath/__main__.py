"""``python -m hmath --cflags --libs``: flags and paths for C programs, on one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from . import _build

_OPTIONS: dict[str, tuple[Callable[[], str], str]] = {
    "--version": (_build.version, "version of the library"),
    "--cflags": (_build.cflags, "flags to compile with"),
    "--libs": (_build.libs, "flags to link with"),
    "--static": (
        _build.static_libs,
        "flags to link with the static library: instead of --libs, behind the sources",
    ),
    "--includedir": (_build.get_include, "directory of the headers"),
    "--libdir": (_build.library_directory, "directory of the shared and the static library"),
    "--pkgconfigdir": (_build.pkgconfig_directory, "directory of hmath.pc"),
    "--cmakedir": (_build.cmake_directory, "directory of hmath-config.cmake"),
}


class _Print(argparse.Action):
    """Remember options in the order in which they were asked for."""

    def __call__(self, parser: object, namespace: argparse.Namespace, *_: object) -> None:
        namespace.asked.append(self.option_strings[0])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m hmath", description="Flags and paths to build C programs against hmath."
    )
    for option, (_, text) in _OPTIONS.items():
        parser.add_argument(option, action=_Print, nargs=0, help=text)
    asked = parser.parse_args(arguments, argparse.Namespace(asked=[])).asked
    if not asked:
        parser.print_help()
        return
    # Flags asked for together come on one line, ready for a compiler's command line.
    try:
        print(" ".join(_OPTIONS[option][0]() for option in asked))
    except FileNotFoundError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
