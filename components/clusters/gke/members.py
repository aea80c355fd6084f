"""The right of teams' members to find the cluster and to connect to it. RBAC decides what they may do there."""

from collections.abc import Mapping, Sequence

import pulumi
from pulumi_gcp import projects

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.gke import check_members
from tensorplane.components.clusters.gke.native import Native

_ROLE = "roles/container.clusterViewer"


def grants(native: Native, teams: Mapping[str, Sequence[str]]) -> None:
    """A role in the project for each member, whatever the number of teams. `teams`: members, by group."""
    for member in sorted({check_members.in_iam(one) for members in teams.values() for one in members}):
        projects.IAMMember(
            f"member-{member}",
            project=as_input(native.args.project),
            role=_ROLE,
            member=member,
            opts=pulumi.ResourceOptions(provider=native.provider, parent=native.cluster),
        )
