"""The cluster component that all other components deploy to."""

import pulumi

from tensorplane.components.base import encrypted, outputs
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.node_groups.fleet import Fleet


class Cluster(pulumi.ComponentResource):
    """A cluster that is ready for resources."""

    kubeconfig: pulumi.Output[str | None]
    """Path or content of the kubeconfig; None means kubectl's default."""

    def __init__(
        self,
        name: str,
        args: ClusterArgs,
        fleet: Fleet,
        *,
        platform: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`platform`: the stack that has the cluster and its node groups; None: this one."""
        registered = _outputs(args, fleet if platform is None else None)
        super().__init__(outputs.CLUSTER, name, dict(registered), opts)
        inside = pulumi.ResourceOptions(parent=self)
        if platform is None:
            connection = args.connect(name, fleet.groups, inside)
        else:
            connection = args.reach(name, platform, inside)
        self.name = name
        self.fleet = fleet
        self.args = args
        self.provider = connection.provider
        self.kubeconfig = connection.kubeconfig
        self.native = connection.native
        made: outputs.ClusterOutputs = {**registered, "kubeconfig": self.kubeconfig}
        self.register_outputs(encrypted.concealed(dict(made)))

    @property
    def network_resources(self) -> frozenset[str]:
        """Names of extended resources for the network between nodes."""
        return frozenset(
            name for shape in self.fleet.groups.values() for name in self.args.network_of_whole_node(shape)
        )


def _outputs(args: ClusterArgs, fleet: Fleet | None) -> outputs.Cluster:
    """Outputs of the cluster and its node groups for policies; nothing about nodes without node groups."""
    cluster = outputs.Cluster(kind=args.kind, factsVersion=outputs.VERSION)
    if fleet is None or not fleet.groups:
        return cluster
    return {**cluster, "gpusMax": fleet.gpus_max, "hourlyUsdMax": fleet.hourly_usd_max}
