"""What all resources of one AKS cluster have in common: names, tags, location, options."""

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_azure_native import resources

from components.clusters.aks.settings import AksSettings


@dataclass(frozen=True)
class Context:
    """Handed to everything that creates a part of the cluster."""

    name: str
    """What the resources' names in Pulumi begin with."""
    args: AksSettings
    group: resources.ResourceGroup
    opts: pulumi.ResourceOptions
    """Parent and provider."""

    @property
    def common(self) -> dict[str, Any]:
        """Inputs of everything that has a place of its own."""
        return {"resource_group_name": self.group.name, "location": self.args.region, "tags": tags(self.args)}

    @property
    def protected(self) -> pulumi.ResourceOptions:
        """The options of what must not be deleted by accident."""
        return pulumi.ResourceOptions.merge(self.opts, pulumi.ResourceOptions(protect=self.args.deletion_protection))

    def after(self, *others: pulumi.Resource) -> pulumi.ResourceOptions:
        """The options of what must come after others."""
        return pulumi.ResourceOptions.merge(self.opts, pulumi.ResourceOptions(depends_on=list(others)))


def tags(args: AksSettings) -> dict[str, str]:
    """The tags of everything that a cluster's settings come to."""
    return {"tensorplane-stack": pulumi.get_stack(), **dict(sorted(args.tags.items()))}
