"""A TensorBoard as a stack declares it: its pods, checks and component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tensorplane.components import versions
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.tensorboard import checks as tensorboard_checks
from tensorplane.workloads.tensorboard.settings import BoardSettings

if TYPE_CHECKING:
    pass


class TensorBoardArgs(BoardSettings, WorkloadArgs):
    """Settings of a TensorBoard. `tensorplane tensorboard NAME` opens it."""

    kind: Literal["tensorboard"] = "tensorboard"
    stays: ClassVar[bool] = True

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        # TensorFlow's public image has no TensorBoard.
        return images.training(0) if images.built_here else None

    def pod_sets(self) -> list[PodSet]:
        return [PodSet("tensorboard", 1, self.resources, together=False, interruptible=False)]

    def mounts(self) -> Mapping[str, Key]:
        return {self.logs.volume: ("logs", "volume")}

    def unqueued(self) -> list[PodSet]:
        return self.pod_sets()

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from tensorboard_checks.find_problems(self, name, at, self.pod_sets(), declared)
