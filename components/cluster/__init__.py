"""The cluster that everything else runs on: one shape for every kind of cluster."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pulumi
import pulumi_kubernetes as k8s

from components import versions
from components.catalog import Cloud
from components.family import Variant, load_family
from components.faults import Fault
from components.fleet import Fleet
from components.model import Resources
from components.node_group import Shape, Taint
from components.node_shape import Site
from components.queue import topology

CONTEXT_VARIABLE = "TENSORPLANE_CONTEXT"
"""Environment variable with a context of the kubeconfig: deploy there, whatever cluster the stack's file names."""


@dataclass(frozen=True)
class Connection:
    """What a kind of cluster hands over once it exists."""

    provider: "k8s.Provider"
    kubeconfig: pulumi.Output[str | None]
    native: Any = None


class ClusterArgs(Variant, family=True):
    """Settings of one kind of cluster, and what follows from the kind."""

    kind: str

    volume_backend: ClassVar[str] = "storageClass"
    """Kind of the backend of volumes that name none."""
    storage_is_its_own: ClassVar[bool] = False
    """Whether nothing that stores or moves volumes can be installed beside what it comes with."""
    default_disks: ClassVar[str | None] = None
    """What its default StorageClass makes, where those are disks, each for one node; None where nobody here knows."""
    stream_broker: ClassVar[str | None] = None
    """Kind of the Kafka of streams that name none; None where a stream must name one."""

    catalog: ClassVar[Cloud | None] = None
    """Whose machines its node groups have; None where no catalog lists them."""
    automatic_taints: ClassVar[frozenset[str]] = frozenset()
    """Keys of the taints that the cloud puts on nodes by itself."""
    class_label: ClassVar[str | None] = None
    """Label by which pods select the nodes that the cloud provisions for a group; None where any label does."""
    network_levels: ClassVar[Mapping[str, str]] = topology.LEVELS
    """Labels that its nodes have for each level of the network, from wide to narrow, by the levels' names."""
    own_nodes: ClassVar[bool] = False
    """Whether pods without accelerators run on nodes of the cluster's own, beside its groups."""
    node_taints: ClassVar[tuple[Taint, ...]] = ()
    """Taints that every node of every group has on this kind of cluster."""

    @property
    def place(self) -> str | None:
        """The region, by which the catalog knows what is sold and at what price."""
        return None

    @property
    def site(self) -> Site:
        """What of the cluster decides how its node groups come out."""
        return Site(self.kind, self.catalog, self.place, self.automatic_taints, self.node_taints, self.class_label)

    def network_of_whole_node(self, shape: Shape) -> Mapping[str, str]:
        """What a pod with all GPUs of one of the group's nodes asks for, to have the cards that lead to other nodes."""
        return {}

    def undisturbed(self, shape: Shape) -> Mapping[str, str]:
        """Annotations of pods on the group's nodes that keep a node until they have finished."""
        return {}

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Fault]:
        """What is wrong with these settings beyond their shape, and with the node groups on this kind of cluster."""
        yield from ()

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        """Create what this kind needs, as children named after `name`, and a provider that talks to it.

        Each group gets a `NodeGroup` with the cloud's resources below it.
        """
        raise NotImplementedError

    def chart(self, chart: versions.Chart) -> dict[str, str]:
        """Where the cluster gets a controller's chart from: the inputs of a Helm release."""
        return {"chart": chart.reference, "version": chart.version}

    def address(self, service: "k8s.core.v1.Service") -> pulumi.Output[str]:
        """The host under which a service answers: its name, which pods of the cluster resolve."""
        return pulumi.Output.format("{0}.{1}.svc", service.metadata["name"], service.metadata["namespace"])

    @property
    def images(self) -> versions.Images:
        """The images of workloads that name none."""
        return versions.images(self.kind)


def missing_groups(groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """A new cluster has the nodes of its groups and no others, and its own pods, such as its DNS, need some.

    Where there are groups and none of them will do, the fleet says so.
    """
    if not groups:
        reason = "missing: the cluster's own pods need a group, such as cpu: {machine: …, min: 2, max: 3}"
        yield Fault(("nodeGroups",), reason, given=(("nodeGroups",),))


class Cluster(pulumi.ComponentResource):
    """A cluster, ready to take resources."""

    kubeconfig: pulumi.Output[str | None]
    """Path or content of the kubeconfig; None means the one that kubectl would use."""

    def __init__(
        self, name: str, args: ClusterArgs, fleet: Fleet, *, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("tensorplane:index:Cluster", name, {"kind": args.kind, **_totals(fleet)}, opts)
        connection = args.connect(name, fleet.groups, pulumi.ResourceOptions(parent=self))
        self.name = name
        self.fleet = fleet
        self.args = args
        self.provider = connection.provider
        self.kubeconfig = connection.kubeconfig
        self.native = connection.native
        self.register_outputs({"kind": args.kind, "kubeconfig": self.kubeconfig, **_totals(fleet)})

    def undisturbed(self, resources: Resources, *, interruptible: bool) -> Mapping[str, str]:
        """Annotations of a pod that keep the node it is on until it has finished, where it cannot be interrupted."""
        groups = [] if interruptible else self.fleet.taking(resources, interruptible=False)
        return {key: value for shape in groups for key, value in self.args.undisturbed(shape).items()}

    @property
    def network_resources(self) -> frozenset[str]:
        """Names of what pods may ask for to use the network between nodes."""
        return frozenset(
            name for shape in self.fleet.groups.values() for name in self.args.network_of_whole_node(shape)
        )

    def network_cards(self, resources: Resources, *, interruptible: bool) -> Mapping[str, str]:
        """The cards between nodes that a pod asks for: those of the node whose GPUs are all its own.

        None where it may get into groups that differ in them: it would be kept out of some.
        """
        groups = self.fleet.taken_whole(resources, interruptible=interruptible)
        asked = [self.args.network_of_whole_node(shape) for shape in groups]
        return asked[0] if asked and asked.count(asked[0]) == len(asked) else {}


def _totals(fleet: Fleet) -> dict[str, Any]:
    """What policies read of the whole fleet. A cluster that brings its nodes says nothing of them."""
    return {"gpusMax": fleet.gpus_max, "hourlyUsdMax": fleet.hourly_usd_max} if fleet.groups else {}


def with_context(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the cluster replaced by the context that the environment names, where it names one.

    This is the one place that reads `TENSORPLANE_CONTEXT`, which is what `make up CONTEXT=kind-dev` sets.
    """
    context = os.environ.get(CONTEXT_VARIABLE)
    return {**tree, "cluster": {"kind": "existing", "context": context}} if context else dict(tree)


load_family(__name__, __path__)
