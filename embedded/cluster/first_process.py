"""The first process inside an instance's namespaces: prepares mounts and kernel settings, then becomes supervisord.

Its mounts and its files below /run end with it: the kernel removes the namespaces when their first process ends,
however it ends.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tensorplane.embedded.cluster import cgroups, csi, node_mounts, pool
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.instance import Instance

# The values that the kubelet requires. They belong to the whole machine, so it sees files of ours in their place.
_MACHINE_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
# These only affect the network namespace. If br_netfilter is loaded, a bridge passes every frame to the packet rules by
# default; with kube-proxy's masquerading that is unnecessary, and without it pods communicate faster.
_NETWORK_SETTINGS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/bridge/bridge-nf-call-iptables": "0",
}


def main(name: str, fingerprint: str) -> None:
    """Never returns: supervisord replaces this process."""
    instance = Instance(name)
    paths = NodePaths(instance)
    cgroups.join(instance)
    _mount(paths)
    _set_kernel()
    paths.identity.write_text(json.dumps({"home": str(instance.home), "fingerprint": fingerprint}))
    os.chdir("/")
    os.execv(sys.executable, [sys.executable, "-m", "supervisor.supervisord", "-c", str(paths.supervisor_config)])  # noqa: S606


def _mount(paths: NodePaths) -> None:
    # Mounts made by pods are visible to other pods that request propagation, and to nothing outside.
    run("mount", "--make-rshared", "/")
    node_mounts.mount(paths)
    if csi.is_part_of(paths):
        pool.mount(paths)


def _set_kernel() -> None:
    for setting, value in _NETWORK_SETTINGS.items():
        path = Path("/proc/sys") / setting
        if path.exists():
            path.write_text(value)
    stand_ins = Path("/run/sysctl")
    stand_ins.mkdir(mode=0o700)
    for setting, value in _MACHINE_SETTINGS.items():
        stand_in = stand_ins / setting.replace("/", ".")
        stand_in.write_text(value + "\n")
        run("mount", "--bind", str(stand_in), f"/proc/sys/{setting}")


if __name__ == "__main__":
    main(*sys.argv[1:])
