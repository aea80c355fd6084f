"""Pipelines: stages over versioned data, as a WorkflowTemplate of Argo, of which each run is a Workflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base import encrypted, problems
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.names import digest_of
from tensorplane.components.base.problems import Key, Problem
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.component import Platform, Workload, created
from tensorplane.workloads.model_server.manifest import REST_PORT
from tensorplane.workloads.pipeline import executor
from tensorplane.workloads.pipeline import manifest as manifests
from tensorplane.workloads.pipeline.context import pipeline_context
from tensorplane.workloads.pipeline.settings import StageArgs, source_name
from tensorplane.workloads.pipeline.steps import component as steps_component
from tensorplane.workloads.pipeline.triggers import component as triggers_component
from tensorplane.workloads.pipeline.workload import PipelineArgs
from tensorplane.workloads.pods.owner import Owner


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
