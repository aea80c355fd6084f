"""Checks of an EKS cluster's network, and of its capacity for nodes and pods."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

from tensorplane.components import catalog
from tensorplane.components.base.cidr import inner_network
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.produced import known
from tensorplane.components.clusters import allowed_cidrs
from tensorplane.components.clusters.eks.addresses import (
    DEFAULT_CIDR,
    LARGEST,
    SMALLEST,
    ZONE_LETTERS,
    addresses_of_a_zone,
)
from tensorplane.components.clusters.eks.settings import EksSettings
from tensorplane.components.clusters.eks.zones import zones_of
from tensorplane.components.node_groups.shape import Shape

_SERVICE_RANGES = tuple(ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_USUAL_SERVICES = (ipaddress.IPv4Network("172.20.0.0/16"), ipaddress.IPv4Network("10.100.0.0/16"))
_REFUSED_ZONES = {"us-east-1": "use1-az3", "us-west-1": "usw1-az2", "ca-central-1": "cac1-az3"}
"""Id of the zone, by region, in which EKS does not support control plane subnets (EKS user guide, network-reqs)."""
_PATH = ("cluster", "network", "cidr")
_EACH_NODE = 3
"""Minimum addresses per node: its own, the CSI driver's pod, and one workload pod."""


def find_problems(args: EksSettings) -> Iterator[Problem]:
    """Every problem, a line each."""
    yield from _default_zones(args)
    yield from _network(args)
    yield from _subnets(args)
    yield from _addresses(args)
    if not args.network.subnets:
        yield from allowed_cidrs.unreachable(args.endpoint, network="VPC", existing="network.subnets")
    yield from allowed_cidrs.find_problems(args.endpoint.allowed_cidrs, public=args.endpoint.public)


def _default_zones(args: EksSettings) -> Iterator[Problem]:
    """Problem of missing `zones`, if the region's first three may be unsupported."""
    if args.zones or args.network.subnets:
        return
    refused = _REFUSED_ZONES.get(args.region)
    if refused:
        why = f"EKS places no control plane in zone {refused}, whose name differs between accounts"
    elif not catalog.zones("eks", args.region):
        why = f"the catalog has no zones for {args.region}"
    else:
        return
    listing = f"aws ec2 describe-availability-zones --region {args.region}"
    remedy = f"name at least two {'other ' if refused else ''}zones ({listing} lists names and ids)"
    yield Problem(("cluster", "zones"), f"missing, and {why}; {remedy}", given=(("cluster", "region"),))


def _network(args: EksSettings) -> Iterator[Problem]:
    network, path = args.network, ("cluster", "network")
    if network.subnets:
        of_new = (((*path, "cidr"), network.cidr), (("cluster", "zones"), args.zones), ((*path, "nat"), network.nat))
        for at, value in of_new:
            if value:
                yield Problem(at, "applies to a new VPC, but subnets names existing ones; remove one of them")
    at = (*path, "subnets") if network.subnets else ("cluster", "zones")
    zones = list(network.subnets or args.zones)
    if len(zones) == 1:
        yield Problem(at, f"{zones[0]} is one zone, but an EKS control plane spans two; list at least two")
    known = catalog.zones("eks", args.region) or tuple(f"{args.region}{letter}" for letter in ZONE_LETTERS)
    for zone in zones:
        if zone not in known:
            near = did_you_mean(zone, known)
            reason = f"unknown zone {zone!r} in {args.region}; choose one of {', '.join(known)}{near}"
            yield Problem(at, reason, given=(("cluster", "region"),))


def _subnets(args: EksSettings) -> Iterator[Problem]:
    path = ("cluster", "network", "subnets")
    first: dict[str, str] = {}
    for zone, given in args.network.subnets.items():
        subnet = known(given)
        if subnet is None:
            continue
        other = first.setdefault(subnet, zone)
        if other != zone:
            yield Problem((*path, zone), f"the same subnet as {other}; use a subnet of each zone")
        elif not subnet.startswith("subnet-"):
            yield Problem((*path, zone), f"{subnet!r} is not the id of a subnet; use subnet-…")


def _addresses(args: EksSettings) -> Iterator[Problem]:
    path = ("cluster", "network")
    vpc, services = None, None
    if not args.network.subnets:
        vpc = inner_network(args.network.cidr or DEFAULT_CIDR)
        if isinstance(vpc, str):
            yield Problem((*path, "cidr"), vpc)
        elif not LARGEST <= vpc.prefixlen <= SMALLEST:
            reason = (
                f"invalid size of {vpc}; use /{LARGEST} to /{SMALLEST}, for the subnets of three zones and their pods"
            )
            yield Problem((*path, "cidr"), reason)
            vpc = None
    services = inner_network(args.network.service_cidr)
    if isinstance(services, str):
        yield Problem((*path, "serviceCidr"), services)
    elif not (12 <= services.prefixlen <= 24 and any(services.subnet_of(private) for private in _SERVICE_RANGES)):
        reason = f"invalid range {services}; use a /12 to /24 within {', '.join(map(str, _SERVICE_RANGES))}"
        yield Problem((*path, "serviceCidr"), reason)
    elif isinstance(vpc, ipaddress.IPv4Network) and services.overlaps(vpc):
        others = next(range_ for range_ in _USUAL_SERVICES if not range_.overlaps(vpc))
        reason = f"{services} overlaps the VPC's {vpc}; use another range, such as {others}"
        yield Problem((*path, "serviceCidr"), reason, given=((*path, "cidr"),))


def address_problems(args: EksSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Problem of full groups without addresses in their zones. The size of existing subnets is unknown."""
    vpc = inner_network(args.network.cidr or DEFAULT_CIDR)
    if args.network.subnets or isinstance(vpc, str) or not LARGEST <= vpc.prefixlen <= SMALLEST:
        return
    zones = {name: frozenset(zones_of(shape, args)) for name, shape in groups.items()}
    everywhere = frozenset[str]().union(*zones.values())
    for among in sorted({*zones.values(), everywhere}, key=lambda found: (len(found), sorted(found))):
        inside = [name for name, found in zones.items() if found and found <= among]
        needed = _EACH_NODE * sum(groups[name].args.max for name in inside)
        capacity = len(among) * addresses_of_a_zone(vpc.prefixlen)
        if needed > capacity:
            nodes = f"up to {needed // _EACH_NODE} nodes of {', '.join(inside)} in {', '.join(sorted(among))}"
            reason = f"{nodes} and their pods take at least {needed:,} addresses, but {vpc} has {capacity:,} there"
            given = (("cluster", "zones"), ("cluster", "region"), *(("nodeGroups", name) for name in inside))
            yield Problem(_PATH, f"{reason}; {_remedy(needed, sorted(among))}", given=given)
            return


def _remedy(needed: int, zones: Sequence[str]) -> str:
    lengths = range(SMALLEST, LARGEST - 1, -1)
    enough = next((length for length in lengths if len(zones) * addresses_of_a_zone(length) >= needed), None)
    return f"use a /{enough}, or a lower max" if enough else "set a lower max, or more zones"
