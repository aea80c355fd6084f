"""What is wrong with the labels and taints that a node group's settings add to its nodes."""

from collections.abc import Iterable, Iterator

from components.faults import Fault, Key
from components.labels import LABEL_KEY_NEEDS, LABEL_VALUE_NEEDS, is_label_key, is_label_value, nearest_label
from components.node_group import DOMAIN, NodeGroupArgs, Taint

_RESERVED = (
    DOMAIN,
    "kubernetes.io",
    "k8s.io",
    "nvidia.com",
    "cloud.google.com",
    "eks.amazonaws.com",
    "kubernetes.azure.com",
    "karpenter.sh",
    "karpenter.k8s.aws",
)
"""Domains of labels that clouds refuse, or that follow from the group."""
_RESERVED_FOR_TAINTS = (
    DOMAIN,
    "node.kubernetes.io",
    "node.cloudprovider.kubernetes.io",
    "nvidia.com",
    "google.com",
    "kubernetes.azure.com",
    "karpenter.sh",
)
"""Domains of taints that follow from the group, or come and go with a node's state."""


def labels(path: Key, args: NodeGroupArgs) -> Iterator[Fault]:
    """Faults in `labels`, a line each."""
    for key, value in args.labels.items():
        where = (*path, "labels", key)
        if not is_label_key(key):
            yield Fault(where, f"not a label key, need {LABEL_KEY_NEEDS}{_near_key(key)}")
        elif _is_of(key, _RESERVED):
            need = "need a prefix of your own: the system's and tensorplane's labels follow from the group's settings"
            yield Fault(where, need)
        yield from _value(where, value)


def taints(path: Key, args: NodeGroupArgs, own: Iterable[Taint]) -> Iterator[Fault]:
    """Faults in `taints`, a line each. `own` are those that the nodes have by themselves."""
    # A node has a key once for each effect, and Kubernetes takes no second one.
    first = {(taint.key, taint.effect): "the nodes have that taint by themselves" for taint in own}
    for index, taint in enumerate(args.taints):
        where = (*path, "taints", str(index))
        already = first.setdefault((taint.key, taint.effect), f"taints.{index} is that one")
        if not is_label_key(taint.key):
            yield Fault((*where, "key"), f"got {taint.key!r}, need {LABEL_KEY_NEEDS}{_near_key(taint.key)}")
        elif not already.startswith(f"taints.{index} "):
            yield Fault((*where, "key"), f"got {taint.key} with effect {taint.effect}, {already}: leave it out")
        elif _is_of(taint.key, _RESERVED_FOR_TAINTS):
            need = "which nodes have by themselves where they need it: leave it out, or take a key of your own"
            yield Fault((*where, "key"), f"got {taint.key}, {need}")
        yield from _value((*where, "value"), taint.value)


def _value(where: Key, value: str) -> Iterator[Fault]:
    if not is_label_value(value):
        yield Fault(where, f"got {value!r}, need {LABEL_VALUE_NEEDS}{_near(nearest_label(value))}")


def _is_of(key: str, domains: tuple[str, ...]) -> bool:
    domain, slash, _ = key.rpartition("/")
    return bool(slash) and any(domain == other or domain.endswith(f".{other}") for other in domains)


def _near_key(key: str) -> str:
    domain, slash, name = key.partition("/")
    near = f"{domain.lower()}/{nearest_label(name)}" if slash else nearest_label(key)
    return _near(near) if is_label_key(near) else ""


def _near(value: str) -> str:
    return f" (did you mean {value}?)" if value else ""
