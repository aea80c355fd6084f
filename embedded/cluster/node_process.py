"""The processes that make a further node: one in the first node's namespaces, and the first one inside the node's own.

The one creates the network and the cgroups anew and becomes `unshare`, whose end is that of the other. The other
prepares mounts and kernel settings, then becomes a supervisord, which starts the node's programs by itself.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tensorplane.embedded.cluster import cgroups, node_mounts, node_network
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.nodes import Node
from tensorplane.embedded.instance import Instance

_INSIDE = "inside"
_STAND_INS = Path("/run/sysctl")
"""The first node's files in place of the machine's kernel settings."""


def main(name: str, number: str, side: str = "") -> None:
    """Never returns: another program replaces this process."""
    paths = NodePaths(Instance(name), int(number))
    if side == _INSIDE:
        _prepare(paths)
        _become(sys.executable, "-m", "supervisor.supervisord", "-c", str(paths.supervisor_config))
    _join(paths.node)
    node_network.create(paths.node)
    _become(
        *("nsenter", f"--net={node_network.path(paths.node)}"),
        *("unshare", "--mount", "--propagation=slave", "--pid", "--fork", "--kill-child", "--mount-proc"),
        *(sys.executable, "-m", "tensorplane.embedded.cluster.node_process", name, number, _INSIDE),
    )


def _become(*command: str) -> None:
    os.execvp(command[0], command)  # noqa: S606


def _join(node: Node) -> None:
    # Those of pods that ended with an earlier start of the node.
    cgroups.remove(node.group)
    cgroups.create(node.group)
    cgroups.join(node.group)


def _prepare(paths: NodePaths) -> None:
    run("mount", "--make-rshared", "/")
    for stand_in in _STAND_INS.iterdir():
        run("mount", "--bind", str(stand_in), f"/proc/sys/{stand_in.name.replace('.', '/')}")
    # The first node's, with all that is mounted below; what it mounts from now on would follow.
    run("umount", "--lazy", "/run")
    node_mounts.mount(paths)
    node_network.set_kernel()
    paths.identity.write_text(json.dumps({"node": paths.node.name}))


if __name__ == "__main__":
    main(*sys.argv[1:])
