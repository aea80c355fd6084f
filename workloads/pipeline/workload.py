"""A pipeline as a stack declares it: its datasets, pods, checks and component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.pipeline import checks as pipeline_checks
from tensorplane.workloads.pipeline.settings import PipelineSettings, StageArgs
from tensorplane.workloads.pods import pod_sets

if TYPE_CHECKING:
    pass


class PipelineArgs(PipelineSettings, WorkloadArgs):
    """Settings of a pipeline. Each run reads one version of each dataset that it begins with, and makes one of each
    stage's output; only what changed since former runs is worked on."""

    kind: Literal["pipeline"] = "pipeline"

    @property
    def controllers(self) -> frozenset[str]:
        jobs = any(stage.job for stage in self.stages.values())
        return frozenset({"argo_workflows", *(["jobset"] if jobs else [])})

    @property
    def publishes_to(self) -> Mapping[str, Key]:
        found: dict[str, Key] = {}
        for name, stage in self.stages.items():
            then = stage.job.on_success if stage.job else None
            if then and then.publish:
                found[then.publish] = ("stages", name, "job", "onSuccess", "publish")
            if stage.publish:
                found[stage.publish] = ("stages", name, "publish")
        return found

    def pod_sets(self) -> list[PodSet]:
        return [pods for _, found in self.by_stage() for pods in found]

    def unqueued(self) -> list[PodSet]:
        of_stages = [(self.stages[name], found) for name, found in self.by_stage()]
        unqueued = [(stage, found) for stage, found in of_stages if not stage.queue_of_pods]
        # The checks refuse programs with GPUs without a queue.
        return [pods for stage, found in unqueued for pods in found if stage.job or not pods.gpus]

    def pods_by_queue(self) -> Iterator[tuple[str | None, list[PodSet]]]:
        for name, found in self.by_stage():
            yield self.stages[name].queue_of_pods, found

    def by_stage(self) -> Iterator[tuple[str, list[PodSet]]]:
        """The pods of each stage."""
        for name, stage in self.stages.items():
            at = ("stages", name)
            if stage.training:
                inside = (*at, "job")
                found = pod_sets.of(stage.training)
                yield name, [replace(one, at=(*inside, *one.at), count_at=(*inside, *one.count_at)) for one in found]
            elif not stage.publish:
                yield name, [_pods(name, stage, at)]

    def mounts(self) -> Mapping[str, Key]:
        return {
            volume: ("stages", name, "job", "volumes", volume)
            for name, stage in self.stages.items()
            if stage.job
            for volume in stage.job.volumes
        }

    def datasets_used(self) -> Mapping[str, Key]:
        return {name: at for stage in reversed(self.stages) for name, at in self._datasets_of(stage).items()}

    def together_on(self, volume: str, datasets: Mapping[str, DatasetArgs | None]) -> list[tuple[Key, list[PodSet]]]:
        found = []
        for name, pods in self.by_stage():
            stage = self.stages[name]
            used = {args.volume: at for one, at in self._datasets_of(name).items() if (args := datasets.get(one))}
            if stage.job:
                used = {**{one: ("stages", name, "job", "volumes", one) for one in stage.job.volumes}, **used}
            if volume in used:
                # Parts wait for each other where no node has capacity, but the pods of a job do not.
                found.append((used[volume], pods if stage.job else [replace(each, count=1) for each in pods]))
        return found

    def _datasets_of(self, name: str) -> dict[str, Key]:
        """The datasets of a stage, with the key that names each."""
        stage, at = self.stages[name], ("stages", name)
        inputs = {one.dataset: (*at, "inputs", key, "dataset") for key, one in stage.inputs.items()}
        return {stage.output: (*at, "output"), **inputs}

    def queues(self) -> Mapping[str, Key]:
        queues = {name: stage.queue_of_pods for name, stage in self.stages.items()}
        at = {name: ("job", "queue") if stage.job else ("queue",) for name, stage in self.stages.items()}
        return {queue: ("stages", name, *at[name]) for name, queue in queues.items() if queue}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from pipeline_checks.find_problems(
            self, name, at, {stage: pods[0] for stage, pods in self.by_stage()}, declared
        )


def _pods(name: str, stage: StageArgs, at: Key) -> PodSet:
    """The pods of a stage's program."""
    return PodSet(
        name,
        stage.parallel,
        stage.pod_resources,
        together=False,
        interruptible=stage.interruptible,
        at=(*at, "resources"),
        count_at=(*at, "parallel"),
    )
