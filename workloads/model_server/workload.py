"""A model server as a stack declares it: its models, pods, checks and component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tensorplane.components import versions
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.model_server import checks as server_checks
from tensorplane.workloads.model_server.settings import ServerSettings
from tensorplane.workloads.pods.mounts import Location

if TYPE_CHECKING:
    pass


class ModelServerArgs(ServerSettings, WorkloadArgs):
    """Settings of a model server."""

    kind: Literal["modelServer"] = "modelServer"
    stays: ClassVar[bool] = True
    accepts_clients: ClassVar[bool] = True

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        return images.serving(self.resources.gpus)

    @property
    def models_served(self) -> Sequence[str]:
        return list(self.served)

    @property
    def models_read(self) -> Mapping[Key, Location]:
        return {self.key_of(name): folder for name, folder in self.folders.items()}

    @property
    def controllers(self) -> frozenset[str]:
        of_gateway = frozenset({"gateway"} if self.needs_gateway else ())
        return of_gateway | (self.scaling.controllers if self.scaling else frozenset())

    def pod_sets(self) -> list[PodSet]:
        at = ("scaling", "max") if self.scaling else ("replicas",)
        pods = PodSet("server", self.most_replicas, self.resources, together=False, interruptible=False, count_at=at)
        return [pods]

    def mounts(self) -> Mapping[str, Key]:
        return {
            folder.volume: (*self.key_of(name), self.served[name].key("volume"))
            for name, folder in self.folders.items()
        }

    def unqueued(self) -> list[PodSet]:
        # A rolling update starts one additional pod.
        return [replace(pods, count=pods.count + 1) for pods in self.pod_sets()]

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from server_checks.find_problems(self, name, at, self.pod_sets(), declared)
