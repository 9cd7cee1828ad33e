"""A picture of a small graph, for notebooks: the language of Graphviz to SVG, without Graphviz.

Nodes stand in rows by their distance from what they depend on, in the order in which they were made.
"""

from __future__ import annotations

import re
from html import escape

_NODE = re.compile(r"^  n(\d+) \[label=\"(.*)\", (.*)\];$")
_EDGE = re.compile(r"^  n(\d+) -> n(\d+);$")
_OUTPUT = re.compile(r"^  n(\d+) \[peripheries=2\];$")
_MOST_NODES = 400
_ROW, _GAP, _HEIGHT, _CHARACTER = 56, 18, 26, 7.2


def svg(dot: str) -> str:
    """The graph that ``to_dot()`` describes; one box where it has more nodes than anybody would look at."""
    count = dot.count(" [label=")
    if count > _MOST_NODES:
        dot = f'  n0 [label="a graph of {count} nodes", shape=box];'
    labels: dict[int, str] = {}
    looks: dict[int, str] = {}
    edges: list[tuple[int, int]] = []
    outputs: set[int] = set()
    for line in dot.splitlines():
        if found := _NODE.match(line):
            labels[int(found[1])], looks[int(found[1])] = found[2], found[3]
        elif found := _EDGE.match(line):
            edges.append((int(found[1]), int(found[2])))
        elif found := _OUTPUT.match(line):
            outputs.add(int(found[1]))
    depth = dict.fromkeys(labels, 0)
    for start, end in sorted(edges, key=lambda edge: edge[1]):  # inputs are older than their users
        depth[end] = max(depth[end], depth[start] + 1)
    place: dict[int, tuple[float, float, float]] = {}
    widths: dict[int, float] = {}
    for node, label in labels.items():
        width = max(30.0, len(label) * _CHARACTER + 14)
        left = widths.get(depth[node], _GAP)
        place[node] = (left + width / 2, depth[node] * _ROW + _HEIGHT, width)
        widths[depth[node]] = left + width + _GAP
    total, height = max(widths.values(), default=60.0), (max(depth.values(), default=0) + 1) * _ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:.0f}" height="{height}" '
        'font-family="sans-serif" font-size="12" text-anchor="middle">'
    ]
    for start, end in edges:
        (x, y, _), (to_x, to_y, _) = place[start], place[end]
        lines.append(f'<path d="M{x:.1f} {y + 13}L{to_x:.1f} {to_y - 13}" stroke="#999" fill="none"/>')
    for node, label in labels.items():
        x, y, width = place[node]
        fill = "#d6eaf8" if "ellipse" in looks.get(node, "") else "#fff"
        stroke = "#c0392b" if node in outputs else "#555"
        lines.append(
            f'<rect x="{x - width / 2:.1f}" y="{y - 13}" width="{width:.1f}" height="{_HEIGHT}" rx="6" '
            f'fill="{fill}" stroke="{stroke}"/><text x="{x:.1f}" y="{y + 4}">{escape(label)}</text>'
        )
    return "".join([*lines, "</svg>"])
