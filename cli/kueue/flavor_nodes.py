"""Flavors for which Kueue looks for nodes, and of which no node takes pods now: their quota is of no use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agents.quota_return.nodes import TAINT, why_unschedulable
from cli.api_values import Object
from cli.kueue.objects import ClusterObjects


def without_nodes(objects: ClusterObjects) -> dict[str, tuple[str, ...]]:
    """The ResourceFlavors by name, with a reason for each node."""
    return dict(_found(objects))


def _found(objects: ClusterObjects) -> Iterator[tuple[str, tuple[str, ...]]]:
    for flavor in objects.flavors:
        name, spec = flavor["metadata"]["name"], flavor["spec"]
        if not spec.get("topologyName"):
            continue
        nodes = [node for node in objects.nodes if _is_of(node, spec.get("nodeLabels") or {})]
        reasons = tuple(filter(None, map(_reason, nodes)))
        if objects.nodes and len(reasons) == len(nodes):
            yield name, reasons or ("there is none",)
        elif not objects.nodes and name in passed_over([flavor]):
            # Who may not list nodes sees that the stack's agent found none.
            yield name, ()


def passed_over(flavors: Sequence[Object]) -> set[str]:
    """Names of the ResourceFlavors that have the taint by which the stack's agent makes Kueue pass them over."""
    return {one["metadata"]["name"] for one in flavors if any(map(_is_the_agents, one["spec"].get("nodeTaints") or ()))}


def untainted(flavors: Sequence[Object]) -> dict[str, Object]:
    """The specs of ResourceFlavors by name, without this taint."""
    return {one["metadata"]["name"]: _untainted(one["spec"]) for one in flavors}


def _untainted(spec: Object) -> Object:
    return {**spec, "nodeTaints": [taint for taint in spec.get("nodeTaints") or () if not _is_the_agents(taint)]}


def _is_the_agents(taint: Object) -> bool:
    return bool(taint["key"] == TAINT)


def _is_of(node: Object, labels: Mapping[str, str]) -> bool:
    return labels.items() <= (node["metadata"].get("labels") or {}).items()


def _reason(node: Object) -> str:
    """Why a node takes no pods; empty if it does."""
    why = why_unschedulable(node)
    return f"{node['metadata']['name']} {why}" if why else ""
