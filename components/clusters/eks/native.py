"""What of an EKS cluster others build upon: volumes that need resources of their own in AWS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from components.clusters.eks.context import Context
from components.clusters.eks.network import Subnets
from components.clusters.eks.roles import GrantedRole


@dataclass(frozen=True)
class Installed:
    """An add-on and what it may do in AWS."""

    addon: aws.eks.Addon
    role: GrantedRole | None


@dataclass(frozen=True)
class Native:
    """The cluster in AWS, for what is built beside it: file systems, roles of workloads."""

    context: Context
    cluster: aws.eks.Cluster
    provider: aws.Provider
    subnets: Subnets
    security_group: pulumi.Output[str]
    """Of the control plane and of every node."""
    nodes: Sequence[pulumi.Resource]
    """Those that the cluster's own pods run on, and all others that are no pool of Karpenter's."""
    addons: Mapping[str, Installed]
    """The add-ons that came after the first nodes, by name."""
