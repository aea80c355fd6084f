"""The graph as a picture in SVG: what a version was made from is left of it, in layers. Pure."""

from __future__ import annotations

from tensorplane.cli.commands.lineage import record
from tensorplane.cli.commands.lineage.graph import Graph, Node
from tensorplane.cli.output import dag
from tensorplane.cli.output.dag import MARGIN, Box

_BOX_WIDTH = 330
_MOST_LINES = 12
"""Of a box; its tooltip has the others, too."""
_COLORS = {"model": ("#eff6ff", "#2563eb"), "dataset": ("#f0fdf4", "#16a34a"), "": ("#fef2f2", "#dc2626")}
"""Fill and border by kind; without one, nothing is known of a version."""


def svg(graph: Graph) -> str:
    """The picture."""
    drawn = dag.draw([_box(node) for node in graph], top=MARGIN, box_width=_BOX_WIDTH)
    title = f"Lineage of {graph.nodes[graph.target].title}"
    return dag.document(title, drawn.lines, drawn.width, drawn.height + 2 * MARGIN)


def _box(node: Node) -> Box:
    lines = [f"{node.kind} {node.location}".strip(), *record.lines(node)]
    most = _MOST_LINES if len(lines) > _MOST_LINES + 1 else len(lines)
    colors = _COLORS[node.kind if not node.problem else ""]
    return Box(node.id, lines[:most], node.inputs, colors, title=node.title, more=lines[most:])
