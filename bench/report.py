"""Results as a line, a Markdown page and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from targets import FLOOR, TARGETS


def line(name: str, threads: int, outcome: dict[str, Any]) -> str:
    """One result for the terminal."""
    if "error" in outcome:
        return f"{name:40} t{threads} {outcome['error']}"
    text = (
        f"{name:40} t{threads} {outcome['hmath_seconds'] * 1e6:12.2f} us  {outcome['peer']} "
        f"{outcome['peer_seconds'] * 1e6:12.2f} us  x{outcome['ratio']:.2f} "
        f"[{outcome['ratio_low']:.2f} {outcome['ratio_high']:.2f}]"
    )
    return text if outcome.get("agrees", True) else text + f"  DISAGREES by {outcome['difference']:.1e}"


def per_call(outcome: dict[str, Any]) -> str:
    """The speed in the unit that says most."""
    seconds = outcome["hmath_seconds"]
    if outcome["unit"] == "flop":
        return f"{outcome['work'] / seconds * 1e-9:.1f} GFLOP/s"
    if outcome["unit"] == "elem":
        return f"{seconds / outcome['work'] * 1e9:.2f} ns/element"
    return f"{seconds * 1e6:.2f} µs"


def ratio(outcome: dict[str, Any] | None) -> str:
    if outcome is None:
        return ""
    if "error" in outcome:
        return "failed"
    return f"{outcome['ratio']:.2f} ({outcome['ratio_low']:.2f}–{outcome['ratio_high']:.2f})"


def machine_text(machine: dict[str, Any]) -> str:
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['instruction_set']} kernels; hmath "
        f"{machine['hmath']}, PyTorch {machine['torch']} ({machine['torch_capability']}), NumPy "
        f"{machine['numpy']}, Python {machine['python']}"
    )


def worst_of_rows(cases: dict[str, Any]) -> dict[str, dict[str, float]]:
    """For each target row the lowest ratio of its cases, by number of threads."""
    rows: dict[str, dict[str, float]] = {}
    for entry in cases.values():
        if not entry["row"]:
            continue
        row = rows.setdefault(entry["row"], {})
        for threads, outcome in entry["threads"].items():
            if "error" not in outcome:
                row[threads] = min(row.get(threads, float("inf")), outcome["ratio"])
    return rows


def verdict(value: float | None, target: float) -> str:
    if value is None:
        return "–"
    mark = "" if value >= target else " (below)" if value >= FLOOR else " (below the floor)"
    return f"{value:.2f}{mark}"


def target_table(cases: dict[str, Any]) -> list[str]:
    lines = ["| row | target | one thread | two threads |", "|---|---|---|---|"]
    rows = worst_of_rows(cases)
    for row, (one, two) in TARGETS.items():
        if row in rows:
            got = rows[row]
            lines.append(
                f"| {row} | {one:g} \\| {two:g} | {verdict(got.get('1'), one)} | {verdict(got.get('2'), two)} |"
            )
    return lines


def case_tables(cases: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for group in dict.fromkeys(entry["group"] for entry in cases.values()):
        lines += [
            "",
            f"### {group}",
            "",
            "| case | speed, one thread | one thread | two threads |",
            "|---|---|---|---|",
        ]
        for name, entry in cases.items():
            if entry["group"] != group:
                continue
            one, two = entry["threads"].get("1"), entry["threads"].get("2")
            speed = per_call(one) if one and "error" not in one else ""
            lines.append(f"| `{name}` | {speed} | {ratio(one)} | {ratio(two)} |")
    return lines


def write(outcome: dict[str, Any], page: Path) -> None:
    """The Markdown page, and the plot beside it."""
    plot(outcome["cases"], page.with_suffix(".png"))
    text = [
        "# Benchmark",
        "",
        f"Made by `python bench/run.py` on {machine_text(outcome['machine'])}.",
        "",
        "Numbers are ratios, peer time ÷ hmath time: above 1 hmath is faster. Both sides are timed in turn in",
        "one process; a ratio is the median over the turns, with the quartiles behind it. Both allocate their",
        "results. Inputs are made once: hmath remembers that an immutable tensor was found finite, so a tensor",
        "that is used again is not scanned again, as weights and results of its own operations are not. A sample",
        "of a training step is a quarter of a second of steps, as they run in loops; others are shorter.",
        "",
        f"![ratios of all cases on one and two threads]({page.with_suffix('.png').name})",
        "",
        "## Targets",
        "",
        "A row gathers cases of one kind; its number is the lowest ratio among them. The target, for one | two",
        "threads, is the ratio that we wish for; *(below)* marks what has not reached it. The floor is",
        f"{FLOOR}: not to be slower than the other side, by more than measuring wobbles; *(below the floor)* is",
        "what has to be mended first.",
        "",
        *target_table(outcome["cases"]),
        "",
        "What the machine holds back is in [Rooflines](rooflines.md), with the limits measured.",
        "",
        "## Cases",
        *case_tables(outcome["cases"]),
        "",
    ]
    page.write_text("\n".join(text), encoding="utf-8")


def plot(cases: dict[str, Any], path: Path) -> None:
    """One dot a case and thread count, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(cases)
    figure, axes = plt.subplots(figsize=(8, max(3, 0.16 * len(names))), layout="constrained")
    for threads, marker in (("1", "o"), ("2", "x")):
        points = [
            (entry["threads"][threads]["ratio"], i)
            for i, entry in enumerate(cases.values())
            if "ratio" in entry["threads"].get(threads, {})
        ]
        if points:
            axes.plot(
                *zip(*points, strict=True),
                marker,
                markersize=4,
                label=f"{threads} thread{'s'[: threads != '1']}",
            )
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("peer time ÷ hmath time")
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.set_ylim(len(names), -1)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=120)
    plt.close(figure)
