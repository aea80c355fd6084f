"""The pods of Argo Workflows: a template with containers is one, with what the workflow states for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_usage.manifest import Manifest, Path

from stack_view.view import known, maps

_KINDS = frozenset(("argoproj.io", kind) for kind in ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"))
_OF_ALL = (
    *("affinity", "automountServiceAccountToken", "hostNetwork", "nodeSelector", "securityContext"),
    *("serviceAccountName", "tolerations"),
)
"""Fields of a pod's spec that a template inherits from the workflow."""


def has_templates(manifest: Manifest) -> bool:
    """Whether the object is a workflow whose templates `pods` finds."""
    return manifest.type in _KINDS


def pods(manifest: Manifest) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The path and the pod spec of each template that runs containers."""
    workflow = known(manifest.body, "spec") or {}
    for index, template in enumerate(maps(workflow, "templates")):
        containers = [*maps(template, "containerSet", "containers"), *maps(template, "container")]
        containers += maps(template, "script")
        if containers:
            path = ("spec", "templates", str(index))
            yield path, {**_shared(workflow), **template, **_patch(template), "containers": _all(template, containers)}


def _shared(workflow: Mapping[str, Any]) -> dict[str, Any]:
    return {key: workflow[key] for key in _OF_ALL if key in workflow}


def _all(template: Mapping[str, Any], containers: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [*containers, *maps(template, "sidecars")]


def _patch(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a patch without parameters adds to the pod; gpu-quota refuses the accelerators of others."""
    try:
        patch = json.loads(template.get("podSpecPatch") or "{}")
    except (TypeError, ValueError):
        return {}
    return {key: value for key, value in patch.items() if key != "containers"} if isinstance(patch, Mapping) else {}
