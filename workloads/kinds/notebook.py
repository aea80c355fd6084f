"""Notebooks: JupyterLab in a queue, which runs from `tensorplane notebook NAME` until nobody uses it."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pulumi

from components import versions
from components.base import encrypted
from components.base import facts as registered
from components.base.faults import Fault, Key
from components.queues.room import PodSet
from workloads import gpu_requests, packages, pod_sets
from workloads.base import Declared, Platform, Workload, WorkloadArgs
from workloads.checks import notebook as checks
from workloads.manifests import notebook as manifests
from workloads.platform_settings import PlatformSettings
from workloads.settings.notebook import NotebookSettings


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

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Fault]:
        yield from checks.faults(self, name, at, declared)

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
