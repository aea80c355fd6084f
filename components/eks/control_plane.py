"""The control plane: the cluster itself, the key of its secrets, its logs, its role, and who may administer it."""

import pulumi
import pulumi_aws as aws

from components.eks import roles
from components.eks.context import Context
from components.eks.network import Subnets

_LOGS = ["api", "audit", "authenticator", "controllerManager", "scheduler"]
_DAYS_TO_CHANGE_YOUR_MIND = 30


def cluster(context: Context, subnets: Subnets) -> aws.eks.Cluster:
    """The cluster, and whoever administers it."""
    args = context.args
    key = aws.kms.Key(
        context.name,
        description=f"Secrets of EKS cluster {context.cluster_name}",
        enable_key_rotation=True,
        deletion_window_in_days=_DAYS_TO_CHANGE_YOUR_MIND,
        opts=context.opts,
    )
    role = roles.granted(
        context,
        "control-plane",
        "eks.amazonaws.com",
        policies=["AmazonEKSClusterPolicy"],
        document=roles.statements(
            {"Action": ["kms:Encrypt", "kms:Decrypt", "kms:DescribeKey", "kms:ListGrants"], "Resource": key.arn}
        ),
    )
    # EKS would create it as soon as it has something to log, and keep everything forever.
    logs = aws.cloudwatch.LogGroup(
        context.name,
        name=f"/aws/eks/{context.cluster_name}/cluster",
        retention_in_days=args.log_retention_days,
        opts=context.opts,
    )
    made = aws.eks.Cluster(
        context.name,
        name=context.cluster_name,
        version=args.version,
        role_arn=role.arn,
        vpc_config=_reach(context, subnets),
        kubernetes_network_config={"service_ipv4_cidr": args.network.service_cidr, "ip_family": "ipv4"},
        # The one who creates the cluster also creates what is inside, and so needs rights there from the start.
        access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": True},
        encryption_config={"provider": {"key_arn": key.arn}, "resources": ["secrets"]},
        enabled_cluster_log_types=_LOGS,
        upgrade_policy={"support_type": args.support.upper()},
        zonal_shift_config={"enabled": True},
        deletion_protection=args.deletion_protection,
        # CNI, proxy and DNS come as add-ons, in an order and at versions that are ours. A change replaces the cluster.
        bootstrap_self_managed_addons=False,
        # Without its rights, EKS cannot take away its network interfaces and security groups when it is deleted.
        opts=context.after(*role.grants, logs),
    )
    _admins(context, made)
    return made


def _reach(context: Context, subnets: Subnets) -> aws.eks.ClusterVpcConfigArgsDict:
    endpoint = context.args.endpoint
    reach: aws.eks.ClusterVpcConfigArgsDict = {
        "subnet_ids": subnets.of(context.args.subnet_zones),
        "endpoint_private_access": True,
        "endpoint_public_access": endpoint.public,
    }
    if endpoint.public:
        reach["public_access_cidrs"] = list(endpoint.allowed_cidrs)
    return reach


def _admins(context: Context, made: aws.eks.Cluster) -> None:
    for name, principal in sorted(context.args.admins.items()):
        entry = aws.eks.AccessEntry(
            f"{context.name}-admin-{name}", cluster_name=made.name, principal_arn=principal, opts=context.opts
        )
        aws.eks.AccessPolicyAssociation(
            f"{context.name}-admin-{name}",
            cluster_name=made.name,
            principal_arn=entry.principal_arn,
            policy_arn=f"arn:{context.partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            access_scope={"type": "cluster"},
            opts=context.opts,
        )


def security_group(made: aws.eks.Cluster) -> pulumi.Output[str]:
    """The security group that EKS creates for control plane and nodes."""
    return made.vpc_config.cluster_security_group_id
