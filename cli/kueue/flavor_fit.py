"""Whether Kueue would assign a flavor to pods: by their selector, affinity and tolerations, and by the nodes it has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tensorplane.agents.quota_return.flavors import TAINT, why_unschedulable
from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.objects import ClusterObjects
from tensorplane.cli.kueue.workloads import Pods


def lets_in(flavor: Object, pods: Pods, known: Collection[str]) -> bool:
    """`flavor`: the spec of one. `known`: the keys of the labels of all flavors of its queue; others say nothing."""
    return selects(flavor, pods, known) and not untolerated(flavor, pods)


def selects(flavor: Object, pods: Pods, known: Collection[str]) -> bool:
    """Whether the pods' selector and affinity match the flavor's nodes."""
    labels = flavor.get("nodeLabels") or {}
    if any(key in known and labels.get(key) != value for key, value in pods.selector.items()):
        return False
    return not pods.terms or any(_fits(term, labels, known) for term in pods.terms)


def untolerated(flavor: Object, pods: Pods) -> list[str]:
    """The untolerated taints of the flavor's nodes, as kubectl writes them."""
    tolerated = (*pods.tolerations, *(flavor.get("tolerations") or ()))
    return [
        f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
        for taint in flavor.get("nodeTaints") or ()
        if taint["effect"] != "PreferNoSchedule" and not any(_tolerates(each, taint) for each in tolerated)
    ]


def _fits(term: Mapping[str, Any], labels: Mapping[str, str], known: Collection[str]) -> bool:
    return all(_holds(each, labels) for each in term.get("matchExpressions") or () if each["key"] in known)


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, operator = labels.get(expression["key"]), expression["operator"]
    if operator == "In":
        return value in expression["values"]
    if operator == "NotIn":
        return value not in expression["values"]
    if operator == "Exists":
        return value is not None
    # Gt and Lt compare numbers, which our labels are not.
    return operator != "DoesNotExist" or value is None


def _tolerates(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


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
