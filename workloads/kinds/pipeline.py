"""Pipelines: stages over versioned data, as a WorkflowTemplate of Argo, of which each run is a Workflow."""

from collections.abc import Iterator, Mapping
from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

from components import versions
from components.base import facts as registered
from components.base.faults import Fault, Key
from components.queues.room import PodSet
from workloads import executor, triggers
from workloads.base import Declared, Platform, Workload, WorkloadArgs, created
from workloads.checks import pipeline as checks
from workloads.manifests import pipeline as manifests
from workloads.owner import Owner
from workloads.pipeline_facts import facts_of
from workloads.settings.pipeline import PipelineSettings


class PipelineArgs(PipelineSettings, WorkloadArgs):
    """Settings of a pipeline. Each run reads one version of each dataset that it begins with, and makes one of each
    stage's output; only what changed since former runs is worked on."""

    kind: Literal["pipeline"] = "pipeline"

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset({"argo_workflows"})

    def pod_sets(self) -> list[PodSet]:
        return [pods for _, pods in self._by_stage()]

    def unqueued(self) -> list[PodSet]:
        # The checks refuse GPUs without a queue.
        return [pods for name, pods in self._by_stage() if self.stages[name].queue is None and not pods.gpus]

    def _by_stage(self) -> Iterator[tuple[str, PodSet]]:
        for name, stage in self.stages.items():
            at = ("stages", name)
            yield (
                name,
                PodSet(
                    name,
                    stage.parallel,
                    stage.pod_resources,
                    together=False,
                    # A part whose pod was lost is tried again.
                    interruptible=stage.retries > 0,
                    at=(*at, "resources"),
                    count_at=(*at, "parallel"),
                ),
            )

    def queues(self) -> Mapping[str, Key]:
        return {stage.queue: ("stages", name, "queue") for name, stage in self.stages.items() if stage.queue}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Fault]:
        yield from checks.faults(self, name, at, dict(self._by_stage()), declared)

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "Pipeline":
        return Pipeline(name, self, at=at, platform=platform, opts=opts)


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
        gpus = sum(pods.gpus for pods in args.pod_sets())
        known = facts_of(name, args, platform.settings)
        images = sorted({each.image for each in known.stages.values()})
        props = registered.Pipeline(
            stages=list(args.stages), images=platform.guarded(at, images), datasets=args.datasets, gpus=gpus
        )
        super().__init__(registered.PIPELINE, name, dict(props), opts)
        owner = Owner(self, name, platform.namespace, manifests.PART)
        made = manifests.template(args, known)
        volumes = {platform.settings.datasets[dataset].volume for dataset in args.datasets}
        needed: list[pulumi.Resource] = [
            *(owner.config_map(content) for content in manifests.code(args, known)),
            owner.service_account(),
            *executor.declare(owner, known.executor),
            owner.allow_api_server(),
            *created(platform.volumes, volumes),
            *created(platform.queues, args.queues()),
            *platform.controllers,
        ]
        template = k8s.apiextensions.CustomResource(
            name,
            api_version=versions.ARGO_API,
            kind=made["kind"],
            metadata=owner.metadata(annotations=made["metadata"]["annotations"]),
            spec=platform.guarded(at, made["spec"]),
            opts=pulumi.ResourceOptions(parent=self, depends_on=needed),
        )
        if args.triggers:
            triggers.declare(owner, args, known, needed=[template, *created(platform.volumes, volumes)])
        self.gpus = gpus
        self.outputs = registered.PipelineOutputs(
            kind=args.kind,
            workflowTemplate=name,
            stages=list(args.stages),
            gpus=gpus,
        )
        self.register_outputs(dict(self.outputs))
