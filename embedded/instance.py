"""An embedded cluster on this machine, of which there may be several: its folders, names and addresses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.paths import state_home

# Each instance has its own network, so that the tests' clusters can run beside the user's. The name is also
# the suffix of network namespace, cgroup and bridge.
_NAMES = "dev test bench e2e test-2 e2e-2 test-3 e2e-3 test-4 e2e-4 test-5 e2e-5 test-6 e2e-6"
_NETWORKS = {name: number for number, name in enumerate(_NAMES.split())}


@dataclass(frozen=True)
class Instance:
    """One embedded cluster on this machine: its name, and the folders and addresses that follow from it."""

    name: str = "dev"

    def __post_init__(self) -> None:
        if self.name not in _NETWORKS:
            raise UserError(
                f"TENSORPLANE_INSTANCE: unknown instance {self.name!r}; choose one of {', '.join(_NETWORKS)}"
            )

    @classmethod
    def current(cls) -> Instance:
        """The instance that the environment names (TENSORPLANE_INSTANCE), `dev` by default."""
        return cls(os.environ.get("TENSORPLANE_INSTANCE", "dev"))

    @property
    def home(self) -> Path:
        """Folder for what must survive a restart: etcd, certificates, volumes. `tensorplane purge` deletes it."""
        return state_home() / self.name

    @property
    def stacks(self) -> Path:
        """Folder for Pulumi's state, passphrase, settings and logs, of stacks on this instance and in clouds.

        Separate from `home`: deleting the cluster must not delete the state of a cloud's stack. One folder for all
        stacks, because a shell has one backend and one passphrase, and `pulumi --stack NAME` must find each stack.
        """
        return state_home() / ("stacks" if self.name == "dev" else f"stacks-{self.name}")

    @property
    def run(self) -> Path:
        """Folder for sockets and process ids; gone after a reboot."""
        return Path("/run/tensorplane") / self.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; the stack's `embedded` cluster reads it from here."""
        return self.home / "kubeconfig"

    @property
    def namespace(self) -> str:
        """Name of the network namespace and of the cgroup that hold the whole cluster."""
        return f"tensorplane-{self.name}"

    @property
    def uplink(self) -> str:
        """The one interface that the cluster adds to the host: the host's end of a veth pair."""
        return f"tp-{self.name}"

    def _net(self, second: int) -> str:
        return f"10.{200 + 3 * _NETWORKS[self.name] + second}"

    @property
    def pod_cidr(self) -> str:
        return f"{self._net(0)}.0.0/24"

    @property
    def service_cidr(self) -> str:
        return f"{self._net(1)}.0.0/24"

    @property
    def node_ip(self) -> str:
        """The bridge's address: node IP, gateway of the pods, and where the API server listens."""
        return f"{self._net(0)}.0.1"

    @property
    def dns_ip(self) -> str:
        return f"{self._net(1)}.0.10"

    @property
    def link(self) -> tuple[str, str]:
        """Addresses of the veth pair's two ends: the host's, the cluster's (a /30)."""
        return f"{self._net(2)}.0.1", f"{self._net(2)}.0.2"
