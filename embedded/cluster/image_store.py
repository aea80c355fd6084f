"""Brings the images that were built on this machine into the containerd of each of the instance's nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tensorplane import images, toolchain
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.core.tasks import command
from tensorplane.embedded.cluster import processes
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.node_paths import NodePaths, of_nodes
from tensorplane.embedded.cluster.processes import Alive
from tensorplane.embedded.instance import Instance
from tensorplane.images import package_layer
from tensorplane.images.layer import is_used

# The kubelet must never collect an image that no registry could bring back.
_PINNED = "io.cri-containerd.pinned=pinned"
# Images of up to this size are imported in parallel; larger ones share layers, and would wait for each other anyway.
_MOST_SMALL_BYTES = 200 * 2**20


class ImageStore:
    """The images of one node's containerd, by way of its own client `ctr`."""

    def __init__(self, paths: NodePaths, alive: Alive) -> None:
        self._ctr = (str(toolchain.tools().path("ctr")), "--namespace", "k8s.io")
        self._address = ("--address", str(alive.path(paths.containerd_socket)))

    def _call(self, *arguments: str) -> str:
        return run(*self._ctr, *self._address, *arguments)

    def answers(self) -> bool:
        """Whether containerd runs and answers."""
        try:
            self._call("version")
        except UserError:
            return False
        return True

    def digests(self) -> dict[str, str]:
        """Each image's digest, by its name."""
        table = (line.split() for line in self._call("images", "list").splitlines()[1:])
        return {row[0]: row[2] for row in table}

    def load(self, names: Iterable[str], step: Step) -> list[str]:
        """Imports the images of `names` that are absent or differ from their archive; returns the imported names."""
        return self.load_from(images.archives(streams=True), names, step)

    def load_from(self, archives: Mapping[str, Path], names: Iterable[str], step: Step) -> list[str]:
        """The same, from these archives."""
        present = self.digests()
        missing = [name for name in names if present.get(name) != images.manifest_digest(_built(archives, name))]
        large = [name for name in missing if archives[name].stat().st_size > _MOST_SMALL_BYTES]
        small = [name for name in missing if name not in large]
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self.add, name, archives[name], step) for name in small]:
                done.result()
        for name in large:
            self.add(name, archives[name], step)
        return missing

    def add(self, name: str, archive: Path, step: Step) -> None:
        """Imports one archive, which holds the image of that name."""
        self.add_all([name], archive, step)

    def add_all(self, names: Sequence[str], archive: Path, step: Step, *options: str) -> None:
        """Imports an archive with images of these names."""
        step.note(f"importing {', '.join(names)}")
        command([*self._ctr, *self._address, "images", "import", "--local", *options, str(archive)])
        for name in names:
            if name not in self.digests():
                raise UserError(f"{archive}: does not contain image {name}; delete the file and create it again")
            self._call("images", "label", name, _PINNED)


def _built(archives: Mapping[str, Path], name: str) -> Path:
    archive = archives.get(name)
    if archive is None or not is_used(archive):
        raise UserError(f"image {name}: not built yet; run `{command_lines.deploy()}`")
    return archive


def load_all(
    instance: Instance,
    step: Step,
    *,
    streams: bool = False,
    controllers: Collection[str] = (),
    packages: Sequence[images.Locked] = (),
) -> None:
    """Imports every locally built image that a node of the cluster lacks.

    With `streams`, the image of the streams' broker is one of them. `controllers`: those of `go_module.CONTROLLERS`
    whose images are wanted. `packages`: locked sets on the training image.
    """
    base = images.archives(streams=streams, controllers=controllers)
    every = images.archives(streams=streams, controllers=controllers, packages=packages)

    def load(store: ImageStore) -> None:
        store.load_from(every, base, step)
        # Images with packages have the layers of the training image.
        store.load_from(every, [name for name in every if name not in base], step)

    stores = _stores(instance)
    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(load, stores))


def load(instance: Instance, names: Sequence[str], step: Step) -> None:
    """Imports locally built images of these names into each node that lacks them."""
    for store in _stores(instance):
        store.load(names, step)


def load_packages(instance: Instance, step: Step, packages: images.Locked) -> None:
    """Imports the training image with these packages into each node that lacks it."""
    image = package_layer.image(packages)
    for store in _stores(instance):
        store.load_from({image.name: image.archive}, [image.name], step)


def names(instance: Instance) -> set[str]:
    """Full names of the images that every node of the cluster has."""
    return set.intersection(*(set(store.digests()) for store in _stores(instance)))


def load_archive(instance: Instance, archive: Path, names: Sequence[str], step: Step, *, rename: bool) -> None:
    """Imports an archive with images of these full names. `rename`: the one name is not in the archive."""
    for store in _stores(instance):
        store.add_all(names, archive, step, *(("--index-name", names[0]) if rename else ()))


def _stores(instance: Instance) -> list[ImageStore]:
    if processes.find(instance) is None:
        raise UserError(f"cluster {instance.name}: stopped; start it with `{command_lines.deploy()}`")
    found = ((paths, processes.find_node(paths.node)) for paths in of_nodes(instance))
    # A node that is down gets its images at the next start.
    return [ImageStore(paths, alive) for paths, alive in found if alive]
