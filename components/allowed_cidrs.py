"""Who reaches an API server: the same rules in each cloud where it can have a public address."""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from components.cidr import network_of
from components.faults import Fault

_ENDPOINT = ("cluster", "endpoint")
_PATH = (*_ENDPOINT, "allowedCidrs")
_NEVER_PUBLIC = tuple(
    ipaddress.IPv4Network(cidr)
    for cidr in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
        *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"),
    )
)
_WORLD = ipaddress.IPv4Network("0.0.0.0/0")
_MOST = 4 << 24
"""Addresses: four /8, more than any organisation's own."""


class Endpoint(Protocol):
    """Settings of an API server's address."""

    @property
    def public(self) -> bool: ...
    @property
    def allowed_cidrs(self) -> Sequence[str]: ...
    @property
    def deploy_from_inside(self) -> bool: ...


def unreachable(endpoint: Endpoint, *, network: str, existing: str) -> Iterator[Fault]:
    """A private API server in a network that the same `pulumi up` makes: nobody is in there to create objects.

    `network` is what the cloud calls the network, `existing` the setting that names one of the user's own.
    """
    if endpoint.public or endpoint.deploy_from_inside or endpoint.allowed_cidrs:
        return
    reason = (
        f"the API server is private and the {network} is new, so pulumi up cannot reach it to create objects;"
        f" let your address in (public: true, allowedCidrs: [203.0.113.0/24]), name an existing network ({existing}),"
        f" or set deployFromInside: true where a VPN or a peering leads into this {network} already"
    )
    yield Fault(_ENDPOINT, reason)


def faults(allowed: Sequence[str], *, public: bool) -> Iterator[Fault]:
    """Every fault, a line each: never nobody, never everybody, also not by halves."""
    if public and not allowed:
        yield Fault(_PATH, "missing: who is let in from outside, such as your office's 203.0.113.0/24")
    if allowed and not public:
        yield Fault(_PATH, "given, and endpoint.public is false: leave it out, or set public to true")
    let_in = []
    for index, cidr in enumerate(allowed):
        found = network_of(cidr)
        if isinstance(found, str):
            yield Fault((*_PATH, str(index)), found)
        elif any(found.subnet_of(private) for private in _NEVER_PUBLIC):
            reason = f"got {found}, addresses that never come from outside: need public ones"
            yield Fault((*_PATH, str(index)), reason)
        else:
            let_in.append(found)
    if who := too_many(let_in):
        yield Fault(_PATH, f"lets {who} in: need the addresses of your office, VPN or CI")


def too_many(networks: Iterable[ipaddress.IPv4Network]) -> str | None:
    """Whom these let in, in words, where it is more than anybody's own people: the world, also by halves."""
    ranges = list(ipaddress.collapse_addresses(networks))
    if _WORLD in ranges:
        return "the whole world"
    total = sum(one.num_addresses for one in ranges)
    return f"{total:,} addresses, {total * 100 / _WORLD.num_addresses:.0f} % of the world," if total > _MOST else None
