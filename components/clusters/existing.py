"""An existing cluster, such as kind, minikube or a cloud's, reached through a kubeconfig context."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from tensorplane.components import catalog
from tensorplane.components.base.model import In, NonEmptyStr, OneOf
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.produced import as_input, known
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.catalog import Cloud
from tensorplane.components.clusters.settings import ClusterArgs, Connection, cluster_provider
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.shape import Shape


class Existing(ClusterArgs):
    """An existing cluster. tensorplane does not create or delete it or its nodes."""

    kind: Literal["existing"] = "existing"
    untried: ClassVar[str] = (
        "Not run so far with a cluster of others: tests connect to this project's own by a kubeconfig."
    )

    context: NonEmptyStr
    """Context of the kubeconfig, as in `kubectl config get-contexts`."""
    kubeconfig: In[NonEmptyStr] | None = None
    """Path of the kubeconfig; kubectl's default by default."""

    machines: Annotated[Cloud, OneOf(catalog.clouds())] | None = None
    """Cloud that the nodes' machines are from, such as `eks` for a kops cluster on AWS. Node groups can then name
    machines and have prices. All groups must then be declared."""
    region: NonEmptyStr | None = None
    """Region of the machines, for prices and zones."""

    @property
    def catalog_region(self) -> str | None:
        return self.region

    @property
    def cluster_properties(self) -> ClusterProperties:
        # Spot nodes have the cloud's taints, regardless of who created the cluster.
        spot = next((kind.node_traits.spot_taints for kind in self.kinds() if kind.catalog == self.machines), ())
        own = super().cluster_properties
        return replace(own, cloud=self.machines, traits=replace(own.traits, spot_taints=spot))

    def check(self, groups: Mapping[str, Shape]) -> Iterator[Problem]:
        for name, shape in groups.items():
            if shape.args.reserved:
                yield Problem(("nodeGroups", name, "reserved"), "is set, but the nodes already exist; remove it")
        if self.region is None:
            return
        path = ("cluster", "region")
        known = catalog.regions(self.machines) if self.machines else ()
        if self.machines is None:
            yield Problem(path, "is set but machines is not; set both, or neither")
        elif known and self.region not in known:
            near = did_you_mean(self.region, known)
            yield Problem(path, f"unknown region {self.region!r}; choose one of {', '.join(sorted(known))}{near}")

    def connect(self, name: str, groups: Mapping[str, Shape], opts: pulumi.ResourceOptions) -> Connection:
        from tensorplane.components.node_groups.component import NodeGroup

        connection = self._connection(name, opts)
        for shape in groups.values():
            # The nodes exist; the group only describes them.
            NodeGroup(shape, opts).done()
        return connection

    def reach(self, name: str, platform: str, opts: pulumi.ResourceOptions) -> Connection:
        return self._connection(name, opts)

    def _connection(self, name: str, opts: pulumi.ResourceOptions) -> Connection:
        # A path as the settings have it; the text of a kubeconfig if a cluster of the program produces it.
        path = known(self.kubeconfig)
        kubeconfig = str(Path(path).expanduser()) if path else as_input(self.kubeconfig)
        provider = cluster_provider(name, kubeconfig, self.context, opts, context=self.context)
        return Connection(provider, pulumi.Output.from_input(kubeconfig))


CONTEXT_VARIABLE = "TENSORPLANE_CONTEXT"
"""Environment variable with a context of the kubeconfig: deploy there instead of the stack's cluster."""


def with_context(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the cluster replaced by the context in the environment, if there is one.

    This is the one place that reads `TENSORPLANE_CONTEXT`, which is what `tensorplane up --context kind-dev` sets.
    """
    context = os.environ.get(CONTEXT_VARIABLE)
    return {**tree, "cluster": {"kind": "existing", "context": context}} if context else dict(tree)
