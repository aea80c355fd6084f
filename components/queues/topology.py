"""How near to each other the pods of a job are: levels of the network, from wide to narrow, as labels of nodes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from components import catalog
from components.base import names
from components.base.faults import Fault, did_you_mean
from components.base.label_syntax import LABEL_KEY_NEEDS, is_label_key
from components.base.labels import HOSTNAME, TOPOLOGY_PREFIX, ZONE
from components.node_groups.shape import Shape

LEVELS: Mapping[str, str] = {"zone": ZONE, "host": HOSTNAME}
"""The levels that every cluster has, by their names in settings."""


def labels_of(levels: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """The node's label of each level, by the level's name; a label's own key is a name, too."""
    return {level: known.get(level, level) for level in levels}


def unless_told(groups: Iterable[Shape]) -> dict[str, str]:
    """The levels of settings that name none: by host where Kueue sees all nodes with GPUs that there will ever be.

    Quotas count GPUs, wherever they are: without levels Kueue admits a pod of 8 GPUs to two nodes with 4 free each. Of
    groups that grow and shrink it would wait for nodes that nobody starts before a pod asks for them. All kinds or
    none: pods that ask to be placed get none without levels, and pods that do not ask get none with them.
    """
    having = [shape.args for shape in groups if shape.resources.get(catalog.GPU_RESOURCE)]
    return {"host": HOSTNAME} if having and all(args.min == args.max for args in having) else {}


def object_name(stack: str, labels: Sequence[str]) -> str:
    """Name of the Topology. Its levels can never change, and so they are in its name."""
    return f"{stack}-{mark(labels)}"


def mark(labels: Sequence[str]) -> str:
    """What names carry of these levels."""
    return f"near-{names.digest(' '.join(labels), 6)}"


def spec(labels: Sequence[str]) -> dict[str, Any]:
    """The Topology's levels."""
    return {"levels": [{"nodeLabel": label} for label in labels]}


def annotations(level: str | None, *, required: bool) -> dict[str, str]:
    """What tells Kueue how near the pods of a set must be. Flavors with levels take no pods that say nothing of it."""
    if level is None:
        return {f"{TOPOLOGY_PREFIX}unconstrained-topology": "true"}
    return {f"{TOPOLOGY_PREFIX}{'required' if required else 'preferred'}-topology": level}


def faults(levels: Sequence[str], known: Mapping[str, str], groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """Levels that nobody knows, in an order that is none, or above nodes that come and go."""
    at = ("topology",)
    for level in levels:
        if level not in known and not ("/" in level and is_label_key(level)):
            names = ", ".join(known)
            reason = f"unknown level {level!r}; choose one of {names}{did_you_mean(level, known)}, or a label's key"
            yield Fault(at, f"{reason} ({LABEL_KEY_NEEDS})")
    labels = [known.get(level, level) for level in levels]
    if len(set(labels)) < len(labels):
        yield Fault(at, f"{', '.join(levels)} repeats a level; list each level once")
    order = [list(known.values()).index(label) for label in labels if label in known.values()]
    if order != sorted(order):
        right = ", ".join(name for name, label in known.items() if label in labels)
        yield Fault(at, f"{', '.join(levels)} is not ordered from wide to narrow; use {right}")
    for name, shape in groups.items() if levels else ():
        if shape.accelerator and shape.args.min != shape.args.max:
            reason = (
                f"min is {shape.args.min} and max is {shape.args.max}, but with topology Kueue only counts "
                f"existing nodes"
            )
            yield Fault(("nodeGroups", name, "min"), f"{reason}; set min: {shape.args.max}", given=(at,))
