"""Checks of the settings of an EKS cluster, without its network."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tensorplane.components import catalog
from tensorplane.components.base import stack_name
from tensorplane.components.base.model import NAME_RULE, is_name
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.produced import known
from tensorplane.components.clusters import cloud_tags
from tensorplane.components.clusters.eks import check_addons, principals
from tensorplane.components.clusters.eks.settings import EksSettings

VERSIONS = ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36")
"""Kubernetes versions that EKS runs (awslabs/amazon-eks-ami, changelog of v20260714, without 1.30, out of support)."""
_PAST_STANDARD_SUPPORT = ("1.31", "1.32", "1.33")
"""Those that had left standard support by November 2026 (endoflife.date/amazon-eks: 1.33 on 29 July, 1.34 follows)."""
_MINOR_VERSION = re.compile(r"1\.(\d{1,4})")
_NODES_BEHIND = 3

_TAGS = cloud_tags.Rules(
    "AWS",
    "tensorplane's",
    reserved=("aws:", "kubernetes.io/cluster/", "karpenter.sh/", "eks:"),
    takes="letters, digits, spaces and _ . : / = + - @",
    is_taken=lambda _, text: all(_fits_a_tag(character) for character in text),
)


def find_problems(args: EksSettings) -> Iterator[Problem]:
    """Every problem, a line each."""
    yield from _name(args)
    yield from _region(args)
    yield from _versions(args)
    yield from _support(args)
    yield from _admins(args)
    yield from check_addons.find_problems(args)
    yield from cloud_tags.find_problems(args.tags, _TAGS)


def _name(args: EksSettings) -> Iterator[Problem]:
    if not is_name(args.cluster_name):
        reason = (
            f"missing, and the default from stack {stack_name.current()!r}, {args.cluster_name}, is not a valid "
            f"name; use {NAME_RULE}"
        )
        yield Problem(("cluster", "name"), reason)


def _region(args: EksSettings) -> Iterator[Problem]:
    known = catalog.regions("eks")
    if known and args.region not in known:
        near = did_you_mean(args.region, known)
        yield Problem(
            ("cluster", "region"), f"unknown region {args.region!r}; choose one of {', '.join(sorted(known))}{near}"
        )


def _versions(args: EksSettings) -> Iterator[Problem]:
    path = ("cluster", "version")
    if args.version not in VERSIONS:
        yield _no_version(path, args.version)
        return
    path = ("cluster", "nodeVersion")
    if args.node_version is None:
        return
    if args.node_version not in VERSIONS:
        yield _no_version(path, args.node_version)
        return
    behind = VERSIONS.index(args.version) - VERSIONS.index(args.node_version)
    if not 0 <= behind <= _NODES_BEHIND:
        oldest = VERSIONS[max(0, VERSIONS.index(args.version) - _NODES_BEHIND)]
        reason = f"{args.node_version} does not work with control plane {args.version}; use {oldest} to {args.version}"
        yield Problem(path, reason, given=(("cluster", "version"),))


def _support(args: EksSettings) -> Iterator[Problem]:
    if args.support == "standard" and args.version in _PAST_STANDARD_SUPPORT:
        oldest = next(version for version in VERSIONS if version not in _PAST_STANDARD_SUPPORT)
        reason = (
            f"Kubernetes {args.version} has left standard support; set support: extended, or version {oldest} or newer"
        )
        yield Problem(("cluster", "support"), reason, given=(("cluster", "version"),))


def _no_version(path: tuple[str, ...], found: str) -> Problem:
    minor = _MINOR_VERSION.search(found)
    oldest, newest = (int(version.split(".")[1]) for version in (VERSIONS[0], VERSIONS[-1]))
    near = f" (did you mean 1.{min(max(int(minor[1]), oldest), newest)}?)" if minor else ""
    return Problem(
        path, f"{found!r} is not a Kubernetes version that EKS offers; use {VERSIONS[0]} to {VERSIONS[-1]}{near}"
    )


def _admins(args: EksSettings) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for name, given in args.admins.items():
        arn = known(given)
        if arn is None:
            continue
        other = first.setdefault(arn, name)
        if other != name:
            yield Problem(("cluster", "admins", name), f"the same principal as {other}; list each role or user once")
        elif not principals.is_role_or_user(arn):
            remedy = "use one such as arn:aws:iam::123456789012:role/platform"
            yield Problem(("cluster", "admins", name), f"{arn!r} is not the ARN of an IAM role or user; {remedy}")


def _fits_a_tag(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNZ" or character in "_.:/=+-@"
