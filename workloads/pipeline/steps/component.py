"""The agent of the steps of a pipeline's stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi

from tensorplane.components.agent.agent import Volume
from tensorplane.workloads.pipeline.manifest import PipelineContext
from tensorplane.workloads.pipeline.steps import agent
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.owner import Owner


def declare(owner: Owner, context: PipelineContext, *, depends_on: Sequence[pulumi.Resource]) -> None:
    """Creates the agent. `depends_on`: the ConfigMap of the library, and the volumes."""
    mounts = {(one := stored.mount(read_only=False)).claim: one for stored in context.datasets.values()}
    items: Any = context.library.items
    agent.declare(
        owner.name,
        image=context.image,
        library=agent.Library(context.library.name, items, pod.ARCHIVE),
        volumes=[
            Volume(claim, one.path, one.labels, read_only=False, pod_annotations=one.annotations)
            for claim, one in sorted(mounts.items())
        ],
        together=pod.meeting_of(mounts.values()),
        namespace=owner.namespace.name,
        depends_on=depends_on,
        opts=owner.child_options,
    )
