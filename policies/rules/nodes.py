"""Machines of clusters: no public addresses, no credentials for pods from the metadata service, encrypted disks."""

from __future__ import annotations

from collections.abc import Iterator

from stack_view.finding import Finding
from stack_view.rule import Config, Rule, Severity, of_each
from stack_view.view import Resource, View, at, known, maps

_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_CLASS = ("karpenter.k8s.aws", "EC2NodeClass")
_EKS_GROUP = "aws:eks/nodeGroup:NodeGroup"
_GKE = "gcp:container/cluster:Cluster"
_GKE_POOL = "gcp:container/nodePool:NodePool"
_AKS = "azure-native:containerservice:ManagedCluster"
_AKS_POOL = "azure-native:containerservice:AgentPool"


def _is_class(resource: Resource) -> bool:
    return resource.manifest is not None and resource.manifest.type == _CLASS


def _metadata(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.type == _TEMPLATE or _is_class(resource):
        options = (
            at(resource.body if resource.type == _TEMPLATE else at(resource.body, "spec") or {}, "metadataOptions")
            or {}
        )
        if at(options, "httpTokens") != "required":
            yield Finding("its machines answer IMDSv1, which one forged request reads", "set `httpTokens: required`")
        if at(options, "httpPutResponseHopLimit") != 1:
            yield Finding("pods read the credentials of their machine", "set `httpPutResponseHopLimit: 1`")
    if resource.type == _EKS_GROUP and at(resource.body, "launchTemplate") is None:
        remedy = "give it a launch template with `httpTokens: required` and `httpPutResponseHopLimit: 1`"
        yield Finding("without a launch template, pods read the credentials of their machine", remedy)
    if (
        resource.type == _GKE_POOL
        and at(resource.body, "nodeConfig", "workloadMetadataConfig", "mode") != "GKE_METADATA"
    ):
        remedy = "set `nodeConfig.workloadMetadataConfig.mode: GKE_METADATA`"
        yield Finding("pods read the credentials of their machine", remedy)


def _addresses(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    problem = "its nodes have public addresses"
    if resource.type == _TEMPLATE:
        for one in maps(resource.body, "networkInterfaces"):
            if at(one, "associatePublicIpAddress") in (True, "true"):
                yield Finding(problem, "remove `associatePublicIpAddress`")
    if resource.type == _GKE and at(resource.body, "privateClusterConfig", "enablePrivateNodes") is not True:
        yield Finding(problem, "set `privateClusterConfig.enablePrivateNodes: true`")
    if resource.type == _GKE_POOL and at(resource.body, "networkConfig", "enablePrivateNodes") is False:
        yield Finding(problem, "set `networkConfig.enablePrivateNodes: true`")
    pools = (
        [resource.body]
        if resource.type == _AKS_POOL
        else maps(resource.body, "agentPoolProfiles")
        if resource.type == _AKS
        else []
    )
    if any(at(one, "enableNodePublicIP") is True for one in pools):
        yield Finding(problem, "set `enableNodePublicIP: false`")


def _disks(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if resource.type == _TEMPLATE or _is_class(resource):
        owner = resource.body if resource.type == _TEMPLATE else known(resource.body, "spec") or {}
        disks = maps(owner, "blockDeviceMappings")
        if not disks or any(at(one, "ebs", "encrypted") not in (True, "true") for one in disks):
            remedy = "set `blockDeviceMappings[].ebs.encrypted: true`"
            yield Finding("disks of its machines are not encrypted", remedy)


_TAGS = ["nodes", "security"]

POLICIES = [
    Rule(
        of_each(_metadata),
        name="node-metadata",
        description="Machines answer only IMDSv2, and pods do not reach their credentials.",
        remedy="Require tokens with a hop limit of 1, or GKE's metadata server.",
        severity=Severity.HIGH,
        tags=_TAGS,
    ),
    Rule(
        of_each(_addresses),
        name="node-addresses",
        description="Nodes have no public addresses.",
        remedy="Use private nodes with a NAT gateway.",
        severity=Severity.HIGH,
        tags=_TAGS,
    ),
    Rule(
        of_each(_disks),
        name="node-disks",
        description="Disks of AWS' machines are encrypted; GKE and AKS always encrypt them.",
        remedy="Encrypt the disks.",
        severity=Severity.MEDIUM,
        tags=_TAGS,
    ),
]
