"""GPUs that queues of several stacks guarantee on one existing cluster: together no more than the cluster has.

Kueue admits jobs by quotas alone. GPUs that two ClusterQueues both guarantee are those of jobs whose pods stay pending.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.components import catalog, versions
from tensorplane.components.base import quantities
from tensorplane.components.base.labels import NAME, PART_OF, TENSORPLANE
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Problem
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.manifest import cluster_wide_name
from tensorplane.core.kube import Kube
from tensorplane.stack import ResolvedStack

_KUEUE = f"/apis/{versions.KUEUE_API}"
_GPU = catalog.GPU_RESOURCE

_Object = Mapping[str, Any]
_Labels = Mapping[str, str]


@dataclass(frozen=True)
class Guarantee:
    """GPUs that a ClusterQueue which is not the stack's own guarantees."""

    owner: str
    """The namespace of the stack that has the queue; of another queue its own name."""
    nodes: _Labels
    """Labels of the nodes that have the GPUs."""
    gpus: int


@dataclass(frozen=True)
class GpuGuarantees:
    """What the cluster has, and what others' queues guarantee."""

    nodes: tuple[tuple[_Labels, int], ...]
    """Labels and GPUs of each node with GPUs."""
    of_others: tuple[Guarantee, ...]

    @classmethod
    def of(cls, api: Kube, namespace: str) -> GpuGuarantees:
        """Asks a cluster. `namespace`: that of the stack, whose own queues do not count."""
        flavors = {
            one["metadata"]["name"]: one.get("spec", {}).get("nodeLabels") or {}
            for one in api.items(f"{_KUEUE}/resourceflavors")
        }
        of_others = [
            Guarantee(owner, flavors.get(flavor, {}), gpus)
            for queue in api.items(f"{_KUEUE}/clusterqueues")
            if (owner := _owner(queue["metadata"])) != namespace
            for flavor, gpus in _nominal(queue)
            if gpus
        ]
        nodes = [
            (node["metadata"].get("labels") or {}, _count(gpus))
            for node in (api.items("/api/v1/nodes") if of_others else ())
            if (gpus := (node.get("status", {}).get("allocatable") or {}).get(_GPU))
        ]
        return cls(tuple(nodes), tuple(of_others))


def _owner(metadata: _Object) -> str:
    """Names of tensorplane's queues begin with the namespace of their stack."""
    labels, name = metadata.get("labels") or {}, str(metadata["name"])
    end = cluster_wide_name("", labels.get(NAME, ""))
    is_ours = labels.get(PART_OF) == TENSORPLANE[PART_OF] and name.endswith(end)
    return name.removesuffix(end) if is_ours else f"ClusterQueue {name}"


def _nominal(queue: _Object) -> Iterator[tuple[str, int]]:
    for group in queue["spec"].get("resourceGroups", ()):
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                if resource["name"] == _GPU:
                    yield flavor["name"], _count(resource["nominalQuota"])


def _count(quantity: str | int) -> int:
    return int(quantities.exact(str(quantity)))


def problems_in_cluster(resolved: ResolvedStack, api: Kube) -> Iterator[Problem]:
    """The problems of a stack with its own queues on an existing cluster. The clusters that stacks create have one."""
    config = resolved.config
    has_gpus = any(quota.guaranteed.gpus for quotas in resolved.quotas.values() for quota in quotas)
    if config.cluster.kind == "existing" and not config.platform and has_gpus:
        yield from problems(resolved, GpuGuarantees.of(api, config.namespace_name))


def problems(resolved: ResolvedStack, cluster: GpuGuarantees) -> Iterator[Problem]:
    """A problem for each quota that exceeds what others' guarantees leave, in the order of the settings."""
    for flavor in resolved.flavors.values():
        others = [one for one in cluster.of_others if _may_be_same(one.nodes, flavor.labels)]
        capacity = _capacity(flavor, cluster.nodes)
        # Too much without others is a problem of the settings alone; an unknown capacity may be enough.
        if not others or not capacity:
            continue
        left = max(0, capacity - sum(one.gpus for one in others))
        for name, quotas in resolved.quotas.items():
            wanted = sum(quota.guaranteed.gpus for quota in quotas if quota.flavor.name == flavor.name)
            if wanted > left:
                yield _too_many(name, flavor.name, wanted, left, capacity, others)
            left = max(0, left - wanted)


def _capacity(flavor: Flavor, nodes: Iterable[tuple[_Labels, int]]) -> int:
    """GPUs of a flavor: those of its nodes, or of its full node groups, which may have fewer nodes now."""
    found = sum(gpus for labels, gpus in nodes if flavor.labels.items() <= labels.items())
    return max(found, flavor.gpus_max or 0)


def _may_be_same(one: _Labels, other: _Labels) -> bool:
    """Whether a node can have both sets of labels."""
    return all(other.get(key, value) == value for key, value in one.items())


def _too_many(queue: str, flavor: str, wanted: int, left: int, capacity: int, others: Iterable[Guarantee]) -> Problem:
    held = Counter[str]()
    for one in others:
        held[one.owner] += one.gpus
    promises = ", ".join(f"{owner} promises {gpus}" for owner, gpus in sorted(held.items()))
    reason = f"promises {number_of(wanted, 'GPU')}, but of the cluster's {capacity}, {promises}"
    lower = f"lower it to {left}" if left else "remove it"
    return Problem(("queues", queue, "gpus", flavor), f"{reason}; {lower}, or lower the quotas there")
