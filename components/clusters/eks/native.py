"""What volumes that create resources in AWS need: attributes of an EKS cluster, and names within AWS' limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from tensorplane.components.base.names import shorten
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.network import Subnets
from tensorplane.components.clusters.eks.roles import GrantedRole

_LIMIT = 40
"""Length of a name: a vault may have 50 characters and a bucket 63, with suffixes for roles and Pulumi."""


def short_name(name: str) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit."""
    return shorten(name, _LIMIT)


@dataclass(frozen=True)
class Installed:
    """An add-on and its IAM role."""

    addon: aws.eks.Addon
    role: GrantedRole | None


@dataclass(frozen=True)
class Native:
    """The cluster in AWS, for resources such as file systems and roles of workloads."""

    context: Context
    cluster: aws.eks.Cluster
    provider: aws.Provider
    subnets: Subnets
    security_group: pulumi.Output[str]
    """Security group of the control plane and of every node."""
    nodes: Sequence[pulumi.Resource]
    """Managed node groups: those for the cluster's own pods, and all others."""
    addons: Mapping[str, Installed]
    """The add-ons that are installed after the first nodes, by name."""
