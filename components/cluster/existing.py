"""A cluster that is already there: kind, minikube, a cloud's, your own; reached by a context of a kubeconfig."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import ClusterArgs, Connection
from components.model import Filled
from components.node_group import NodeGroup, Shape


class Existing(ClusterArgs):
    """A cluster of yours. Nothing of it is created or deleted here."""

    kind: Literal["existing"] = "existing"

    context: Filled
    """Context of the kubeconfig, as `kubectl config get-contexts` lists it."""
    kubeconfig: Filled | None = None
    """Path of the kubeconfig; the one that kubectl uses by default."""

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        path = str(Path(self.kubeconfig).expanduser()) if self.kubeconfig else None
        provider = k8s.Provider(
            name,
            kubeconfig=path,
            context=self.context,
            # The context is what names the cluster: a changed token in the kubeconfig is the same cluster.
            cluster_identifier=self.context,
            opts=opts,
        )
        for shape in groups.values():
            # The nodes are there; the group says what they are like.
            NodeGroup(shape, opts).done()
        return Connection(provider, pulumi.Output.from_input(path))
