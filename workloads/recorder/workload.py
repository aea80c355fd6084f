"""A recorder as a stack declares it: what it writes, its pods, checks and component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tensorplane.components import versions
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.recorder import checks as recorder_checks
from tensorplane.workloads.recorder.settings import RecorderSettings

if TYPE_CHECKING:
    pass


class RecorderArgs(RecorderSettings, WorkloadArgs):
    """Settings of a recorder. Each window of a topic's records becomes one version of a dataset, and each record is in
    it exactly once."""

    kind: Literal["recorder"] = "recorder"
    stays: ClassVar[bool] = True
    accepts_clients: ClassVar[bool] = True

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        # TensorFlow's public image has no client of Kafka.
        return images.training(0) if images.built_here else None

    def pod_sets(self) -> list[PodSet]:
        return [PodSet("recorder", 1, self.resources, together=False, interruptible=True)]

    def datasets_used(self) -> Mapping[str, Key]:
        return {self.dataset: ("dataset",)}

    def unqueued(self) -> list[PodSet]:
        return self.pod_sets()

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from recorder_checks.find_problems(self, name, at, self.pod_sets(), declared)
