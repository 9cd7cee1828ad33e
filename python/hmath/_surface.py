"""What ``dir()`` of a public module shows."""

from __future__ import annotations

from collections.abc import Callable


def shown(names: list[str]) -> Callable[[], list[str]]:
    """``__dir__ = shown(__all__)``: the public names, none of what they are made with."""
    return lambda: sorted(names)
