"""Auxiliary objects of a workload, as children of its component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.workloads.component import Space
from tensorplane.workloads.pods import objects
from tensorplane.workloads.pods.files import Bundle
from tensorplane.workloads.pods.objects import Destination, Identity, Manifest

if TYPE_CHECKING:
    from tensorplane.components.namespace.component import Namespace


@dataclass(frozen=True)
class Owner:
    """A workload's component, as the parent of its objects."""

    component: pulumi.ComponentResource
    name: str
    namespace: Namespace | Space
    component_label: str
    """The value of the label `app.kubernetes.io/component` of its objects."""

    @property
    def identity(self) -> Identity:
        """The same as plain data."""
        return Identity(self.name, self.namespace.plain_name, self.component_label)

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the workload's objects and pods."""
        return self.identity.labels

    @property
    def _space_labels(self) -> Mapping[str, str]:
        return self.namespace.labels if isinstance(self.namespace, Space) else {}

    @property
    def selector(self) -> dict[str, str]:
        """Labels that select the workload's pods, and no others of the namespace."""
        return self.identity.selector

    def metadata(
        self,
        name: pulumi.Input[str] | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, pulumi.Input[str]] | None = None,
    ) -> k8s.meta.v1.ObjectMetaArgsDict:
        """Metadata of an object of the workload, by default under the workload's name."""
        metadata: k8s.meta.v1.ObjectMetaArgsDict = {
            "name": name or self.name,
            "namespace": self.namespace.name,
            "labels": {**self.labels, **self._space_labels, **(labels or {})},
        }
        if annotations:
            metadata["annotations"] = annotations
        return metadata

    def _metadata_of(self, manifest: Manifest) -> k8s.meta.v1.ObjectMetaArgsDict:
        """A manifest's metadata with the namespace's Output, so that the object depends on the namespace."""
        metadata = manifest["metadata"]
        return {
            "name": metadata["name"],
            "namespace": self.namespace.name,
            "labels": {**metadata["labels"], **self._space_labels},
        }

    @property
    def child_options(self) -> pulumi.ResourceOptions:
        """Options of the workload's objects."""
        return pulumi.ResourceOptions(parent=self.component)

    def service_account(self) -> k8s.core.v1.ServiceAccount:
        """The ServiceAccount of the pods."""
        manifest = objects.service_account(self.identity)
        token = manifest["automountServiceAccountToken"]
        return k8s.core.v1.ServiceAccount(
            self.name,
            metadata=self._metadata_of(manifest),
            automount_service_account_token=token,
            opts=self.child_options,
        )

    def deployment(
        self,
        template: Any,
        *,
        replicas: int,
        depends_on: Sequence[pulumi.Resource],
        autoscaled: bool = False,
        unavailable: int = 0,
        surge: int = 1,
        name: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> k8s.apps.v1.Deployment:
        """A Deployment of the workload, by default under its name. `template`: its pods, as plain data or an Output.

        `autoscaled`: something else sets the replicas after its creation, which an update of the stack must not reset.
        `unavailable`, `surge`: how many pods a rolling update may lack and have too many. `labels`: of this Deployment
        beside the workload's others, and of its pods.
        """
        ignore_changes = ["spec.replicas"] if autoscaled else None
        deployment_options = pulumi.ResourceOptions(depends_on=[*depends_on], ignore_changes=ignore_changes)
        return k8s.apps.v1.Deployment(
            name or self.name,
            metadata=self.metadata(name, labels=labels, annotations=annotations),
            spec={
                "replicas": replicas,
                "selector": {"match_labels": {**self.selector, **(labels or {})}},
                "strategy": {
                    "type": "RollingUpdate",
                    "rolling_update": {"max_unavailable": unavailable, "max_surge": surge},
                },
                "template": template,
            },
            opts=pulumi.ResourceOptions.merge(self.child_options, deployment_options),
        )

    def config_map(
        self, content: Bundle, opts: pulumi.ResourceOptions | None = None, *, logical_name: str | None = None
    ) -> k8s.core.v1.ConfigMap:
        """The ConfigMap of a bundle. `opts` are added to those of all objects of the workload. `logical_name`: Pulumi's
        name of it, by default that of the bundle without its hash."""
        manifest = objects.config_map(self.identity, content)
        return k8s.core.v1.ConfigMap(
            logical_name or content.name.rpartition("-")[0],
            metadata=self._metadata_of(manifest),
            immutable=manifest["immutable"],
            data=manifest["data"],
            binary_data=manifest.get("binaryData"),
            opts=pulumi.ResourceOptions.merge(self.child_options, opts),
        )

    def secret(self, logical_name: str, values: Mapping[str, pulumi.Input[str]]) -> k8s.core.v1.Secret:
        """An immutable Secret; other values are another Secret.

        Its name must not depend on its values, because a short one could be guessed from a hash. The provider generates
        a name for each new object, and Pulumi's state keeps it.
        """
        metadata = self.metadata()
        del metadata["name"]
        return k8s.core.v1.Secret(
            logical_name,
            metadata=metadata,
            immutable=True,
            string_data={key: pulumi.Output.secret(value) for key, value in values.items()},
            opts=self.child_options,
        )

    def gang_policies(
        self, egress: Sequence[Destination], port: int | None = None
    ) -> list[k8s.networking.v1.NetworkPolicy]:
        """The policies of a gang: its pods reach each other and these addresses, and clients reach their port."""
        return [self._policy(manifest) for manifest in objects.gang_policies(self.identity, egress, port)]

    def allow_peers(self) -> k8s.networking.v1.NetworkPolicy:
        """Allows traffic between the pods."""
        return self._policy(objects.allow_peers(self.identity))

    def allow_egress(self, destinations: Sequence[Destination]) -> k8s.networking.v1.NetworkPolicy:
        """Allows connections of the pods to these addresses."""
        return self._policy(objects.allow_egress(self.identity, destinations))

    def allow_clients(
        self, ports: Sequence[int], sources: Sequence[Mapping[str, Any]] | None = None
    ) -> k8s.networking.v1.NetworkPolicy:
        """Allows clients to connect to these ports. `sources`: peers of a NetworkPolicy; by default all."""
        return self._policy(objects.allow_clients(self.identity, ports, sources))

    def allow_servers(self, servers: Sequence[str], port: int) -> k8s.networking.v1.NetworkPolicy:
        """Allows connections of the pods to those of other workloads."""
        return self._policy(objects.allow_servers(self.identity, servers, port))

    def allow_api_server(self) -> k8s.networking.v1.NetworkPolicy:
        """Allows connections of the pods to Kubernetes' API server."""
        return self._policy(objects.allow_api_server(self.identity))

    def _policy(self, manifest: Manifest) -> k8s.networking.v1.NetworkPolicy:
        name = manifest["metadata"]["name"]
        return k8s.networking.v1.NetworkPolicy(
            name, metadata=self._metadata_of(manifest), spec=manifest["spec"], opts=self.child_options
        )
