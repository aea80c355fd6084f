"""Access entries for members of teams that are IAM roles or users: EKS logs them in with the groups of their teams."""

from collections.abc import Mapping, Sequence

import pulumi_aws as aws

from tensorplane.components.clusters.eks import principals
from tensorplane.components.clusters.eks.native import Native


def entries(native: Native, teams: Mapping[str, Sequence[str]]) -> None:
    """One for each principal, which EKS requires, with the groups of all its teams. `teams`: members, by group."""
    groups: dict[str, list[str]] = {}
    for group, members in teams.items():
        for arn in dict.fromkeys(filter(None, map(principals.of_member, members))):
            groups.setdefault(arn, []).append(group)
    for arn, found in sorted(groups.items()):
        aws.eks.AccessEntry(
            f"{native.context.name}-member-{'-'.join(principals.identity(arn))}",
            cluster_name=native.cluster.name,
            principal_arn=arn,
            type="STANDARD",
            kubernetes_groups=sorted(found),
            opts=native.context.opts,
        )
