"""What all resources of one EKS cluster have in common: names, tags, region, options."""

from dataclasses import dataclass

import pulumi

from components.clusters.eks.settings import EksSettings


@dataclass(frozen=True)
class Context:
    """Handed to everything that creates a part of the cluster."""

    name: str
    """What the resources' names in Pulumi begin with."""
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
        """The part of AWS that the region is in, as ARNs spell it."""
        if self.region.startswith("cn-"):
            return "aws-cn"
        return "aws-us-gov" if self.region.startswith("us-gov-") else "aws"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of everything."""
        return tags(self.args)

    def after(self, *resources: pulumi.Resource) -> pulumi.ResourceOptions:
        """The options of what must come after others."""
        return pulumi.ResourceOptions.merge(self.opts, pulumi.ResourceOptions(depends_on=list(resources)))


def tags(args: EksSettings) -> dict[str, str]:
    """The tags of everything that a cluster's settings come to."""
    return {"tensorplane.dev/stack": pulumi.get_stack(), **dict(sorted(args.tags.items()))}
