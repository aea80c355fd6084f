"""What is wrong with the settings of an EKS cluster."""

import ipaddress
import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pulumi

from components import allowed_cidrs, catalog
from components.cidr import inner_network
from components.eks import check_addons
from components.eks.addresses import DEFAULT_CIDR, LARGEST, SMALLEST, ZONE_LETTERS
from components.faults import Fault, did_you_mean, without_consequences
from components.model import NAME_NEEDS, is_name

if TYPE_CHECKING:
    from components.cluster.eks import Eks

VERSIONS = ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36")
"""Kubernetes versions that EKS runs (awslabs/amazon-eks-ami, changelog of v20260714, without 1.30, out of support)."""
_PAST_STANDARD_SUPPORT = ("1.31", "1.32", "1.33")
"""Those that had left standard support by November 2026 (endoflife.date/amazon-eks: 1.33 on 29 July, 1.34 follows)."""
_MINOR_VERSION = re.compile(r"1\.(\d{1,4})")
_NODES_BEHIND = 3

_SERVICE_RANGES = tuple(ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_USUAL_SERVICES = (ipaddress.IPv4Network("172.20.0.0/16"), ipaddress.IPv4Network("10.100.0.0/16"))
_REFUSED_ZONES = {"us-east-1": "use1-az3", "us-west-1": "usw1-az2", "ca-central-1": "cac1-az3"}
"""By region, the id of the zone in which EKS takes no subnet of a control plane (EKS user guide, network-reqs)."""
_ADMIN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/\S+")
# docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html#id_tags_naming_best_practices
_TAG_KEY_LIMIT, _TAG_VALUE_LIMIT, _TAGS_LIMIT = 128, 256, 40
_RESERVED_TAGS = ("aws:", "kubernetes.io/cluster/", "karpenter.sh/", "eks:")


def faults(args: "Eks") -> Iterator[Fault]:
    """Every fault, a line each."""
    yield from _name(args)
    region = list(_region(args))
    yield from region
    yield from _versions(args)
    yield from _support(args)
    yield from without_consequences((*_default_zones(args), *_network(args)), region)
    yield from _subnets(args)
    yield from _addresses(args)
    if not args.network.subnets:
        yield from allowed_cidrs.unreachable(args.endpoint, network="VPC", existing="network.subnets")
    yield from allowed_cidrs.faults(args.endpoint.allowed_cidrs, public=args.endpoint.public)
    yield from _admins(args)
    yield from check_addons.faults(args)
    yield from _tags(args)


def _name(args: "Eks") -> Iterator[Fault]:
    if not is_name(args.cluster_name):
        reason = f"missing, and stack {pulumi.get_stack()!r} would make it {args.cluster_name}; need {NAME_NEEDS}"
        yield Fault(("cluster", "name"), reason)


def _region(args: "Eks") -> Iterator[Fault]:
    known = catalog.regions("eks")
    if known and args.region not in known:
        near = did_you_mean(args.region, known)
        yield Fault(("cluster", "region"), f"no region {args.region!r}, have {', '.join(sorted(known))}{near}")


def _versions(args: "Eks") -> Iterator[Fault]:
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
        reason = f"got {args.node_version} with version {args.version}, need {oldest} to {args.version}"
        yield Fault(path, reason, given=(("cluster", "version"),))


def _support(args: "Eks") -> Iterator[Fault]:
    if args.support == "standard" and args.version in _PAST_STANDARD_SUPPORT:
        oldest = next(version for version in VERSIONS if version not in _PAST_STANDARD_SUPPORT)
        reason = f"got standard, which {args.version} has no longer: need extended, or version {oldest} or newer"
        yield Fault(("cluster", "support"), reason, given=(("cluster", "version"),))


def _no_version(path: tuple[str, ...], found: str) -> Fault:
    said = _MINOR_VERSION.search(found)
    oldest, newest = (int(version.split(".")[1]) for version in (VERSIONS[0], VERSIONS[-1]))
    near = f" (did you mean 1.{min(max(int(said[1]), oldest), newest)}?)" if said else ""
    return Fault(path, f"got {found!r}, need a minor version that EKS runs, {VERSIONS[0]} to {VERSIONS[-1]}{near}")


def _default_zones(args: "Eks") -> Iterator[Fault]:
    """Zones that have to be named, because the region's first three may not do."""
    if args.zones or args.network.subnets:
        return
    refused = _REFUSED_ZONES.get(args.region)
    if refused:
        why = f"EKS puts no control plane into {refused}, whose name differs between accounts"
    elif not catalog.zones("eks", args.region):
        why = f"the catalog does not know the zones of {args.region}"
    else:
        return
    listing = f"aws ec2 describe-availability-zones --region {args.region}"
    need = f"name at least two {'others' if refused else 'of them'} ({listing} lists names and ids)"
    yield Fault(("cluster", "zones"), f"missing: {why}; {need}", given=(("cluster", "region"),))


def _network(args: "Eks") -> Iterator[Fault]:
    network, path = args.network, ("cluster", "network")
    if network.subnets:
        of_new = (((*path, "cidr"), network.cidr), (("cluster", "zones"), args.zones), ((*path, "nat"), network.nat))
        for where, value in of_new:
            if value:
                yield Fault(where, "belongs to a new VPC, and subnets are those of yours: leave out one of them")
    where = (*path, "subnets") if network.subnets else ("cluster", "zones")
    zones = list(network.subnets or args.zones)
    if zones and len(set(zones)) < 2:
        yield Fault(where, f"got {', '.join(zones)}, need at least two zones: EKS' control plane spans them")
    if len(zones) != len(set(zones)):
        yield Fault(where, f"got {', '.join(zones)}, need each zone once")
    known = catalog.zones("eks", args.region) or tuple(f"{args.region}{letter}" for letter in ZONE_LETTERS)
    for zone in zones:
        if zone not in known:
            near = did_you_mean(zone, known)
            reason = f"no zone {zone!r} in {args.region}, it has {', '.join(known)}{near}"
            yield Fault(where, reason, given=(("cluster", "region"),))


def _subnets(args: "Eks") -> Iterator[Fault]:
    path = ("cluster", "network", "subnets")
    first: dict[str, str] = {}
    for zone, subnet in args.network.subnets.items():
        other = first.setdefault(subnet, zone)
        if other != zone:
            yield Fault((*path, zone), f"the same as {other}: need a subnet of its own zone for each")
        elif not subnet.startswith("subnet-"):
            yield Fault((*path, zone), f"got {subnet!r}, need the id of a subnet: subnet-…")


def _addresses(args: "Eks") -> Iterator[Fault]:
    path = ("cluster", "network")
    vpc, services = None, None
    if not args.network.subnets:
        vpc = inner_network(args.network.cidr or DEFAULT_CIDR)
        if isinstance(vpc, str):
            yield Fault((*path, "cidr"), vpc)
        elif not LARGEST <= vpc.prefixlen <= SMALLEST:
            reason = f"got {vpc}, need /{LARGEST} to /{SMALLEST}: room for the subnets of three zones and their pods"
            yield Fault((*path, "cidr"), reason)
            vpc = None
    services = inner_network(args.network.service_cidr)
    if isinstance(services, str):
        yield Fault((*path, "serviceCidr"), services)
    elif not (12 <= services.prefixlen <= 24 and any(services.subnet_of(private) for private in _SERVICE_RANGES)):
        reason = f"got {services}, need /12 to /24 out of {', '.join(map(str, _SERVICE_RANGES))}"
        yield Fault((*path, "serviceCidr"), reason)
    elif isinstance(vpc, ipaddress.IPv4Network) and services.overlaps(vpc):
        others = next(range_ for range_ in _USUAL_SERVICES if not range_.overlaps(vpc))
        reason = f"got {services}, which overlaps the VPC's {vpc}: need others, such as {others}"
        yield Fault((*path, "serviceCidr"), reason, given=((*path, "cidr"),))


def _admins(args: "Eks") -> Iterator[Fault]:
    first: dict[str, str] = {}
    for name, arn in args.admins.items():
        other = first.setdefault(arn, name)
        if other != name:
            yield Fault(("cluster", "admins", name), f"the same as {other}: need each role or user once")
        elif not _ADMIN.fullmatch(arn):
            need = "need the ARN of an IAM role or user, such as arn:aws:iam::123456789012:role/platform"
            yield Fault(("cluster", "admins", name), f"got {arn!r}, {need}")


def _tags(args: "Eks") -> Iterator[Fault]:
    path = ("cluster", "tags")
    if len(args.tags) > _TAGS_LIMIT:
        reason = f"{len(args.tags)} of them, and AWS takes 50, some of which are tensorplane's"
        yield Fault(path, f"{reason}; leave at most {_TAGS_LIMIT}")
    for key, value in args.tags.items():
        if key.lower().startswith(_RESERVED_TAGS):
            yield Fault((*path, key), "a tag that AWS or Kubernetes sets: need another key")
        for what, text, limit in (("key", key, _TAG_KEY_LIMIT), ("value", value, _TAG_VALUE_LIMIT)):
            if len(text) > limit:
                yield Fault((*path, key), f"the {what} has {len(text)} characters; AWS takes at most {limit}")
            elif not all(_fits_a_tag(character) for character in text):
                need = "AWS takes letters, digits, spaces and _ . : / = + - @"
                yield Fault((*path, key), f"the {what} is {text!r}; {need}")


def _fits_a_tag(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNZ" or character in "_.:/=+-@"
