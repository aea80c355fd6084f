"""The folders that each node has of its own, in the places where its programs look for them."""

from __future__ import annotations

from tensorplane.embedded.cluster import node_paths
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.node_paths import NodePaths


def mount(paths: NodePaths) -> None:
    """Mounts them inside the node's mount namespace, below a private /run and over folders of the machine."""
    run("mount", "-t", "tmpfs", "-o", "mode=0755,nosuid,nodev", "tmpfs", "/run")
    paths.kubelet_root.mkdir(mode=0o700, parents=True)
    paths.device_plugins.mkdir(mode=0o750, exist_ok=True)
    node_paths.DEVICE_PLUGINS.mkdir(mode=0o750, parents=True, exist_ok=True)
    own = (
        (paths.logs, node_paths.LOGS),
        (paths.kubelet, paths.kubelet_root),
        (paths.device_plugins, node_paths.DEVICE_PLUGINS),
    )
    for source, target in own:
        run("mount", "--bind", str(source), str(target))
