"""The alerts about agents: queries that Prometheus takes, about Leases that the stack creates."""

from __future__ import annotations

import re
from typing import Any

import promql_parser

from tensorplane.components.agent import alerts as agent_alerts
from tests.support import goldens
from tests.support.problems import dev
from tests.support.rendered_files import rendered_tree

_OF_LEASES = {
    "kube_lease_renew_time": frozenset({"namespace", "lease"}),
    "kube_lease_owner": frozenset({"namespace", "lease", "lease_holder", "owner_kind", "owner_name"}),
}
"""Metrics of kube-state-metrics about Leases, and their labels."""


def test_the_setting_creates_alerts_about_the_leases_of_stacks() -> None:
    tree: dict[str, Any] = {**dev(), "controllers": {"agentAlerts": True}}
    made = rendered_tree(tree)
    (group,) = made.one("PrometheusRule", "agent-alerts").inputs["spec"]["groups"]
    rows = [row for stack in goldens.STACKS for row in goldens.rows(stack)]
    names = [row["inputs"]["metadata"]["name"] for row in rows if row["type"].endswith(":Lease")]
    assert names
    for rule in group["rules"]:
        promql_parser.parse(rule["expr"])
        ((metric, matchers),) = re.findall(r"(kube_\w+){(.+)}", rule["expr"])
        by_label = dict(re.findall(r'(\w+)=~?"([^"]*)"', matchers))
        assert by_label.keys() <= _OF_LEASES[metric]
        pattern = by_label["lease"]
        assert all(re.fullmatch(pattern, name) for name in names)
    assert rendered_tree(dev()).all("PrometheusRule") == []


def test_they_are_about_the_namespaces_of_the_stack_alone() -> None:
    first, second = (rule["expr"] for rule in agent_alerts.rules(["lab", "vision"]))
    assert first == 'time() - kube_lease_renew_time{namespace=~"lab|vision", lease=~"agent[.].+"} > 300'
    assert second == 'kube_lease_owner{namespace=~"lab|vision", lease=~"agent[.].+", lease_holder=""} == 1'
