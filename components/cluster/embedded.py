"""The cluster that `make up` starts on this machine. Its files, in a folder that both sides know, are the interface."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components import versions
from components.cluster import ClusterArgs, Connection
from components.node_group import NodeGroup, Shape

NODE = "tensorplane"
"""Name of the cluster's one node."""


def home() -> Path:
    """The folder of the running instance: kubeconfig, charts, the folders behind volumes."""
    if named := os.environ.get("TENSORPLANE_HOME"):
        return Path(named)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "tensorplane" / "dev"


class Embedded(ClusterArgs):
    """A real Kubernetes on this machine, started by `make up`."""

    kind: Literal["embedded"] = "embedded"

    volume_backend: ClassVar[str] = "embedded"

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        kubeconfig = str(home() / "kubeconfig")
        provider = k8s.Provider(
            name,
            kubeconfig=kubeconfig,
            # Without it, a renewed certificate could look like another cluster, and everything would be replaced.
            cluster_identifier=f"embedded-{NODE}",
            opts=opts,
        )
        for shape in groups.values():
            NodeGroup(shape, opts).done()
        return Connection(provider, pulumi.Output.from_input(kubeconfig))

    def address(self, service: k8s.core.v1.Service) -> pulumi.Output[str]:
        # This machine has a route to the cluster's services, and no way to resolve their names. The preview of a new
        # service has no address yet: where even the namespace is new, the API server cannot be asked for one.
        return pulumi.Output.all(service.spec.cluster_ip, super().address(service)).apply(
            lambda found: found[0] or found[1]
        )

    def chart(self, chart: versions.Chart) -> dict[str, str]:
        return {"chart": str(home() / "charts" / chart.name)}
