"""The network of a further node: a namespace with a bridge for its pods, and a veth pair to the first node.

The pair has no addresses of its own, so that others see a node at its one address, whatever it sends.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import network, nodes
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.network import BRIDGE, UPLINK
from tensorplane.embedded.cluster.nodes import Node

_NETNS_FOLDER = Path("/run/netns")
# Those that the first node has in its own network namespace.
_SETTINGS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/bridge/bridge-nf-call-iptables": "0",
}


def path(node: Node) -> Path:
    """Its network namespace, as the first node sees it: in a private /run, with which it ends."""
    return _NETNS_FOLDER / node.process_name


def create(node: Node) -> None:
    """Creates namespace, bridge, veth pair and routes, called in the first node's namespaces. Those of before go."""
    name, first = node.process_name, Node(node.instance)
    _delete(node)
    run("ip", "netns", "add", name)
    run("ip", "link", "add", name, "type", "veth", "peer", "name", UPLINK, "netns", name)
    within = ("ip", "-netns", name)
    run(*within, "link", "set", "lo", "up")
    run(*within, "link", "add", BRIDGE, "type", "bridge")
    run(*within, "address", "add", f"{node.ip}/24", "dev", BRIDGE)
    run(*within, "link", "set", BRIDGE, "up")
    # An address of a Service needs a route before rules can translate it.
    run(*within, "route", "add", node.instance.service_cidr, "dev", BRIDGE, "src", node.ip)
    _connect(within, UPLINK, node, first)
    # The way to the host is for answers alone: the first node lets nothing else pass.
    for target in (nodes.pods(node.instance), f"{node.instance.link[0]}/32"):
        run(*within, "route", "add", target, "via", first.ip, "dev", UPLINK, "src", node.ip)
    _connect(("ip",), name, first, node)
    run("ip", "route", "add", node.pod_cidr, "via", node.ip, "dev", name, "src", first.ip)


def _connect(within: tuple[str, ...], device: str, near: Node, far: Node) -> None:
    run(*within, "address", "add", f"{near.ip}/32", "dev", device)
    run(*within, "link", "set", device, "up")
    run(*within, "route", "add", f"{far.ip}/32", "dev", device, "src", near.ip)


def set_kernel() -> None:
    """Sets what containers require, called in the node's namespaces."""
    for setting, value in _SETTINGS.items():
        file = Path("/proc/sys") / setting
        if file.exists():
            file.write_text(value)


def route_from_host(node: Node) -> None:
    """Lets the host reach the node's pods; the route ends with the instance's link."""
    host, inside = node.instance.link
    run("ip", "route", "add", node.pod_cidr, "via", inside, "dev", node.instance.uplink, "src", host)


def check_addresses(further: Iterable[Node]) -> None:
    """A UserError if this machine already routes the nodes' ranges elsewhere."""
    routes = json.loads(run("ip", "-json", "-4", "route", "show", "table", "all") or "[]")
    for node in further:
        if problems := network.conflicts([ipaddress.IPv4Network(node.pod_cidr)], routes, own=node.instance.uplink):
            raise UserError(*problems)


def has_route(node: Node) -> bool:
    """Whether the host still has that route."""
    shown = json.loads(run("ip", "-json", "route", "show", "dev", node.instance.uplink))
    return node.pod_cidr in {route["dst"] for route in shown}


def _delete(node: Node) -> None:
    # Unlike /sys, which belongs to the host, /proc shows the interfaces of the process that asks.
    if Path(f"/proc/sys/net/ipv4/conf/{node.process_name}").exists():
        run("ip", "link", "delete", node.process_name)
    if path(node).exists():
        run("ip", "netns", "delete", node.process_name)
