"""A cluster that is already there: kind, minikube, a cloud's, your own; reached by a context of a kubeconfig."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

from components import catalog
from components.catalog import Cloud
from components.cluster import ClusterArgs, Connection
from components.faults import Fault, did_you_mean
from components.model import Filled
from components.node_group import NodeGroup, Shape
from components.node_shape import Site


class Existing(ClusterArgs):
    """A cluster of yours. Nothing of it is created or deleted here."""

    kind: Literal["existing"] = "existing"

    context: Filled
    """Context of the kubeconfig, as `kubectl config get-contexts` lists it."""
    kubeconfig: Filled | None = None
    """Path of the kubeconfig; the one that kubectl uses by default."""

    machines: Cloud | None = None
    """Whose machines the nodes are, such as `eks` for a cluster of kops on AWS. Then groups may name machines, and have
    prices; describe all of them."""
    region: Filled | None = None
    """Region of those machines, for their prices and zones."""

    @property
    def place(self) -> str | None:
        return self.region

    @property
    def site(self) -> Site:
        return replace(super().site, cloud=self.machines)

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Fault]:
        for name, shape in groups.items():
            if shape.args.reserved:
                yield Fault(("nodeGroups", name, "reserved"), "given, and the nodes are there already: leave it out")
        if self.region is None:
            return
        path = ("cluster", "region")
        known = catalog.regions(self.machines) if self.machines else ()
        if self.machines is None:
            yield Fault(path, "given, and machines is not: need both, or neither")
        elif known and self.region not in known:
            near = did_you_mean(self.region, known)
            yield Fault(path, f"no region {self.region!r}, have {', '.join(sorted(known))}{near}")

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
