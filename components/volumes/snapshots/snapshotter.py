"""What all scheduled snapshots of a stack share: the agent that takes them, its rights, and classes that retain."""

from collections.abc import Iterable

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.agent.agent import TO_API_SERVER, Agent, Resources, Rights
from tensorplane.components.base import outputs
from tensorplane.components.base.labels import TENSORPLANE
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.namespace.component import Namespace
from tensorplane.components.volumes.snapshots.snapshot_class import SnapshotClass
from tensorplane.components.volumes.source import GROUP_SNAPSHOT_GROUP, SNAPSHOT_GROUP

ACCOUNT = "volume.snapshots"
"""Service account of the CronJobs. No workload can have it, because workload names have no dots."""


class Snapshotter(pulumi.ComponentResource):
    """The shared resources of scheduled snapshots, once per stack."""

    def __init__(
        self,
        classes: Iterable[SnapshotClass],
        *,
        cluster: Cluster,
        namespace: Namespace,
        opts: pulumi.ResourceOptions,
    ) -> None:
        unique_classes = sorted(
            set(classes),
            key=lambda snapshot_class: (snapshot_class.driver, snapshot_class.group, snapshot_class.parameters),
        )
        has_groups = any(snapshot_class.group for snapshot_class in unique_classes)
        props = outputs.Snapshotter(drivers=sorted({snapshot_class.driver for snapshot_class in unique_classes}))
        super().__init__(outputs.SNAPSHOTTER, ACCOUNT, dict(props), opts)
        self._inside = pulumi.ResourceOptions(parent=self)
        scoped = f"{namespace.plain_name}-{ACCOUNT}"
        self.agent = Agent(
            "snapshots",
            name=ACCOUNT,
            component="snapshots",
            namespace=namespace.name,
            image=cluster.args.images.python,
            resources=Resources(cpu="10m", memory="32Mi", memory_limit="128Mi"),
            rights=[
                Rights(ACCOUNT, _in_namespace(has_groups), namespace.name),
                Rights(scoped, _in_cluster(has_groups)),
            ],
            egress=[TO_API_SERVER],
            policy_types=["Egress"],
            opts=self._inside,
        )
        """What the CronJobs run."""
        # Deleting a VolumeSnapshot or the namespace keeps the data; only the agent deletes it, when it expires.
        self.classes = {
            snapshot_class: snapshot_class.create(namespace.plain_name, keeps="Retain", opts=self._inside)
            for snapshot_class in unique_classes
        }
        """Name of each VolumeSnapshotClass."""
        self._limit(scoped, namespace, SNAPSHOT_GROUP, "volumesnapshotcontents", "volumeSnapshotRef")
        if has_groups:
            name = f"{scoped}.groups"
            self._limit(name, namespace, GROUP_SNAPSHOT_GROUP, "volumegroupsnapshotcontents", "volumeGroupSnapshotRef")
        self.register_outputs({})

    def _limit(self, name: str, stack: Namespace, api_group: str, resource: str, reference: str) -> None:
        """Restricts the agent to its namespace: snapshot contents are cluster-scoped, and so is its right on them."""
        namespace = stack.plain_name
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
                        "message": f"{resource}: this service account may only update those of namespace {namespace}",
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


def _in_namespace(has_groups: bool) -> "list[k8s.rbac.v1.PolicyRuleArgsDict]":
    verbs = ("get", "list", "create", "delete")
    if not has_groups:
        return [_rule("volumesnapshots", *verbs)]
    # The snapshot controller creates the members of a group without labels.
    return [_rule("volumesnapshots", *verbs, "patch"), _group_rule("volumegroupsnapshots", *verbs)]


def _in_cluster(has_groups: bool) -> "list[k8s.rbac.v1.PolicyRuleArgsDict]":
    """Snapshot contents are cluster-scoped."""
    of_groups = [_group_rule("volumegroupsnapshotcontents", "patch")] if has_groups else []
    return [_rule("volumesnapshotcontents", "patch"), *of_groups]


def _rule(resource: str, *verbs: str) -> "k8s.rbac.v1.PolicyRuleArgsDict":
    return {"api_groups": [SNAPSHOT_GROUP], "resources": [resource], "verbs": list(verbs)}


def _group_rule(resource: str, *verbs: str) -> "k8s.rbac.v1.PolicyRuleArgsDict":
    return {"api_groups": [GROUP_SNAPSHOT_GROUP], "resources": [resource], "verbs": list(verbs)}
