"""What is wrong with the addresses of an AKS cluster, and with who is let in to its API server."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from components import allowed_cidrs
from components.aks.addresses import NODE_BITS, nodes_subnet
from components.cidr import inner_network
from components.faults import Fault
from components.node_group import Shape

if TYPE_CHECKING:
    from components.cluster.aks import Aks

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


def faults(args: "Aks", groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """Every fault, a line each."""
    yield from _subnet(args)
    ranges: dict[str, ipaddress.IPv4Network] = {}
    for key, cidr in _cidrs(args).items():
        found = inner_network(cidr)
        if isinstance(found, str):
            yield Fault((*_PATH, key), found)
        else:
            ranges[key] = found
    yield from _sizes(ranges)
    yield from _overlaps(ranges)
    yield from _room(ranges, groups)
    yield from allowed_cidrs.faults(args.endpoint.allowed_cidrs, public=args.endpoint.public)


def _cidrs(args: "Aks") -> dict[str, str]:
    from components.cluster.aks import DEFAULT_CIDR

    new = {} if args.network.subnet else {"cidr": args.network.cidr or DEFAULT_CIDR}
    return {**new, "podCidr": args.network.pod_cidr, "serviceCidr": args.network.service_cidr}


def _subnet(args: "Aks") -> Iterator[Fault]:
    network = args.network
    if network.subnet is None:
        if network.outbound == "routeTable":
            reason = "got routeTable with a new VNet, which has no routes of yours: need natGateway or loadBalancer"
            yield Fault((*_PATH, "outbound"), reason)
        return
    if network.cidr:
        yield Fault((*_PATH, "cidr"), "belongs to a new VNet, and subnet is one of yours: leave out one of them")
    if not _SUBNET.fullmatch(network.subnet):
        shape = "/subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/…/subnets/…"
        yield Fault((*_PATH, "subnet"), f"got {network.subnet!r}, need the resource id of a subnet: {shape}")


def _sizes(ranges: Mapping[str, ipaddress.IPv4Network]) -> Iterator[Fault]:
    for key, network in ranges.items():
        largest, smallest = _SIZES[key]
        if not largest <= network.prefixlen <= smallest:
            yield Fault((*_PATH, key), f"got {network}, need /{largest} to /{smallest}")


def _overlaps(ranges: Mapping[str, ipaddress.IPv4Network]) -> Iterator[Fault]:
    for (one, first), (other, second) in combinations(ranges.items(), 2):
        if first.overlaps(second):
            reason = f"got {second}, which overlaps {one} ({first}): need addresses apart from them"
            yield Fault((*_PATH, other), reason, given=((*_PATH, one),))
    for key, network in ranges.items():
        for used in _AKS_USES:
            if network.overlaps(used):
                yield Fault((*_PATH, key), f"got {network}, which overlaps {used}, which AKS uses itself: need others")


def _room(ranges: Mapping[str, ipaddress.IPv4Network], groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """Every node takes a /24 of the pods' addresses, and an address of the nodes' subnet."""
    nodes = sum(shape.args.max for shape in groups.values())
    given = tuple(("nodeGroups", name) for name in groups)
    pods, whole = ranges.get("podCidr"), ranges.get("cidr")
    if pods and pods.prefixlen <= NODE_BITS and nodes > 1 << (NODE_BITS - pods.prefixlen):
        room = 1 << (NODE_BITS - pods.prefixlen)
        reason = f"got {pods}, which is enough for {room} nodes (256 addresses each), and the groups may have {nodes}"
        yield Fault((*_PATH, "podCidr"), f"{reason}: need a larger one", given=given)
    if whole and whole.prefixlen <= _SIZES["cidr"][1]:
        room = ipaddress.IPv4Network(nodes_subnet(str(whole))).num_addresses - _RESERVED_IN_SUBNET
        if nodes > room:
            reason = f"got {whole}, a quarter of which is enough for {room} nodes, and the groups may have {nodes}"
            yield Fault((*_PATH, "cidr"), f"{reason}: need a larger one", given=given)
