"""Checks of the addresses that may reach a public API server, for all clouds."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from tensorplane.components.base.cidr import network_of
from tensorplane.components.base.model import In
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import Produced, as_input, known
from tensorplane.components.base.sdk import pulumi

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
_MOST_ADDRESSES = 4 << 24
"""Addresses: four /8, more than any organisation's own."""


class Endpoint(Protocol):
    """Settings of an API server's address."""

    @property
    def public(self) -> bool: ...
    @property
    def allowed_cidrs(self) -> Sequence[In[str]]: ...
    @property
    def deploy_from_inside(self) -> bool: ...


def unreachable(endpoint: Endpoint, *, network: str, existing: str) -> Iterator[Problem]:
    """Problem of a private API server in a network that the same `pulumi up` creates, where Pulumi cannot reach it.

    `network`: the cloud's word for network. `existing`: the setting that names an existing one.
    """
    if endpoint.public or endpoint.deploy_from_inside or endpoint.allowed_cidrs:
        return
    reason = (
        f"the API server is private and this stack creates its {network}, so pulumi up cannot reach the API server;"
        f" allow your address (public: true, allowedCidrs: [203.0.113.0/24]), use an existing network ({existing}),"
        f" or set deployFromInside: true if a VPN or peering already connects you to this {network}"
    )
    yield Problem(_ENDPOINT, reason)


def find_problems(allowed: Sequence[In[str]], *, public: bool) -> Iterator[Problem]:
    """Every problem, one line each. A public API server is open to some addresses, never to none and never to all."""
    if public and not allowed:
        yield Problem(
            _PATH,
            "missing, but endpoint.public is true; list the networks that may reach the API server, such as "
            "203.0.113.0/24",
        )
    if allowed and not public:
        yield Problem(_PATH, "is set but endpoint.public is false; remove it, or set public: true")
    yield from problems_of_public(allowed)


def problems_of_public(allowed: Sequence[In[str]]) -> Iterator[Problem]:
    """Every problem of the addresses that the settings have, which are public ones."""
    let_in = []
    for index, cidr in enumerate(map(known, allowed)):
        if cidr is None:
            continue
        found = network_of(cidr)
        if isinstance(found, str):
            yield Problem((*_PATH, str(index)), found)
        elif any(found.subnet_of(private) for private in _NEVER_PUBLIC):
            reason = f"{found} is not a public address range; use the public addresses of your network"
            yield Problem((*_PATH, str(index)), reason)
        else:
            let_in.append(found)
    if who := too_many(let_in):
        yield Problem(_PATH, f"allows {who}; list only the addresses of your office, VPN or CI")


def checked(
    allowed: Sequence[In[str]], problems: Callable[[Sequence[str]], Iterable[Problem]] = problems_of_public
) -> list[pulumi.Input[str]]:
    """The networks for the cloud. Those of other resources are checked together with all others once they are known,
    because an API server must not be open to everyone, whoever says so. A `pulumi.RunError` if there is a problem; it
    leaves the values out, which may be secret."""
    if not any(isinstance(cidr, Produced) for cidr in allowed):
        return [as_input(cidr) for cidr in allowed]

    def check(networks: Sequence[str]) -> Sequence[str]:
        if found := next(iter(problems(networks)), None):
            reason = "a value of another resource is not allowed; use the networks of your organisation"
            raise pulumi.RunError(str(Problem(found.path, f"{reason}, such as 203.0.113.0/24")))
        return networks

    every = pulumi.Output.all(*map(as_input, allowed)).apply(check)
    return [every[index] if isinstance(cidr, Produced) else cidr for index, cidr in enumerate(allowed)]


def too_many(networks: Iterable[ipaddress.IPv4Network]) -> str | None:
    """A description of these networks if they exceed what one organisation can own; else None."""
    ranges = list(ipaddress.collapse_addresses(networks))
    if _WORLD in ranges:
        return "the whole internet"
    total = sum(one.num_addresses for one in ranges)
    return (
        f"{total:,} addresses ({total * 100 / _WORLD.num_addresses:.0f}% of IPv4)" if total > _MOST_ADDRESSES else None
    )
