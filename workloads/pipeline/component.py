"""Pipelines: stages over versioned data, as a WorkflowTemplate of Argo, of which each run is a Workflow."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base import encrypted, problems
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.names import digest_of
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.family import Declared, Platform, Workload, WorkloadArgs, created
from tensorplane.workloads.model_server.manifest import REST_PORT
from tensorplane.workloads.pipeline import checks as pipeline_checks
from tensorplane.workloads.pipeline import executor
from tensorplane.workloads.pipeline import manifest as manifests
from tensorplane.workloads.pipeline.context import pipeline_context
from tensorplane.workloads.pipeline.settings import PipelineSettings, StageArgs, source_name
from tensorplane.workloads.pipeline.steps import component as steps_component
from tensorplane.workloads.pipeline.triggers import component as triggers_component
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.pods.owner import Owner


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

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "Pipeline":
        return Pipeline(name, self, at=at, platform=platform, opts=opts)


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


class Pipeline(Workload):
    """A pipeline. `tensorplane runs start` and triggers create its runs."""

    def __init__(
        self,
        name: str,
        args: PipelineArgs,
        *,
        at: Key,
        platform: Platform,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`at`: the path of the settings."""
        _refuse_encrypted(args, at, platform)
        gpus = sum(pods.gpus for pods in args.pod_sets())
        known = pipeline_context(name, args, platform.settings)
        images = sorted({each.image for each in known.stages.values() if each.image})
        props = registered.Pipeline(
            stages=list(args.stages),
            dag=_dag(args, known),
            images=platform.guarded(at, images),
            datasets=args.datasets,
            gpus=gpus,
        )
        super().__init__(registered.PIPELINE, name, dict(props), opts)
        owner = Owner(self, name, platform.namespace, manifests.COMPONENT_VALUE)
        library = owner.config_map(known.library)
        volumes = created(platform.volumes, _volumes(args, platform))
        depends_on = [library, *_of_runs(owner, args, known), *volumes, *_of_stack(args, platform)]
        template = _template(owner, args, known, at, platform, depends_on)
        steps_component.declare(owner, known, depends_on=[library, *volumes])
        if args.triggers:
            triggers_component.declare(owner, args, known, depends_on=[template, *volumes])
        self.gpus = gpus
        self.outputs = registered.PipelineOutputs(
            kind=args.kind,
            workflowTemplate=name,
            stages=list(args.stages),
            gpus=gpus,
            queues=_queues_of_gpus(args),
        )
        self.register_outputs(encrypted.concealed({**self.outputs, **gpu_requests.of(args, platform.settings)}))


def _queues_of_gpus(args: PipelineArgs) -> list[str]:
    stages = [args.stages[name] for name, pods in args.by_stage() if any(each.gpus for each in pods)]
    return sorted({stage.queue_of_pods or "" for stage in stages})


def _template(
    owner: Owner,
    args: PipelineArgs,
    known: manifests.PipelineContext,
    at: Key,
    platform: Platform,
    depends_on: Sequence[pulumi.Resource],
) -> pulumi.Resource:
    """The WorkflowTemplate of its runs."""
    made = manifests.template(args, known)
    return k8s.apiextensions.CustomResource(
        owner.name,
        api_version=versions.ARGO_API,
        kind=made["kind"],
        metadata=owner.metadata(annotations=made["metadata"]["annotations"]),
        spec=platform.guarded(at, made["spec"]),
        opts=pulumi.ResourceOptions(parent=owner.component, depends_on=depends_on),
    )


def _of_runs(owner: Owner, args: PipelineArgs, known: manifests.PipelineContext) -> Iterator[pulumi.Resource]:
    """Objects of the pipeline that pods of its runs need."""
    yield from (owner.config_map(content) for content in manifests.code(args, known))
    yield owner.service_account()
    yield from executor.declare(owner, known.executor, jobs="jobset" in args.controllers)
    yield from _of_jobs(owner, args)
    yield owner.allow_api_server()
    if args.servers:
        yield owner.allow_servers(args.servers, REST_PORT)


def _of_stack(args: PipelineArgs, platform: Platform) -> Iterator[pulumi.Resource]:
    """Objects of the stack that its runs need, besides volumes."""
    streams = {stream for stage in args.stages.values() if stage.job for stream in stage.job.streams}
    yield from created(platform.streams, streams)
    yield from created(platform.queues, args.queues())
    yield from platform.controllers


def _volumes(args: PipelineArgs, platform: Platform) -> set[str]:
    """The volumes of its jobs, of its datasets, and of the model servers that it publishes to."""
    volumes = {volume for stage in args.stages.values() if stage.job for volume in stage.job.volumes}
    volumes |= {platform.settings.datasets[dataset].volume for dataset in args.datasets}
    return volumes | {platform.settings.models[server].volume for server in args.published_to}


def _dag(args: PipelineArgs, known: manifests.PipelineContext) -> dict[str, registered.PipelineStage]:
    """The stages as reports draw them."""
    gpus = {name: sum(pods.gpus for pods in found) for name, found in args.by_stage()}
    found = {}
    for name, stage in args.stages.items():
        found[name] = registered.PipelineStage(
            after=sorted(set(args.before(stage).values())),
            reads=sorted(source_name(one) for one in stage.inputs.values()),
            writes=stage.output,
            queue=stage.queue_of_pods or "",
            gpus=gpus.get(name, 0),
            parallel=stage.parallel,
            program=digest_of(manifests.steps_of(args, known)[name].decisive),
        )
        if keys := _keys(stage):
            found[name]["keys"] = keys
    return found


def _keys(stage: StageArgs) -> dict[str, str]:
    """What the parts of a stage are joined by, as far as reports tell it."""
    joined = {name: one for name, one in stage.inputs.items() if stage.join == "name" and not one.split.is_whole}
    keys = {name: one.key.shown if one.key else one.split.by for name, one in joined.items()}
    # Files without a stated key are joined as ever, and states of versions before this one say nothing of keys.
    return {name: key for name, key in keys.items() if key != "file"}


def _of_jobs(pipeline: Owner, args: PipelineArgs) -> Iterator[pulumi.Resource]:
    """What the pods of stages that are jobs need: traffic between each other, and what their settings allow."""
    for name, stage in args.stages.items():
        if stage.job:
            owner = Owner(pipeline.component, f"{pipeline.name}-{name}", pipeline.namespace, "training")
            yield from owner.gang_policies(stage.job.egress)


def _refuse_encrypted(args: PipelineArgs, at: Key, platform: Platform) -> None:
    """Stops where variables are encrypted: they would be readable in the WorkflowTemplate, and those of a program in
    the provenance of each version, too, which stays."""
    found = []
    for name, stage in args.stages.items():
        key = (*at, "stages", name)
        of_job = stage.job.env if stage.job else {}
        for variable in sorted(platform.secret_env((*key, "job"), of_job)):
            reason = "is encrypted, but would be readable in the WorkflowTemplate; use {secret: NAME, key: KEY}"
            found.append(Problem((*key, "job", "env", variable), reason))
        for variable in sorted(stage.params):
            if problems.below((path := (*key, "params", variable)), platform.secret):
                reason = "is encrypted, but would be readable in the WorkflowTemplate and in lineage"
                found.append(
                    Problem(path, f"{reason}; make the stage a job, with {{secret: NAME, key: KEY}} in its env")
                )
    problems.stop(found)
