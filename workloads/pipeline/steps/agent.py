"""The agent that takes the steps of a pipeline's stages (`agents/steps`): its rights, and what it mounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tensorplane.components.agent import lease as agent_lease
from tensorplane.components.agent.agent import (
    TO_API_SERVER,
    Agent,
    Mount,
    Resources,
    Rights,
    Volume,
    pod_annotations,
    pod_labels,
)
from tensorplane.components.base.labels import HOSTNAME
from tensorplane.components.base.sdk import k8s, pulumi

NAME_SUFFIX = "-steps"
"""What the names of the agent's objects end with, after the pipeline's name."""
_COMPONENT = "steps"
_LIBRARY = "/opt/tensorplane/library"
_TMP_MIB = 16
_REQUIRED: Literal["required_during_scheduling_ignored_during_execution"] = (
    "required_during_scheduling_ignored_during_execution"
)


@dataclass(frozen=True)
class Library:
    """The ConfigMap with tensorplane's library, and the file in it that Python imports from."""

    config_map: str
    items: Sequence[k8s.core.v1.KeyToPathArgsDict]
    archive: str


def declare(
    pipeline: str,
    *,
    image: str,
    library: Library,
    volumes: Sequence[Volume],
    together: Mapping[str, str],
    namespace: pulumi.Input[str],
    depends_on: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> None:
    """Creates the agent.

    `image`: one with Python. `together`: labels of pods that must be on one node with it. `depends_on`: the library's
    ConfigMap, and what the volumes need.
    """
    name = f"{pipeline}{NAME_SUFFIX}"
    agent = Agent(
        "steps",
        name=name,
        component=_COMPONENT,
        namespace=namespace,
        image=image,
        # A plan holds the names of all files of a version.
        resources=Resources(cpu="50m", memory="64Mi", memory_limit="512Mi"),
        rights=[Rights(name, [*_RULES, agent_lease.rule(name)], namespace)],
        egress=[TO_API_SERVER],
        leased=True,
        opts=opts,
    )
    pod = agent.pod(
        [namespace, pipeline],
        mounts=[
            Mount({"name": "library", "config_map": {"name": library.config_map, "items": library.items}}, _LIBRARY),
            *(volume.mount for volume in volumes),
        ],
        imports=[f"{_LIBRARY}/{library.archive}"],
        tmp_mib=_TMP_MIB,
    )
    if together:
        pod = {**pod, "affinity": {"pod_affinity": {_REQUIRED: [_on_one_node(*label) for label in together.items()]}}}
    agent.deployment(
        pod,
        depends_on=depends_on,
        pod_labels={**together, **pod_labels(volumes)},
        pod_annotations=pod_annotations(volumes),
    )


def _on_one_node(key: str, value: str) -> k8s.core.v1.PodAffinityTermArgsDict:
    return {"label_selector": {"match_labels": {key: value}}, "topology_key": HOSTNAME}


# RBAC cannot limit Workflows, whose names are hashes, to a label.
_RULES: list[k8s.rbac.v1.PolicyRuleArgsDict] = [
    {"api_groups": ["argoproj.io"], "resources": ["workflows"], "verbs": ["get", "list", "watch", "patch"]},
]
