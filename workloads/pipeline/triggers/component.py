"""The agent of a pipeline's triggers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi

from tensorplane.components.agent.agent import Volume
from tensorplane.workloads.pipeline.manifest import PipelineContext
from tensorplane.workloads.pipeline.settings import PipelineSettings
from tensorplane.workloads.pipeline.triggers import agent
from tensorplane.workloads.pods.owner import Owner


def declare(
    owner: Owner, settings: PipelineSettings, context: PipelineContext, *, depends_on: Sequence[pulumi.Resource]
) -> None:
    """Creates the agent. `depends_on`: the pipeline and its volumes."""
    volumes = {}
    for dataset in sorted({*(source.dataset for source in settings.sources.values()), *settings.writers}):
        mount = context.datasets[dataset].mount(read_only=True)
        volumes[mount.claim] = Volume(mount.claim, mount.path, mount.labels)
    agent.declare(
        owner.name,
        description(settings, context),
        image=context.image,
        volumes=[volumes[claim] for claim in sorted(volumes)],
        namespace=owner.namespace.name,
        depends_on=depends_on,
        opts=owner.child_options,
    )


def description(settings: PipelineSettings, context: PipelineContext) -> dict[str, Any]:
    """The triggers as the agent reads them."""
    return {
        "pipeline": context.name,
        "sources": {
            name: {"root": context.datasets[one.dataset].root, "branch": one.branch}
            for name, one in settings.sources.items()
        },
        "outputs": {dataset: context.datasets[dataset].root for dataset in sorted(settings.writers)},
        "triggers": {
            name: {**trigger.plain, "sources": settings.trigger_sources(trigger)}
            for name, trigger in settings.triggers.items()
        },
    }
