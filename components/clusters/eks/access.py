"""Access entries for cluster administrators: the creating principal, and the `admins` of the settings."""

import re
from collections.abc import Collection

import pulumi
import pulumi_aws as aws

from components.clusters.eks.context import Context

_ARN = re.compile(r"arn:aws[a-z-]*:(?:iam|sts)::(?P<account>\d{12}):(?P<kind>[a-z-]+)/(?P<rest>\S+)")


def creator_needs_entry(context: Context) -> pulumi.Input[bool]:
    """Whether EKS creates an access entry for the creating principal.

    It refuses a second entry for the same principal, so not if that principal is one of the `admins`.
    """
    admins = list(context.args.admins.values())
    # A preview may have no credentials, and its result is not kept.
    if not admins or pulumi.runtime.is_dry_run():
        return True
    caller = aws.get_caller_identity_output(opts=pulumi.InvokeOptions(provider=context.opts.provider))
    return caller.apply(lambda caller: not is_among(caller.arn, admins))


def is_among(caller: str, admins: Collection[str]) -> bool:
    """Whether the caller is one of these IAM roles or users. A session is compared by the role's name, which is
    unique in an account, regardless of its path."""
    return _principal(caller) in {_principal(admin) for admin in admins}


def _principal(arn: str) -> tuple[str, ...]:
    """Account, kind and name; equal for `…:sts::1:assumed-role/NAME/session` and `…:iam::1:role/path/NAME`."""
    found = _ARN.fullmatch(arn)
    if found is None:
        return (arn,)
    parts = found["rest"].split("/")
    if found["kind"] == "assumed-role":
        return found["account"], "role", parts[0]
    return found["account"], found["kind"], parts[-1]


def entries(context: Context, made: aws.eks.Cluster) -> list[pulumi.Resource]:
    """Access entries of the `admins`, before objects in the cluster, which may require their rights."""
    found: list[pulumi.Resource] = []
    for name, principal in sorted(context.args.admins.items()):
        entry = aws.eks.AccessEntry(
            f"{context.name}-admin-{name}", cluster_name=made.name, principal_arn=principal, opts=context.opts
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
