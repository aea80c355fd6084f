"""The embedded cluster: a real Kubernetes in separate Linux namespaces on this machine.

Each function imports its dependencies when it is called: the first process inside the namespaces imports this package
too, and keeps its memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from tensorplane.core.step import Step
from tensorplane.embedded.instance import Instance

__all__ = [
    "is_running",
    "load_archive",
    "load_images",
    "remove",
    "simulates_nodes",
    "start",
    "stop",
    "stores_volumes",
]


def start(
    instance: Instance,
    step: Step,
    *,
    simulated_nodes: bool = False,
    storage: bool = False,
    nodes: int | None = None,
) -> None:
    """Brings the cluster from any state to Ready nodes with working DNS; quick if it is running already.

    `simulated_nodes` adds KWOK, and `storage` the CSI driver, from then on until the instance is removed. `nodes`: how
    many real nodes; None keeps those that it has, which is one in a new cluster. Another number restarts the cluster.
    """
    from tensorplane.embedded.cluster import starting

    starting.start(instance, step, simulated_nodes=simulated_nodes, storage=storage, nodes=nodes)


def node_names(instance: Instance) -> list[str]:
    """Names of its real nodes, the first one's first."""
    from tensorplane.embedded.cluster.node_paths import of_nodes

    return [paths.node.name for paths in of_nodes(instance)]


def simulates_nodes(instance: Instance) -> bool:
    """Whether KWOK is part of it."""
    from tensorplane.embedded.cluster import kwok
    from tensorplane.embedded.cluster.node_paths import NodePaths

    return kwok.is_part_of(NodePaths(instance))


def stores_volumes(instance: Instance) -> bool:
    """Whether the CSI driver is part of it."""
    from tensorplane.embedded.cluster import csi
    from tensorplane.embedded.cluster.node_paths import NodePaths

    return csi.is_part_of(NodePaths(instance))


def load_images(
    instance: Instance,
    step: Step,
    *,
    streams: bool = False,
    controllers: Collection[str] = (),
    packages: Iterable[tuple[str, ...]] = (),
) -> None:
    """Imports every locally built image that the running cluster lacks.

    With `streams`, the image of the streams' broker is one of them. `controllers`: those of `go_module.CONTROLLERS`
    whose images are wanted. `packages`: locked sets on the training image.
    """
    from tensorplane.embedded.cluster import image_store

    image_store.load_all(instance, step, streams=streams, controllers=controllers, packages=tuple(packages))


def has_image(instance: Instance, name: str) -> bool:
    """Whether the running cluster has an image of this full name."""
    from tensorplane.embedded.cluster import image_store

    return name in image_store.names(instance)


def load_packages(instance: Instance, step: Step, packages: tuple[str, ...]) -> None:
    """Imports the training image with a locked set of packages into the running cluster, which has the image below."""
    from tensorplane.embedded.cluster import image_store

    image_store.load_packages(instance, step, packages)


def load_archive(instance: Instance, archive: Path, names: Iterable[str], step: Step, *, rename: bool = False) -> None:
    """Imports an archive with images of these full names. `rename`: the one name is not in the archive."""
    from tensorplane.embedded.cluster import image_store

    image_store.load_archive(instance, archive, tuple(names), step, rename=rename)


def is_running(instance: Instance) -> bool:
    """Whether it was started and its first process lives; a crashed component may be restarting."""
    from tensorplane.embedded.cluster import processes

    return processes.find(instance) is not None


def stop(instance: Instance) -> None:
    """Removes every process, mount, interface, packet rule and cgroup; keeps data and images. Works after a kill -9."""
    from tensorplane.embedded.cluster import stopping

    stopping.stop(instance)


def remove(instance: Instance) -> None:
    """Stops the cluster and deletes its home, data included."""
    from tensorplane.embedded.cluster import stopping

    stopping.remove(instance)
