"""The cluster that everything else runs on: one shape for every kind of cluster."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pulumi
import pulumi_kubernetes as k8s

from components import versions
from components.family import Variant, load_family

CONTEXT_VARIABLE = "TENSORPLANE_CONTEXT"
"""Environment variable with a context of the kubeconfig: deploy there, whatever cluster the stack's file names."""


@dataclass(frozen=True)
class Connection:
    """What a kind of cluster hands over once it exists."""

    provider: k8s.Provider
    kubeconfig: pulumi.Output[str | None]
    native: Any = None


class ClusterArgs(Variant, family=True):
    """Settings of one kind of cluster, and what follows from the kind."""

    kind: str

    volume_backend: ClassVar[str] = "storageClass"
    """Kind of the backend of volumes that name none."""

    def connect(self, name: str, opts: pulumi.ResourceOptions) -> Connection:
        """Create what this kind needs, as children named after `name`, and a provider that talks to it."""
        raise NotImplementedError

    def chart(self, chart: versions.Chart) -> dict[str, str]:
        """Where the cluster gets a controller's chart from: the inputs of a Helm release."""
        return {"chart": chart.reference, "version": chart.version}

    def address(self, service: k8s.core.v1.Service) -> pulumi.Output[str]:
        """The host under which a service answers: its name, which pods of the cluster resolve."""
        return pulumi.Output.format("{0}.{1}.svc", service.metadata["name"], service.metadata["namespace"])

    @property
    def images(self) -> versions.Images:
        """The images of workloads that name none."""
        return versions.images(self.kind)


class Cluster(pulumi.ComponentResource):
    """A cluster, ready to take resources."""

    kubeconfig: pulumi.Output[str | None]
    """Path or content of the kubeconfig; None means the one that kubectl would use."""

    def __init__(self, name: str, args: ClusterArgs, *, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tensorplane:index:Cluster", name, {"kind": args.kind}, opts)
        connection = args.connect(name, pulumi.ResourceOptions(parent=self))
        self.name = name
        self.args = args
        self.provider = connection.provider
        self.kubeconfig = connection.kubeconfig
        self.native = connection.native
        self.register_outputs({"kind": args.kind, "kubeconfig": self.kubeconfig})


def with_context(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the cluster replaced by the context that the environment names, where it names one.

    This is the one place that reads `TENSORPLANE_CONTEXT`, which is what `make up CONTEXT=kind-dev` sets.
    """
    context = os.environ.get(CONTEXT_VARIABLE)
    return {**tree, "cluster": {"kind": "existing", "context": context}} if context else dict(tree)


load_family(__name__, __path__)
