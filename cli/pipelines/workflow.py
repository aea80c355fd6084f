"""A run's Workflow as Argo keeps it: its nodes, the stages of its template, its states and what its steps said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from graphlib import TopologicalSorter
from typing import Any

from tensorplane.agents.steps.workflow import nodes as nodes
from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object, moment
from tensorplane.components.base.labels import NAME
from tensorplane.core.errors import UserError
from tensorplane.stack_file.nearest import did_you_mean
from tensorplane.workloads.pipeline import run as pipeline_run

Node = Mapping[str, Any]
_STATES = {
    "Pending": "waiting",
    "Running": "running",
    "Succeeded": "finished",
    "Skipped": "finished",
    "Omitted": "omitted",
    "Failed": "failed",
    "Error": "failed",
}
_END_OF_ARGO = "Error: exit status "
"""How the program of a container has ended."""
_PLAN, _COMMITTED = "-plan", "-commit.Succeeded"
ENDS = frozenset({"finished", "failed", "cancelled", "omitted"})
"""States that do not change any more."""


def state_of(workflow: Object) -> str:
    """waiting, running, finished, failed or cancelled."""
    phase = (workflow.get("status") or {}).get("phase") or "Pending"
    if workflow["spec"].get("shutdown") and phase in ("Failed", "Error"):
        return "cancelled"
    return word(phase)


def word(phase: str) -> str:
    """The state of a node or Workflow in a phase."""
    return _STATES.get(phase, "running")


def pipeline_of(workflow: Object) -> str:
    """The name of its pipeline; empty for other Workflows."""
    return str((workflow["metadata"].get("labels") or {}).get(NAME, ""))


def templates(workflow: Object) -> dict[str, Mapping[str, Any]]:
    """The templates that the run began with, by name; empty until Argo has looked at it."""
    stored = (workflow.get("status") or {}).get("storedWorkflowTemplateSpec") or {}
    return {one["name"]: one for one in stored.get("templates") or ()}


def has_jobs(workflow: Object) -> bool:
    """Whether a stage of it is a job; false until Argo has looked at it."""
    return any("resource" in one for one in templates(workflow).values())


def stages(workflow: Object) -> list[str]:
    """Its stages, each after those that it waits for: all once Argo has looked at it, else those that have begun."""
    if entry := templates(workflow).get(pipeline_run.ENTRY):
        tasks = {task["name"]: task for task in entry["dag"]["tasks"]}
        after = {name: before(plan) for name in tasks if (plan := tasks.get(f"{name}{_PLAN}"))}
        # The checks refuse stages that wait for each other.
        return list(TopologicalSorter(after).static_order())
    plans = [one for one in nodes(workflow).values() if one["type"] == "Suspend" and _is_plan(one)]
    ordered = sorted(plans, key=lambda one: (one.get("startedAt") or "", one["name"]))
    return [one["templateName"].removesuffix(_PLAN) for one in ordered]


def before(plan: Mapping[str, Any]) -> list[str]:
    """The stages that one waits for, by the task of its plan in the template of all."""
    names = (plan.get("depends") or "").split("&&")
    return [name.strip().removesuffix(_COMMITTED) for name in names if name]


def _is_plan(node: Node) -> bool:
    return str(node.get("templateName", "")).endswith(_PLAN)


def step_of(node: Node, stage: str) -> str:
    """Which step of a stage a node is: plan, work, keep, job, commit or clean; empty for nodes of others."""
    name = str(node.get("templateName", ""))
    step = name.removeprefix(f"{stage}-")
    return step if step in pipeline_run.STEPS and name == f"{stage}-{step}" else ""


def given(node: Node, name: str) -> str:
    """A parameter that a node was given; empty without."""
    return _parameter(node.get("inputs"), name)


def output(node: Node, name: str) -> str:
    """A parameter that a node has put out; empty as long as it has not."""
    return _parameter(node.get("outputs"), name)


def _parameter(of: Mapping[str, Any] | None, name: str) -> str:
    parameters: Iterable[Mapping[str, Any]] = (of or {}).get("parameters") or ()
    return next((str(one.get("value", "")) for one in parameters if one["name"] == name), "")


def seconds(about: Mapping[str, Any], now: datetime) -> float | None:
    """How long a node or Workflow has run so far, or did."""
    start, end = moment(about.get("startedAt")), moment(about.get("finishedAt"))
    return ((end or now) - start).total_seconds() if start else None


def is_of_argo(line: str) -> bool:
    """Whether a line of a log is by Argo's executor, which starts a container's program."""
    return (line.startswith('time="') and " argo=true" in line) or line.startswith(_END_OF_ARGO)


def of_name(access: Access, name: str) -> list[Object]:
    """The runs of a pipeline, or the one run of this name, the newest first. A UserError if there is none."""
    there = access.api.items(pipeline_run.path(pipeline_run.WORKFLOWS, access.namespace))
    if found := chosen(there, name):
        return found
    known = sorted({*declared(access), *filter(None, map(pipeline_of, there))})
    if name in known:
        raise UserError(f"{name}: has no run; start one with: {access.command(f'runs start {name}')}")
    remedy = f"choose one of {', '.join(known)}{did_you_mean(name, known)}" if known else "declare a pipeline"
    raise UserError(f"{name}: no pipeline of stack {access.stack} and no run has this name; {remedy}")


def chosen(workflows: Iterable[Object], name: str) -> list[Object]:
    """Those of a pipeline, or the one of this name, the newest first."""
    found = [one for one in workflows if pipeline_of(one) and name in (pipeline_of(one), one["metadata"]["name"])]
    return sorted(found, key=lambda one: str(one["metadata"].get("creationTimestamp")), reverse=True)


def declared(access: Access) -> list[str]:
    """The pipelines of the stack's settings."""
    about = access.declared.items()
    return sorted(name for name, one in about if isinstance(one, Mapping) and one.get("kind") == "pipeline")


ONE_TIME_STEPS = ("plan", "commit")
"""Steps that a stage takes once."""
_STEPS_AFTER = ("keep", "commit")
"""Steps after the program."""


def step_messages(run: Object, stage: str) -> dict[tuple[str, int], str]:
    """By step and the number of the part, 0 for those that are taken once, in their order."""
    found = {}
    for node in nodes(run).values():
        step, text = step_of(node, stage), node.get("message")
        if step in (*ONE_TIME_STEPS, *_STEPS_AFTER) and text and node["phase"] == "Succeeded":
            found[step, int(given(node, "item") or 0)] = str(text)
    return dict(sorted(found.items(), key=lambda item: line_order(item[0])))


def line_order(member: tuple[str, int]) -> tuple[int, str, int]:
    """Where the lines of a step, of a part or of a pod of a job come."""
    role, index = member
    return (0 if role == "plan" else 2 + _STEPS_AFTER.index(role) if role in _STEPS_AFTER else 1, role, index)
