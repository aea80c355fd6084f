"""Where an instance's files are inside its namespaces: what lasts in its home, what ends with it in a private /run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from embedded.paths import Instance

# What the network plugins' library notes about pods. Its place is compiled in, and it has to be the host's: as a mount
# point, the folder would belong to every instance at once, and one that removed it would take it from the others.
CNI_NOTES = Path("/var/lib/cni/results")
LOGS = Path("/var/log")

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Places:
    """The folders of an instance, by what they are for."""

    instance: Instance

    @property
    def keys(self) -> Path:
        return self.instance.home / "pki"

    @property
    def config(self) -> Path:
        return self.instance.home / "config"

    @property
    def programs(self) -> Path:
        """Links to every program by its own name: containerd and the kubelet look some up in folders."""
        return self.instance.home / "bin"

    @property
    def etcd(self) -> Path:
        return self.instance.home / "etcd"

    @property
    def containerd(self) -> Path:
        return self.instance.home / "containerd"

    @property
    def kubelet(self) -> Path:
        """Behind `kubelet_root` inside the namespaces."""
        return self.instance.home / "kubelet"

    @property
    def logs(self) -> Path:
        """Behind /var/log inside the namespaces."""
        return self.instance.home / "logs"

    @property
    def charts(self) -> Path:
        return self.instance.home / "charts"

    @property
    def supervisor_config(self) -> Path:
        return self.config / "supervisord.conf"

    @property
    def kwok_config(self) -> Path:
        """There where the instance simulates nodes."""
        return self.config / "kwok.yaml"

    @property
    def pool(self) -> Path:
        """Where the CSI driver keeps volumes; there where the instance has the driver. Shown inside the namespaces."""
        return self.instance.home / "pool"

    @property
    def pool_file(self) -> Path:
        """The filesystem that is mounted there."""
        return self.instance.home / "volumes.btrfs"

    @property
    def mirror(self) -> Path:
        """Where the driver copies volumes to whose class asks for that: a pool of its own, on a file of its own."""
        return self.instance.home / "mirror"

    @property
    def mirror_file(self) -> Path:
        """The filesystem that is mounted there."""
        return self.instance.home / "mirror.btrfs"

    # Below the private /run that only exists inside the mount namespace.

    @property
    def kubelet_root(self) -> Path:
        """A short path: the kubelet makes sockets below it, and their paths may have 107 bytes."""
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
        """What runs here: the home that it belongs to and the fingerprint of its configuration."""
        return self.instance.run / "identity"
