"""The wrappers of the reference as rows of a C table: name, function, types of parameters and of the result.

python make_table.py wrappers.json wrappers.inc
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(source: str, target: str) -> None:
    rows = []
    for wrapper in json.loads(Path(source).read_text())["wrappers"]:
        types = ", ".join(f'"{parameter["type"]}"' for parameter in wrapper["parameters"])
        count = len(wrapper["parameters"])
        rows.append(f'ROW({wrapper["c"]}, {count}, "{wrapper["result"]}", {types or "NULL"})\n')
    Path(target).write_text("".join(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
