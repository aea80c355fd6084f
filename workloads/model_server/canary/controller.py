"""The controller of a model server's rollouts (`agents/rollout`): its rights, what it mounts, and what it remembers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.agent import lease as agent_lease
from tensorplane.components.agent.agent import TO_API_SERVER, Agent, Mount, Resources, Rights, Volume, pod_labels
from tensorplane.components.base.labels import NAME, labels
from tensorplane.components.base.names import digest
from tensorplane.workloads.model_server.canary.controller_objects import FILE, NAME_SUFFIX

_DESCRIPTION = "/etc/tensorplane/rollout"
_TMP_MIB = 16


@dataclass(frozen=True)
class Request:
    """What a model server asks of its controller."""

    server: str
    image: str
    """An image with Python."""
    description: Mapping[str, Any]
    """What the agent's `RolloutSpec.read` reads, and the texts of the model config file."""
    volumes: Sequence[Volume]
    config_maps: Sequence[str]
    """Names of the model config files, which the controller writes."""
    deployments: Sequence[str]
    """Names of the Deployments, whose replicas it sets."""
    rest_port: int
    routes: Sequence[str] = ()
    """Plural names of the kinds of the routes with the server's name, whose backends it writes."""


def declare(
    request: Request,
    *,
    namespace: pulumi.Input[str],
    depends_on: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> None:
    """Creates the controller. `depends_on`: what it writes to."""
    name = f"{request.server}{NAME_SUFFIX}"
    memory = k8s.core.v1.ConfigMap(
        f"{name}-kept",
        metadata={"name": name, "namespace": namespace, "labels": labels(request.server, "rollout")},
        data={},
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["data"])),
    )
    agent = Agent(
        "rollout",
        name=name,
        component="rollout",
        namespace=namespace,
        image=request.image,
        resources=Resources(cpu="10m", memory="32Mi", memory_limit="128Mi"),
        rights=[Rights(name, [*_rules(name, request), agent_lease.rule(name)], namespace)],
        egress=[TO_API_SERVER, _to_servers(request)],
        policy_types=["Egress"],
        leased=True,
        opts=opts,
    )
    text = json.dumps(request.description, sort_keys=True)
    made = k8s.core.v1.ConfigMap(
        f"{name}-settings",
        metadata={
            "name": f"{name}-{digest(text)}",
            "namespace": namespace,
            "labels": labels(request.server, "rollout"),
        },
        immutable=True,
        data={FILE: text},
        opts=opts,
    )
    pod = agent.pod(
        [f"{_DESCRIPTION}/{FILE}", namespace],
        mounts=[
            Mount({"name": "rollout", "config_map": {"name": made.metadata["name"]}}, _DESCRIPTION),
            *(volume.mount for volume in request.volumes),
        ],
        tmp_mib=_TMP_MIB,
    )
    agent.deployment(pod, depends_on=[memory, *depends_on], pod_labels=pod_labels(request.volumes))


def _to_servers(request: Request) -> k8s.networking.v1.NetworkPolicyEgressRuleArgsDict:
    return {
        "to": [{"pod_selector": {"match_labels": {NAME: request.server}}}],
        "ports": [{"protocol": "TCP", "port": request.rest_port}],
    }


def _rules(name: str, request: Request) -> list[k8s.rbac.v1.PolicyRuleArgsDict]:
    """The server's objects by name; RBAC cannot limit pods to a label."""
    of_routes: list[k8s.rbac.v1.PolicyRuleArgsDict] = [
        {
            "api_groups": ["gateway.networking.k8s.io"],
            "resources": [kind],
            "resource_names": [request.server],
            "verbs": ["get", "patch"],
        }
        for kind in request.routes
    ]
    return [
        {
            "api_groups": [""],
            "resources": ["configmaps"],
            "resource_names": [name, *request.config_maps],
            "verbs": ["get", "patch"],
        },
        {
            "api_groups": ["apps"],
            "resources": ["deployments/scale"],
            "resource_names": [*request.deployments],
            "verbs": ["get", "patch"],
        },
        # An annotation makes the kubelet update a pod's files at once.
        {"api_groups": [""], "resources": ["pods"], "verbs": ["list", "patch"]},
        {"api_groups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
        {"api_groups": [""], "resources": ["events"], "verbs": ["create"]},
        *of_routes,
    ]
