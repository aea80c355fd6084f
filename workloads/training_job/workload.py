"""A training job as a stack declares it: its pods, volumes, queue, checks and component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tensorplane.components import versions
from tensorplane.components.base.model import Name
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.pods.mounts import Location
from tensorplane.workloads.training_job import checks as job_checks
from tensorplane.workloads.training_job import packages, team_checks
from tensorplane.workloads.training_job.settings import JobSettings

if TYPE_CHECKING:
    pass


class TrainingJobArgs(JobSettings, WorkloadArgs):
    """Settings of a training job. A change of a setting that affects the result starts a new run; a change of resources
    or workers continues it."""

    kind: Literal["trainingJob"] = "trainingJob"
    team: Name | None = None
    """A team in whose namespace the job runs, in one of its queues and with its volumes, instead of the stack's
    namespace."""

    has_runs: ClassVar[bool] = True

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset({"jobset"})

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        image = images.training(max(role.resources.gpus for role in self.roles()))
        # Elsewhere, the pods install them.
        return packages.image(image, self.packages) if image and images.built_here else image

    @property
    def trained(self) -> JobSettings:
        return self

    @property
    def shares_library(self) -> bool:
        return self.team is None

    @property
    def models_written(self) -> Location | None:
        return self.model

    @property
    def publishes_to(self) -> Mapping[str, Key]:
        server = self.on_success.publish if self.on_success else None
        return {server: ("onSuccess", "publish")} if server else {}

    def unqueued(self) -> list[PodSet]:
        return [] if self.queue else self.pod_sets()

    def pod_sets(self) -> list[PodSet]:
        return pod_sets.of(self)

    def mounts(self) -> Mapping[str, Key]:
        return {volume: ("volumes", volume) for volume in self.volumes}

    def queues(self) -> Mapping[str, Key]:
        return {self.queue: ("queue",)} if self.queue else {}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from job_checks.find_problems(self, name, at, declared)
        if self.team:
            yield from team_checks.find_problems(self, self.team, at, declared)
