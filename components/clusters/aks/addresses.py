"""Address ranges in a new VNet."""

import ipaddress

DEFAULT_CIDR = "10.0.0.0/16"
NODE_PREFIX_LENGTH = 24
"""Prefix length of a node's pod addresses (Azure CNI overlay)."""
_QUARTER_BITS = 2
"""By how much the prefix of a quarter is longer than that of its VNet."""


def nodes_subnet(cidr: str) -> str:
    """Addresses of the nodes: the VNet's first quarter. The rest is left for subnets of storage and endpoints."""
    vnet = ipaddress.IPv4Network(cidr)
    return f"{vnet.network_address}/{vnet.prefixlen + _QUARTER_BITS}"


def netapp_subnet(cidr: str) -> str:
    """Addresses of NetApp Files: 64 at the beginning of the VNet's second quarter, of which a volume takes few."""
    return _subnet_of_quarter(cidr, quarter=1, prefix_length=26)


def lustre_subnet(cidr: str) -> str:
    """Addresses of Managed Lustre: 1,024 at the beginning of the VNet's third quarter, or all of it."""
    return _subnet_of_quarter(cidr, quarter=2, prefix_length=22)


def _subnet_of_quarter(cidr: str, *, quarter: int, prefix_length: int) -> str:
    """A subnet at the beginning of a quarter, 0 to 3. In a small VNet it is the quarter."""
    vnet = ipaddress.IPv4Network(cidr)
    prefix_length = max(prefix_length, vnet.prefixlen + _QUARTER_BITS)
    return f"{vnet.network_address + quarter * (vnet.num_addresses >> _QUARTER_BITS)}/{prefix_length}"


def dns_address(service_cidr: str) -> str:
    """Address of the cluster's DNS service: the tenth of the services'."""
    return str(ipaddress.IPv4Network(service_cidr)[10])
