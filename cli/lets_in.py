"""Whether Kueue would put pods on a kind of machine: by their selector, affinity and tolerations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cli.queue_facts import Object
from cli.queue_work import Pods


def lets_in(flavor: Object, pods: Pods, known: Collection[str]) -> bool:
    """`flavor`: the spec of one. `known`: the keys of the labels of all flavors of its queue; others say nothing."""
    marks = flavor.get("nodeLabels") or {}
    if any(key in known and marks.get(key) != value for key, value in pods.selector.items()):
        return False
    if pods.terms and not any(_fits(term, marks, known) for term in pods.terms):
        return False
    tolerated = (*pods.tolerations, *(flavor.get("tolerations") or ()))
    return all(
        taint["effect"] == "PreferNoSchedule" or any(_tolerates(each, taint) for each in tolerated)
        for taint in flavor.get("nodeTaints") or ()
    )


def _fits(term: Mapping[str, Any], marks: Mapping[str, str], known: Collection[str]) -> bool:
    return all(_holds(each, marks) for each in term.get("matchExpressions") or () if each["key"] in known)


def _holds(expression: Mapping[str, Any], marks: Mapping[str, str]) -> bool:
    value, operator = marks.get(expression["key"]), expression["operator"]
    if operator == "In":
        return value in expression["values"]
    if operator == "NotIn":
        return value not in expression["values"]
    if operator == "Exists":
        return value is not None
    # Numbers are compared with Gt and Lt, which no label of ours is.
    return operator != "DoesNotExist" or value is None


def _tolerates(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")
