"""A cluster of the tests' own with simulated nodes, and a stack on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tensorplane.core.step import Step
from tensorplane.driver.target import Target
from tensorplane.driver.update.stack import Stack, open_stack
from tensorplane.embedded.cluster import image_store
from tensorplane.embedded.instance import Instance
from tests.support import cluster_fixture


@dataclass(frozen=True)
class Simulated:
    """The cluster, and the folder of the stack's project."""

    instance: Instance
    folder: Path

    def load(self, *images: str) -> None:
        """Gives the cluster these images, unless it has them."""
        image_store.load(self.instance, images, Step("images"))

    def stack(self, settings: str) -> Stack:
        """The stack with these settings, ready for `up`."""
        linked = open_stack(Target("", self.instance)).with_settings(self.folder, settings)
        linked.prepare(Step("pulumi up"))
        return linked


@contextmanager
def cluster(folder: Path, images: Iterable[str], *, storage: bool) -> Iterator[Simulated]:
    """The cluster with these images until the end of the block."""
    with cluster_fixture.running(folder / "state", simulated_nodes=True, storage=storage) as instance:
        made = Simulated(instance, folder)
        made.load(*images)
        yield made
