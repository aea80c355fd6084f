"""Paths of a node's files inside its namespaces: durable ones in the home, temporary ones in a private /run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tensorplane.embedded.cluster.nodes import MOST_NODES, Node
from tensorplane.embedded.instance import Instance

# Results that the network plugins' library caches for pods. The path is compiled in, and is the host's: if it were a
# mount point, all instances would share the folder, and one that removed it would remove it for the others.
CNI_NOTES = Path("/var/lib/cni/results")
LOGS = Path("/var/log")
DEVICE_PLUGINS = Path("/var/lib/kubelet/device-plugins")
"""Where a kubelet and device plugins meet; compiled into both."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class NodePaths:
    """The folders of an instance, by purpose, as one of its nodes sees them."""

    instance: Instance
    number: int = 1
    """Of the node. The first one's folders are the instance's."""

    @property
    def node(self) -> Node:
        return Node(self.instance, self.number)

    @property
    def own(self) -> Path:
        """Folder of what each node has of its own."""
        return self.instance.home if self.node.is_first else self.instance.home / self.node.process_name

    @property
    def keys(self) -> Path:
        return self.instance.home / "pki"

    @property
    def config(self) -> Path:
        """Of the first, also the control plane's. That of a further node exists if the instance has the node."""
        everything = self.instance.home / "config"
        return everything if self.node.is_first else everything / self.node.process_name

    @property
    def programs(self) -> Path:
        """Links to every program by its own name: containerd and the kubelet look some up in folders."""
        return self.instance.home / "bin"

    @property
    def etcd(self) -> Path:
        return self.instance.home / "etcd"

    @property
    def containerd(self) -> Path:
        return self.own / "containerd"

    @property
    def kubelet(self) -> Path:
        """Behind `kubelet_root` inside the namespaces."""
        return self.own / "kubelet"

    @property
    def device_plugins(self) -> Path:
        """Behind `DEVICE_PLUGINS` inside the namespaces. A kubelet deletes the sockets that it finds there."""
        return self.kubelet / "device-plugins"

    @property
    def logs(self) -> Path:
        """Behind /var/log inside the namespaces."""
        return self.own / "logs"

    @property
    def charts(self) -> Path:
        return self.instance.home / "charts"

    @property
    def supervisor_config(self) -> Path:
        return self.config / "supervisord.conf"

    @property
    def kwok_config(self) -> Path:
        """Exists if the instance simulates nodes."""
        return self.config / "kwok.yaml"

    @property
    def pool(self) -> Path:
        """The CSI driver's volumes; exists if the instance has the driver. Visible inside the namespaces."""
        return self.instance.home / "pool"

    @property
    def pool_file(self) -> Path:
        """The filesystem that is mounted there."""
        return self.instance.home / "volumes.btrfs"

    @property
    def mirror(self) -> Path:
        """The mirrors of volumes whose class has them: a separate pool on a separate file."""
        return self.instance.home / "mirror"

    @property
    def mirror_file(self) -> Path:
        """The filesystem that is mounted there."""
        return self.instance.home / "mirror.btrfs"

    # Below the private /run that only exists inside the node's mount namespace.

    @property
    def kubelet_root(self) -> Path:
        """A short path: the kubelet creates sockets below it, whose paths have at most 107 bytes."""
        return self.instance.run / "kubelet"

    @property
    def supervisor_socket(self) -> Path:
        return self.instance.run / "supervisor.sock"

    @property
    def containerd_state(self) -> Path:
        return self.instance.run / "containerd"

    @property
    def containerd_socket(self) -> Path:
        return self.instance.run / "containerd.sock"

    @property
    def identity(self) -> Path:
        """Identifies the running instance: its home, and the fingerprint of its configuration. Of a further node, its
        name."""
        return self.instance.run / "identity"


def of_nodes(instance: Instance) -> list[NodePaths]:
    """The paths of each node that the instance has, the first one's first."""
    every = [NodePaths(instance, number) for number in range(1, MOST_NODES + 1)]
    return [paths for paths in every if paths.node.is_first or paths.config.is_dir()]
