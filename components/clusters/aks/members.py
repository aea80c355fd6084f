"""The right of teams' members to get the cluster's kubeconfig. RBAC decides what they may do there.

With Azure RBAC, RoleBindings count too (learn.microsoft.com/azure/aks/concepts-cluster-authorization). They
name a user by user principal name, or by object id where a token has none, as of guests (kubeguard/guard,
auth/providers/azure).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tensorplane.components.clusters.aks import access
from tensorplane.components.clusters.aks.check_members import is_object_id

if TYPE_CHECKING:
    from tensorplane.components.clusters.aks.native import Native


def grants(native: Native, teams: Mapping[str, Sequence[str]]) -> None:
    """A role for each member with an object id, which Azure requires; others get the kubeconfig from `tensorplane
    kubeconfig`. `teams`: members, by group."""
    for member in sorted({one for members in teams.values() for one in members}):
        kind, _, name = member.partition(":")
        if is_object_id(name):
            who = native.context, f"member-{name}", access.CLUSTER_USER, native.cluster.id, name
            access.grant(*who, "Group" if kind == "group" else "User")
