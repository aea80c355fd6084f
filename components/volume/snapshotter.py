"""What all scheduled snapshots of a stack share: classes that retain, the code that takes them, and its rights."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import Cluster
from components.labels import TENSORPLANE, labels
from components.namespace import Namespace
from components.volume.snapshot_class import SnapshotClass
from components.volume.source import GROUP_SNAPSHOT_GROUP, SNAPSHOT_GROUP

ACCOUNT = "volume.snapshots"
"""The service account of the CronJobs. No workload can have it: their names hold no dot."""
CODE = "/opt/tensorplane/lib"
_SOURCES = Path(__file__).resolve().parents[2] / "snapshotter"
_API_SERVER_PORTS = (443, 6443)


class Snapshotter(pulumi.ComponentResource):
    """One per stack, where a volume has snapshots on a schedule."""

    def __init__(
        self,
        classes: Iterable[SnapshotClass],
        *,
        cluster: Cluster,
        namespace: Namespace,
        opts: pulumi.ResourceOptions,
    ) -> None:
        wanted = sorted(set(classes), key=lambda one: (one.driver, one.group, one.parameters))
        self._groups = any(one.group for one in wanted)
        props = {"drivers": sorted({one.driver for one in wanted})}
        super().__init__("tensorplane:index:Snapshotter", ACCOUNT, props, opts)
        self.image = cluster.args.images.python
        self._namespace = namespace
        self._inside = pulumi.ResourceOptions(parent=self)
        self._scoped = f"{namespace.plain_name}-{ACCOUNT}"
        self.code = self._code()
        """Name of the ConfigMap that holds the code."""
        # A deleted VolumeSnapshot, or a deleted namespace, leaves the bytes: only retention gives them up.
        self.classes = {one: one.create(namespace.plain_name, keeps="Retain", opts=self._inside) for one in wanted}
        """Name of each VolumeSnapshotClass."""
        self._rights()
        self._traffic()
        self.register_outputs({})

    def _metadata(self, name: str) -> "k8s.meta.v1.ObjectMetaArgsDict":
        return {"name": name, "namespace": self._namespace.name, "labels": labels(ACCOUNT, "snapshots")}

    def _code(self) -> pulumi.Output[str]:
        content = {path.name: path.read_text() for path in sorted(_SOURCES.glob("*.py"))}
        digest = hashlib.sha256("\0".join(part for item in content.items() for part in item).encode()).hexdigest()
        made = k8s.core.v1.ConfigMap(
            ACCOUNT,
            metadata=self._metadata(f"{ACCOUNT}-{digest[:8]}"),
            immutable=True,
            data=content,
            opts=self._inside,
        )
        return made.metadata["name"]

    def _rights(self) -> None:
        k8s.core.v1.ServiceAccount(
            ACCOUNT, metadata=self._metadata(ACCOUNT), automount_service_account_token=True, opts=self._inside
        )
        subject: k8s.rbac.v1.SubjectArgsDict = {
            "kind": "ServiceAccount",
            "name": ACCOUNT,
            "namespace": self._namespace.name,
        }
        role = k8s.rbac.v1.Role(
            ACCOUNT,
            metadata=self._metadata(ACCOUNT),
            rules=self._in_namespace(),
            opts=self._inside,
        )
        k8s.rbac.v1.RoleBinding(
            ACCOUNT,
            metadata=self._metadata(ACCOUNT),
            role_ref=_reference("Role", role.metadata["name"]),
            subjects=[subject],
            opts=self._inside,
        )
        everywhere = k8s.rbac.v1.ClusterRole(
            self._scoped,
            metadata={"name": self._scoped, "labels": TENSORPLANE},
            rules=[
                _rule("volumesnapshotcontents", "patch"),
                *([_group_rule("volumegroupsnapshotcontents", "patch")] if self._groups else []),
            ],
            opts=self._inside,
        )
        k8s.rbac.v1.ClusterRoleBinding(
            self._scoped,
            metadata={"name": self._scoped, "labels": TENSORPLANE},
            role_ref=_reference("ClusterRole", everywhere.metadata["name"]),
            subjects=[subject],
            opts=self._inside,
        )
        self._limit(self._scoped, SNAPSHOT_GROUP, "volumesnapshotcontents", "volumeSnapshotRef")
        if self._groups:
            name = f"{self._scoped}.groups"
            self._limit(name, GROUP_SNAPSHOT_GROUP, "volumegroupsnapshotcontents", "volumeGroupSnapshotRef")

    def _in_namespace(self) -> "list[k8s.rbac.v1.PolicyRuleArgsDict]":
        verbs = ("get", "list", "create", "delete")
        if not self._groups:
            return [_rule("volumesnapshots", *verbs)]
        # The controller makes the snapshots of a group without the labels that tell what they are.
        return [_rule("volumesnapshots", *verbs, "patch"), _group_rule("volumegroupsnapshots", *verbs)]

    def _limit(self, name: str, api_group: str, resource: str, reference: str) -> None:
        """Contents have no namespace, so the right to change them is one for the whole cluster. This narrows it."""
        namespace = self._namespace.plain_name
        k8s.admissionregistration.v1.ValidatingAdmissionPolicy(
            name,
            metadata={"name": name, "labels": TENSORPLANE},
            spec={
                "failure_policy": "Fail",
                "match_constraints": {
                    "resource_rules": [
                        {
                            "api_groups": [api_group],
                            "api_versions": ["*"],
                            "resources": [resource],
                            "operations": ["UPDATE"],
                        }
                    ]
                },
                "match_conditions": [
                    {
                        "name": "snapshotter",
                        "expression": f"request.userInfo.username == 'system:serviceaccount:{namespace}:{ACCOUNT}'",
                    }
                ],
                "validations": [
                    {
                        "expression": f"oldObject.spec.{reference}.namespace == '{namespace}'",
                        "message": f"snapshots of namespace {namespace} are all that it may expire",
                    }
                ],
            },
            opts=self._inside,
        )
        k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding(
            name,
            metadata={"name": name, "labels": TENSORPLANE},
            spec={"policy_name": name, "validation_actions": ["Deny"]},
            opts=self._inside,
        )

    def _traffic(self) -> None:
        """Let the CronJobs' pods reach the API server, whose address no selector knows."""
        ports: list[k8s.networking.v1.NetworkPolicyPortArgsDict] = [
            {"protocol": "TCP", "port": port} for port in _API_SERVER_PORTS
        ]
        k8s.networking.v1.NetworkPolicy(
            ACCOUNT,
            metadata=self._metadata(ACCOUNT),
            spec={
                "pod_selector": {"match_labels": {"app.kubernetes.io/component": "snapshots"}},
                "policy_types": ["Egress"],
                "egress": [{"ports": [*ports]}],
            },
            opts=self._inside,
        )


def _rule(resource: str, *verbs: str) -> "k8s.rbac.v1.PolicyRuleArgsDict":
    return {"api_groups": [SNAPSHOT_GROUP], "resources": [resource], "verbs": list(verbs)}


def _group_rule(resource: str, *verbs: str) -> "k8s.rbac.v1.PolicyRuleArgsDict":
    return {"api_groups": [GROUP_SNAPSHOT_GROUP], "resources": [resource], "verbs": list(verbs)}


def _reference(kind: str, name: Any) -> "k8s.rbac.v1.RoleRefArgsDict":
    return {"api_group": "rbac.authorization.k8s.io", "kind": kind, "name": name}
