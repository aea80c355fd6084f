"""Checks before anything is built what this machine lacks for the embedded cluster: a line with a remedy for each."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.core.paths import cache
from tensorplane.embedded.cluster.nodes import MOST_NODES, Node
from tensorplane.embedded.instance import Instance
from tensorplane.embedded.machine import Machine, probe
from tensorplane.toolchain import debian, go_module

ARCHITECTURES = ("x86_64", "aarch64")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
MEMORY_MIB = 5 * 1024
"""For the control plane, two training pods and a server; linking the API server takes no more."""
MEMORY_OF_A_NODE_MIB = 256
"""For the programs of each further node."""
FIRST_MIB = 16 * 1024
"""Module cache, build cache, tools, image layers and what containerd unpacks."""
LATER_MIB = 2 * 1024
"""Room for etcd, logs, checkpoints and models, once everything is built."""
WIDE_PREFIX = 16
"""A shorter route, such as a VPN's 10.0.0.0/8, may hold the cluster's ranges: the longer prefix wins."""


def way_out() -> str:
    """What a machine that cannot run it can do instead."""
    example = command_lines.deploy(context="kind-dev")
    return f"Or use an existing cluster, by the name of its context in your kubeconfig, for example: {example}"


def check(instance: Instance, nodes: int = 1) -> None:
    """A UserError with one line per missing thing. `nodes`: the number of real nodes."""
    machine = probe((cache(), instance.home, Path.home()), debian.missing())
    is_built = go_module.kubernetes().is_built and go_module.containerd().is_built
    found = missing(machine, instance, LATER_MIB if is_built else FIRST_MIB, nodes)
    if found:
        raise UserError("This machine cannot run the embedded cluster:", *(f"  {line}" for line in found), way_out())


def missing(machine: Machine, instance: Instance, disk_mib: int, nodes: int = 1) -> list[str]:
    """What is missing, a line each: what was found, what is required, what to do."""
    if machine.system != "Linux":
        return [f"system: {machine.system} is not Linux; use a Linux machine or a virtual one"]
    return [
        *_architecture(machine),
        *_root(machine),
        *_cgroups(machine),
        *_features(machine),
        *_sizes(machine, disk_mib, MEMORY_MIB + (nodes - 1) * MEMORY_OF_A_NODE_MIB),
        *_packages(machine),
        *_addresses(machine, instance, nodes),
    ]


def _architecture(machine: Machine) -> list[str]:
    if machine.architecture in ARCHITECTURES:
        return []
    supported = " or ".join(ARCHITECTURES)
    return [f"processor: TensorFlow does not support {machine.architecture}; use a machine with {supported}"]


def _root(machine: Machine) -> list[str]:
    return (
        []
        if machine.is_root
        else [
            f"user: not root, which containers and networks require; run it as root ({command_lines.deploy_as_root()})"
        ]
    )


def _cgroups(machine: Machine) -> list[str]:
    controllers = ", ".join(CONTROLLERS)
    if not machine.cgroup_version:
        return [
            f"cgroups: none mounted; mount version 1 or 2 with {controllers}, "
            "or start this container with writable cgroups (--privileged)"
        ]
    absent = [name for name in CONTROLLERS if name not in machine.controllers]
    if not absent:
        return []
    return [
        f"cgroups: version {machine.cgroup_version} lacks {', '.join(absent)} of {controllers}; "
        "enable them in the kernel's command line, or delegate them to this container"
    ]


_REMEDY = {
    "namespaces": "start this container with --privileged",
    "overlayfs": "load the kernel module with: modprobe overlay",
    "veth": "load the kernel module with: modprobe veth",
    "bridge": "load the kernel module with: modprobe bridge",
    "nftables": "load the kernel module with: modprobe nf_tables",
}


def _features(machine: Machine) -> list[str]:
    refusals = machine.refusals
    if "namespaces" in refusals:
        # Every other trial runs in a namespace, so its failure adds nothing.
        refusals = {"namespaces": refusals["namespaces"]}
    return [f"{feature}: not usable here ({error}); {_REMEDY[feature]}" for feature, error in refusals.items()]


def _sizes(machine: Machine, disk_mib: int, memory_mib: int) -> list[str]:
    found = []
    if machine.memory_mib < memory_mib:
        found.append(f"memory: {machine.memory_mib} MiB, less than the required {memory_mib} MiB; use a larger machine")
    for folder, free in machine.free_mib.items():
        if free < disk_mib:
            found.append(
                f"disk: {free} MiB free at {folder}, less than the required {disk_mib} MiB; "
                "free some space, or move the folder"
            )
    return found


def _packages(machine: Machine) -> list[str]:
    if machine.has_apt:
        return []
    programs = f" (and {', '.join(machine.missing_packages)} from it)" if machine.missing_packages else ""
    return [f"apt: not found{programs}; use Debian or Ubuntu, from whose packages the images are built"]


def _addresses(machine: Machine, instance: Instance, nodes: int) -> list[str]:
    ranges = {
        **{
            ipaddress.IPv4Network(Node(instance, number).pod_cidr): "pods"
            for number in range(1, min(nodes, MOST_NODES) + 1)
        },
        ipaddress.IPv4Network(instance.service_cidr): "services",
        ipaddress.IPv4Network(f"{instance.link[0]}/30", strict=False): "the link to them",
    }
    return [
        f"addresses: {route.network} on {route.device} overlaps {wanted}, required for {use}; take {route.device} down"
        for wanted, use in ranges.items()
        for route in machine.routes
        if route.device != instance.uplink and route.network.overlaps(wanted) and route.network.prefixlen >= WIDE_PREFIX
    ]
