"""A run of a pipeline, the same Workflow that `tensorplane runs start` makes: its name is a hash of what decides the
stages' results and of the commits that it begins with."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

API = "argoproj.io/v1alpha1"
PIPELINE = "tensorplane.dev/pipeline"
"""Annotation of a WorkflowTemplate: a digest of what decides the results of its stages."""
_HASH = 16


def workflow(template: Mapping[str, Any], commits: Mapping[str, str]) -> dict[str, Any]:
    """The run of a WorkflowTemplate on these commits, by the names of its parameters."""
    about = template["metadata"]
    decisive = json.dumps([pipeline_of(template), dict(commits)], sort_keys=True)
    return {
        "apiVersion": API,
        "kind": "Workflow",
        "metadata": {
            "name": f"{about['name']}-{hashlib.sha256(decisive.encode()).hexdigest()[:_HASH]}",
            "namespace": about["namespace"],
            "labels": dict(about["labels"]),
        },
        "spec": {
            "workflowTemplateRef": {"name": about["name"]},
            "arguments": {"parameters": [{"name": name, "value": commits[name]} for name in sorted(commits)]},
        },
    }


def pipeline_of(template: Mapping[str, Any]) -> str:
    """The digest of what decides the results of a WorkflowTemplate's stages."""
    return str(template["metadata"]["annotations"][PIPELINE])


def parameters_of(template: Mapping[str, Any]) -> set[str]:
    """The names of its parameters."""
    return {one["name"] for one in template["spec"].get("arguments", {}).get("parameters", ())}
