"""The graph of `bench.graph_programs`' fleet as a person writes it with the typed SDKs: no settings, no catalog."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.core.paths import PROJECT

_MACHINES = ("g4dn.xlarge", "g6.xlarge", "p5.48xlarge")
_GPU = "nvidia.com/gpu"
_TEMPLATE = "k8s.io/cluster-autoscaler/node-template"


def build(size: int) -> None:
    """`size` node groups, each with a job on it, in one cluster."""
    cluster = aws.eks.Cluster("cluster", role_arn="role", vpc_config={"subnet_ids": ["subnet-a", "subnet-b"]})
    groups = [_group(index, cluster) for index in range(size)]
    provider = k8s.Provider("cluster", kubeconfig="{}", opts=pulumi.ResourceOptions(depends_on=groups))
    library = {path.name: path.read_text() for path in sorted((PROJECT / "runtime" / "tensorplane").glob("*.py"))}
    for index in range(size):
        _job(index, library, pulumi.ResourceOptions(provider=provider))


def _group(index: int, cluster: aws.eks.Cluster) -> aws.eks.NodeGroup:
    name = f"group-{index}"
    labels = {
        f"tensorplane.dev/{key}": name for key in ("node-group", "accelerator", "product", "generation", "tier")
    } | {"nvidia.com/gpu.present": "true", "k8s.amazonaws.com/accelerator": "nvidia", "bench": str(index)}
    template = aws.ec2.LaunchTemplate(
        name,
        block_device_mappings=[{"device_name": "/dev/xvda", "ebs": {"volume_size": 100, "encrypted": "true"}}],
        metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
        tag_specifications=[{"resource_type": "instance", "tags": {"Name": name}}],
    )
    group = aws.eks.NodeGroup(
        name,
        cluster_name=cluster.name,
        node_role_arn="role",
        subnet_ids=["subnet-a", "subnet-b"],
        ami_type="AL2023_x86_64_NVIDIA",
        instance_types=[_MACHINES[index % len(_MACHINES)]],
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        labels=labels,
        taints=[{"key": _GPU, "value": "present", "effect": "NO_SCHEDULE"}],
        scaling_config={"min_size": 0, "max_size": 4, "desired_size": 0},
    )
    tags = {
        **{f"label/{key}": value for key, value in labels.items()},
        f"taint/{_GPU}": "present:NoSchedule",
        f"resources/{_GPU}": "1",
        "resources/ephemeral-storage": "100Gi",
    }
    for key, value in tags.items():
        aws.autoscaling.Tag(
            f"{name}-{key}",
            autoscaling_group_name=group.resources[0].autoscaling_groups[0].name,
            tag={"key": f"{_TEMPLATE}/{key}", "value": value, "propagate_at_launch": False},
        )
    return group


def _job(index: int, library: dict[str, str], opts: pulumi.ResourceOptions) -> None:
    name = f"job-{index}"
    metadata: Any = {"name": name, "namespace": "bench"}
    account = k8s.core.v1.ServiceAccount(name, metadata=metadata, opts=opts)
    files = k8s.core.v1.ConfigMap(name, metadata=metadata, data=library, opts=opts)
    policy = k8s.networking.v1.NetworkPolicy(
        name,
        metadata=metadata,
        spec={"pod_selector": {"match_labels": {"app": name}}, "policy_types": ["Ingress"]},
        opts=opts,
    )
    needed = pulumi.ResourceOptions(depends_on=[account, files, policy])
    k8s.apiextensions.CustomResource(
        name,
        api_version="jobset.x-k8s.io/v1alpha2",
        kind="JobSet",
        metadata=metadata,
        spec={"replicatedJobs": [{"name": "worker", "replicas": 1, "template": {"spec": _job_spec(name, index)}}]},
        opts=pulumi.ResourceOptions.merge(opts, needed),
    )


def _job_spec(name: str, index: int) -> dict[str, Any]:
    pod = {
        "serviceAccountName": name,
        "nodeSelector": {"tensorplane.dev/node-group": f"group-{index}"},
        "tolerations": [{"key": _GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            {
                "name": "main",
                "image": "registry.example/train-gpu:2.21.0",
                "command": ["python3", "-c", "pass"],
                "resources": {"limits": {_GPU: "1"}},
                "volumeMounts": [{"name": "library", "mountPath": "/opt/library"}],
            }
        ],
        "volumes": [{"name": "library", "configMap": {"name": name}}],
    }
    return {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": {"spec": pod}}
