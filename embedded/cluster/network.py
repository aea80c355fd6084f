"""The instance's network: a namespace with the pods' bridge, a veth pair to the host, routes, and no way out."""

from __future__ import annotations

import contextlib
import ipaddress
import json
from pathlib import Path
from typing import Any

from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.node_paths import CNI_NOTES
from tensorplane.embedded.instance import Instance

BRIDGE = "pods0"
UPLINK = "uplink"
_NETNS_FOLDER = Path("/run/netns")
_SANDBOX_ID_LENGTH = 64
"""Length of a sandbox's ID, in hexadecimal digits."""

# The host may open connections into the cluster; nothing inside may open one to the host or beyond it. A machine that
# routes through this host is not the host, so only the host's own end of the pair is let in.
_RULES = """
table inet tensorplane {{
  chain forward {{
    type filter hook forward priority -10; policy accept;
    ct state established,related accept
    oifname "{uplink}" drop
    iifname "{uplink}" ip saddr != {host} drop
  }}
  chain input {{
    type filter hook input priority -10; policy accept;
    iifname "{uplink}" ip saddr != {host} drop
  }}
  chain output {{
    type filter hook output priority -10; policy accept;
    ct state established,related accept
    oifname "{uplink}" drop
  }}
}}
"""


def path(instance: Instance) -> Path:
    """The named network namespace, as `ip netns` keeps it."""
    return _NETNS_FOLDER / instance.namespace


def create(instance: Instance) -> None:
    """Creates namespace, bridge, veth pair, packet rules and routes. None of them may exist."""
    name, (host, inside) = instance.namespace, instance.link
    run("ip", "netns", "add", name)
    run("ip", "link", "add", instance.uplink, "type", "veth", "peer", "name", UPLINK, "netns", name)
    within = ("ip", "-netns", name)
    run(*within, "link", "set", "lo", "up")
    run(*within, "link", "add", BRIDGE, "type", "bridge")
    run(*within, "address", "add", f"{instance.node_ip}/24", "dev", BRIDGE)
    run(*within, "link", "set", BRIDGE, "up")
    # The API server calls webhooks by their Service's address, which needs a route before rules can translate it.
    run(*within, "route", "add", instance.service_cidr, "dev", BRIDGE, "src", instance.node_ip)
    run(*within, "address", "add", f"{inside}/30", "dev", UPLINK)
    run(*within, "link", "set", UPLINK, "up")
    rules = _RULES.format(uplink=UPLINK, host=host)
    run("nsenter", f"--net={path(instance)}", "nft", "-f", "-", stdin=rules)
    if Path("/proc/sys/net/ipv6").exists():  # an address of that kind would have no use
        run("ip", "link", "set", instance.uplink, "addrgenmode", "none")
    run("ip", "address", "add", f"{host}/30", "dev", instance.uplink)
    run("ip", "link", "set", instance.uplink, "up")
    for network in (instance.pod_cidr, instance.service_cidr):
        run("ip", "route", "add", network, "via", inside, "dev", instance.uplink, "src", host)


def is_whole(instance: Instance) -> bool:
    """Whether the host still has its routes into the cluster: a network manager may have removed them."""
    if not Path(f"/sys/class/net/{instance.uplink}").exists():
        return False
    routes = {route["dst"] for route in json.loads(run("ip", "-json", "route", "show", "dev", instance.uplink))}
    return {instance.pod_cidr, instance.service_cidr} <= routes


def delete(instance: Instance) -> None:
    """Removes whatever exists of what `create` creates. The routes are removed with the link."""
    if Path(f"/sys/class/net/{instance.uplink}").exists():
        run("ip", "link", "delete", instance.uplink)
    if path(instance).exists():
        run("ip", "netns", "delete", instance.namespace)
    for note in notes(instance):
        note.unlink(missing_ok=True)
    for folder in (CNI_NOTES, CNI_NOTES.parent):
        with contextlib.suppress(OSError):  # absent, or with files of another instance or program
            folder.rmdir()
    # `ip netns` mounts /run/netns onto itself for its first namespace and never unmounts it.
    if str(_NETNS_FOLDER) in mounts() and not any(_NETNS_FOLDER.iterdir()):
        run("umount", str(_NETNS_FOLDER))


def notes(instance: Instance, folder: Path = CNI_NOTES) -> list[Path]:
    """The cached results of the network plugins' library for the instance's pods: network, sandbox, interface."""
    # Another instance's name may begin with this one's.
    return list(folder.glob(f"{instance.namespace}-{'[0-9a-f]' * _SANDBOX_ID_LENGTH}-*"))


def mounts() -> list[str]:
    """Where this machine has something mounted."""
    return [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def check_addresses(instance: Instance) -> None:
    """A UserError if this machine already routes the cluster's address ranges elsewhere."""
    wanted = [
        ipaddress.IPv4Network(text, strict=False)
        for text in (instance.pod_cidr, instance.service_cidr, f"{instance.link[0]}/30")
    ]
    routes = json.loads(run("ip", "-json", "-4", "route", "show", "table", "all") or "[]")
    if problems := conflicts(wanted, routes, own=instance.uplink):
        raise UserError(*problems)


def conflicts(wanted: list[ipaddress.IPv4Network], routes: list[dict[str, Any]], own: str) -> list[str]:
    """One line per interface with a route inside a wanted network. A wider one, such as a VPN's, is harmless."""
    problems: dict[tuple[str, str], str] = {}
    for route in routes:
        target = str(route.get("dst", "default"))
        if target == "default" or route.get("dev") in (None, own) or route.get("type") == "broadcast":
            continue
        used = ipaddress.IPv4Network(target, strict=False)
        for network in wanted:
            if used.subnet_of(network):
                problems.setdefault(
                    (str(network), route["dev"]),
                    f"{network}: the embedded cluster requires this range, but {target} on {route['dev']} uses it; "
                    f"take {route['dev']} down, or use another cluster with {command_lines.deploy(context='…')}",
                )
    return list(problems.values())
