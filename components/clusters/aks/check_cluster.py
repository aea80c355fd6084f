"""Checks of the settings of an AKS cluster, without its network."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator

from tensorplane.components import catalog, versions
from tensorplane.components.base import stack_name
from tensorplane.components.base.model import is_name
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.produced import known
from tensorplane.components.clusters import allowed_cidrs, cloud_tags
from tensorplane.components.clusters.aks.check_members import EXAMPLE, is_object_id
from tensorplane.components.clusters.aks.settings import AksSettings

_SDK = "pulumi_azure_native"
_NAME_LIMIT = 54
_NAME_RULE = f"lower-case letters, digits and dashes, beginning with a letter, at most {_NAME_LIMIT} characters"
_VERSION = re.compile(r"1\.(\d{2})(?:\.(\d+))?", re.ASCII)
_NODES_BEHIND = 3
ZONES = ("1", "2", "3")
_TAGS = cloud_tags.Rules(
    "Azure",
    "tensorplane's and AKS'",
    reserved=("microsoft", "azure", "windows", "aks-managed-", "hidden-"),
    takes="none of < > % & \\ ? /",
    is_taken=lambda what, text: what == "value" or not re.search(r"[<>%&\\?/]", text),
)
_ADMIN_ROLE = "Azure Kubernetes Service RBAC Cluster Admin"


def find_problems(args: AksSettings) -> Iterator[Problem]:
    """Every problem, a line each."""
    if importlib.util.find_spec(_SDK) is None:
        reason = "Azure's SDK for Pulumi is not installed; run python -m pip install -r requirements-aks.txt"
        yield Problem(("cluster", "kind"), reason)
    yield from _name(args)
    yield from _region(args)
    subscription = known(args.subscription)
    if subscription and not is_object_id(subscription):
        remedy = f"use an id such as {EXAMPLE} (az account list)"
        yield Problem(("cluster", "subscription"), f"{subscription!r} is not a subscription id; {remedy}")
    yield from _versions(args)
    yield from _zones(args)
    yield from _admins(args)
    yield from cloud_tags.find_problems(args.tags, _TAGS)
    if not args.network.subnet:
        yield from allowed_cidrs.unreachable(args.endpoint, network="VNet", existing="network.subnet")


def _name(args: AksSettings) -> Iterator[Problem]:
    name = args.cluster_name
    if not is_name(name) or len(name) > _NAME_LIMIT:
        found = f"{name!r}" if args.name else f"missing, and the default from stack {stack_name.current()!r}, {name},"
        yield Problem(("cluster", "name"), f"{found} is not a valid name; use {_NAME_RULE}")


def _region(args: AksSettings) -> Iterator[Problem]:
    known = catalog.regions("aks")
    if known and args.region not in known:
        plain = args.region.lower().replace(" ", "")
        near = did_you_mean(plain, known)
        yield Problem(
            ("cluster", "region"), f"unknown location {args.region!r}; choose one of {', '.join(sorted(known))}{near}"
        )


def _versions(args: AksSettings) -> Iterator[Problem]:
    control, nodes = _minor(args.version), _minor(args.node_version or args.version)
    for key, found, value in (("version", control, args.version), ("nodeVersion", nodes, args.node_version)):
        if value and found is None:
            yield Problem(("cluster", key), f"{value!r} is not a Kubernetes version; use one such as 1.35 or 1.35.2")
    if control is None or nodes is None:
        return
    for key, value, number in (("version", args.version, control), ("nodeVersion", args.node_version, nodes)):
        if value and (problem := versions.offered_problem(versions.OFFERED_BY_AKS, number)):
            yield Problem(("cluster", key), f"{value} {problem}")
            return
    given = (("cluster", "version"),)
    if not 0 <= control - nodes <= _NODES_BEHIND:
        reason = (
            f"{args.node_version} does not work with control plane {args.version}; use "
            f"1.{control - _NODES_BEHIND} to 1.{control}"
        )
        yield Problem(("cluster", "nodeVersion"), reason, given=given)
    elif args.node_version and control == nodes and _patch(args.node_version) > _patch(args.version) >= 0:
        reason = f"{args.node_version} is newer than the control plane, {args.version}; use {args.version}"
        yield Problem(("cluster", "nodeVersion"), reason, given=given)
    for key, value in (("version", args.version), ("nodeVersion", args.node_version or "")):
        if args.upgrades == "patch" and _patch(value) >= 0:
            minor = value.rsplit(".", 1)[0]
            reason = (
                f"{value} names a patch version, but upgrades: patch moves the cluster off it; use {minor}, or "
                f"upgrades: none"
            )
            yield Problem(("cluster", key), reason, given=(("cluster", "upgrades"),))


def _minor(version: str) -> int | None:
    found = _VERSION.fullmatch(version)
    return int(found[1]) if found else None


def _patch(version: str) -> int:
    """The patch release; -1 for the latest, if the version names none."""
    found = _VERSION.fullmatch(version)
    return int(found[2]) if found and found[2] else -1


def _zones(args: AksSettings) -> Iterator[Problem]:
    known = catalog.zones("aks", args.region) or ZONES
    for zone in args.zones or ():
        if zone not in known:
            yield Problem(
                ("cluster", "zones"),
                f"unknown zone {zone!r}; choose one of {', '.join(known)}{did_you_mean(zone, known)}",
            )


def _admins(args: AksSettings) -> Iterator[Problem]:
    path = ("cluster", "admins")
    if not args.admins and not args.inherited_admins:
        reason = f"missing; without the role {_ADMIN_ROLE}, the API server refuses pulumi up with 403"
        remedy = f"name an Entra group that includes everyone who deploys ({{platform: {EXAMPLE}}})"
        yield Problem(
            path, f"{reason}; {remedy}, or set inheritedAdmins: true if the subscription already grants the role"
        )
    for name, given in args.admins.items():
        group = known(given)
        if group is not None and not is_object_id(group):
            remedy = f"use the object id of an Entra group, such as {EXAMPLE}"
            yield Problem((*path, name), f"{group!r} is not an object id; {remedy}")
