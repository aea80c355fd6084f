"""The agent of the steps of a pipeline's stages."""

from collections.abc import Sequence
from typing import Any

import pulumi

from components import step_agent
from components.agent_volume import Volume
from workloads.manifests import pod
from workloads.manifests.pipeline import Facts
from workloads.owner import Owner


def declare(owner: Owner, facts: Facts, *, needed: Sequence[pulumi.Resource]) -> None:
    """Create the agent. `needed`: the ConfigMap of the library, and the volumes."""
    mounts = {(one := stored.mount(read_only=False)).claim: one for stored in facts.datasets.values()}
    items: Any = facts.library.items
    step_agent.declare(
        owner.name,
        image=facts.image,
        library=step_agent.Library(facts.library.name, items, pod.ARCHIVE),
        volumes=[
            Volume(claim, one.path, one.labels, read_only=False, pod_annotations=one.annotations)
            for claim, one in sorted(mounts.items())
        ],
        together=pod.meeting_of(mounts.values()),
        namespace=owner.namespace.name,
        needed=needed,
        opts=owner.inside,
    )
