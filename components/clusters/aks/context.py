"""What all resources of one AKS cluster have in common: names, tags, location, options."""

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_azure_native import resources

from tensorplane.components.base import stack_name
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.aks.settings import AksSettings


@dataclass(frozen=True)
class Context:
    """Passed to all code that creates a part of the cluster."""

    name: str
    """Prefix of the resources' names in Pulumi."""
    args: AksSettings
    resource_group: resources.ResourceGroup
    opts: pulumi.ResourceOptions
    """Parent and provider."""

    @property
    def common(self) -> dict[str, Any]:
        """Common inputs of resources with a location."""
        return {"resource_group_name": self.resource_group.name, "location": self.args.region, "tags": tags(self.args)}

    @property
    def protected(self) -> pulumi.ResourceOptions:
        """Options of protected resources."""
        return pulumi.ResourceOptions.merge(self.opts, pulumi.ResourceOptions(protect=self.args.deletion_protection))

    def after(self, *others: pulumi.Resource) -> pulumi.ResourceOptions:
        """Options with dependencies."""
        return pulumi.ResourceOptions.merge(self.opts, pulumi.ResourceOptions(depends_on=list(others)))


def tags(args: AksSettings) -> dict[str, pulumi.Input[str]]:
    """Tags of all resources of a cluster."""
    return {"tensorplane-stack": stack_name.current(), **{key: as_input(args.tags[key]) for key in sorted(args.tags)}}
