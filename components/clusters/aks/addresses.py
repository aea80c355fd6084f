"""Address ranges in a new VNet."""

import ipaddress

DEFAULT_CIDR = "10.0.0.0/16"
NODE_BITS = 24
"""Prefix length of a node's pod addresses (Azure CNI overlay)."""
_QUARTER = 2


def nodes_subnet(cidr: str) -> str:
    """Addresses of the nodes: the VNet's first quarter. The rest is left for subnets of storage and endpoints."""
    vnet = ipaddress.IPv4Network(cidr)
    return f"{vnet.network_address}/{vnet.prefixlen + _QUARTER}"


def netapp_subnet(cidr: str) -> str:
    """Addresses of NetApp Files: 64 at the beginning of the VNet's second quarter, of which a volume takes few."""
    return _at(cidr, quarter=1, longest=26)


def lustre_subnet(cidr: str) -> str:
    """Addresses of Managed Lustre: 1,024 at the beginning of the VNet's third quarter, or all of it."""
    return _at(cidr, quarter=2, longest=22)


def _at(cidr: str, *, quarter: int, longest: int) -> str:
    vnet = ipaddress.IPv4Network(cidr)
    prefix = max(longest, vnet.prefixlen + _QUARTER)
    return f"{vnet.network_address + quarter * (vnet.num_addresses >> _QUARTER)}/{prefix}"


def dns_address(service_cidr: str) -> str:
    """Address of the cluster's DNS service: the tenth of the services'."""
    return str(ipaddress.IPv4Network(service_cidr)[10])
