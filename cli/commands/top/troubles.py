"""Nodes of which a part or all is about to be lost: unhealthy devices, faults and ends that they announce."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agents.lost_nodes import device_faults, leaving
from cli.api_values import Object
from cli.commands.why.answer import resource_name


def lines(nodes: Iterable[Object]) -> Iterator[str]:
    """A sentence for each trouble. The number of ready nodes shows which are cordoned."""
    for node in nodes:
        name = node["metadata"]["name"]
        found = leaving.announcement(node)
        if found and not node["spec"].get("unschedulable"):
            yield f"Node {name} {found.words}."
        for resource, each in device_faults.list_devices(node).items():
            if broken := each.total - each.healthy:
                verb, them = ("is", "it") if broken == 1 else ("are", "them")
                what = f"{broken} of {each.total} {resource_name(resource)} of node {name}"
                yield f"{what} {verb} unhealthy: no pod gets {them}."
