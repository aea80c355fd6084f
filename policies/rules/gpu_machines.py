"""Machines with accelerators are of node groups that rules count: none inside clusters, none by other resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from gpu_usage.manifest import UNKNOWN, UncountableError
from stack_view import cloud_groups, machines, node_groups
from stack_view.rule import Config, Finding, Rule, Severity, of_each
from stack_view.schemas import strings
from stack_view.view import Resource, View, at, known, maps

_GKE, _AKS = "gcp:container/cluster:Cluster", "azure-native:containerservice:ManagedCluster"
_NODE_POOL, _AGENT_POOL = "gcp:container/nodePool:NodePool", "azure-native:containerservice:AgentPool"
_CLAIM = ("karpenter.sh", "NodeClaim")
_OF_CPUS = ("cpu", "memory")


def _inside(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if any(fnmatchcase(resource.name, each) for each in config["allowed"]):
        return
    for path, kind, pool in _pools_inside(resource):
        if _may_have_accelerators(kind, pool):
            yield _uncounted(f"{path} may have accelerators", kind, view)
    for accelerator in _started_by_gke(resource):
        yield _uncounted(f"GKE may start machines with {accelerator}", _NODE_POOL, view)
    if found := None if _is_counted(resource) else machines.of(resource):
        yield _uncounted(f"`{found.path}` is {found.machine}, which has accelerators", found.kind, view)


def _started_by_gke(resource: Resource) -> Iterator[Any]:
    """Accelerators of the machines that a cluster makes for waiting pods. tensorplane's are of its node groups."""
    if resource.type != _GKE or node_groups.is_owned(resource):
        return
    for limit in maps(resource.body, "clusterAutoscaling", "resourceLimits"):
        if at(limit, "resourceType") not in _OF_CPUS and known(limit, "maximum") != 0:
            yield at(limit, "resourceType")


def _uncounted(problem: str, kind: str, view: View) -> Finding:
    remedy = f"declare it as a resource of its own ({kind.rpartition(':')[2]}), or list this one in `allowed`"
    return Finding(f"{problem}, and no rule counts, prices or places those", f"{remedy} in {view.config}")


def _is_counted(resource: Resource) -> bool:
    """Whether fleet-gpus counts it, or `_pools_inside` has its pools."""
    return resource.type in (_GKE, _AKS) or cloud_groups.reader(resource) is not None or node_groups.is_owned(resource)


def _pools_inside(resource: Resource) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Pools of machines that are no resource of their own, each with the type whose fields it has."""
    body = resource.body
    if resource.type == _GKE:
        # A cluster without pools of its own has those that the update finds.
        for pool in maps(body, "nodePools") if at(body, "nodePools") is not UNKNOWN else ():
            yield f"the pool {at(pool, 'name')} in `nodePools`", _NODE_POOL, pool
        if not known(body, "removeDefaultNodePool"):
            yield "the pool of `nodeConfig`", _NODE_POOL, {"nodeConfig": known(body, "nodeConfig")}
    elif resource.type == _AKS:
        for pool in maps(body, "agentPoolProfiles"):
            yield f"the pool {at(pool, 'name')} in `agentPoolProfiles`", _AGENT_POOL, pool
    elif resource.manifest and resource.manifest.type == _CLAIM:
        template = {"template": {"spec": known(body, "spec") or {}}}
        yield "the machine", cloud_groups.KARPENTER, {"spec": template}


def _may_have_accelerators(kind: str, pool: Mapping[str, Any]) -> bool:
    try:
        return cloud_groups.READERS[kind](pool, {}).gpus > 0
    except UncountableError:
        return True


POLICIES = [
    Rule(
        of_each(_inside),
        name="gpu-node-pools",
        description="Machines with accelerators are of node groups that are resources of their own, or in `allowed`.",
        remedy="Declare the pool as a NodeGroup, NodePool or AgentPool.",
        severity=Severity.HIGH,
        tags=["gpu", "fleet"],
        config={"allowed": strings()},
    ),
]
