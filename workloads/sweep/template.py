"""The plan of a sweep's trials, whose names and parameters are placeholders, and the name of the sweep's run."""

from __future__ import annotations

from typing import Any

from tensorplane.components.base.names import digest_of
from tensorplane.workloads.sweep.controller import RUN, placeholder
from tensorplane.workloads.sweep.settings import Search
from tensorplane.workloads.sweep.workload import SweepArgs
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.run import Recorded
from tensorplane.workloads.training_job.settings import JobSettings


def template_settings(args: SweepArgs) -> JobSettings:
    """The settings of a trial whose parameters are placeholders. Each trial has a folder of its own for its model."""
    variables = {name: placeholder(name) for name in args.search.parameters}
    if asha := args.search.pruner:
        # A report at each rung, so that decisions do not depend on when trials report.
        variables["TENSORPLANE_RUNGS"] = f"{asha.min_steps}:{asha.reduction}"
    model = args.trial.model
    return args.trial.model_copy(
        update={
            "env": {**args.trial.env, **variables},
            "model": model and model.model_copy(update={"path": f"{model.path}/{RUN}"}),
        }
    )


def template(trial: JobSettings, context: JobContext, *, image: str, secret: str | None = None) -> JobManifest:
    """The plan of a trial whose name is a placeholder, too."""
    return plan(trial, context, image=image, secret=secret, recorded=Recorded(RUN))


def run_of(name: str, search: Search, manifest: JobManifest) -> str:
    """The name of the sweep's run: another one when the search or what decides the trials' results changes."""
    return f"{name}-{digest_of([search.decisive, manifest.run.decisive])}"


def for_publishing(trial: JobSettings) -> dict[str, Any]:
    """The settings of the trials that publishing the best one requires."""
    return trial.model_dump(mode="json", by_alias=True, include={"volumes", "model", "queue"})
