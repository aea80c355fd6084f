"""A sweep as a stack declares it: its trials' pods, checks and component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tensorplane.components import versions
from tensorplane.components.base.model import In
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.value_types import Image
from tensorplane.components.queues.capacity import PodSet
from tensorplane.stack_file import package_lock, sweep_packages
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.sweep import checks as sweep_checks
from tensorplane.workloads.sweep.checks import TRIAL
from tensorplane.workloads.sweep.settings import Search
from tensorplane.workloads.training_job import packages
from tensorplane.workloads.training_job.settings import JobSettings

if TYPE_CHECKING:
    pass


class SweepArgs(WorkloadArgs):
    """Settings of a sweep. A change that affects the result of its trials starts a new sweep, whose predecessor's
    trials are deleted; more trials or more at once continue it."""

    kind: Literal["sweep"] = "sweep"

    search: Search
    """Parameters, how their values are chosen, and which trials are stopped early."""
    trial: JobSettings
    """Settings of the job that every trial runs, as of a training job. It finds its parameters in environment variables
    and needs `checkpoints`."""
    controller_image: In[Image] | None = None
    """Container image of the controller, with Python, numpy and Optuna. Required except on `embedded`;
    `tensorplane image build optuna==5.0.0` makes one."""

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset({"jobset"})

    @property
    def named_image(self) -> Any:
        return self.trial.image

    def default_image(self, images: versions.Images) -> str | None:
        image = images.training(max(role.resources.gpus for role in self.trial.roles()))
        return packages.image(image, self.trial.packages) if image and images.built_here else image

    @property
    def trained(self) -> JobSettings:
        return self.trial

    def image_of_controller(self, images: versions.Images) -> Any:
        """The controller's image; None if the settings must name it."""
        if self.controller_image or not images.built_here:
            return self.controller_image
        return package_lock.image_name(images.train, sweep_packages.lines())

    def unqueued(self) -> list[PodSet]:
        return [] if self.trial.queue else self.pod_sets()

    def pod_sets(self) -> list[PodSet]:
        """Of as many trials as may run at once."""
        return [
            replace(
                pods,
                count=pods.count * self.search.parallel,
                at=(TRIAL, *pods.at),
                count_at=(TRIAL, *pods.count_at),
            )
            for pods in pod_sets.of(self.trial)
        ]

    def mounts(self) -> Mapping[str, Key]:
        return {volume: (TRIAL, "volumes", volume) for volume in self.trial.volumes}

    def queues(self) -> Mapping[str, Key]:
        return {self.trial.queue: (TRIAL, "queue")} if self.trial.queue else {}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from sweep_checks.find_problems(self.search, self.trial, name, at, declared)
        if self.image_of_controller(declared.cluster.images) is None:
            build = f"tensorplane image build --push REGISTRY/NAME:TAG {sweep_packages.OPTUNA}"
            reason = f"missing, and no public image has Optuna; build one: {build}"
            yield Problem((*at, "controllerImage"), reason, given=(("cluster",),))
