"""Whether the addresses of a new VPC are enough for the nodes of the groups and the pods on them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from components.cidr import inner_network
from components.eks.addresses import DEFAULT_CIDR, LARGEST, SMALLEST, addresses_of_a_zone
from components.eks.placement import zones_of
from components.faults import Fault
from components.node_group import Shape

if TYPE_CHECKING:
    from components.cluster.eks import Eks

_PATH = ("cluster", "network", "cidr")
_EACH_NODE = 3
"""Addresses that a node takes at least: its own, that of the CSI driver's pod, and that of one pod which works."""


def faults(args: "Eks", groups: Mapping[str, Shape]) -> Iterator[Fault]:
    """One line where full groups have no room in their zones. How large subnets of yours are, nobody here knows."""
    vpc = inner_network(args.network.cidr or DEFAULT_CIDR)
    if args.network.subnets or isinstance(vpc, str) or not LARGEST <= vpc.prefixlen <= SMALLEST:
        return
    zones = {name: frozenset(zones_of(shape, args.subnet_zones, args.region)) for name, shape in groups.items()}
    everywhere = frozenset[str]().union(*zones.values())
    for among in sorted({*zones.values(), everywhere}, key=lambda found: (len(found), sorted(found))):
        inside = [name for name, found in zones.items() if found and found <= among]
        needed = _EACH_NODE * sum(groups[name].args.max for name in inside)
        room = len(among) * addresses_of_a_zone(vpc.prefixlen)
        if needed > room:
            nodes = f"up to {needed // _EACH_NODE} nodes of {', '.join(inside)} in {', '.join(sorted(among))}"
            reason = f"{nodes} take at least {needed:,} addresses with their pods, and {vpc} has {room:,} there"
            given = (("cluster", "zones"), ("cluster", "region"), *(("nodeGroups", name) for name in inside))
            yield Fault(_PATH, f"{reason}; {_remedy(needed, sorted(among))}", given=given)
            return


def _remedy(needed: int, zones: Sequence[str]) -> str:
    lengths = range(SMALLEST, LARGEST - 1, -1)
    enough = next((length for length in lengths if len(zones) * addresses_of_a_zone(length) >= needed), None)
    return f"take a /{enough}, or a smaller max" if enough else "set a smaller max, or more zones"
