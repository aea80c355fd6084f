"""The control plane: the cluster itself, its logs, its role."""

import pulumi
import pulumi_aws as aws

from tensorplane.components.clusters import allowed_cidrs
from tensorplane.components.clusters.eks import access, encryption, roles
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.network import Subnets

_LOGS = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
# AWS accepts no subnets in further zones later; nodes may use them. The creator's access is fixed at creation, and a
# change would replace the cluster.
_FOR_GOOD = ["vpcConfig.subnetIds", "accessConfig.bootstrapClusterCreatorAdminPermissions"]


def cluster(context: Context, subnets: Subnets) -> aws.eks.Cluster:
    """The cluster."""
    args = context.args
    key = encryption.secrets_key(context)
    role = roles.granted(
        context,
        "control-plane",
        "eks.amazonaws.com",
        policies=["AmazonEKSClusterPolicy"],
        document=roles.statements(encryption.use_of(key)),
    )
    creator = access.creator_needs_entry(context)
    # Otherwise, EKS creates it with the first log, without a retention limit.
    logs = aws.cloudwatch.LogGroup(
        context.name,
        name=f"/aws/eks/{context.cluster_name}/cluster",
        retention_in_days=args.log_retention_days,
        opts=context.opts,
    )
    return aws.eks.Cluster(
        context.name,
        name=context.cluster_name,
        version=args.version,
        role_arn=role.arn,
        vpc_config=_reach(context, subnets),
        kubernetes_network_config={"service_ipv4_cidr": args.network.service_cidr, "ip_family": "ipv4"},
        # The creating principal also creates the objects inside and requires rights from the start.
        access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": creator},
        encryption_config={"provider": {"key_arn": key.arn}, "resources": ["secrets"]},
        enabled_cluster_log_types=_LOGS,
        upgrade_policy={"support_type": args.support.upper()},
        zonal_shift_config={"enabled": True},
        deletion_protection=args.deletion_protection,
        # CNI, kube-proxy and DNS are installed as pinned add-ons. A change replaces the cluster.
        bootstrap_self_managed_addons=False,
        # Without the role's rights, EKS cannot delete its network interfaces and security groups.
        opts=pulumi.ResourceOptions.merge(
            context.after(*role.grants, logs), pulumi.ResourceOptions(ignore_changes=_FOR_GOOD)
        ),
    )


def _reach(context: Context, subnets: Subnets) -> aws.eks.ClusterVpcConfigArgsDict:
    endpoint = context.args.endpoint
    reach: aws.eks.ClusterVpcConfigArgsDict = {
        "subnet_ids": subnets.of(context.args.subnet_zones),
        "endpoint_private_access": True,
        "endpoint_public_access": endpoint.public,
    }
    if endpoint.public:
        reach["public_access_cidrs"] = allowed_cidrs.checked(endpoint.allowed_cidrs)
    return reach


def security_group(made: aws.eks.Cluster) -> pulumi.Output[str]:
    """The security group that EKS creates for control plane and nodes."""
    return made.vpc_config.cluster_security_group_id
