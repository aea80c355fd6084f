"""A pipeline's objects from its settings and its context on the platform, without Pulumi and without a cluster."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.components.base.labels import PIPELINE, SOURCES
from tensorplane.components.base.names import digest_of
from tensorplane.workloads.pipeline.settings import PipelineSettings
from tensorplane.workloads.pipeline.stage_pods import StageContext, Steps, Stored
from tensorplane.workloads.pods.files import Bundle
from tensorplane.workloads.pods.objects import Identity, Manifest

COMPONENT_VALUE = "pipeline"
"""Value of the component label of objects of pipelines."""
EXECUTOR_SUFFIX = "-executor"
"""What the names of the objects of Argo's executor end with, after the pipeline's name."""


@dataclass(frozen=True)
class PipelineContext:
    """What a pipeline's manifests need besides its settings: names, and what the platform has for it. Plain values,
    known without a cluster."""

    name: str
    namespace: str
    stages: Mapping[str, StageContext]
    datasets: Mapping[str, Stored]
    """The datasets that the settings name."""
    image: str
    """Of the agents and the library's programs: any with Python 3.9 or newer."""
    library: Bundle
    """The part of tensorplane's library that stages need."""
    placement: Mapping[str, Any]
    """The parts of the spec of a pod without a program of the user that select nodes."""

    @property
    def identity(self) -> Identity:
        """The owner of the objects."""
        return Identity(self.name, self.namespace, COMPONENT_VALUE)

    @property
    def executor(self) -> str:
        """The service account with which Argo reports on the pods."""
        return f"{self.name}{EXECUTOR_SUFFIX}"


def steps_of(settings: PipelineSettings, context: PipelineContext) -> dict[str, Steps]:
    """The pods of each stage."""
    return {
        name: Steps(
            context.identity,
            name,
            stage,
            context.stages[name],
            context.datasets,
            image=context.image,
            library=context.library,
            placement=context.placement,
        )
        for name, stage in settings.stages.items()
    }


def code(settings: PipelineSettings, context: PipelineContext) -> list[Bundle]:
    """The ConfigMaps with the stages' files."""
    return [part for one in steps_of(settings, context).values() for part in one.code]


def template(settings: PipelineSettings, context: PipelineContext) -> Manifest:
    """The WorkflowTemplate, of which each run is a Workflow."""
    # Hera takes a second to import.
    from tensorplane.workloads.pipeline import argo

    steps = steps_of(settings, context)
    about = {
        PIPELINE: digest_of({name: one.description for name, one in steps.items()}, length=16),
        SOURCES: json.dumps(
            {name: {"dataset": one.dataset, "branch": one.branch} for name, one in settings.sources.items()},
            sort_keys=True,
        ),
    }
    metadata = {**context.identity.metadata(context.name), "annotations": about}
    return argo.workflow_template(settings, steps, executor=context.executor, metadata=metadata)
