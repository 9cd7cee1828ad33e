"""What importing hmath costs beyond importing cffi, in processor time.

python bench/import_time.py
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys

PROGRAM = """
import time, cffi
start = time.process_time()
import {module}
print(time.process_time() - start)
"""


def milliseconds(module: str, turns: int = 15) -> float:
    """The median of several new processes: a single start may meet a cold cache."""
    program = PROGRAM.format(module=module)
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for _ in range(turns)
    ]
    return 1000 * statistics.median(float(run.stdout) for run in runs)


def main() -> None:
    for module in ("hmath", "numpy", "torch"):
        if importlib.util.find_spec(module):
            print(f"{module:6} {milliseconds(module):8.1f} ms")


if __name__ == "__main__":
    main()
