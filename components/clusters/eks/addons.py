"""EKS add-ons at pinned versions, installed before and after the first nodes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from tensorplane.components import versions
from tensorplane.components.clusters.eks import roles
from tensorplane.components.clusters.eks.check_addons import ADDONS_AFTER_NODES, ADDONS_BEFORE_NODES, DEFAULT
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.native import Installed, Native
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.shape import Shape

# Add-on: service account, and its managed policies. The FSx for Lustre driver only requires rights to create file
# systems, which Pulumi creates. Volumes grant the S3 driver its rights.
_IDENTITIES: Mapping[str, tuple[str, Sequence[str]]] = {
    "vpc-cni": ("aws-node", ["AmazonEKS_CNI_Policy"]),
    "aws-ebs-csi-driver": ("ebs-csi-controller-sa", ["service-role/AmazonEBSCSIDriverPolicyV2"]),
    "aws-efs-csi-driver": ("efs-csi-controller-sa", ["service-role/AmazonEFSCSIDriverPolicy"]),
    "aws-mountpoint-s3-csi-driver": ("s3-csi-driver-sa", []),
}
# Without this, NetworkPolicies would not be enforced.
_CONFIGURATION = {"vpc-cni": {"enableNetworkPolicy": "true"}}
_MONITORING = "eks-node-monitoring-agent"


def before_nodes(context: Context, cluster: aws.eks.Cluster) -> list[pulumi.Resource]:
    """CNI, kube-proxy and the Pod Identity agent, without which a node never becomes Ready."""
    return [_addon(context, cluster, name, [], _CONFIGURATION.get(name)).addon for name in ADDONS_BEFORE_NODES]


def after_nodes(
    context: Context, cluster: aws.eks.Cluster, nodes: list[pulumi.Resource], groups: Mapping[str, Shape]
) -> dict[str, Installed]:
    """Add-ons with pods that tolerate no taints. EKS waits 20 minutes for them, so they require nodes."""
    configuration = {_MONITORING: _monitoring(groups)}
    return {name: _addon(context, cluster, name, nodes, configuration.get(name)) for name in ADDONS_AFTER_NODES}


def of_volumes(native: Native, name: str) -> Installed:
    """The CSI driver of a backend."""
    return _addon(native.context, native.cluster, name, native.nodes, None)


def _monitoring(groups: Mapping[str, Shape]) -> dict[str, Any] | None:
    """Tolerations of the node monitoring agent's GPU component; by default it tolerates no taints."""
    tolerations = Fleet({name: shape for name, shape in groups.items() if shape.accelerator}).tolerations
    return {"dcgmAgent": {"tolerations": tolerations}} if tolerations else None


def _version(context: Context, name: str) -> str | None:
    """The add-on's version from the settings, or the pinned one; None lets EKS choose."""
    pinned = versions.EKS_ADDONS.get(context.args.version, {}).get(name)
    version = context.args.addons.get(name, pinned)
    return None if version == DEFAULT else version


def _addon(
    context: Context,
    cluster: aws.eks.Cluster,
    name: str,
    nodes: Sequence[pulumi.Resource],
    configuration: Mapping[str, Any] | None,
) -> Installed:
    associations: list[aws.eks.AddonPodIdentityAssociationArgsDict] = []
    role = None
    if identity := _IDENTITIES.get(name):
        account, policies = identity
        role = roles.granted(context, name, roles.POD_IDENTITY, policies=policies)
        associations = [{"role_arn": role.arn, "service_account": account}]
    addon = aws.eks.Addon(
        f"{context.name}-{name}",
        cluster_name=cluster.name,
        addon_name=name,
        addon_version=_version(context, name),
        configuration_values=json.dumps(configuration) if configuration else None,
        pod_identity_associations=associations or None,
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        opts=context.after(*nodes, *(role.grants if role else ())),
    )
    return Installed(addon, role)
