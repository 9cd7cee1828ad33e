"""Time hmath beside the libraries it is compared with.

    python bench/run.py --quick                     every target row, in under five minutes
    python bench/run.py --cases 'conv2d*' --turns 15
    python bench/run.py --out result.json --report docs/benchmark.md

One thread and two, interleaved in one process. Needs the extra ``oracles``.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import harness
import report

GROUPS = [
    path.stem for path in sorted((Path(__file__).parent / "cases").glob("*.py")) if path.stem != "__init__"
]


def machine() -> dict[str, Any]:
    """What the numbers were made on."""
    import numpy
    import torch

    import hmath

    processor = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            processor = line.split(":", 1)[1].strip()
            break
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "instruction_set": hmath.instruction_set(),
        "hmath": hmath.__version__,
        "torch": torch.__version__,
        "torch_capability": torch.backends.cpu.get_cpu_capability(),
        "numpy": numpy.__version__,
        "python": platform.python_version(),
    }


def chosen(patterns: list[str], quick: bool) -> list[harness.Case]:
    return [
        case
        for case in harness.CASES.values()
        if any(fnmatch.fnmatch(case.name, p) or p == f"group:{case.group}" for p in patterns)
        and (case.quick or not quick)
    ]


def run(cases: list[harness.Case], threads: list[int], turns: int, seconds: float) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for case in cases:
        results[case.name] = {"group": case.group, "row": case.row, "threads": {}}
        for count in threads:
            try:
                outcome = harness.measure(case, count, turns, seconds)
            except Exception as error:  # one case that fails must not lose the others
                outcome = {"error": f"{type(error).__name__}: {error}"}
            results[case.name]["threads"][str(count)] = outcome
            print(report.line(case.name, count, outcome), file=sys.stderr, flush=True)
    return results


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default="*", help="name patterns or group:NAME, separated by commas")
    parser.add_argument("--threads", default="1,2", help="thread counts, separated by commas")
    parser.add_argument("--turns", type=int, default=9, help="how often each side is timed")
    parser.add_argument("--seconds", type=float, default=0.02, help="least length of one sample")
    parser.add_argument("--quick", action="store_true", help="the quick cases, in fewer and shorter turns")
    parser.add_argument("--out", type=Path, help="write the results here as JSON")
    parser.add_argument("--report", type=Path, help="write a Markdown table here, and a plot beside it")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    options = parser.parse_args(arguments)

    for group in GROUPS:
        importlib.import_module(f"cases.{group}")
    selected = chosen(options.cases.split(","), options.quick)
    if options.list:
        print("\n".join(f"{case.group:14} {case.name}" for case in selected))
        return 0
    turns, seconds = (5, 0.01) if options.quick else (options.turns, options.seconds)
    threads = [int(count) for count in options.threads.split(",")]
    outcome = {"machine": machine(), "cases": run(selected, threads, turns, seconds)}
    if options.out:
        options.out.write_text(json.dumps(outcome, indent=1) + "\n")
    if options.report:
        report.write(outcome, options.report)
    failed = [
        name
        for name, entry in outcome["cases"].items()
        for t in entry["threads"].values()
        if "error" in t or not t.get("agrees", True)
    ]
    if failed:
        print("failed or disagreed: " + ", ".join(dict.fromkeys(failed)), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
