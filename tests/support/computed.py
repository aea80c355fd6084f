"""What clouds and API servers add to a resource that the stack goes on to read: the least of it, by type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.support import computed_azure, computed_google

State = Mapping[str, Any]
_ACCOUNT = "123456789012"


def of(kind: str, name: str, inputs: State) -> dict[str, Any]:
    """The state of a resource of a type, once it exists: its inputs and what was added."""
    added = ADDED.get(kind)
    return {**inputs, **(added(name, inputs) if added else {})}


ANSWERED = {
    **computed_google.ANSWERED,
    # Who deploys: a session of a role, as it is in CI.
    "aws:index/getCallerIdentity:getCallerIdentity": {
        "accountId": _ACCOUNT,
        "arn": f"arn:aws:sts::{_ACCOUNT}:assumed-role/deployer/ci",
        "id": _ACCOUNT,
        "userId": "AROA:ci",
    },
}
"""What a provider answers, by the function that is called."""


def _eks_cluster(name: str, inputs: State) -> dict[str, Any]:
    return {
        "arn": f"arn:aws:eks:us-west-2:{_ACCOUNT}:cluster/{inputs['name']}",
        "endpoint": "https://eks.example",
        "certificateAuthority": {"data": "Y2E="},
        "vpcConfig": {**inputs["vpcConfig"], "clusterSecurityGroupId": "sg-cluster", "vpcId": "vpc-cluster"},
    }


def _with_name(name: str, inputs: State) -> dict[str, Any]:
    return {"name": name}


def _with_arn(service: str) -> Callable[[str, State], dict[str, Any]]:
    return lambda name, inputs: {"name": name, "arn": f"arn:aws:{service}:us-west-2:{_ACCOUNT}:{name}"}


def _is_outside(service: State) -> bool:
    return bool(service["spec"].get("type") == "LoadBalancer")


ADDED: dict[str, Callable[[str, State], dict[str, Any]]] = {
    **computed_azure.ADDED,
    **computed_google.ADDED,
    # The stack has not been deployed.
    "pulumi:pulumi:StackReference": lambda name, inputs: {"outputs": {}, "secretOutputNames": []},
    "kubernetes:core/v1:PersistentVolumeClaim": lambda name, inputs: {
        "metadata": {**inputs["metadata"], "uid": f"{name}-uid"},
        "spec": {"volumeName": f"pvc-{name}", **inputs["spec"]},
    },
    # What is read, not declared, has no inputs: the volume of a claim.
    "kubernetes:core/v1:PersistentVolume": lambda name, inputs: {
        "spec": inputs.get("spec") or {"csi": {"driver": "csi.example", "volumeHandle": f"{name}-handle"}}
    },
    "kubernetes:core/v1:Service": lambda name, inputs: {
        "spec": {**inputs["spec"], "clusterIP": "10.0.0.10"},
        **({"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.7"}]}}} if _is_outside(inputs) else {}),
    },
    "kubernetes:core/v1:Secret": lambda name, inputs: {"metadata": {"name": f"{name}-1a2b3c4d", **inputs["metadata"]}},
    "kubernetes:storage.k8s.io/v1:VolumeAttributesClass": lambda name, inputs: {
        "metadata": {**inputs["metadata"], "name": f"{name}-1a2b3c4d"}
    },
    "aws:backup/vault:Vault": lambda name, inputs: {"name": f"{name}-1a2b3c4"},
    "aws:cloudwatch/eventRule:EventRule": _with_name,
    "aws:ec2/launchTemplate:LaunchTemplate": lambda name, inputs: {"latestVersion": 1},
    "aws:ec2/placementGroup:PlacementGroup": _with_name,
    "aws:eks/cluster:Cluster": _eks_cluster,
    "aws:eks/nodeGroup:NodeGroup": lambda name, inputs: {
        "resources": [{"autoscalingGroups": [{"name": f"eks-{name}"}]}]
    },
    "aws:fsx/lustreFileSystem:LustreFileSystem": lambda name, inputs: {
        "arn": f"arn:aws:fsx:us-west-2:{_ACCOUNT}:file-system/{name}-id",
        "dnsName": f"{name}-id.fsx.us-west-2.amazonaws.com",
        "mountName": "abcdefgh",
    },
    "aws:iam/role:Role": _with_arn("iam"),
    "aws:kms/key:Key": lambda name, inputs: {"arn": f"arn:aws:kms:us-west-2:{_ACCOUNT}:key/{name}"},
    "aws:s3/bucket:Bucket": lambda name, inputs: {"arn": f"arn:aws:s3:::{name}-id"},
    "aws:sqs/queue:Queue": _with_arn("sqs"),
}
