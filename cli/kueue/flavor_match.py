"""Whether Kueue would assign a flavor to pods: by their selector, affinity and tolerations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cli.api_values import Object
from cli.kueue.workloads import Pods


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
