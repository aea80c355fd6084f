"""What pipelines register, as `outputs.py` has it for the others."""

from typing import Any, NotRequired, TypedDict

import pulumi


class PipelineStage(TypedDict):
    """A stage of a pipeline."""

    after: list[str]
    """The stages that it waits for."""
    reads: list[str]
    """Datasets, as DATASET or DATASET@BRANCH."""
    writes: str
    queue: str
    """Empty without one."""
    gpus: int
    """The most that its pods use at once."""
    parallel: int
    """The most pods at once; of a stage that is a job, the jobs."""
    program: str
    """A digest of what decides its results besides the input."""
    keys: NotRequired[dict[str, str]]
    """What parts of joined inputs are joined by, where that is not the name of files without their ending."""


class Pipeline(TypedDict):
    """A pipeline. Its GPUs are the most that its pods use at once."""

    stages: list[str]
    dag: dict[str, PipelineStage]
    """What each stage waits for and does. Missing in states of versions that did not register it."""
    images: pulumi.Input[Any]
    """Of its stages' programs."""
    datasets: list[str]
    """That it reads and writes."""
    gpus: int


class PipelineOutputs(TypedDict):
    """A pipeline once it exists."""

    kind: str
    workflowTemplate: str
    """Of which each run is a Workflow."""
    stages: list[str]
    gpus: int
    queues: list[str]
    """Of the stages with GPUs, with an empty name if one has no queue. Missing in states of versions that did not
    register them."""
