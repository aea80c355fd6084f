"""Checks of the settings of a GKE cluster, without its network."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tensorplane.components import catalog, versions
from tensorplane.components.base import stack_name
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.produced import known
from tensorplane.components.clusters.gke.settings import GkeSettings

NAME_LIMIT = 40
PROJECT = r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"
_NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
VERSION = re.compile(r"1\.(\d{1,4})(\.\d+(-gke\.\d+)?)?", re.ASCII)
OLDEST_MINOR = 32
"""GKE's metrics of JobSet require 1.32 (pulumi-gcp's reference of `monitoring_config.enable_components`)."""
_OLDEST_LUSTRE = 34
"""GKE's nodes accept signed kernel modules from 1.34.1-gke.2364000 on (lustre-csi-driver, docs/installation.md)."""
_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_LABELS_LIMIT = 48
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


_WEEKENDS_IN_32_DAYS = 4
_HOURS_IN_32_DAYS = 48


def find_problems(args: GkeSettings) -> Iterator[Problem]:
    """Every problem, a line each."""
    yield from _names(args)
    yield from _location(args)
    yield from _version(args)
    yield from _maintenance(args)
    yield from _encryption_key(args)


def _names(args: GkeSettings) -> Iterator[Problem]:
    name = args.cluster_name
    if not _NAME.fullmatch(name) or len(name) > NAME_LIMIT:
        remedy = f"use lower-case letters, digits and dashes, beginning with a letter, at most {NAME_LIMIT} characters"
        found = f"{name!r}" if args.name else f"missing, and the default from stack {stack_name.current()!r}, {name},"
        yield Problem(("cluster", "name"), f"{found} is not a valid name; {remedy}")
    project = known(args.project)
    if project is not None and not re.fullmatch(PROJECT, project):
        remedy = "use 6 to 30 lower-case letters, digits and dashes, beginning with a letter"
        yield Problem(("cluster", "project"), f"{project!r} is not a project id; {remedy}")
    if len(args.labels) > _LABELS_LIMIT:
        reason = f"{len(args.labels)} labels are set; Google Cloud allows 64, and tensorplane and GKE use some of them"
        yield Problem(("cluster", "labels"), f"{reason}; set at most {_LABELS_LIMIT}")
    for key, value in args.labels.items():
        if not _LABEL.fullmatch(key):
            remedy = "use lower-case letters, digits, dashes and underscores, beginning with a letter, at most 63"
            yield Problem(("cluster", "labels", key), f"not a valid key of a Google Cloud label; {remedy}")
        text = known(value)
        if text is not None and not _LABEL_VALUE.fullmatch(text):
            remedy = "use lower-case letters, digits, dashes and underscores, at most 63"
            yield Problem(("cluster", "labels", key), f"invalid value {text!r}; {remedy}")


def _location(args: GkeSettings) -> Iterator[Problem]:
    regions = catalog.regions("gke")
    if regions and args.region not in regions:
        region = args.region.rsplit("-", 1)[0]
        unknown = f"unknown region {args.region!r}; choose one of {', '.join(sorted(regions))}"
        near = did_you_mean(args.region, regions)
        zone = f"{args.region!r} is a zone, not a region; use its region {region}"
        yield Problem(("cluster", "region"), zone if region in regions else f"{unknown}{near}")
        return
    known = catalog.zones("gke", args.region)
    for zone in args.zones:
        if zone not in known:
            reason = (
                f"unknown zone {zone!r} in {args.region}; choose one of {', '.join(known)}{did_you_mean(zone, known)}"
            )
            yield Problem(("cluster", "zones"), reason)


def _version(args: GkeSettings) -> Iterator[Problem]:
    if args.version is None:
        return
    match = VERSION.fullmatch(args.version)
    if match is None:
        yield Problem(
            ("cluster", "version"), f"{args.version!r} is not a GKE version; use one such as 1.35 or 1.35.2-gke.1485000"
        )
    elif int(match[1]) < OLDEST_MINOR:
        reason = f"{args.version} has no JobSet metrics; use 1.{OLDEST_MINOR} or newer"
        yield Problem(("cluster", "version"), reason)
    elif newer := versions.too_new(versions.OFFERED_BY_GKE, int(match[1])):
        yield Problem(("cluster", "version"), f"{args.version} {newer}")
    elif args.lustre and int(match[1]) < _OLDEST_LUSTRE:
        reason = f"nodes of {args.version} cannot load Lustre's kernel modules; use 1.{_OLDEST_LUSTRE} or newer"
        yield Problem(("cluster", "version"), reason, given=(("cluster", "lustre"),))


def _maintenance(args: GkeSettings) -> Iterator[Problem]:
    window = args.maintenance
    days = len(set(window.days))
    hours = days * _WEEKENDS_IN_32_DAYS * window.hours
    if hours < _HOURS_IN_32_DAYS:
        hours_needed = -(-_HOURS_IN_32_DAYS // (_WEEKENDS_IN_32_DAYS * days))
        reason = (
            f"the window has {hours} hours in 32 days, but GKE requires {_HOURS_IN_32_DAYS}; set hours to "
            f"{hours_needed}, or add days"
        )
        yield Problem(("cluster", "maintenance"), reason)


def _encryption_key(args: GkeSettings) -> Iterator[Problem]:
    key = known(args.encryption_key)
    if key is None:
        return
    path = ("cluster", "encryptionKey")
    match = _KEY.fullmatch(key)
    if match is None:
        remedy = "use projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY"
        yield Problem(path, f"{key!r} is not the id of a Cloud KMS key; {remedy}")
    elif match[1] != args.region:
        yield Problem(
            path, f"the key is in {match[1]}, but the cluster is in {args.region}; use a key of {args.region}"
        )
