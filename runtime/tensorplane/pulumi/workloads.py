"""The workloads of a program: a function for each kind, which makes its component.

Arguments are the settings of `docs/settings`, in Python's spelling; one that is None counts as left out. A problem is a
`pulumi.RunError` with a line for each, which names the argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Unpack, cast

import pulumi
from pydantic.alias_generators import to_camel

from tensorplane.components.base.model import Model
from tensorplane.pulumi import arguments as types
from tensorplane.pulumi.stack import Stack
from tensorplane.workloads.model_server import component as model_server
from tensorplane.workloads.notebook import component as notebook
from tensorplane.workloads.pipeline import component as pipeline
from tensorplane.workloads.recorder import component as recorder
from tensorplane.workloads.scorer import component as scorer
from tensorplane.workloads.sweep import component as sweep
from tensorplane.workloads.tensorboard import component as tensorboard
from tensorplane.workloads.training_job import component as training_job


def as_written(value: Any) -> Any:
    """A value as YAML has it. Outputs stay as they are."""
    if isinstance(value, Model):
        fields = type(value).model_fields
        given = {name: getattr(value, name) for name in fields if name in value.model_fields_set or name == "kind"}
        return {fields[name].alias or name: as_written(each) for name, each in given.items()}
    if isinstance(value, Mapping):
        return {key: as_written(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_written(each) for each in value]
    return str(value) if isinstance(value, PurePath) else value


def _tree(arguments: Any) -> dict[str, Any]:
    return {to_camel(key): as_written(value) for key, value in arguments.items() if value is not None}


def ModelServer(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.ModelServerArguments],
) -> model_server.ModelServer:
    """Declares a model server."""
    return cast(model_server.ModelServer, platform.add("modelServer", name, _tree(arguments), opts))


def Notebook(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.NotebookArguments],
) -> notebook.Notebook:
    """Declares a notebook, which runs from `tensorplane notebook NAME`."""
    return cast(notebook.Notebook, platform.add("notebook", name, _tree(arguments), opts))


def Pipeline(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.PipelineArguments],
) -> pipeline.Pipeline:
    """Declares a pipeline."""
    return cast(pipeline.Pipeline, platform.add("pipeline", name, _tree(arguments), opts))


def Recorder(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.RecorderArguments],
) -> recorder.Recorder:
    """Declares a recorder."""
    return cast(recorder.Recorder, platform.add("recorder", name, _tree(arguments), opts))


def Scorer(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.ScorerArguments],
) -> scorer.Scorer:
    """Declares a scorer."""
    return cast(scorer.Scorer, platform.add("scorer", name, _tree(arguments), opts))


def Sweep(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.SweepArguments],
) -> sweep.Sweep:
    """Declares a sweep."""
    return cast(sweep.Sweep, platform.add("sweep", name, _tree(arguments), opts))


def TensorBoard(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.TensorBoardArguments],
) -> tensorboard.TensorBoard:
    """Declares a TensorBoard."""
    return cast(tensorboard.TensorBoard, platform.add("tensorboard", name, _tree(arguments), opts))


def TrainingJob(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.TrainingJobArguments],
) -> training_job.TrainingJob:
    """Declares a training job."""
    return cast(training_job.TrainingJob, platform.add("trainingJob", name, _tree(arguments), opts))
