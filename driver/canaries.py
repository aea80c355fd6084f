"""Versions that the canaries of model servers try: their part of the requests, and what their gates wait for."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tensorplane.components.base.plural import number_of
from tensorplane.core.kube import Kube
from tensorplane.workloads.model_server.canary.controller_objects import (
    ACCURACY,
    FILE,
    NAME_SUFFIX,
    STATE_KEY,
    Gate,
    Rollout,
    RolloutSpec,
    RolloutState,
)


def get_spec(api: Kube, namespace: str, server: str) -> RolloutSpec | None:
    """What the controller of a server's rollouts reads; None without a canary."""
    controller = api.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{server}{NAME_SUFFIX}") or {}
    mounted = controller.get("spec", {}).get("template", {}).get("spec", {}).get("volumes", ())
    for name in (one["configMap"]["name"] for one in mounted if one.get("configMap")):
        if text := _data(api, namespace, name).get(FILE):
            return RolloutSpec.read(json.loads(text))
    return None


def get_state(api: Kube, namespace: str, server: str) -> RolloutState | None:
    """The state of a server's rollouts; None without a canary, and before the first look of its controller."""
    text = _data(api, namespace, f"{server}{NAME_SUFFIX}").get(STATE_KEY)
    return RolloutState.from_json(text) if text else None


def describe_trial(api: Kube, namespace: str, server: str) -> str:
    """`version 2 with about 25 % of the requests; its gate waits for errorRate of 200 requests`; empty unless a version
    is tried whose gate has not decided.
    """
    state = get_state(api, namespace, server)
    if state is None or state.canary is None or state.promoting:
        return ""
    if (found := get_spec(api, namespace, server)) is None:
        return ""
    waits = " and ".join(map(_waits, found.rollout.gates))
    return f"version {state.canary} with {_part(found.rollout)}; its gate waits for {waits}"


def _part(rollout: Rollout) -> str:
    if rollout.percent:
        return f"{rollout.percent} % of the Gateway's requests"
    # A server of one replica keeps it beside the canary.
    among = max(rollout.replicas, rollout.canary_replicas + 1)
    return f"about {100 * rollout.canary_replicas / among:.0f} % of the requests"


def _waits(gate: Gate) -> str:
    if gate.metric == ACCURACY and not gate.min_requests:
        return f"{gate.metric} on the held-out examples"
    return f"{gate.metric} of {number_of(max(1, gate.min_requests), 'request')}"


def _data(api: Kube, namespace: str, config_map: str) -> Mapping[str, str]:
    found = api.get(f"/api/v1/namespaces/{namespace}/configmaps/{config_map}") or {}
    return found.get("data") or {}
