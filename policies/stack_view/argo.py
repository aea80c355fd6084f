"""The pods of Argo Workflows: a template with containers is one, with what the workflow states for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_usage.manifest import Manifest, Path

from stack_view.view import known, maps

KINDS = frozenset(("argoproj.io", kind) for kind in ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"))
"""Objects whose templates `pods` finds."""
_CONTAINERS = (("containerSet", "containers"), ("container",), ("script",), ("sidecars",))


def pods(manifest: Manifest) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The path and the pod spec of each template that runs containers."""
    workflow = {**(known(manifest.body, "spec") or {}), "initContainers": []}
    for index, template in enumerate(maps(workflow, "templates")):
        if containers := [one for path in _CONTAINERS for one in maps(template, *path)]:
            # Fields have the same names as in pods; a template's own come before those for all.
            yield ("spec", "templates", str(index)), {**workflow, **template, "containers": containers}
