"""The embedded cluster, which `tensorplane up` starts on this machine. Both share its files in one folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tensorplane.components import versions
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.embedded import simulated_nodes
from tensorplane.components.clusters.settings import ClusterArgs, Connection, GpuSupport, cluster_provider
from tensorplane.components.node_groups.cluster_properties import NodeTraits
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.versions import GATEWAY_CLASS

NODE = "tensorplane"
"""Name of the cluster's first node that runs pods. It belongs to no node group; further ones are NODE-2 and so on."""
_NODE_NAME_LIMIT = 63


def home() -> Path:
    """The folder of the running instance: kubeconfig, charts, the volume pool."""
    if folder := os.environ.get("TENSORPLANE_HOME"):
        return Path(folder)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "tensorplane" / "dev"


class Embedded(ClusterArgs):
    """A real Kubernetes cluster on this machine, started by `tensorplane up`."""

    kind: Literal["embedded"] = "embedded"
    untried: ClassVar[str] = ""

    nodes: Annotated[int, Field(ge=1, le=4)] | None = None
    """Number of real nodes, which divide this machine's processors and memory, for trials of drains and of lost nodes.
    By default, a new cluster has 1, and an existing one keeps its nodes. A change restarts the cluster."""

    volume_backend: ClassVar[str] = "embedded"
    storage_is_its_own: ClassVar[bool] = True
    stream_broker: ClassVar[str | None] = "embedded"
    own_nodes: ClassVar[bool] = True
    load_balancers: ClassVar[bool] = False
    gateway_classes: ClassVar[frozenset[str] | None] = frozenset({GATEWAY_CLASS})
    api_server_is_private: ClassVar[bool] = True
    node_traits: ClassVar[NodeTraits] = NodeTraits(taints=(simulated_nodes.TAINT,))
    gpu_support: ClassVar[GpuSupport] = GpuSupport(("plugin", "present"), simulated=True)

    @property
    def has_one_node(self) -> bool:
        return (self.nodes or 1) == 1

    @property
    def storage_classes(self) -> tuple[str, ...]:
        return ("tensorplane-embedded",)

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Problem]:
        for name, shape in groups.items():
            if name == NODE and (self.nodes or 1) > 1:
                yield Problem(("nodeGroups", name), "the cluster's own nodes have names like this; choose another name")
            # The node's name is also the value of a label.
            longest = f"{name}-{simulated_nodes.count(shape) - 1}"
            if len(longest) > _NODE_NAME_LIMIT:
                limit = _NODE_NAME_LIMIT - len(longest) + len(name)
                yield Problem(
                    ("nodeGroups", name),
                    f"the name has {len(name)} characters; shorten it to {limit}, so that its node names stay valid",
                )

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        from tensorplane.components.node_groups.component import NodeGroup

        nodes: list[pulumi.Resource] = []
        if groups:
            inside = pulumi.ResourceOptions(provider=_provider(f"{name}-nodes", opts))
            for shape in groups.values():
                group = NodeGroup(shape, opts)
                below = pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(parent=group))
                nodes += simulated_nodes.declare(shape, below)
                group.done()
        # Nodes are deleted after their pods, which KWOK terminates.
        provider = _provider(name, pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=nodes)))
        return Connection(provider, pulumi.Output.from_input(str(home() / "kubeconfig")))

    def reach(self, name: str, platform: str, opts: pulumi.ResourceOptions) -> Connection:
        return Connection(_provider(name, opts), pulumi.Output.from_input(str(home() / "kubeconfig")))

    def subjects(self, members: Sequence[str], group: str) -> Sequence[str]:
        # Their certificates, of `tensorplane kubeconfig --team`, name the group.
        return [*members, f"group:{group}"]

    def address(self, service: k8s.core.v1.Service) -> pulumi.Output[str]:
        # This machine has a route to the cluster's services, and no way to resolve their names. The preview of a new
        # service has no address yet: where even the namespace is new, the API server cannot be asked for one.
        return pulumi.Output.all(service.spec.cluster_ip, super().address(service)).apply(
            lambda found: found[0] or found[1]
        )

    @property
    def images(self) -> versions.Images:
        return versions.EMBEDDED_IMAGES

    def chart(self, chart: versions.Chart) -> dict[str, str]:
        return {"chart": str(home() / "charts" / chart.name)}


def _provider(name: str, opts: pulumi.ResourceOptions) -> k8s.Provider:
    return cluster_provider(name, str(home() / "kubeconfig"), f"embedded-{NODE}", opts)
