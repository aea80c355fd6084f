"""Subnets of a VPC: one private and one public subnet per zone, with fixed ranges."""

import ipaddress

DEFAULT_CIDR = "10.0.0.0/16"
ZONE_LETTERS = "abcdef"
LARGEST, SMALLEST = 16, 22
"""Prefix lengths of a VPC: AWS' maximum size, and the smallest with valid public subnets."""

_RESERVED = 5
"""Addresses that AWS reserves in each subnet."""
_PRIVATE_BITS = 3
_PUBLIC_BITS = 6
_FIRST_PUBLIC = 7 << (_PUBLIC_BITS - _PRIVATE_BITS)


def private_subnet(cidr: str, letter: str) -> str:
    """Range of a zone's nodes and pods: an eighth of the VPC, by the zone's letter, so that zones can be added."""
    return _part(cidr, _PRIVATE_BITS, ZONE_LETTERS.index(letter))


def public_subnet(cidr: str, letter: str) -> str:
    """Range of a zone's load balancers and NAT gateway: a sixty-fourth of the VPC, in its last eighth."""
    return _part(cidr, _PUBLIC_BITS, _FIRST_PUBLIC + ZONE_LETTERS.index(letter))


def addresses_of_a_zone(prefix: int) -> int:
    """Addresses for nodes and pods in each zone of a VPC of this prefix length."""
    return (1 << (32 - prefix - _PRIVATE_BITS)) - _RESERVED


def _part(cidr: str, bits: int, index: int) -> str:
    vpc = ipaddress.IPv4Network(cidr)
    prefix = vpc.prefixlen + bits
    first = int(vpc.network_address) + (index << (vpc.max_prefixlen - prefix))
    return f"{ipaddress.IPv4Address(first)}/{prefix}"
