"""Workflows of Argo: their templates are pods for every rule, and a pipeline's count for the quota."""

from __future__ import annotations

from typing import Any

from tests.policies.conftest import Judge, Violations
from tests.policies.stacks import CONTAINER, Resource, raw, workload

_TOKEN = "argoproj.io/v1alpha1:WorkflowTemplate"


def _template(*templates: dict[str, Any], parent: str = "", **spec: Any) -> Resource:
    return raw(_TOKEN, "photos", {"templates": list(templates), **spec}, parent=parent)


def test_a_pipeline_counts_as_it_registers_and_no_less_than_one_pod_of_each_template(violations: Violations) -> None:
    made = _template({"name": "a", "container": CONTAINER}, {"name": "b", "container": CONTAINER}, parent="photos")
    assert violations(workload("Pipeline", "photos", gpus=8), made, maxGpus=8) == []
    (message,) = violations(workload("Pipeline", "photos", gpus=8), made, maxGpus=7)
    assert "request 8 GPUs" in message
    (message,) = violations(workload("Pipeline", "photos", gpus=1), made, maxGpus=1)
    assert "request 2 GPUs" in message


def test_a_template_of_somebody_else_is_refused(violations: Violations) -> None:
    (message,) = violations(_template({"name": "a", "container": CONTAINER}), maxGpus=64)
    assert "how many pods a WorkflowTemplate runs is not known here" in message


def test_rules_about_pods_see_templates_with_what_the_workflow_states_for_all(judge: Judge) -> None:
    def found(**spec: Any) -> str:
        context = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        one = {"name": "a", "script": {"name": "main", "image": "a", "securityContext": context}}
        told = judge("*", [_template(one, **spec)], {})
        return "\n".join(message for messages in told.values() for message in messages)

    restricted = {"securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}}
    assert "runAsNonRoot" in found()
    assert "runAsNonRoot" not in found(**restricted)
    assert "`spec.templates.0.hostNetwork` joins a namespace of the node" in found(**restricted, hostNetwork=True)
