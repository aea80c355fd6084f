"""IAM roles with their trust and rights."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from tensorplane.components.clusters.eks.context import Context

POD_IDENTITY = "pods.eks.amazonaws.com"
"""The service that gives pods roles, by namespace and service account."""
_MAY_TAG_SESSIONS = ("eks.amazonaws.com", POD_IDENTITY)

Statement = Mapping[str, Any]


@dataclass(frozen=True)
class GrantedRole:
    """A role and the resources that grant its rights, on which its users depend."""

    role: aws.iam.Role
    grants: tuple[pulumi.Resource, ...]

    @property
    def arn(self) -> pulumi.Output[str]:
        """The role's ARN."""
        return self.role.arn


def granted(
    context: Context,
    key: str,
    service: str,
    *,
    policies: Sequence[str] = (),
    document: pulumi.Output[str] | None = None,
) -> GrantedRole:
    """A role for a service, with AWS' managed policies by name, and an inline policy (see `statements`)."""
    name = f"{context.name}-{key}"
    role = aws.iam.Role(name, assume_role_policy=json.dumps(_trust(service)), opts=context.opts)
    grants: list[pulumi.Resource] = [
        aws.iam.RolePolicyAttachment(
            f"{name}-{policy.rpartition('/')[2]}",
            role=role.name,
            policy_arn=f"arn:{context.partition}:iam::aws:policy/{policy}",
            opts=context.opts,
        )
        for policy in policies
    ]
    if document is not None:
        grants.append(aws.iam.RolePolicy(name, role=role.id, policy=document, opts=context.opts))
    return GrantedRole(role, tuple(grants))


def _trust(service: str) -> dict[str, Any]:
    actions = ["sts:AssumeRole", "sts:TagSession"] if service in _MAY_TAG_SESSIONS else ["sts:AssumeRole"]
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": actions}
    return {"Version": "2012-10-17", "Statement": [statement]}


def statements(*allowed: Statement) -> pulumi.Output[str]:
    """A policy document that allows these statements. Values may be Outputs."""
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement} for statement in allowed]}
    return pulumi.Output.json_dumps(document)


def pod_identity(
    context: Context, key: str, role: GrantedRole, cluster: aws.eks.Cluster, namespace: str, account: str
) -> aws.eks.PodIdentityAssociation:
    """Gives the pods of a service account a role. Pods get it at their start, so they depend on it."""
    return aws.eks.PodIdentityAssociation(
        f"{context.name}-{key}",
        cluster_name=cluster.name,
        namespace=namespace,
        service_account=account,
        role_arn=role.arn,
        opts=context.after(*role.grants),
    )
