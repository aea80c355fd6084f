"""A run of a pipeline, the same Workflow that `tensorplane runs start` makes, whose name has a hash of what decides the
stages' results and of the commits that it begins with, and one of the commits that it replaces
(`workloads/pipeline/run.py`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

API = "argoproj.io/v1alpha1"
PIPELINE = "tensorplane.dev/pipeline"
"""Annotation of a WorkflowTemplate: a digest of what decides the results of its stages."""
_HASH, _OF_WHAT = 16, 10
LOOKED_BACK = 100
"""The most versions of an output among which one that another program made is looked for."""


def beginning(template: Mapping[str, Any], commits: Mapping[str, str]) -> str:
    """What the names of all runs of a WorkflowTemplate on these commits begin with."""
    return f"{template['metadata']['name']}-{_digest([pipeline_of(template), dict(commits)], _OF_WHAT)}"


def begins(run: str, beginning: str) -> bool:
    """Whether a run's name begins so."""
    return run.startswith(beginning) and len(run) == len(beginning) + _HASH - _OF_WHAT


def are_of_one(run: str, other: str) -> bool:
    """Whether runs, or the beginnings of their names, are of one pipeline."""
    return run.rpartition("-")[0] == other.rpartition("-")[0]


def maker(commit: Mapping[str, Any]) -> str:
    """The run that made a version; empty if none did."""
    return str(commit["provenance"].get("run", ""))


def workflow(template: Mapping[str, Any], commits: Mapping[str, str], replaces: Mapping[str, str]) -> dict[str, Any]:
    """The run of a WorkflowTemplate on these commits, by the names of its parameters. `replaces`: the commit of each
    output that it replaces; empty for an output without one.
    """
    about = template["metadata"]
    return {
        "apiVersion": API,
        "kind": "Workflow",
        "metadata": {
            "name": f"{beginning(template, commits)}{_digest(dict(replaces), _HASH - _OF_WHAT)}",
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


def _digest(value: Any, length: int) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:length]
