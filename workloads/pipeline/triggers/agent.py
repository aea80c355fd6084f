"""The agent that starts the runs of a pipeline (`agents/triggers`): its rights, what it mounts, and its memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components.agent import lease as agent_lease
from tensorplane.components.agent.agent import TO_API_SERVER, Agent, Mount, Resources, Rights, Volume, pod_labels
from tensorplane.components.base.labels import labels
from tensorplane.components.base.names import digest
from tensorplane.components.base.sdk import k8s, pulumi

NAME_SUFFIX = "-triggers"
"""What the names of the agent's objects end with, after the pipeline's name."""
_COMPONENT = "triggers"
_DESCRIPTION = "/etc/tensorplane/triggers"
_FILE = "triggers.json"
_TMP_MIB = 16


def declare(
    pipeline: str,
    description: Mapping[str, Any],
    *,
    image: str,
    volumes: Sequence[Volume],
    namespace: pulumi.Input[str],
    depends_on: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> None:
    """Creates the agent.

    `description`: what the agent's `TriggerSpec.read` reads. `image`: one with Python. `depends_on`: the pipeline, and
    what the volumes need.
    """
    name, of_all = f"{pipeline}{NAME_SUFFIX}", labels(pipeline, _COMPONENT)
    memory = k8s.core.v1.ConfigMap(
        f"{name}-kept",
        metadata={"name": name, "namespace": namespace, "labels": of_all},
        data={},
        # The agent writes it.
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["data"])),
    )
    agent = Agent(
        "triggers",
        name=name,
        component=_COMPONENT,
        namespace=namespace,
        image=image,
        resources=Resources(cpu="10m", memory="32Mi", memory_limit="128Mi"),
        rights=[Rights(name, [*_rules(name, pipeline), agent_lease.rule(name)], namespace)],
        egress=[TO_API_SERVER],
        leased=True,
        opts=opts,
    )
    text = json.dumps(description, sort_keys=True)
    made = k8s.core.v1.ConfigMap(
        f"{name}-settings",
        metadata={"name": f"{name}-{digest(text)}", "namespace": namespace, "labels": of_all},
        immutable=True,
        data={_FILE: text},
        opts=opts,
    )
    pod = agent.pod(
        [f"{_DESCRIPTION}/{_FILE}", namespace, name],
        mounts=[
            Mount({"name": "settings", "config_map": {"name": made.metadata["name"]}}, _DESCRIPTION),
            *(volume.mount for volume in volumes),
        ],
        tmp_mib=_TMP_MIB,
    )
    agent.deployment(pod, depends_on=[memory, *depends_on], pod_labels=pod_labels(volumes))


def _rules(name: str, pipeline: str) -> list[k8s.rbac.v1.PolicyRuleArgsDict]:
    """The pipeline's objects by name; RBAC cannot limit Workflows, whose names are hashes, to a label."""
    return [
        {"api_groups": [""], "resources": ["configmaps"], "resource_names": [name], "verbs": ["get", "patch"]},
        {"api_groups": [""], "resources": ["events"], "verbs": ["create"]},
        {
            "api_groups": ["argoproj.io"],
            "resources": ["workflowtemplates"],
            "resource_names": [pipeline],
            "verbs": ["get"],
        },
        {"api_groups": ["argoproj.io"], "resources": ["workflows"], "verbs": ["get", "list", "create"]},
    ]
