"""The pods that the stack's objects declare: what they ask of nodes, queues and volumes. Pure.

Pods of charts, and those that somebody submits, are not among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorplane.cli.commands.preview.kinds import KIND_NAMES
from tensorplane.components.base.labels import DOMAIN, QUEUE_LABEL
from tensorplane.components.catalog.rows import TPU_RESOURCE
from tensorplane.driver.runs.job_set import plain

_DEVICES = ("nvidia.com/", TPU_RESOURCE)
_KUBERNETES = "kubernetes:"
_DAEMON_SETS = ":DaemonSet"
_OF_NODES = (f"{DOMAIN}/", "nvidia.com/")
"""Prefixes of labels that node groups register; of others, such as zones, this module knows nothing."""
_REPLACED = "delete-replaced"

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Pods:
    """Equal pods of one object."""

    kind: str
    """Type of the component that has them, such as `tensorplane:index:ModelServer`."""
    owner: str
    """Its name."""
    name: str
    """The object's."""
    queue: str = ""
    """Empty without one."""
    count: int = 1
    gpus: int = 0
    """Accelerators of each pod."""
    spec: Object = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What people call their owner: `model server digits-server`."""
        return f"{KIND_NAMES.get(self.kind, '')} {self.owner}".strip()

    @property
    def claims(self) -> tuple[str, ...]:
        """The volumes that they mount."""
        found = (plain(each.get("persistentVolumeClaim")) for each in _items(self.spec.get("volumes")))
        return tuple(sorted(each["claimName"] for each in found if isinstance(each.get("claimName"), str)))

    def fits(self, labels: Mapping[str, str], taints: Sequence[str]) -> bool:
        """Whether nodes with these labels and taints may run them. In a queue, Kueue adds tolerations."""
        return self._selects(labels) and (bool(self.queue) or all(map(self._tolerates, taints)))

    def selects_by(self, label: str) -> bool:
        """Whether they choose their nodes by this label."""
        affinity = plain(plain(self.spec.get("affinity")).get("nodeAffinity"))
        return label in plain(self.spec.get("nodeSelector")) or label in str(affinity)

    def _selects(self, labels: Mapping[str, str]) -> bool:
        selector = plain(self.spec.get("nodeSelector"))
        by_name = all(labels.get(key) == value for key, value in selector.items() if key.startswith(_OF_NODES))
        affinity = plain(plain(self.spec.get("affinity")).get("nodeAffinity"))
        required = plain(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
        terms = _items(required.get("nodeSelectorTerms"))
        return by_name and (not terms or any(_meets(term, labels) for term in terms))

    def _tolerates(self, taint: str) -> bool:
        key_value, _, effect = taint.rpartition(":")
        key, _, value = key_value.partition("=")
        return effect == "PreferNoSchedule" or any(
            each.get("key", key) == key
            and each.get("effect", effect) == effect
            and (each.get("operator") == "Exists" or each.get("value", "") == value)
            for each in _items(self.spec.get("tolerations"))
        )


def of(step: Mapping[str, Any]) -> Iterator[tuple[str, Pods]]:
    """The pods of one of the engine's steps, those before as `old`, those after as `new`."""
    if not step["type"].startswith(_KUBERNETES) or step["type"].endswith(_DAEMON_SETS) or step["op"] == _REPLACED:
        return
    sides = {"old": step["op"] != "create", "new": step["op"] != "delete"}
    for side in (side for side, exists in sides.items() if exists):
        state = step.get(side) or {}
        inputs = state.get("inputs") or {}
        kind, owner = _owner(step["urn"], state.get("parent") or "")
        queue = _queue(inputs)
        for spec, count in _specs(inputs):
            yield side, Pods(kind, owner, step["urn"].rpartition("::")[2], queue, count, _gpus(spec), spec)


def _owner(urn: str, parent: str) -> tuple[str, str]:
    """Type and name of the component that has a resource; the resource's name if its parent is not known."""
    chain = urn.split("::")[2].split("$")
    kind = next((each for each in chain if each in KIND_NAMES), "")
    return kind, (parent or urn).rpartition("::")[2]


def _queue(value: Object) -> str:
    """The queue in the labels of an object."""
    found = plain(plain(value.get("metadata")).get("labels")).get(QUEUE_LABEL)
    return found if isinstance(found, str) else ""


def _specs(value: Any, count: int = 1) -> Iterator[tuple[Object, int]]:
    """Every pod's spec within an object, with the number of its pods."""
    if isinstance(value, list):
        for each in value:
            yield from _specs(each, count)
    elif isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value, count
            return
        times = [value.get(key) for key in ("replicas", "parallelism")]
        several = count * next((int(each) for each in times if isinstance(each, int | float)), 1)
        for each in value.values():
            yield from _specs(each, several)


def _items(value: Any) -> list[Object]:
    """The objects of a list; none if the engine masks it or does not know it yet."""
    return [plain(each) for each in value] if isinstance(value, list) else []


def _gpus(spec: Object) -> int:
    limits = [plain(plain(each.get("resources")).get("limits")) for each in _items(spec["containers"])]
    found = (amount for each in limits for name, amount in each.items() if name.startswith(_DEVICES))
    return sum(int(amount) for amount in found if str(amount).isdecimal())


def _meets(term: Object, labels: Mapping[str, str]) -> bool:
    return all(_matches(each, labels) for each in _items(term.get("matchExpressions")))


def _matches(rule: Object, labels: Mapping[str, str]) -> bool:
    if not rule["key"].startswith(_OF_NODES):
        return True
    value, allowed = labels.get(rule["key"]), rule.get("values") or ()
    match rule["operator"]:
        case "In":
            return value in allowed
        case "NotIn":
            return value not in allowed
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return True
