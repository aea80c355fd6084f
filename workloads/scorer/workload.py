"""A scorer as a stack declares it: its streams, pods, checks and component."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tensorplane.components import versions
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.scorer import checks as scorer_checks
from tensorplane.workloads.scorer.settings import ScorerSettings

if TYPE_CHECKING:
    pass


class ScorerArgs(ScorerSettings, WorkloadArgs):
    """Settings of a scorer. It gives each record of a topic one result of a model server, in another topic."""

    kind: Literal["scorer"] = "scorer"
    stays: ClassVar[bool] = True
    accepts_clients: ClassVar[bool] = True

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset({"keda"} if self.scaling else ())

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        # TensorFlow's public image has no client of Kafka.
        return images.training(0) if images.built_here else None

    def pod_sets(self) -> list[PodSet]:
        at, count = self.count_at, self.most_replicas
        return [PodSet("scorer", count, self.resources, together=False, interruptible=True, count_at=at)]

    def unqueued(self) -> list[PodSet]:
        return self.pod_sets()

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from scorer_checks.find_problems(self, at, self.pod_sets(), declared)
