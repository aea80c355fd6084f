"""Notebooks: JupyterLab in a queue, which runs from `tensorplane notebook NAME` until nobody uses it."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pulumi

from tensorplane.components import versions
from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.family import Declared, Platform, Workload, WorkloadArgs
from tensorplane.workloads.notebook import checks as notebook_checks
from tensorplane.workloads.notebook import manifest as manifests
from tensorplane.workloads.notebook.settings import NotebookSettings
from tensorplane.workloads.platform_settings import PlatformSettings
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.training_job import packages


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

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "Notebook":
        return Notebook(name, self, platform=platform.settings, opts=opts)


class Notebook(Workload):
    """A declared notebook. The objects of its runs belong to their JobSet, which `tensorplane notebook` creates: an
    update neither starts nor stops it."""

    def __init__(
        self,
        name: str,
        args: NotebookArgs,
        *,
        platform: PlatformSettings,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        gpus = args.resources.gpus
        props = registered.Notebook(queue=args.queue, gpus=gpus)
        super().__init__(registered.NOTEBOOK, name, dict(props), opts)
        self.gpus = gpus
        self.outputs = registered.NotebookOutputs(
            kind=args.kind, namespace=platform.namespace, queue=args.queue, gpus=gpus
        )
        self.register_outputs(encrypted.concealed({**self.outputs, **gpu_requests.of(args, platform)}))
