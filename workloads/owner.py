"""What every workload brings along, as children of its component: account, files, traffic that it allows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.labels import NAME
from components.labels import labels as labels_of
from components.namespace import Namespace
from workloads.files import Bundle


@dataclass(frozen=True)
class Owner:
    """A workload's component, as the parent of its objects."""

    component: pulumi.ComponentResource
    name: str
    namespace: Namespace
    role: str

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the workload's objects and pods."""
        return labels_of(self.name, self.role)

    @property
    def selector(self) -> dict[str, str]:
        """Labels that select the workload's pods, and no others of the namespace."""
        return {NAME: self.name}

    def metadata(
        self,
        name: pulumi.Input[str] | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> "k8s.meta.v1.ObjectMetaArgsDict":
        """Metadata of an object of the workload, by default under the workload's name."""
        made: k8s.meta.v1.ObjectMetaArgsDict = {
            "name": name or self.name,
            "namespace": self.namespace.name,
            "labels": {**self.labels, **(labels or {})},
        }
        if annotations:
            made["annotations"] = annotations
        return made

    @property
    def inside(self) -> pulumi.ResourceOptions:
        """Options of the workload's objects."""
        return pulumi.ResourceOptions(parent=self.component)

    def service_account(self) -> "k8s.core.v1.ServiceAccount":
        """The account of the pods. It may do nothing in the cluster, and its token is in no pod."""
        return k8s.core.v1.ServiceAccount(
            self.name, metadata=self.metadata(), automount_service_account_token=False, opts=self.inside
        )

    def config_map(self, content: Bundle) -> "k8s.core.v1.ConfigMap":
        """The ConfigMap of a bundle. It never changes; another content is another ConfigMap."""
        logical, _, _ = content.name.rpartition("-")
        text, binary = content.data()
        return k8s.core.v1.ConfigMap(
            logical,
            metadata=self.metadata(content.name),
            immutable=True,
            data=text,
            binary_data=binary or None,
            opts=self.inside,
        )

    def secret(self, logical: str, values: Mapping[str, pulumi.Input[str]]) -> "k8s.core.v1.Secret":
        """A Secret that never changes; other values are another Secret.

        Its name must not come from its values: a hash of a short one can be guessed. The provider makes up a name for
        each new object, and Pulumi's state keeps it.
        """
        metadata = self.metadata()
        del metadata["name"]
        return k8s.core.v1.Secret(
            logical,
            metadata=metadata,
            immutable=True,
            string_data={key: pulumi.Output.secret(value) for key, value in values.items()},
            opts=self.inside,
        )

    def allow_peers(self) -> "k8s.networking.v1.NetworkPolicy":
        """Let the pods talk to each other, on any port: collective operations choose theirs."""
        peers = {"pod_selector": {"match_labels": self.selector}}
        return self._policy(
            "peers", ["Ingress", "Egress"], {"ingress": [{"from_": [peers]}], "egress": [{"to": [peers]}]}
        )

    def allow_clients(self, ports: Sequence[int]) -> "k8s.networking.v1.NetworkPolicy":
        """Let anyone who can reach the cluster's network connect to these ports."""
        return self._policy(
            "clients", ["Ingress"], {"ingress": [{"ports": [{"protocol": "TCP", "port": port} for port in ports]}]}
        )

    def _policy(self, suffix: str, types: Sequence[str], rules: dict[str, Any]) -> "k8s.networking.v1.NetworkPolicy":
        name = f"{self.name}-{suffix}"
        spec: Any = {"pod_selector": {"match_labels": self.selector}, "policy_types": types, **rules}
        return k8s.networking.v1.NetworkPolicy(name, metadata=self.metadata(name), spec=spec, opts=self.inside)
