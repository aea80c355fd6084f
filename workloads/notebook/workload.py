"""A notebook as a stack declares it: its pods, checks and component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tensorplane.components import versions
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.notebook import checks as notebook_checks
from tensorplane.workloads.notebook import manifest as manifests
from tensorplane.workloads.notebook.settings import NotebookSettings
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.training_job import packages

if TYPE_CHECKING:
    pass


class NotebookArgs(NotebookSettings, WorkloadArgs):
    """Settings of a notebook. `tensorplane notebook NAME` starts and opens it; it ends when nobody uses it."""

    kind: Literal["notebook"] = "notebook"

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset({"jobset"})

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        image = images.training(self.resources.gpus)
        # Elsewhere, the pod installs them.
        return packages.image(image, self.packages) if image and images.built_here else image

    def unqueued(self) -> list[PodSet]:
        return [] if self.queue else self.pod_sets()

    def pod_sets(self) -> list[PodSet]:
        return pod_sets.of(manifests.job("notebook", self))

    def mounts(self) -> Mapping[str, Key]:
        return {volume: ("volumes", volume) for volume in self.volumes}

    def queues(self) -> Mapping[str, Key]:
        return {self.queue: ("queue",)} if self.queue else {}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from notebook_checks.find_problems(self, name, at, declared)
