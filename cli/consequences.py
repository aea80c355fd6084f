"""What a change does beyond the resource that it is told of: which nodes restart, what runs on them, what stays old."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cli.report import Change

_ROLLED = "its nodes are replaced one after another, and what runs on them restarts"
_NEW_POOL = "made anew: every node of it goes, and what runs there restarts elsewhere"
_NODE_POOLS = (
    "aws:eks/nodeGroup:NodeGroup",
    "gcp:container/nodePool:NodePool",
    "azure-native:containerservice:AgentPool",
)
_ADDON = "aws:eks/addon:Addon"


@dataclass(frozen=True)
class _Rule:
    """One consequence: of a change of these properties of a type of resource."""

    type: str
    properties: str
    """What the path of a changed property begins with, as a regular expression."""
    follows: str
    removed: bool = False
    """Whether it follows only where the property goes away."""

    def applies(self, change: Change) -> bool:
        return change.operation == "update" and any(
            re.match(self.properties, each.path) and not (self.removed and each.new) for each in change.properties
        )


_RULES = (
    # Tags of the template itself are no new version of it, and those of its machines follow no setting.
    _Rule("aws:ec2/launchTemplate:LaunchTemplate", r"(?!tags|tagSpecifications|description|latestVersion)", _ROLLED),
    _Rule("aws:eks/nodeGroup:NodeGroup", r"(version|releaseVersion)$", _ROLLED),
    _Rule(
        _ADDON,
        r"addonVersion$",
        "stays at the build that it has: none is pinned for this Kubernetes version; name one in cluster.addons",
        removed=True,
    ),
    _Rule(
        "karpenter.k8s.aws/v1:EC2NodeClass",
        r"spec\.",
        "Karpenter replaces the pool's nodes one after another; with accelerators, only new nodes get the change",
    ),
    _Rule(
        "azure-native:containerservice:AgentPool",
        r"orchestratorVersion$",
        f"{_ROLLED}; nodes of a spot pool are emptied without waiting for what runs there",
    ),
    _Rule("gcp:container/nodePool:NodePool", r"version$", _ROLLED),
)


def of(changes: Iterable[Change]) -> tuple[str, ...]:
    """A line for each resource whose change has such a consequence."""
    found = list(changes)
    return (*(line for change in found for line in _lines(change)), *_old_addons(found))


def _lines(change: Change) -> Iterator[str]:
    if change.operation == "replace" and change.type in _NODE_POOLS:
        causes = [each.path for each in change.properties if each.replaces]
        because = f" (because of {', '.join(causes)})" if causes else ""
        zones = "; name its zones in nodeGroups to keep it where it is" if "subnetIds" in str(causes) else ""
        yield f"node group {change.name} is {_NEW_POOL}{because}{zones}"
    for follows in dict.fromkeys(rule.follows for rule in _RULES if rule.type == change.type and rule.applies(change)):
        yield f"{change.type.rpartition(':')[2]} {change.name}: {follows}"


def _old_addons(changes: list[Change]) -> Iterator[str]:
    """EKS keeps the builds of add-ons that name none, whatever becomes of the cluster's version."""
    upgraded = any(
        change.type == "aws:eks/cluster:Cluster" and any(each.path == "version" for each in change.properties)
        for change in changes
    )
    if upgraded and not any(change.type == _ADDON for change in changes):
        yield (
            "the add-ons stay at the builds that they have: none are pinned for this Kubernetes version; "
            "name them in cluster.addons"
        )
