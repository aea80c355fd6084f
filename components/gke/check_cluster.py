"""What is wrong with the settings of a GKE cluster."""

import ipaddress
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pulumi

from components import allowed_cidrs, catalog, offered
from components.cidr import inner_network, network_of
from components.faults import Fault, did_you_mean
from components.gke.addresses import nodes_by_addresses, nodes_by_pods, pod_block
from components.node_group import Shape

if TYPE_CHECKING:
    from components.cluster.gke import Gke, GkeNetwork, GkeSubnet

NAME_LIMIT = 40
_RESOURCE = "[a-z]([a-z0-9-]{0,61}[a-z0-9])?"
_NETWORK = rf"(projects/[^/]+/global/networks/)?{_RESOURCE}"
_SUBNETWORK = rf"(projects/[^/]+/regions/[^/]+/subnetworks/)?{_RESOURCE}"
_NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_PROJECT = re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]")
_VERSION = re.compile(r"1\.(\d{1,4})(\.\d+(-gke\.\d+)?)?", re.ASCII)
_OLDEST_MINOR = 32
"""GKE's metrics of JobSet need 1.32 (pulumi-gcp's reference of `monitoring_config.enable_components`)."""
_OLDEST_LUSTRE = 34
"""GKE's nodes take signed modules from 1.34.1-gke.2364000 on (lustre-csi-driver, docs/installation.md)."""
_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_LABELS_LIMIT = 48
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")

_CONTROL_PLANE_PREFIX = 28
_LARGEST_PODS, _SMALLEST_PODS = 9, 24
_LARGEST_SERVICES, _SMALLEST_SERVICES = 16, 27
_LARGEST_NODES, _SMALLEST_NODES = 8, 29

_WEEKENDS_IN_32_DAYS = 4
_HOURS_IN_32_DAYS = 48


def faults(args: "Gke", groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """Every fault, a line each."""
    yield from _names(args)
    yield from _place(args)
    yield from _version(args)
    yield from _network(args)
    yield from _room(args, groups)
    yield from _endpoint(args)
    yield from _maintenance(args)
    yield from _encryption_key(args)


def _names(args: "Gke") -> Iterator[Fault]:
    name = args.cluster_name
    if not _NAME.fullmatch(name) or len(name) > NAME_LIMIT:
        need = f"need lower-case letters, digits and dashes, beginning with a letter, at most {NAME_LIMIT} characters"
        found = f"got {name!r}" if args.name else f"missing, and stack {pulumi.get_stack()!r} would make it {name}"
        yield Fault(("cluster", "name"), f"{found}; {need}")
    if not _PROJECT.fullmatch(args.project):
        need = "need a project's id: 6 to 30 lower-case letters, digits and dashes, beginning with a letter"
        yield Fault(("cluster", "project"), f"got {args.project!r}, {need}")
    if len(args.labels) > _LABELS_LIMIT:
        reason = f"{len(args.labels)} of them, and Google Cloud takes 64, some of which are tensorplane's and GKE's"
        yield Fault(("cluster", "labels"), f"{reason}; leave at most {_LABELS_LIMIT}")
    for key, value in args.labels.items():
        if not _LABEL.fullmatch(key):
            need = "need lower-case letters, digits, dashes and underscores, beginning with a letter, at most 63"
            yield Fault(("cluster", "labels", key), f"not a key of a Google Cloud label, {need}")
        if not _LABEL_VALUE.fullmatch(value):
            need = "need lower-case letters, digits, dashes and underscores, at most 63"
            yield Fault(("cluster", "labels", key), f"got {value!r}, {need}")


def _place(args: "Gke") -> Iterator[Fault]:
    regions = catalog.regions("gke")
    if regions and args.region not in regions:
        region = args.region.rsplit("-", 1)[0]
        meant = f": {args.region} is a zone, need its region {region}" if region in regions else ""
        near = meant or f", have {', '.join(sorted(regions))}{did_you_mean(args.region, regions)}"
        yield Fault(("cluster", "region"), f"no region {args.region!r}{near}")
        return
    known = catalog.zones("gke", args.region)
    for zone in args.zones:
        if zone not in known:
            reason = f"no zone {zone!r} in {args.region}, it has {', '.join(known)}{did_you_mean(zone, known)}"
            yield Fault(("cluster", "zones"), reason)


def _version(args: "Gke") -> Iterator[Fault]:
    if args.version is None:
        return
    match = _VERSION.fullmatch(args.version)
    if match is None:
        yield Fault(("cluster", "version"), f"got {args.version!r}, need one such as 1.35 or 1.35.2-gke.1485000")
    elif int(match[1]) < _OLDEST_MINOR:
        reason = f"got {args.version}, need at least 1.{_OLDEST_MINOR}, which can watch JobSets"
        yield Fault(("cluster", "version"), reason)
    elif newer := offered.too_new("gke", int(match[1])):
        yield Fault(("cluster", "version"), f"{args.version} {newer}")
    elif args.lustre and int(match[1]) < _OLDEST_LUSTRE:
        reason = f"got {args.version}, need at least 1.{_OLDEST_LUSTRE}, whose nodes take Lustre's modules"
        yield Fault(("cluster", "version"), reason, given=(("cluster", "lustre"),))


def _network(args: "Gke") -> Iterator[Fault]:
    network, path = args.network, ("cluster", "network")
    if network.existing:
        given = network.model_fields_set & {"cidr", "pod_cidr", "service_cidr"}
        for field in sorted(given):
            key = type(network).model_fields[field].alias or field
            yield Fault((*path, key), "given with existing, whose subnetwork has its own: leave out one of them")
        yield from _existing(network.existing)
        return
    ranges: dict[str, ipaddress.IPv4Network] = {}
    for key, cidr, largest, smallest in _ranges(network):
        found = inner_network(cidr)
        if isinstance(found, str):
            yield Fault((*path, key), found)
        elif not largest <= found.prefixlen <= smallest:
            need = f"/{largest}" if largest == smallest else f"/{largest} to /{smallest}"
            yield Fault((*path, key), f"got {cidr}, need {need}")
        else:
            ranges[key] = found
    for (one, first), (other, second) in itertools.combinations(ranges.items(), 2):
        if first.overlaps(second):
            yield Fault((*path, other), f"{second} overlaps {one} ({first}): need addresses that nothing else has")


def _existing(mine: "GkeSubnet") -> Iterator[Fault]:
    """Names that no network, subnetwork or range in Google Cloud can have."""
    for key, value, form, like in (
        ("network", mine.network, _NETWORK, "its name, or projects/PROJECT/global/networks/NAME"),
        ("subnetwork", mine.subnetwork, _SUBNETWORK, "its name, or projects/PROJECT/regions/REGION/subnetworks/NAME"),
        ("podsRange", mine.pods_range, _RESOURCE, "the name of a secondary range, such as pods"),
        ("servicesRange", mine.services_range, _RESOURCE, "the name of a secondary range, such as services"),
    ):
        if not re.fullmatch(form, value):
            yield Fault(("cluster", "network", "existing", key), f"got {value!r}, which names none; give {like}")


def _ranges(network: "GkeNetwork") -> Iterator[tuple[str, str, int, int]]:
    yield "cidr", network.cidr, _LARGEST_NODES, _SMALLEST_NODES
    yield "podCidr", network.pod_cidr, _LARGEST_PODS, _SMALLEST_PODS
    yield "serviceCidr", network.service_cidr, _LARGEST_SERVICES, _SMALLEST_SERVICES
    if network.control_plane_cidr:
        yield "controlPlaneCidr", network.control_plane_cidr, _CONTROL_PLANE_PREFIX, _CONTROL_PLANE_PREFIX


def _room(args: "Gke", groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """Whether every group can be full at the same time."""
    network, given = args.network, (("nodeGroups",),)
    nodes = sum(shape.args.max for shape in groups.values())
    if network.existing:
        return
    if not isinstance(network_of(network.pod_cidr), str):
        room = nodes_by_pods(network.pod_cidr, args.max_pods_per_node)
        if nodes > room:
            each = f"{pod_block(args.max_pods_per_node)} addresses of {network.pod_cidr} each"
            reason = f"room for {room} nodes ({each}), the groups may have {nodes}"
            need = f"need at least a /{_prefix_for(nodes * pod_block(args.max_pods_per_node))}, or less maxPodsPerNode"
            yield Fault(("cluster", "network", "podCidr"), f"{reason}: {need}", given=given)
    if not isinstance(network_of(network.cidr), str):
        room = nodes_by_addresses(network.cidr)
        if nodes > room:
            reason = f"{network.cidr} has room for {room} nodes, the groups may have {nodes}"
            need = f"need at least a /{_prefix_for(nodes + 5)}"
            yield Fault(("cluster", "network", "cidr"), f"{reason}: {need}", given=given)


def _prefix_for(addresses: int) -> int:
    return 32 - (addresses - 1).bit_length()


def _endpoint(args: "Gke") -> Iterator[Fault]:
    endpoint, path = args.endpoint, ("cluster", "endpoint")
    found = [network_of(cidr) for cidr in endpoint.allowed_cidrs]
    yield from (Fault((*path, "allowedCidrs"), fault) for fault in found if isinstance(fault, str))
    if who := allowed_cidrs.too_many(network for network in found if not isinstance(network, str)):
        yield Fault((*path, "allowedCidrs"), f"lets {who} in: need the networks of your own people")
    else:
        inner = [inner_network(str(network)) for network in found if not isinstance(network, str)]
        yield from (Fault((*path, "allowedCidrs"), fault) for fault in inner if isinstance(fault, str))
    if endpoint.public and not endpoint.allowed_cidrs:
        yield Fault((*path, "allowedCidrs"), "missing with public: true, nobody could reach it: need your networks")


def _maintenance(args: "Gke") -> Iterator[Fault]:
    window = args.maintenance
    days = len(set(window.days))
    hours = days * _WEEKENDS_IN_32_DAYS * window.hours
    if hours < _HOURS_IN_32_DAYS:
        need = -(-_HOURS_IN_32_DAYS // (_WEEKENDS_IN_32_DAYS * days))
        reason = f"{hours} hours in 32 days, GKE needs {_HOURS_IN_32_DAYS}: need {need} hours, or more days"
        yield Fault(("cluster", "maintenance"), reason)


def _encryption_key(args: "Gke") -> Iterator[Fault]:
    if args.encryption_key is None:
        return
    path = ("cluster", "encryptionKey")
    match = _KEY.fullmatch(args.encryption_key)
    if match is None:
        need = "need projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY"
        yield Fault(path, f"got {args.encryption_key!r}, {need}")
    elif match[1] != args.region:
        yield Fault(path, f"a key of {match[1]}, need one of the cluster's region {args.region}")
