"""The interface of all kinds of clusters: base settings, what GPUs find there, the connection to a created one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator

from tensorplane.components import versions
from tensorplane.components.base.family import UNTRIED, Variant
from tensorplane.components.base.model import refuse_all_but
from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.catalog import Cloud
from tensorplane.components.clusters.effects import Effects
from tensorplane.components.node_groups.cluster_properties import ClusterProperties, NodeTraits
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.queues import topology


@dataclass(frozen=True)
class Connection:
    """The connection to a created cluster."""

    provider: k8s.Provider
    kubeconfig: pulumi.Output[str | None]
    native: Any = None


def cluster_provider(
    name: str,
    kubeconfig: pulumi.Input[str | None],
    cluster: pulumi.Input[str] | None,
    opts: pulumi.ResourceOptions,
    *,
    context: str | None = None,
) -> k8s.Provider:
    """The provider of all objects in a cluster. `cluster`: what identifies it, so that a changed kubeconfig, token or
    certificate replaces nothing."""
    return k8s.Provider(
        name,
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=cluster,
        # Immutable ConfigMaps are named by their content; others are there to be changed in place.
        enable_config_map_mutable=True,
        # `up --refresh` sets its variable, which the plugin reads as well. How one update writes is not state.
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["enablePatchForce"])),
    )


_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


def _check_time(value: str) -> str:
    if not _TIME.fullmatch(value):
        padded = ":".join(part.zfill(2) for part in value.split(":"))
        refuse_all_but("a time of day as HH:MM, 00:00 to 23:59", padded if _TIME.fullmatch(padded) else "")
    return value


TimeOfDay = Annotated[str, AfterValidator(_check_time)]
"""A time of day, such as 02:00."""


@dataclass(frozen=True)
class GpuSupport:
    """Components that exist before a GPU runtime is installed."""

    runtimes: tuple[str, ...]
    """Supported kinds of GPU runtime, the default first."""
    driver: bool = False
    """Whether the node image has driver and container toolkit."""
    left_to_operator: bool = False
    """Whether node pools have an image without them if the GPU Operator is used, which installs its own."""
    divided: bool = True
    """Whether new nodes of a group with MIG are already partitioned."""
    simulated: bool = False
    """Whether the nodes with GPUs are simulated, so that discovery finds no GPUs."""


NO_ZONE = "no zone"
"""Zone of nodes without a zone, which can only mount disks without a zone."""


class ClusterArgs(Variant, family=True):
    """Settings of one kind of cluster, and properties of that kind."""

    kind: str
    untried: ClassVar[str] = UNTRIED

    volume_backend: ClassVar[str] = "storageClass"
    """Default backend of volumes."""
    storage_is_its_own: ClassVar[bool] = False
    """Whether only the cluster's own storage driver can run, and no other driver or VolSync."""
    default_disks: ClassVar[str | None] = None
    """What the default StorageClass provisions, if those are ReadWriteOnce disks; None if unknown."""
    disks_are_zonal: ClassVar[bool] = True
    """Whether a disk of the default StorageClass can be mounted in one zone only."""
    stream_broker: ClassVar[str | None] = None
    """Default broker of streams; None if a stream must name one."""

    catalog: ClassVar[Cloud | None] = None
    """Cloud whose machines its node groups use; None if no catalog lists them."""
    node_traits: ClassVar[NodeTraits] = NodeTraits()
    """Taints, labels and options of its nodes."""
    gpu_support: ClassVar[GpuSupport] = GpuSupport(("present", "plugin", "operator"))
    """GPU components that the cluster brings. By default unknown; a second device plugin would advertise every GPU
    twice."""
    controllers: ClassVar[frozenset[str]] = frozenset()
    """Names of the controllers that it comes with, which no stack installs."""
    load_balancers: ClassVar[bool] = True
    """Whether Services of type LoadBalancer get one."""
    gateway_classes: ClassVar[frozenset[str] | None] = None
    """GatewayClasses that it can have; None if unknown."""
    api_server_is_private: ClassVar[bool] = False
    """Whether its pods reach the API server at a private address (RFC 1918 or 6598), whatever endpoint others use."""
    network_levels: ClassVar[Mapping[str, str]] = topology.LEVELS
    """Node label of each topology level, from wide to narrow, keyed by level."""
    effects: ClassVar[Effects | None] = None
    """Effects of updates of its cloud resources; None if it creates none."""
    own_nodes: ClassVar[bool] = False
    """Whether the cluster has nodes outside its groups that run pods without accelerators."""

    @property
    def has_one_node(self) -> bool:
        """Whether pods run on a single node, so that none outlives a lost one."""
        return False

    @property
    def catalog_region(self) -> str | None:
        """The region, with which the catalog looks up machines and prices."""
        return None

    @property
    def cluster_name(self) -> str | None:
        """Name of a new cluster in its cloud; None if the stack creates none."""
        return None

    @property
    def node_zones(self) -> tuple[str, ...]:
        """Zones in which the cluster has or may have nodes; empty if unknown."""
        return ()

    def group_zones(self, shape: Shape) -> tuple[str, ...]:
        """Zones in which a group's nodes may run, or `NO_ZONE`; empty if unknown."""
        return shape.args.zones

    @property
    def existing_network(self) -> bool:
        """Whether nodes of a new cluster join an existing network, to which the stack adds nothing."""
        return False

    @property
    def mounts_lustre(self) -> bool:
        """Whether its nodes can mount the cloud's managed Lustre."""
        return False

    @property
    def network_cidr(self) -> str | None:
        """CIDR of the network that the stack creates for the nodes; None if it creates none."""
        return None

    @property
    def storage_classes(self) -> tuple[str, ...] | None:
        """StorageClasses that the stack or the cloud creates; None if unknown."""
        return None

    @property
    def cluster_properties(self) -> ClusterProperties:
        """Properties of the cluster that node groups depend on."""
        # A label of another cloud is refused as well: groups move between clouds, and `existing` may be any of them.
        traits = replace(
            self.node_traits,
            label_domains=frozenset().union(*(kind.node_traits.label_domains for kind in self.kinds())),
            taint_domains=frozenset().union(*(kind.node_traits.taint_domains for kind in self.kinds())),
        )
        return ClusterProperties(self.kind, self.catalog, self.catalog_region, traits)

    @classmethod
    def kinds(cls) -> Iterator[type[ClusterArgs]]:
        """All kinds of clusters."""
        return (kind for kind in cls.variants.values() if issubclass(kind, ClusterArgs))

    @property
    def network_resources(self) -> frozenset[str]:
        """Extended resources of network interfaces whose number per node is known; see `network_of_whole_node`."""
        return frozenset()

    def network_of_whole_node(self, shape: Shape) -> Mapping[str, str]:
        """Extended resources of a pod that takes all GPUs of a node, for the network interfaces between nodes."""
        return {}

    def undisturbed(self, shape: Shape) -> Mapping[str, str]:
        """Pod annotations that keep the autoscaler from removing the pod's node."""
        return {}

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Problem]:
        """Problems of these settings and of the node groups on this kind of cluster."""
        yield from ()

    def notes(self, groups: Mapping[str, Shape]) -> Iterator[Note]:
        """Notes about node groups on this kind of cluster."""
        yield from ()

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        """Creates what this kind of cluster requires, as children named after `name`, and a provider for it.

        Each group becomes a `NodeGroup` with the cloud's resources as children.
        """
        raise NotImplementedError

    def reach(self, name: str, platform: str, opts: pulumi.ResourceOptions) -> Connection:
        """Creates a provider for the cluster that another stack of this project created, from that stack's outputs."""
        full = f"{pulumi.get_organization()}/{pulumi.get_project()}/{platform}"
        outputs = pulumi.StackReference("platform", stack_name=full, opts=pulumi.ResourceOptions(parent=opts.parent))
        # It is a secret there, but what marks it is only known once it is read.
        kubeconfig: pulumi.Output[str | None] = pulumi.Output.secret(outputs.require_output("kubeconfig"))
        provider = cluster_provider(name, kubeconfig, self.cluster_name, opts)
        return Connection(provider, kubeconfig)

    def check_members(self, members: Mapping[Key, str]) -> Iterator[Problem]:
        """Problems of members of teams, `group:NAME` or `user:NAME` by their paths in the settings."""
        yield from ()

    def subjects(self, members: Sequence[str], group: str) -> Sequence[str]:
        """The groups and users of Kubernetes that the members of a team are; the same by default. `group`: the one for
        members whom the cluster authenticates under no name of their own."""
        return members

    def admit(self, native: Any, teams: Mapping[str, Sequence[str]]) -> None:
        """Lets members of teams reach a created cluster and log in. `native`: what `connect` created. `teams`: members,
        by the team's group."""

    def chart(self, chart: versions.Chart) -> dict[str, str]:
        """Inputs of a Helm release for the source of its chart."""
        return {"chart": chart.reference, "version": chart.version}

    def address(self, service: k8s.core.v1.Service) -> pulumi.Output[str]:
        """Host under which a Service is reachable; its DNS name inside the cluster by default."""
        return pulumi.Output.format("{0}.{1}.svc", service.metadata["name"], service.metadata["namespace"])

    def load_balancer(self, *, public: bool) -> Mapping[str, str] | None:
        """Annotations of a Service for a load balancer with an internal or a public address; None if unknown."""
        return None

    @property
    def images(self) -> versions.Images:
        """Default images of workloads."""
        return versions.PUBLIC_IMAGES
