"""A pipeline's objects from its settings and from facts of the platform, without Pulumi and without a cluster."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.base.labels import PIPELINE, SOURCES
from components.base.names import digest_of
from workloads.pipeline.settings import PipelineSettings
from workloads.pipeline.stage_pods import StageFacts, Steps, Stored
from workloads.pods.files import Bundle
from workloads.pods.objects import Identity, Manifest

PART = "pipeline"
"""Component label of the objects of pipelines."""
EXECUTOR_SUFFIX = "-executor"
"""What the names of the objects of Argo's executor end with, after the pipeline's name."""


@dataclass(frozen=True)
class Facts:
    """Facts of the platform for a pipeline: plain values, known without a cluster."""

    name: str
    namespace: str
    stages: Mapping[str, StageFacts]
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
        return Identity(self.name, self.namespace, PART)

    @property
    def executor(self) -> str:
        """The service account with which Argo reports on the pods."""
        return f"{self.name}{EXECUTOR_SUFFIX}"


def steps_of(settings: PipelineSettings, facts: Facts) -> dict[str, Steps]:
    """The pods of each stage."""
    return {
        name: Steps(
            facts.identity,
            name,
            stage,
            facts.stages[name],
            facts.datasets,
            image=facts.image,
            library=facts.library,
            placement=facts.placement,
        )
        for name, stage in settings.stages.items()
    }


def code(settings: PipelineSettings, facts: Facts) -> list[Bundle]:
    """The ConfigMaps with the stages' files."""
    return [part for one in steps_of(settings, facts).values() for part in one.code]


def template(settings: PipelineSettings, facts: Facts) -> Manifest:
    """The WorkflowTemplate, of which each run is a Workflow."""
    # Hera takes a second to import.
    from workloads.pipeline import argo

    steps = steps_of(settings, facts)
    about = {
        PIPELINE: digest_of({name: one.description for name, one in steps.items()}, length=16),
        SOURCES: json.dumps(
            {name: {"dataset": one.dataset, "branch": one.branch} for name, one in settings.sources.items()},
            sort_keys=True,
        ),
    }
    metadata = {**facts.identity.metadata(facts.name), "annotations": about}
    return argo.workflow_template(settings, steps, executor=facts.executor, metadata=metadata)
