"""EKS add-ons: what every cluster needs, at pinned versions, before and after the first nodes."""

import json

import pulumi
import pulumi_aws as aws

from components.eks import roles
from components.eks.check_cluster import ADDONS_AFTER_NODES, ADDONS_BEFORE_NODES
from components.eks.context import Context

# Add-on: service account, and the policy that it needs.
_IDENTITIES = {
    "vpc-cni": ("aws-node", "AmazonEKS_CNI_Policy"),
    "aws-ebs-csi-driver": ("ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicyV2"),
}
# The stack's namespaces refuse what no NetworkPolicy allows. Without this, nobody would enforce that.
_CONFIGURATION = {"vpc-cni": {"enableNetworkPolicy": "true"}}


def before_nodes(context: Context, cluster: aws.eks.Cluster) -> list[pulumi.Resource]:
    """Network, proxy and the agent that gives pods their roles: without them a node never becomes Ready."""
    return [_addon(context, cluster, name, []) for name in ADDONS_BEFORE_NODES]


def after_nodes(context: Context, cluster: aws.eks.Cluster, nodes: list[pulumi.Resource]) -> list[pulumi.Resource]:
    """What runs as pods that tolerate no taint: EKS waits 20 minutes for them, and nodes must be there by then."""
    return [_addon(context, cluster, name, nodes) for name in ADDONS_AFTER_NODES]


def _addon(context: Context, cluster: aws.eks.Cluster, name: str, nodes: list[pulumi.Resource]) -> aws.eks.Addon:
    identity = _IDENTITIES.get(name)
    associations: list[aws.eks.AddonPodIdentityAssociationArgsDict] = []
    needed = list(nodes)
    if identity:
        account, policy = identity
        role = roles.granted(context, name, roles.POD_IDENTITY, policies=[policy])
        associations = [{"role_arn": role.arn, "service_account": account}]
        needed += role.grants
    return aws.eks.Addon(
        f"{context.name}-{name}",
        cluster_name=cluster.name,
        addon_name=name,
        addon_version=context.args.addons.get(name),
        configuration_values=json.dumps(_CONFIGURATION[name]) if name in _CONFIGURATION else None,
        pod_identity_associations=associations or None,
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="OVERWRITE",
        opts=context.after(*needed),
    )
