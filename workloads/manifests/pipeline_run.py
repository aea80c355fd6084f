"""A run of a pipeline: a Workflow of its WorkflowTemplate, whose name says what it runs on.

The name is a hash of what decides the stages' results and of the versions that the run begins with. So whoever starts a
run twice, and however often, starts one.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from components import versions
from components.base.labels import PIPELINE, SOURCES
from components.base.names import digest_of

HASH = 16
"""Characters of the hash in a run's name: with two runs of one name, the second would not be started."""
MANAGER = "tensorplane-runs"
"""Field manager of Workflows."""
ENTRY = "pipeline"
"""The template that has the stages."""
STEPS = ("plan", "work", "commit", "job", "keep", "clean")
"""Templates of a stage, after its name and a dash."""
WORKFLOWS, TEMPLATES = "workflows", "workflowtemplates"


class Source(NamedTuple):
    """A branch of a dataset that a run begins with."""

    dataset: str
    branch: str


def path(kind: str, namespace: str, name: str = "") -> str:
    """The path of Argo's objects of a kind in the API, or of one."""
    return f"/apis/{versions.ARGO_API}/namespaces/{namespace}/{kind}{f'/{name}' if name else ''}"


def sources(template: Mapping[str, Any]) -> dict[str, Source]:
    """What runs of a WorkflowTemplate begin with, by the names of their parameters."""
    found = json.loads(template["metadata"]["annotations"][SOURCES])
    return {name: Source(**each) for name, each in found.items()}


def workflow(template: Mapping[str, Any], commits: Mapping[str, str]) -> dict[str, Any]:
    """The run of a WorkflowTemplate on these commits, by the names of its parameters."""
    about = template["metadata"]
    decisive = [about["annotations"][PIPELINE], dict(commits)]
    return {
        "apiVersion": versions.ARGO_API,
        "kind": "Workflow",
        "metadata": {
            "name": f"{about['name']}-{digest_of(decisive, HASH)}",
            "namespace": about["namespace"],
            "labels": dict(about["labels"]),
        },
        "spec": {
            "workflowTemplateRef": {"name": about["name"]},
            "arguments": {"parameters": [{"name": name, "value": commits[name]} for name in sorted(commits)]},
        },
    }
