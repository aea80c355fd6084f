"""How much of each flavor a queue can still get: Kueue's calculation with quotas, loans and usage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.objects import ClusterObjects
from tensorplane.cli.kueue.workloads import Work
from tensorplane.components.base.quantities import amount

FlavorResource = tuple[str, str]
"""A flavor and a resource."""


@dataclass(frozen=True)
class Quota:
    """The quota of a queue or a cohort for one resource of one flavor. None: no limit."""

    nominal: float
    borrows: float | None
    lends: float | None


_NO_QUOTA = Quota(0, None, None)


@dataclass(frozen=True)
class Node:
    """A ClusterQueue or a cohort, with its parent cohort."""

    name: str
    parent: str | None
    """The parent cohort; None for root cohorts, and for queues without a cohort."""
    quotas: Mapping[FlavorResource, Quota]
    flavors: tuple[str, ...]
    """The flavors in the queue's order."""


@dataclass(frozen=True)
class QuotaTree:
    """All queues and cohorts of a cluster, with their usage."""

    queues: Mapping[str, Node]
    cohorts: Mapping[str, Node]
    works: Sequence[Work]

    def free(self, queue: str, key: FlavorResource, without: Collection[str] = ()) -> float:
        """What the queue can get in addition, with borrowing. `without`: UIDs of Workloads that end first."""
        return self._free(self.queues[queue], key, self._used_by_queue(key, without))

    def most(self, queue: str, key: FlavorResource) -> float:
        """What the queue could get with nothing else running."""
        return self._free(self.queues[queue], key, {})

    def own(self, queue: str, key: FlavorResource) -> float:
        """What is guaranteed to the queue: its nominal quota."""
        return self.queues[queue].quotas.get(key, _NO_QUOTA).nominal

    def sharing(self, queue: str) -> set[str]:
        """The queues that share with this one, including itself."""
        outermost = self._outermost(self.queues[queue])
        return {name for name, node in self.queues.items() if self._outermost(node) == outermost}

    def _outermost(self, node: Node) -> str:
        names = {node.name}
        while node.parent is not None and node.parent not in names:
            node = self.cohorts[node.parent]
            names.add(node.name)
        return f"cohort {node.name}" if node.name in self.cohorts else f"queue {node.name}"

    def used(self, queue: str, key: FlavorResource) -> float:
        """What the queue's jobs hold."""
        return self._sums.get((queue, *key), 0)

    def _used_by_queue(self, key: FlavorResource, without: Collection[str]) -> Mapping[str, float]:
        flavor, resource = key
        found = {queue: self.used(queue, key) for queue in self.queues}
        for work in self.holders if without else ():
            if work.uid in without and work.admitted_by in found:
                found[work.admitted_by] -= work.held.get(flavor, {}).get(resource, 0)
        return found

    @cached_property
    def holders(self) -> list[Work]:
        """The Workloads that hold quota."""
        return [work for work in self.works if work.held]

    @cached_property
    def _sums(self) -> Mapping[tuple[str, str, str], float]:
        found: dict[tuple[str, str, str], float] = defaultdict(float)
        for work in self.holders:
            for flavor, held in work.held.items():
                for resource, count in held.items():
                    found[work.admitted_by, flavor, resource] += count
        return found

    @cached_property
    def _inside(self) -> Mapping[str, list[Node]]:
        found: dict[str, list[Node]] = defaultdict(list)
        for node in (*self.queues.values(), *self.cohorts.values()):
            if node.parent is not None:
                found[node.parent].append(node)
        return found

    def _parts(self, node: Node) -> Iterable[Node]:
        return self._inside.get(node.name, ()) if self.cohorts.get(node.name) is node else ()

    def _capacity(self, node: Node, key: FlavorResource) -> float:
        """Its own quota, and what the members of a cohort lend to it."""
        lent = sum(self._capacity(part, key) - self._unlent(part, key) for part in self._parts(node))
        return node.quotas.get(key, _NO_QUOTA).nominal + lent

    def _unlent(self, node: Node, key: FlavorResource) -> float:
        """What it never lends to its parent cohort."""
        lends = node.quotas.get(key, _NO_QUOTA).lends
        return 0 if lends is None else max(0, self._capacity(node, key) - lends)

    def _used(self, node: Node, key: FlavorResource, used: Mapping[str, float]) -> float:
        if self.cohorts.get(node.name) is not node:
            return used.get(node.name, 0)
        return sum(max(0, self._used(part, key, used) - self._unlent(part, key)) for part in self._parts(node))

    def _free(self, node: Node, key: FlavorResource, used: Mapping[str, float]) -> float:
        capacity, unlent, taken = self._capacity(node, key), self._unlent(node, key), self._used(node, key, used)
        if node.parent is None:
            return capacity - taken
        above = self._free(self.cohorts[node.parent], key, used)
        borrows = node.quotas.get(key, _NO_QUOTA).borrows
        if borrows is not None:
            above = min(above, capacity - unlent - max(0, taken - unlent) + borrows)
        return max(0, unlent - taken) + above


def of(objects: ClusterObjects, works: Sequence[Work]) -> QuotaTree:
    """The quota tree of a cluster."""
    queues = {one["metadata"]["name"]: _node(one, "cohortName") for one in objects.cluster_queues}
    cohorts = {one["metadata"]["name"]: _node(one, "parentName") for one in objects.cohorts}
    # A cohort exists as soon as it is named.
    for node in (*queues.values(), *list(cohorts.values())):
        if node.parent is not None:
            cohorts.setdefault(node.parent, Node(node.parent, None, {}, ()))
    return QuotaTree(queues, cohorts, works)


def _node(thing: Object, parent_key: str) -> Node:
    spec = thing["spec"]
    groups = spec.get("resourceGroups") or ()
    flavors = [flavor for group in groups for flavor in group["flavors"]]
    quotas = {key: quota for flavor in flavors for key, quota in _quotas(flavor)}
    return Node(thing["metadata"]["name"], spec.get(parent_key), quotas, tuple(each["name"] for each in flavors))


def _quotas(flavor: Object) -> Iterator[tuple[FlavorResource, Quota]]:
    for each in flavor["resources"]:
        nominal, borrows, lends = (each.get(key) for key in ("nominalQuota", "borrowingLimit", "lendingLimit"))
        yield (
            (flavor["name"], each["name"]),
            Quota(
                amount(nominal or "0"),
                None if borrows is None else amount(borrows),
                None if lends is None else amount(lends),
            ),
        )
