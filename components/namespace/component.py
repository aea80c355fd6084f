"""The stack's namespace: Pod Security `restricted`, and only traffic that workloads allow."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base import encrypted, outputs
from tensorplane.components.base.labels import labels
from tensorplane.components.namespace.rules import DEFAULT_DENY, DNS, LABELS


class Namespace(pulumi.ComponentResource):
    """A namespace in which pods are restricted and traffic is denied; DNS is allowed, workloads allow the rest.

    `protect` refuses its deletion: deleting a namespace deletes the claims of its volumes.
    """

    name: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        *,
        protect: bool,
        teams: Mapping[str, str] = MappingProxyType({}),
        own: k8s.core.v1.Namespace | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`teams`: the namespace of each team, which policies read; others create them. `own`: one of this name that
        the program has made, with `LABELS`."""
        super().__init__(outputs.NAMESPACE, name, dict(outputs.Namespace(name=name, protect=protect)), opts)
        namespace = own or k8s.core.v1.Namespace(
            name,
            metadata={"name": name, "labels": LABELS},
            opts=pulumi.ResourceOptions(parent=self, protect=protect, retain_on_delete=protect),
        )
        self.plain_name = name
        self.name = namespace.metadata.apply(self._checked) if own else namespace.metadata["name"]
        self._policy(DEFAULT_DENY, {"pod_selector": {}, "policy_types": ["Ingress", "Egress"]})
        self._policy("allow-dns", {"pod_selector": {}, "policy_types": ["Egress"], "egress": [DNS]})
        made = outputs.NamespaceOutputs(name=self.name, teams=dict(teams))
        self.register_outputs(encrypted.concealed(dict(made)))

    def _checked(self, metadata: Any) -> str:
        """The name of the program's own namespace. A `pulumi.RunError` if it is not as the stack's objects need it."""
        if metadata.name != self.plain_name:
            raise pulumi.RunError(f"namespace: is {self.plain_name}, but the program's own is {metadata.name}")
        has = metadata.labels or {}
        if lacks := sorted(f"{key}: {value}" for key, value in LABELS.items() if has.get(key) != value):
            raise pulumi.RunError(f"namespace {self.plain_name}: lacks the labels {', '.join(lacks)}")
        return self.plain_name

    def _policy(self, name: str, spec: k8s.networking.v1.NetworkPolicySpecArgsDict) -> None:
        k8s.networking.v1.NetworkPolicy(
            f"{self.plain_name}-{name}",
            metadata={"name": name, "namespace": self.name, "labels": labels(self.plain_name, "network")},
            spec=spec,
            opts=pulumi.ResourceOptions(parent=self),
        )
