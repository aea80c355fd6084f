"""IPv4 address ranges in settings."""

import ipaddress

_NOT_ROUTED = {
    ipaddress.IPv4Network("0.0.0.0/8"): "unspecified",
    ipaddress.IPv4Network("127.0.0.0/8"): "loopback",
    ipaddress.IPv4Network("169.254.0.0/16"): "link-local",
    ipaddress.IPv4Network("224.0.0.0/4"): "multicast",
    ipaddress.IPv4Network("255.255.255.255/32"): "broadcast",
}
"""Special-purpose ranges that are not routed to machines (RFC 6890); AWS, Google Cloud and Azure refuse them."""


def network_of(cidr: str) -> ipaddress.IPv4Network | str:
    """The range of a CIDR in canonical form, such as 10.0.0.0/16, or the problem and remedy."""
    try:
        found = ipaddress.IPv4Network(cidr, strict=False)
    except ValueError:
        return f"invalid value {cidr!r}; use IPv4 addresses as a CIDR, such as 10.0.0.0/16"
    if str(found) == cidr:
        return found
    return f"invalid value {cidr!r}; use IPv4 addresses as a CIDR, such as 10.0.0.0/16 (did you mean {found}?)"


def inner_network(cidr: str) -> ipaddress.IPv4Network | str:
    """The range of a CIDR for nodes, pods or Services, or the problem and remedy."""
    found = network_of(cidr)
    if isinstance(found, str):
        return found
    for range_, what in _NOT_ROUTED.items():
        if found.overlaps(range_):
            return f"{found} has {what} addresses ({range_}), which no machine can have; use another range"
    return found
