"""Access entries for cluster administrators: the creating principal, and the `admins` of the settings."""

import pulumi
import pulumi_aws as aws

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.eks import principals
from tensorplane.components.clusters.eks.context import Context


def creator_needs_entry(context: Context) -> pulumi.Input[bool]:
    """Whether EKS creates an access entry for the creating principal.

    It refuses a second entry for the same principal, so not if that principal is one of the `admins`.
    """
    admins = [as_input(admin) for admin in context.args.admins.values()]
    # A preview may have no credentials, and its result is not kept.
    if not admins or pulumi.runtime.is_dry_run():
        return True
    caller = aws.get_caller_identity_output(opts=pulumi.InvokeOptions(provider=context.opts.provider))
    return pulumi.Output.all(caller.arn, *admins).apply(lambda found: not principals.is_among(found[0], found[1:]))


def entries(context: Context, made: aws.eks.Cluster) -> list[pulumi.Resource]:
    """Access entries of the `admins`, before objects in the cluster, which may require their rights."""
    found: list[pulumi.Resource] = []
    for name, principal in sorted(context.args.admins.items()):
        entry = aws.eks.AccessEntry(
            f"{context.name}-admin-{name}",
            cluster_name=made.name,
            principal_arn=as_input(principal),
            opts=context.opts,
        )
        association = aws.eks.AccessPolicyAssociation(
            f"{context.name}-admin-{name}",
            cluster_name=made.name,
            principal_arn=entry.principal_arn,
            policy_arn=f"arn:{context.partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            access_scope={"type": "cluster"},
            opts=context.opts,
        )
        found.append(association)
    return found
