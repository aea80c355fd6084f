"""The real nodes of an instance: their names, addresses and cgroups.

The first has the control plane, and the namespaces of the whole instance. Each further node has a kubelet, a containerd
and a kube-proxy in PID, mount and network namespaces of its own inside those: when its first process ends, the kernel
ends all of the node at once, as if a machine had lost its power.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass

from tensorplane.embedded.instance import Instance

NODE_NAME = "tensorplane"
"""Name of the first node. The second is `tensorplane-2`."""
MOST_NODES = 4
"""They share one machine's processors and memory."""
_RESERVED_MIB = 512
"""What the kubelet leaves to the programs of the machine and of the control plane."""


@dataclass(frozen=True)
class _Group(Instance):
    """A node's part of the instance's cgroups, for the functions of `cgroups`."""

    process_name: str = ""

    @property
    def namespace(self) -> str:
        return f"{super().namespace}/{self.process_name}"


@dataclass(frozen=True)
class Node:
    """One real node."""

    instance: Instance
    number: int = 1
    """From 1, which is the first."""

    @property
    def is_first(self) -> bool:
        return self.number == 1

    @property
    def name(self) -> str:
        """The name of its Node object."""
        return self.of_its_own(NODE_NAME)

    @property
    def process_name(self) -> str:
        """The name of a further node's process, and of its folder, cgroup, network namespace and link to the first."""
        return f"node-{self.number}"

    def of_its_own(self, name: str) -> str:
        """A name that every node has one of, such as a certificate's."""
        return name if self.is_first else f"{name}-{self.number}"

    @property
    def group(self) -> Instance:
        """The part of the cgroups with all of its processes and pods; of the first, the whole instance's."""
        return self.instance if self.is_first else _Group(self.instance.name, self.process_name)

    @property
    def pod_cidr(self) -> str:
        first = ipaddress.IPv4Network(self.instance.pod_cidr)
        return f"{first.network_address + (self.number - 1) * first.num_addresses}/{first.prefixlen}"

    @property
    def ip(self) -> str:
        """Its address, which is that of its pods' bridge."""
        return str(ipaddress.IPv4Network(self.pod_cidr)[1])


def pods(instance: Instance) -> str:
    """The range with the pods of every node that an instance can have."""
    first = ipaddress.IPv4Network(instance.pod_cidr)
    return str(first.supernet(prefixlen_diff=(MOST_NODES - 1).bit_length()))


def reserved(count: int) -> Mapping[str, str]:
    """What each of `count` kubelets does not give to pods, so that all together give away the machine once."""
    if count == 1:
        return {"memory": f"{_RESERVED_MIB}Mi"}
    millicores = 1000 * (os.cpu_count() or 1)
    mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    return {
        "cpu": f"{millicores - millicores // count}m",
        "memory": f"{mib - (mib - _RESERVED_MIB) // count}Mi",
    }
