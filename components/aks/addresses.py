"""How the addresses of a new VNet are divided."""

import ipaddress

NODE_BITS = 24
"""Prefix length of the pods' addresses that one node takes (Azure CNI overlay)."""
_QUARTER = 2


def nodes_subnet(cidr: str) -> str:
    """Addresses of the nodes: the VNet's first quarter. The rest is left for subnets of storage and endpoints."""
    whole = ipaddress.IPv4Network(cidr)
    return f"{whole.network_address}/{whole.prefixlen + _QUARTER}"


def dns_address(service_cidr: str) -> str:
    """Address of the cluster's DNS service: the tenth of the services'."""
    return str(ipaddress.IPv4Network(service_cidr)[10])
