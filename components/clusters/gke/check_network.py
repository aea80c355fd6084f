"""Checks of a GKE cluster's network, and of its capacity for nodes and pods."""

import ipaddress
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from tensorplane.components.base.cidr import inner_network, network_of
from tensorplane.components.base.model import In
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import known
from tensorplane.components.clusters import allowed_cidrs
from tensorplane.components.clusters.gke.addresses import nodes_by_addresses, nodes_by_pods, pod_block
from tensorplane.components.clusters.gke.check_cluster import PROJECT
from tensorplane.components.clusters.gke.settings import GkeNetwork, GkeSettings, GkeSubnet
from tensorplane.components.node_groups.shape import Shape

_RESOURCE = "[a-z]([a-z0-9-]{0,61}[a-z0-9])?"
_NETWORK = rf"(projects/{PROJECT}/global/networks/)?{_RESOURCE}"
_SUBNETWORK = rf"(projects/{PROJECT}/regions/[^/]+/subnetworks/)?{_RESOURCE}"
_CONTROL_PLANE_PREFIX = 28
_LARGEST_PODS, _SMALLEST_PODS = 9, 24
_LARGEST_SERVICES, _SMALLEST_SERVICES = 16, 27
_LARGEST_NODES, _SMALLEST_NODES = 8, 29
_ALLOWED = ("cluster", "endpoint", "allowedCidrs")


def find_problems(args: GkeSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Every problem, a line each."""
    yield from _network(args)
    yield from _capacity(args, groups)
    yield from _endpoint(args)


def _network(args: GkeSettings) -> Iterator[Problem]:
    network, path = args.network, ("cluster", "network")
    if network.existing:
        given = network.model_fields_set & {"cidr", "pod_cidr", "service_cidr"}
        for field in sorted(given):
            key = type(network).model_fields[field].alias or field
            yield Problem(
                (*path, key), "conflicts with existing, whose subnetwork has its own range; remove one of them"
            )
        yield from _existing(network.existing, args.region)
    ranges: dict[str, ipaddress.IPv4Network] = {}
    for key, cidr, largest, smallest in _ranges(network):
        found = inner_network(cidr)
        if isinstance(found, str):
            yield Problem((*path, key), found)
        elif not largest <= found.prefixlen <= smallest:
            remedy = f"/{largest}" if largest == smallest else f"/{largest} to /{smallest}"
            yield Problem((*path, key), f"invalid size of {cidr}; use {remedy}")
        else:
            ranges[key] = found
    for (one, first), (other, second) in itertools.combinations(ranges.items(), 2):
        if first.overlaps(second):
            yield Problem((*path, other), f"{second} overlaps {one} ({first}); use a range that does not overlap")


def _existing(mine: GkeSubnet, region: str) -> Iterator[Problem]:
    """Problems of invalid names, and of a subnetwork in another region."""
    at = ("cluster", "network", "existing")
    for key, given, form, like in (
        ("network", mine.network, _NETWORK, "its name, or projects/PROJECT/global/networks/NAME"),
        ("subnetwork", mine.subnetwork, _SUBNETWORK, "its name, or projects/PROJECT/regions/REGION/subnetworks/NAME"),
        ("podsRange", mine.pods_range, _RESOURCE, "the name of a secondary range, such as pods"),
        ("servicesRange", mine.services_range, _RESOURCE, "the name of a secondary range, such as services"),
    ):
        value = known(given)
        if value is None:
            continue
        if not re.fullmatch(form, value):
            yield Problem((*at, key), f"{value!r} is not a valid name; use {like}")
        elif (found := re.search("/regions/([^/]+)/", value)) and found[1] != region:
            reason = f"is in region {found[1]}, but the cluster is in {region}; use a subnetwork of {region}"
            yield Problem((*at, key), reason, given=(("cluster", "region"),))


def _ranges(network: GkeNetwork) -> Iterator[tuple[str, str, int, int]]:
    """Declared ranges with their size limits. An existing subnetwork has its own ranges."""
    if not network.existing:
        yield "cidr", network.cidr, _LARGEST_NODES, _SMALLEST_NODES
        yield "podCidr", network.pod_cidr, _LARGEST_PODS, _SMALLEST_PODS
        yield "serviceCidr", network.service_cidr, _LARGEST_SERVICES, _SMALLEST_SERVICES
    if network.control_plane_cidr:
        yield "controlPlaneCidr", network.control_plane_cidr, _CONTROL_PLANE_PREFIX, _CONTROL_PLANE_PREFIX


def _capacity(args: GkeSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Problems of ranges that are too small for full groups."""
    network, given = args.network, (("nodeGroups",),)
    nodes = sum(shape.args.max for shape in groups.values())
    if network.existing:
        return
    if not isinstance(network_of(network.pod_cidr), str):
        capacity = nodes_by_pods(network.pod_cidr, args.max_pods_per_node)
        if nodes > capacity:
            each = f"{pod_block(args.max_pods_per_node)} addresses of {network.pod_cidr} each"
            reason = (
                f"the range has addresses for {number_of(capacity, 'node')} ({each}), but the groups have up to {nodes}"
            )
            remedy = (
                f"use a /{_prefix_for(nodes * pod_block(args.max_pods_per_node))} or larger, or lower maxPodsPerNode"
            )
            yield Problem(("cluster", "network", "podCidr"), f"{reason}; {remedy}", given=given)
    if not isinstance(network_of(network.cidr), str):
        capacity = nodes_by_addresses(network.cidr)
        if nodes > capacity:
            reason = (
                f"{network.cidr} has addresses for {number_of(capacity, 'node')}, but the groups have up to {nodes}"
            )
            remedy = f"use a /{_prefix_for(nodes + 5)} or larger"
            yield Problem(("cluster", "network", "cidr"), f"{reason}; {remedy}", given=given)


def _prefix_for(addresses: int) -> int:
    return 32 - (addresses - 1).bit_length()


def _endpoint(args: GkeSettings) -> Iterator[Problem]:
    endpoint = args.endpoint
    yield from problems_of_allowed(endpoint.allowed_cidrs)
    if endpoint.public and not endpoint.allowed_cidrs:
        yield Problem(
            _ALLOWED,
            "missing, but endpoint.public is true; list the networks that may reach the API server",
        )


def problems_of_allowed(allowed: Sequence[In[str]]) -> Iterator[Problem]:
    """Every problem of the networks that the settings have."""
    found = [network_of(cidr) for cidr in map(known, allowed) if cidr is not None]
    yield from (Problem(_ALLOWED, problem) for problem in found if isinstance(problem, str))
    if who := allowed_cidrs.too_many(network for network in found if not isinstance(network, str)):
        yield Problem(_ALLOWED, f"allows {who}; list only the networks of your organisation")
    else:
        inner = [inner_network(str(network)) for network in found if not isinstance(network, str)]
        yield from (Problem(_ALLOWED, problem) for problem in inner if isinstance(problem, str))
