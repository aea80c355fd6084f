"""Checks of an AKS cluster's address ranges and of access to its API server."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from tensorplane.components.base.cidr import inner_network
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import known
from tensorplane.components.clusters import allowed_cidrs
from tensorplane.components.clusters.aks.addresses import DEFAULT_CIDR, NODE_PREFIX_LENGTH, nodes_subnet
from tensorplane.components.clusters.aks.settings import AksSettings
from tensorplane.components.node_groups.shape import Shape

_PATH = ("cluster", "network")
_SUBNET = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Network/virtualNetworks/[^/]+/subnets/[^/]+", re.I
)
# learn.microsoft.com/azure/aks/concepts-network-ip-address-planning: used inside AKS.
_AKS_USES = tuple(
    ipaddress.IPv4Network(cidr) for cidr in ("169.254.0.0/16", "172.30.0.0/16", "172.31.0.0/16", "192.0.2.0/24")
)
_SIZES = {"cidr": (8, 24), "podCidr": (8, 22), "serviceCidr": (12, 28)}
_RESERVED_IN_SUBNET = 5


def find_problems(args: AksSettings, groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Every problem, a line each."""
    yield from _subnet(args)
    ranges: dict[str, ipaddress.IPv4Network] = {}
    for key, cidr in _cidrs(args).items():
        found = inner_network(cidr)
        if isinstance(found, str):
            yield Problem((*_PATH, key), found)
        else:
            ranges[key] = found
    yield from _sizes(ranges)
    yield from _overlaps(ranges)
    yield from _capacity(ranges, groups)
    yield from allowed_cidrs.find_problems(args.endpoint.allowed_cidrs, public=args.endpoint.public)


def _cidrs(args: AksSettings) -> dict[str, str]:
    new = {} if args.network.subnet else {"cidr": args.network.cidr or DEFAULT_CIDR}
    return {**new, "podCidr": args.network.pod_cidr, "serviceCidr": args.network.service_cidr}


def _subnet(args: AksSettings) -> Iterator[Problem]:
    network = args.network
    if network.subnet is None:
        if network.outbound == "routeTable":
            reason = (
                "routeTable needs a VNet with your own routes, but this stack creates the VNet; use "
                "natGateway or loadBalancer"
            )
            yield Problem((*_PATH, "outbound"), reason)
        return
    if network.cidr:
        yield Problem((*_PATH, "cidr"), "applies to a new VNet, but subnet names an existing one; remove one of them")
    subnet = known(network.subnet)
    if subnet and not _SUBNET.fullmatch(subnet):
        shape = "/subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/…/subnets/…"
        yield Problem((*_PATH, "subnet"), f"{subnet!r} is not the resource id of a subnet; use {shape}")


def _sizes(ranges: Mapping[str, ipaddress.IPv4Network]) -> Iterator[Problem]:
    for key, network in ranges.items():
        largest, smallest = _SIZES[key]
        if not largest <= network.prefixlen <= smallest:
            yield Problem((*_PATH, key), f"invalid size of {network}; use /{largest} to /{smallest}")


def _overlaps(ranges: Mapping[str, ipaddress.IPv4Network]) -> Iterator[Problem]:
    for (one, first), (other, second) in combinations(ranges.items(), 2):
        if first.overlaps(second):
            reason = f"{second} overlaps {one} ({first}); use a range that does not overlap"
            yield Problem((*_PATH, other), reason, given=((*_PATH, one),))
    for key, network in ranges.items():
        for used in _AKS_USES:
            if network.overlaps(used):
                yield Problem((*_PATH, key), f"{network} overlaps {used}, which AKS reserves; use another range")


def _capacity(ranges: Mapping[str, ipaddress.IPv4Network], groups: Mapping[str, Shape]) -> Iterator[Problem]:
    """Problems of ranges that are too small: each node takes a /24 for pods and an address of the subnet."""
    nodes = sum(shape.args.max for shape in groups.values())
    given = tuple(("nodeGroups", name) for name in groups)
    pods, vnet = ranges.get("podCidr"), ranges.get("cidr")
    if pods and pods.prefixlen <= NODE_PREFIX_LENGTH and nodes > 1 << (NODE_PREFIX_LENGTH - pods.prefixlen):
        capacity = 1 << (NODE_PREFIX_LENGTH - pods.prefixlen)
        reason = f"{pods} has addresses for {number_of(capacity, 'node')} (256 each), but the groups have up to {nodes}"
        yield Problem((*_PATH, "podCidr"), f"{reason}; use a larger range", given=given)
    if vnet and vnet.prefixlen <= _SIZES["cidr"][1]:
        capacity = ipaddress.IPv4Network(nodes_subnet(str(vnet))).num_addresses - _RESERVED_IN_SUBNET
        if nodes > capacity:
            reason = (
                f"the node subnet, a quarter of {vnet}, has addresses for {number_of(capacity, 'node')}, "
                f"but the groups have up to {nodes}"
            )
            yield Problem((*_PATH, "cidr"), f"{reason}; use a larger range", given=given)
