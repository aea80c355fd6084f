"""The graph as a picture in SVG: what a version was made from is left of it, in layers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import fmean

from cli.commands.lineage import record
from cli.commands.lineage.graph import Graph, Node

_WIDTH, _GAP, _BETWEEN, _MARGIN = 330, 80, 24, 20
"""Of a box; between layers; between boxes of a layer; around all. In pixels."""
_LINE, _HEAD, _FOOT = 17, 46, 10
"""Heights of a line of text, of a box' title with its kind, and below the last line."""
_LETTERS = 42
"""Of a line. Longer ones are shortened; the tree in the terminal has all."""
_MOST_LINES = 12
_COLORS = {"model": ("#eff6ff", "#2563eb"), "dataset": ("#f0fdf4", "#16a34a"), "": ("#fef2f2", "#dc2626")}
"""Fill and stroke by kind; without one, nothing is known of a version."""
_SWEEPS = 4


@dataclass(frozen=True)
class _Box:
    node: Node
    lines: Sequence[str]
    x: float
    y: float

    @property
    def height(self) -> int:
        return _height(self.lines)


def svg(graph: Graph) -> str:
    """The picture."""
    boxes = _boxes(graph)
    width = max(box.x for box in boxes.values()) + _WIDTH + _MARGIN
    height = max(box.y + box.height for box in boxes.values()) + _MARGIN
    title = f"Lineage of {graph.nodes[graph.target].title}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" font-family="system-ui, \'DejaVu Sans\', sans-serif" role="img"'
        f' aria-label="{escape(title)}">'
    )
    arrow = (
        '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L10 5 L0 10 z" fill="#475569"/></marker></defs>'
    )
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    drawn = [*_arrows(boxes), *(line for box in boxes.values() for line in _drawn(box))]
    return "\n".join([head, arrow, ground, *drawn, "</svg>", ""])


def layers(graph: Graph) -> list[list[str]]:
    """Ids by layer: the target alone in the last one, every version left of all that were made from it.

    In a layer, a version is near what was made from it.
    """
    depth: dict[str, int] = {}
    waiting = [(graph.target, 0, frozenset[str]())]
    while waiting:
        one, far, above = waiting.pop()
        # A record that names itself as its input must not hang the command.
        if one in above or one not in graph.nodes or depth.get(one, -1) >= far:
            continue
        depth[one] = far
        waiting += [(each, far + 1, above | {one}) for each in graph.nodes[one].inputs]
    found = [[one for one in graph.nodes if depth.get(one) == far] for far in range(max(depth.values()) + 1)]
    made: dict[str, list[str]] = {}
    for node in graph:
        for each in node.inputs:
            made.setdefault(each, []).append(node.id)
    for _ in range(_SWEEPS):
        place = {one: index / len(layer) for layer in found for index, one in enumerate(layer)}
        for layer in found[1:]:
            layer.sort(key=lambda one: fmean(place[each] for each in made[one]))
            place |= {one: index / len(layer) for index, one in enumerate(layer)}
    return found[::-1]


def _boxes(graph: Graph) -> dict[str, _Box]:
    ordered = layers(graph)
    lines = {one: _lines(graph.nodes[one]) for layer in ordered for one in layer}
    heights = [sum(_height(lines[one]) + _BETWEEN for one in layer) - _BETWEEN for layer in ordered]
    found = {}
    for column, (layer, height) in enumerate(zip(ordered, heights, strict=True)):
        y = _MARGIN + (max(heights) - height) / 2
        for one in layer:
            found[one] = _Box(graph.nodes[one], lines[one], _MARGIN + column * (_WIDTH + _GAP), y)
            y += _height(lines[one]) + _BETWEEN
    return found


def _lines(node: Node) -> list[str]:
    found = [line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1]}…" for line in record.lines(node)]
    return found if len(found) <= _MOST_LINES else [*found[: _MOST_LINES - 1], "…"]


def _height(lines: Sequence[str]) -> int:
    return _HEAD + _LINE * len(lines) + _FOOT


def _arrows(boxes: Mapping[str, _Box]) -> Iterator[str]:
    for box in boxes.values():
        inputs = [boxes[each] for each in box.node.inputs if each in boxes]
        for index, source in enumerate(sorted(inputs, key=lambda one: one.y)):
            x, y = source.x + _WIDTH, source.y + source.height / 2
            to_x, to_y = box.x, box.y + box.height * (index + 1) / (len(inputs) + 1)
            bend = (to_x - x) / 2
            curve = f"M{x:.0f} {y:.0f} C{x + bend:.0f} {y:.0f} {to_x - bend:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
            yield f'<path d="{curve}" fill="none" stroke="#475569" stroke-width="1.5" marker-end="url(#a)"/>'


def _drawn(box: _Box) -> Iterator[str]:
    node = box.node
    fill, stroke = _COLORS[node.kind if not node.problem else ""]
    tip = escape("\n".join([node.id, *record.lines(node)]))
    yield f"<g><title>{tip}</title>"
    yield (
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{_WIDTH}" height="{box.height}" rx="10" fill="{fill}"'
        f' stroke="{stroke}" stroke-width="1.5"/>'
    )
    # What letters that are wider than most of them write beyond the box is cut off.
    yield f'<svg x="{box.x:.0f}" y="{box.y:.0f}" width="{_WIDTH - 4}" height="{box.height}">'
    yield _text(22, node.title, size=14, color="#1f2937", bold=True)
    yield _text(38, f"{node.kind} {node.where}".strip(), size=11, color="#64748b")
    for index, line in enumerate(box.lines):
        yield _text(_HEAD + _LINE * index + 12, line, size=12, color="#475569")
    yield "</svg></g>"


def _text(down: int, text: str, *, size: int, color: str, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="12" y="{down}" font-size="{size}" fill="{color}"{weight}>{escape(text)}</text>'
