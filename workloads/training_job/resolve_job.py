"""A job whose Secrets and brokers other resources produce, for a plan, which needs plain values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tensorplane.components.base.resolve_outputs import resolve_outputs
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.settings import JobSettings, SecretKey

if TYPE_CHECKING:
    import pulumi


def resolve_job(settings: JobSettings, context: JobContext) -> pulumi.Output[tuple[JobSettings, JobContext]]:
    """The settings and the context once names of Secrets and addresses of brokers are known.

    Values of variables are not read: they are in a Secret of the job's own, and nothing derives from them.
    """
    keys = {name: value for name, value in settings.env.items() if isinstance(value, SecretKey)}
    return resolve_outputs((keys, context.streams)).apply(
        lambda known: (
            settings.model_copy(update={"env": {**settings.env, **known[0]}}),
            dataclasses.replace(context, streams=known[1]),
        )
    )
