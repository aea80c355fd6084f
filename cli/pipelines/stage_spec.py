"""What a stage was in a run: image, command, inputs and output, as the Workflow's templates have them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue import workloads
from tensorplane.cli.pipelines import workflow
from tensorplane.components.base.labels import STAGE
from tensorplane.workloads.pipeline import run as pipeline_run


@dataclass(frozen=True)
class Input:
    """A dataset that a stage reads."""

    dataset: str
    path: str
    """Its folder in the pods."""
    split: str
    """How it is split: whole, file, directory, or batches."""
    commit: str = ""
    """Empty as long as the stage has not begun."""


@dataclass(frozen=True)
class StageSpec:
    """A stage."""

    after: tuple[str, ...]
    """The stages that it waits for."""
    image: str = ""
    command: tuple[str, ...] = ()
    params: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, Input] = field(default_factory=dict)
    """By their names in the settings."""
    output: str = ""
    """The dataset that it writes."""
    publishes_to: str = ""
    """The model server that gets its input, in place of a program."""
    asks: str = ""
    """The model server that its program asks."""
    is_job: bool = False
    parallel: int = 1
    """The most pods at once."""


def of(run: Object, stage: str) -> StageSpec:
    """A stage of a run; without what only the templates know as long as Argo has not looked at the run."""
    templates = workflow.templates(run)
    tasks = (templates.get(pipeline_run.ENTRY) or {"dag": {"tasks": ()}})["dag"]["tasks"]
    after = tuple(workflow.before(_get(tasks, f"{stage}-plan")))
    text = ((templates.get(stage) or {}).get("metadata") or {}).get("annotations", {}).get(STAGE)
    if not text:
        return StageSpec(after)
    about = json.loads(text)
    decisive = about["decisive"]
    plan: workflow.Node = next(
        (one for one in workflow.nodes(run).values() if workflow.step_of(one, stage) == "plan"), {}
    )
    return StageSpec(
        after,
        decisive.get("image") or "",
        tuple(decisive.get("command") or ()),
        dict(decisive.get("params") or {}),
        {one["name"]: _input(one, decisive.get("paths") or {}, plan) for one in about["inputs"]},
        about["dataset"],
        decisive.get("publish") or "",
        decisive.get("server") or "",
        is_job=about["shared_out"],
        parallel=int((templates.get(stage) or {}).get("parallelism") or 1),
    )


def requests(run: Object, template: str) -> dict[str, float]:
    """What the pods of a template ask for: cores, bytes of memory, devices; empty if it is not known."""
    found = workflow.templates(run).get(template) or {}
    several = (found.get("containerSet") or {}).get("containers")
    containers = several or ([found["container"]] if "container" in found else [])
    return dict(workloads.requests({"containers": containers}))


def _input(one: Mapping[str, Any], paths: Mapping[str, str], plan: workflow.Node) -> Input:
    name = one["name"]
    return Input(one["dataset"], paths.get(name, f"/in/{name}"), _split(one), workflow.given(plan, name))


def _split(one: Mapping[str, Any]) -> str:
    return f"batch of {one['batch']}" if one["batch"] else str(one["by"])


def _get(things: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next((one for one in things if one["name"] == name), {})
