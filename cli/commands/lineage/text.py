"""The graph as a tree in the terminal, and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text
from rich.tree import Tree

from tensorplane.cli.commands.lineage import record
from tensorplane.cli.commands.lineage.graph import Graph, Node


def tree(graph: Graph) -> Tree:
    """The version on top, and below each version what it was made from."""
    shown: set[str] = set()
    root = Tree(_label(graph.nodes[graph.target], shown=False))
    _below(root, graph, graph.target, shown)
    return root


def _below(branch: Tree, graph: Graph, one: str, shown: set[str]) -> None:
    shown.add(one)
    for each in graph.nodes[one].inputs:
        node = graph.nodes.get(each)
        if node is None:
            branch.add(Text(f"{each}: not followed further"))
            continue
        below = branch.add(_label(node, shown=each in shown))
        if each not in shown:
            _below(below, graph, each, shown)


def _label(node: Node, *, shown: bool) -> Text:
    text = Text.assemble((node.title, "bold"), (f"  {node.kind} {node.location}".rstrip(), "dim"))
    if shown:
        return text.append("  (above)", "dim")
    for line in record.lines(node):
        text.append(f"\n{line}", "red" if node.problem else "")
    return text


def plain(graph: Graph) -> dict[str, Any]:
    """Everything, for programs: `target` is the id of the version that was asked for."""
    return {"target": graph.target, "versions": [_plain(node) for node in graph]}


def _plain(node: Node) -> dict[str, Any]:
    known: Sequence[tuple[str, Any]] = [
        ("id", node.id),
        ("kind", node.kind),
        ("name", node.name),
        ("where", node.location),
        ("version", node.version),
        ("inputs", list(node.inputs)),
        ("record", dict(node.record)),
    ]
    of_dataset = {"commit": dict(node.commit), "kept": node.is_kept} if node.commit else {}
    return {**dict(known), **of_dataset, **({"problem": node.problem} if node.problem else {})}
