"""Checks of teams' members on EKS: IAM principals, and what an identity provider of the cluster names."""

import re
from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.produced import known
from tensorplane.components.clusters.eks import principals
from tensorplane.components.clusters.eks.settings import EksSettings

_EXAMPLE = "user:arn:aws:iam::123456789012:role/vision"
_OF_NODES = re.compile(r"cluster-(karpenter-)?node-[0-9a-f]{7}")
"""Names that Pulumi gives to the roles of the cluster's nodes."""


def find_problems(args: EksSettings, members: Mapping[Key, str]) -> Iterator[Problem]:
    """Every problem, a line each. Only ARNs are checked."""
    admins = {principals.identity(arn): name for name, given in args.admins.items() if (arn := known(given))}
    for path, member in members.items():
        kind, _, arn = member.partition(":")
        if not arn.startswith("arn:"):
            continue
        who = principals.identity(arn)
        admin = admins.get(who)
        if who[1:2] == ("group",):
            reason = f"{arn!r} is an IAM group, to which EKS gives no access; name a role that its users assume"
            yield Problem(path, f"{reason}, such as {_EXAMPLE}")
        elif kind == "group" or not principals.is_role_or_user(arn):
            yield Problem(
                path, f"{member!r} is not an IAM role or user; use one such as {_EXAMPLE}{_suggestion(arn, who)}"
            )
        elif admin is not None:
            reason = f"is an administrator already (cluster.admins.{admin}), and EKS has one access entry for each"
            yield Problem(path, f"{reason}; remove it here, or there", given=(("cluster", "admins", admin),))
        elif _OF_NODES.fullmatch(who[-1]):
            yield Problem(path, f"{who[-1]} is the role of the cluster's own nodes; name one that people assume")


def _suggestion(arn: str, who: tuple[str, ...]) -> str:
    if principals.is_role_or_user(arn):
        return f" (did you mean user:{arn}?)"
    if who[1:2] == ("role",):
        partition = arn.split(":")[1]
        return f" (did you mean user:arn:{partition}:iam::{who[0]}:role/{who[-1]}?)"
    return ""
