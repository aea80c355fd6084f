"""How a VPC's addresses are divided: one private and one public subnet for each zone, at places that never move."""

import ipaddress

DEFAULT_CIDR = "10.0.0.0/16"
ZONE_LETTERS = "abcdef"
LARGEST, SMALLEST = 16, 22
"""Prefix lengths of a VPC: AWS takes none larger, and in a smaller one the public subnets are too small for AWS."""

_RESERVED = 5
"""Addresses that AWS keeps of each subnet."""
_PRIVATE_BITS = 3
_PUBLIC_BITS = 6
_FIRST_PUBLIC = 7 << (_PUBLIC_BITS - _PRIVATE_BITS)


def private_subnet(cidr: str, letter: str) -> str:
    """Addresses of a zone's nodes and pods: an eighth of the VPC. The zone's letter says which: others can join."""
    return _part(cidr, _PRIVATE_BITS, ZONE_LETTERS.index(letter))


def public_subnet(cidr: str, letter: str) -> str:
    """Addresses of a zone's load balancers and NAT gateway: a sixty-fourth, out of the last eighth."""
    return _part(cidr, _PUBLIC_BITS, _FIRST_PUBLIC + ZONE_LETTERS.index(letter))


def addresses_of_a_zone(prefix: int) -> int:
    """How many addresses nodes and pods have in each zone of a VPC of this prefix length."""
    return (1 << (32 - prefix - _PRIVATE_BITS)) - _RESERVED


def _part(cidr: str, bits: int, index: int) -> str:
    whole = ipaddress.IPv4Network(cidr)
    prefix = whole.prefixlen + bits
    first = int(whole.network_address) + (index << (whole.max_prefixlen - prefix))
    return f"{ipaddress.IPv4Address(first)}/{prefix}"
