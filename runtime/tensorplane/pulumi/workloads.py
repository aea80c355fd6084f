"""The workloads of a program: a function for each kind, which makes its component.

Arguments are the settings of `docs/settings`, in Python's spelling; one that is None counts as left out. The problems
of all workloads end the program, a line each, which names the argument.
"""

from __future__ import annotations

from typing import Unpack, cast

import pulumi

from tensorplane.pulumi import arguments as types
from tensorplane.pulumi import written
from tensorplane.pulumi.stack import Stack
from tensorplane.workloads.model_server import component as model_server
from tensorplane.workloads.notebook import component as notebook
from tensorplane.workloads.pipeline import component as pipeline
from tensorplane.workloads.recorder import component as recorder
from tensorplane.workloads.scorer import component as scorer
from tensorplane.workloads.sweep import component as sweep
from tensorplane.workloads.tensorboard import component as tensorboard
from tensorplane.workloads.training_job import component as training_job


def ModelServer(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.ModelServerArguments],
) -> model_server.ModelServer:
    """Declares a model server."""
    return cast(model_server.ModelServer, platform.add("modelServer", name, written.tree(arguments), opts))


def Notebook(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.NotebookArguments],
) -> notebook.Notebook:
    """Declares a notebook, which runs from `tensorplane notebook NAME`."""
    return cast(notebook.Notebook, platform.add("notebook", name, written.tree(arguments), opts))


def Pipeline(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.PipelineArguments],
) -> pipeline.Pipeline:
    """Declares a pipeline."""
    return cast(pipeline.Pipeline, platform.add("pipeline", name, written.tree(arguments), opts))


def Recorder(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.RecorderArguments],
) -> recorder.Recorder:
    """Declares a recorder."""
    return cast(recorder.Recorder, platform.add("recorder", name, written.tree(arguments), opts))


def Scorer(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.ScorerArguments],
) -> scorer.Scorer:
    """Declares a scorer."""
    return cast(scorer.Scorer, platform.add("scorer", name, written.tree(arguments), opts))


def Sweep(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.SweepArguments],
) -> sweep.Sweep:
    """Declares a sweep."""
    return cast(sweep.Sweep, platform.add("sweep", name, written.tree(arguments), opts))


def TensorBoard(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.TensorBoardArguments],
) -> tensorboard.TensorBoard:
    """Declares a TensorBoard."""
    return cast(tensorboard.TensorBoard, platform.add("tensorboard", name, written.tree(arguments), opts))


def TrainingJob(  # noqa: N802  # it makes what is called so
    name: str,
    *,
    platform: Stack,
    opts: pulumi.ResourceOptions | None = None,
    **arguments: Unpack[types.TrainingJobArguments],
) -> training_job.TrainingJob:
    """Declares a training job."""
    return cast(training_job.TrainingJob, platform.add("trainingJob", name, written.tree(arguments), opts))
