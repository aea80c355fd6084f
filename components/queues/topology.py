"""Topology-aware scheduling: levels of the network, from wide to narrow, as node labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tensorplane.components import catalog
from tensorplane.components.base import names
from tensorplane.components.base.labels import HOSTNAME, LABEL_KEY_RULE, TOPOLOGY_PREFIX, ZONE, is_label_key
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.node_groups.shape import Shape

LEVELS: Mapping[str, str] = {"zone": ZONE, "host": HOSTNAME}
"""The levels of every cluster, by their names in the settings."""


def labels_of(levels: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """The node label of each level, by the level's name, which may be the label itself."""
    return {level: known.get(level, level) for level in levels}


def default_levels(groups: Iterable[Shape]) -> dict[str, str]:
    """The levels if the settings name none: `host` if all node groups with GPUs have a fixed size.

    A quota is a number of GPUs, on any node: without levels, Kueue would admit a pod with 8 GPUs to two nodes with 4
    free ones each. With levels it only counts existing nodes, so autoscaled groups would never grow. All flavors have
    levels or none has: flavors without levels reject pods with a topology request, and the others pods without one.
    """
    having = [shape.args for shape in groups if shape.resources.get(catalog.GPU_RESOURCE)]
    return {"host": HOSTNAME} if having and all(args.min == args.max for args in having) else {}


def object_name(stack: str, labels: Sequence[str]) -> str:
    """Name of the Topology. Its levels are immutable, so the name has a hash of them."""
    return f"{stack}-{suffix(labels)}"


def suffix(labels: Sequence[str]) -> str:
    """The part of names that depends on the levels."""
    return f"near-{names.digest(' '.join(labels), 6)}"


def spec(labels: Sequence[str]) -> dict[str, Any]:
    """The Topology's levels."""
    return {"levels": [{"nodeLabel": label} for label in labels]}


def annotations(level: str | None, *, required: bool) -> dict[str, str]:
    """Annotations of a pod set: the level within which Kueue places its pods. Flavors with levels require one."""
    if level is None:
        return {f"{TOPOLOGY_PREFIX}unconstrained-topology": "true"}
    return {f"{TOPOLOGY_PREFIX}{'required' if required else 'preferred'}-topology": level}


def find_problems(levels: Sequence[str], known: Mapping[str, str], groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Problems of `topology`: unknown levels, a wrong order, node groups without a fixed size."""
    at = ("topology",)
    for level in levels:
        if level not in known and not ("/" in level and is_label_key(level)):
            names = ", ".join(known)
            reason = f"unknown level {level!r}; choose one of {names}{did_you_mean(level, known)}, or a label's key"
            yield Problem(at, f"{reason} ({LABEL_KEY_RULE})")
    labels = [known.get(level, level) for level in levels]
    if len(set(labels)) < len(labels):
        yield Problem(at, f"{', '.join(levels)} repeats a level; list each level once")
    order = [list(known.values()).index(label) for label in labels if label in known.values()]
    if order != sorted(order):
        right = ", ".join(name for name, label in known.items() if label in labels)
        yield Problem(at, f"{', '.join(levels)} is not ordered from wide to narrow; use {right}")
    for name, shape in groups.items() if levels else ():
        if shape.accelerator and shape.args.min != shape.args.max:
            reason = (
                f"min is {shape.args.min} and max is {shape.args.max}, but with topology Kueue only counts "
                f"existing nodes"
            )
            yield Problem(("nodeGroups", name, "min"), f"{reason}; set min: {shape.args.max}", given=(at,))
