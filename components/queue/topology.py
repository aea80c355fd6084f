"""How near to each other the pods of a job are: levels of the network, from wide to narrow, as labels of nodes."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.faults import Fault, did_you_mean
from components.labels import LABEL_KEY_NEEDS, is_label_key
from components.node_group import Shape

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
LEVELS: Mapping[str, str] = {"zone": ZONE, "host": HOST}
"""The levels that every cluster has, by their names in settings."""


def labels_of(levels: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """The node's label of each level, by the level's name; a label's own key is a name, too."""
    return {level: known.get(level, level) for level in levels}


def object_name(stack: str, labels: Sequence[str]) -> str:
    """Name of the Topology. Its levels can never change, and so they are in its name."""
    return f"{stack}-{mark(labels)}"


def mark(labels: Sequence[str]) -> str:
    """What names carry of these levels."""
    return f"near-{hashlib.sha256(' '.join(labels).encode()).hexdigest()[:6]}"


def spec(labels: Sequence[str]) -> dict[str, Any]:
    """The Topology's levels."""
    return {"levels": [{"nodeLabel": label} for label in labels]}


def annotations(level: str | None, *, required: bool) -> dict[str, str]:
    """What tells Kueue how near the pods of a set must be. Flavors with levels take no pods that say nothing of it."""
    if level is None:
        return {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}
    return {f"kueue.x-k8s.io/podset-{'required' if required else 'preferred'}-topology": level}


def faults(levels: Sequence[str], known: Mapping[str, str], groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """Levels that nobody knows, in an order that is none, or above nodes that come and go."""
    at = ("topology",)
    for level in levels:
        if level not in known and not ("/" in level and is_label_key(level)):
            names = ", ".join(known)
            reason = f"unknown level {level!r}, have {names}{did_you_mean(level, known)}, or a label's key"
            yield Fault(at, f"{reason} ({LABEL_KEY_NEEDS})")
    labels = [known.get(level, level) for level in levels]
    if len(set(labels)) < len(labels):
        yield Fault(at, f"got {', '.join(levels)}: need each level once")
    order = [list(known.values()).index(label) for label in labels if label in known.values()]
    if order != sorted(order):
        right = ", ".join(name for name, label in known.items() if label in labels)
        yield Fault(at, f"got {', '.join(levels)}: need them from wide to narrow: {right}")
    for name, shape in groups.items() if levels else ():
        if shape.accelerator and shape.args.min != shape.args.max:
            reason = f"got {shape.args.min} with max {shape.args.max}, and topology is given: Kueue counts the nodes"
            need = f"that are there, and starts no others: need {shape.args.max}"
            yield Fault(("nodeGroups", name, "min"), f"{reason} {need}", given=(at,))
