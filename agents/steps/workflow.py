"""The steps that a pipeline's runs wait for: nodes of type Suspend in Workflows, whose outputs the agent supplies."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

STAGE = "tensorplane.dev/stage"
"""Annotation of the template of a stage: what its steps have to know, as the library's `stages/description.py` reads
it."""
STEPS = ("plan", "keep", "commit", "clean")
_ENDED_PHASES = ("Succeeded", "Failed", "Error", "Skipped", "Omitted")

Workflow = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """A step that a run waits for."""

    run: str
    node: str
    """Id of the Workflow's node."""
    name: str
    """One of STEPS."""
    stage: str
    """The description of its stage, in JSON."""
    inputs: Mapping[str, str]
    is_over: bool = False
    """Whether its stage's pods have ended, well or not."""

    @property
    def key(self) -> tuple[str, str]:
        """Run and node."""
        return self.run, self.node


def list_steps(workflow: Workflow) -> Iterator[Step]:
    """The steps that a run waits for; none of one that is cancelled."""
    if workflow["spec"].get("shutdown"):
        return
    templates, there = _templates(workflow), nodes(workflow)
    over = {one["templateName"] for one in there.values() if one["type"] == "DAG" and one["phase"] in _ENDED_PHASES}
    for node, about in there.items():
        if is_waiting(about) and (found := templates.get(about["templateName"])):
            stage, step, text = found
            given = (about.get("inputs") or {}).get("parameters") or ()
            inputs = {one["name"]: str(one.get("value", "")) for one in given}
            yield Step(workflow["metadata"]["name"], node, step, text, inputs, is_over=stage in over)


def is_waiting(node: Mapping[str, Any]) -> bool:
    """Whether a node waits for somebody to supply its outputs."""
    return (node["type"], node["phase"]) == ("Suspend", "Running")


def nodes(workflow: Workflow) -> dict[str, Any]:
    """Its nodes by id. Argo compresses those of large Workflows."""
    status = workflow.get("status") or {}
    if packed := status.get("compressedNodes"):
        found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
        return found
    return dict(status.get("nodes") or {})


def node_patch(workflow: Workflow, node: str, change: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch that changes a node, if the Workflow is as it was read."""
    if (workflow.get("status") or {}).get("compressedNodes"):
        there = nodes(workflow)
        text = json.dumps({**there, node: {**there[node], **change}})
        status: dict[str, Any] = {"compressedNodes": base64.b64encode(gzip.compress(text.encode())).decode()}
    else:
        status = {"nodes": {node: change}}
    return {"metadata": {"resourceVersion": workflow["metadata"]["resourceVersion"]}, "status": status}


def _templates(workflow: Workflow) -> dict[str, tuple[str, str, str]]:
    """The templates of steps that the run began with: the stage, the step, and the description of the stage."""
    stored = (workflow.get("status") or {}).get("storedWorkflowTemplateSpec") or {}
    found: dict[str, tuple[str, str, str]] = {}
    for one in stored.get("templates") or ():
        if text := ((one.get("metadata") or {}).get("annotations") or {}).get(STAGE):
            found |= {f"{one['name']}-{step}": (one["name"], step, text) for step in STEPS}
    return found
