"""Capacity of the cluster's address ranges."""

import ipaddress

_RESERVED = 4
"""Google reserves the first two and the last two addresses of a subnet."""


def pod_block(max_pods_per_node: int) -> int:
    """Addresses that each node takes of the pods' range: twice its pods, rounded up to a power of two."""
    return 1 << (2 * max_pods_per_node - 1).bit_length()


def nodes_by_pods(pod_cidr: str, max_pods_per_node: int) -> int:
    """Number of nodes that fit the pods' range."""
    return ipaddress.IPv4Network(pod_cidr).num_addresses // pod_block(max_pods_per_node)


def nodes_by_addresses(cidr: str) -> int:
    """Number of nodes that fit the nodes' range, without the control plane's address."""
    return ipaddress.IPv4Network(cidr).num_addresses - _RESERVED - 1
