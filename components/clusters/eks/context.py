"""What all resources of one EKS cluster have in common: names, tags, region, options."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from tensorplane.components.base import stack_name
from tensorplane.components.base.labels import STACK
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks.settings import EksSettings


@dataclass(frozen=True)
class Context:
    """Passed to all code that creates a part of the cluster."""

    name: str
    """Prefix of the resources' names in Pulumi."""
    args: EksSettings
    cluster_name: str
    opts: pulumi.ResourceOptions
    """Parent and provider."""

    @property
    def region(self) -> str:
        """The cluster's region."""
        return self.args.region

    @property
    def partition(self) -> str:
        """The AWS partition of the region, as in ARNs."""
        if self.region.startswith("cn-"):
            return "aws-cn"
        return "aws-us-gov" if self.region.startswith("us-gov-") else "aws"

    @property
    def tags(self) -> dict[str, pulumi.Input[str]]:
        """Tags of all resources."""
        return tags(self.args)

    def after(self, *resources: pulumi.Resource) -> pulumi.ResourceOptions:
        """Options with dependencies."""
        return pulumi.ResourceOptions.merge(self.opts, pulumi.ResourceOptions(depends_on=list(resources)))


def tags(args: EksSettings) -> dict[str, pulumi.Input[str]]:
    """Tags of all resources of a cluster."""
    return {STACK: stack_name.current(), **{key: as_input(args.tags[key]) for key in sorted(args.tags)}}
