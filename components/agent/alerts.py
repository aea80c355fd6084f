"""The alerts about a stack's agents, for the Prometheus operator: kube-state-metrics has the times of their Leases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.agent.health import FAILING_MINUTES
from tensorplane.components.base.labels import labels

if TYPE_CHECKING:
    from tensorplane.components.namespace.component import Namespace

NAME = "agent-alerts"


def declare(namespaces: Sequence[str], namespace: Namespace, opts: pulumi.ResourceOptions) -> pulumi.Resource:
    """Creates the PrometheusRule. `namespaces`: those with agents of the stack."""
    return k8s.apiextensions.CustomResource(
        NAME,
        api_version="monitoring.coreos.com/v1",
        kind="PrometheusRule",
        metadata={"name": NAME, "namespace": namespace.name, "labels": labels(NAME, "alerts")},
        spec={"groups": [{"name": NAME, "rules": rules(namespaces)}]},
        opts=opts,
    )


def rules(namespaces: Sequence[str]) -> list[dict[str, Any]]:
    """One for agents that have ceased to work, one for those that never began."""
    which = f'namespace=~"{"|".join(namespaces)}", lease=~"agent[.].+"'
    return [
        _rule(f"time() - kube_lease_renew_time{{{which}}} > {60 * FAILING_MINUTES}", "1m"),
        _rule(f'kube_lease_owner{{{which}, lease_holder=""}} == 1', f"{FAILING_MINUTES}m"),
    ]


def _rule(expression: str, holds_for: str) -> dict[str, Any]:
    summary = (
        f"{{{{ $labels.lease }}}} in {{{{ $labels.namespace }}}} has not done its work for {FAILING_MINUTES} minutes"
    )
    return {
        "alert": "AgentNotWorking",
        "expr": expression,
        "for": holds_for,
        "labels": {"severity": "warning"},
        "annotations": {"summary": f"{summary}. `tensorplane status` says what that means."},
    }
