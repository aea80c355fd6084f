"""Checks of the labels and taints in a node group's settings."""

from collections.abc import Collection, Iterable, Iterator

from tensorplane.components.base.labels import (
    DOMAIN,
    LABEL_KEY_RULE,
    LABEL_VALUE_RULE,
    is_label_key,
    is_label_value,
    nearest_label,
)
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.node_groups.taint import Taint

_RESERVED = (
    DOMAIN,
    "kubernetes.io",
    "k8s.io",
    "nvidia.com",
)
"""Domains of labels that every cloud reserves, or that tensorplane sets."""
_RESERVED_FOR_TAINTS = (
    DOMAIN,
    "node.kubernetes.io",
    "node.cloudprovider.kubernetes.io",
    "nvidia.com",
)
"""Domains of taints that tensorplane sets, or that reflect a node's state."""


def labels(path: Key, args: NodeGroupArgs, domains: Collection[str]) -> Iterator[Problem]:
    """Problems of `labels`. `domains`: those that clouds reserve."""
    for key, value in args.labels.items():
        at = (*path, "labels", key)
        if not is_label_key(key):
            yield Problem(at, f"invalid label key; use {LABEL_KEY_RULE}{_near_key(key)}")
        elif _is_of(key, (*_RESERVED, *domains)):
            reason = "reserved for labels that the cluster, the cloud and tensorplane set"
            yield Problem(at, f"{reason}; use a prefix of your own")
        yield from _value(at, value)


def taints(path: Key, args: NodeGroupArgs, own: Iterable[Taint], domains: Collection[str]) -> Iterator[Problem]:
    """Problems of `taints`. `own`: taints that the nodes already have. `domains`: those that clouds reserve."""
    # Kubernetes refuses a second taint with the same key and effect.
    first = {(taint.key, taint.effect): "the nodes have it by default" for taint in own}
    for index, taint in enumerate(args.taints):
        at = (*path, "taints", str(index))
        already = first.setdefault((taint.key, taint.effect), f"taints.{index} sets it")
        if not is_label_key(taint.key):
            yield Problem((*at, "key"), f"invalid taint key {taint.key!r}; use {LABEL_KEY_RULE}{_near_key(taint.key)}")
        elif not already.startswith(f"taints.{index} "):
            yield Problem(
                (*at, "key"), f"duplicate taint {taint.key} with effect {taint.effect}, {already}; remove one"
            )
        elif _is_of(taint.key, (*_RESERVED_FOR_TAINTS, *domains)):
            reason = f"{taint.key} is reserved for taints that the cluster, the cloud and tensorplane set"
            yield Problem((*at, "key"), f"{reason}; use a key of your own")
        yield from _value((*at, "value"), taint.value)


def _value(path: Key, value: str) -> Iterator[Problem]:
    if not is_label_value(value):
        yield Problem(path, f"invalid value {value!r}; use {LABEL_VALUE_RULE}{_near(nearest_label(value))}")


def _is_of(key: str, domains: tuple[str, ...]) -> bool:
    domain, slash, _ = key.rpartition("/")
    return bool(slash) and any(domain == other or domain.endswith(f".{other}") for other in domains)


def _near_key(key: str) -> str:
    domain, slash, name = key.partition("/")
    near = f"{domain.lower()}/{nearest_label(name)}" if slash else nearest_label(key)
    return _near(near) if is_label_key(near) else ""


def _near(value: str) -> str:
    return f" (did you mean {value}?)" if value else ""
