"""Starts and stops runs of pipelines."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from cli import stack_config
from cli.access import Access
from cli.commands.data import remote
from cli.commands.data.remote import Question
from cli.pipelines import workflow as workflows
from cli.pipelines.workflow import state_of
from driver import advice
from embedded.fault import Fault
from stack import ResolvedStack
from stack_file.nearest import did_you_mean
from workloads.manifests import pipeline_run
from workloads.manifests.pipeline_run import MANAGER, TEMPLATES, WORKFLOWS, Source

_SECONDS_TO_DELETE = 120
_POLL_SECONDS = 0.5


def run(pipeline: str, stack: str, context: str, account: str) -> str:
    """Start a run on the newest versions, and say so. A Fault if one of its datasets has no version."""
    access = Access.of(stack, None, context)
    template = _template(access, pipeline)
    resolved = stack_config.load(stack_config.file(stack))
    return submit(access, pipeline_run.workflow(template, newest(access, resolved, template, account)))


def newest(access: Access, resolved: ResolvedStack, template: Mapping[str, Any], account: str) -> dict[str, str]:
    """The newest commits that a run can begin with, by the names of its parameters. A Fault if there is none."""
    return {name: _newest(access, resolved, source, account) for name, source in pipeline_run.sources(template).items()}


def submit(access: Access, workflow: Mapping[str, Any]) -> str:
    """Create a run unless it exists and has not failed; what came of it."""
    name = workflow["metadata"]["name"]
    path = pipeline_run.path(WORKFLOWS, access.namespace, name)
    there = access.api.get(path)
    watch = f"watch it with: {access.command('runs')}"
    state = state_of(there) if there else ""
    if state == "finished":
        return f"{name}: has finished already; commit a new version for another run"
    if state and state not in ("failed", "cancelled"):
        return f"{name}: is {state} already; {watch}"
    if state:
        _delete(access, path)
    access.api.apply(path, dict(workflow), MANAGER)
    begun = "started again; parts that are done are not repeated" if state else "started"
    return f"{name}: {begun}; {watch}"


def _delete(access: Access, path: str) -> None:
    """Delete a run that failed, and wait until its pods are gone, too."""
    access.api.delete(path, propagationPolicy="Foreground")
    until = time.monotonic() + _SECONDS_TO_DELETE
    while access.api.get(path):
        if time.monotonic() > until:
            raise Fault(f"{path.rpartition('/')[2]}: its former run is still being deleted; try again in a minute")
        time.sleep(_POLL_SECONDS)


def cancel(run: str, stack: str, context: str) -> str:
    """Stop a run. A Fault if it has ended, or there is none."""
    access = Access.of(stack, None, context)
    path = pipeline_run.path(WORKFLOWS, access.namespace, run)
    there = access.api.get(path)
    if there is None:
        names = [one["metadata"]["name"] for one in access.api.items(pipeline_run.path(WORKFLOWS, access.namespace))]
        remedy = f"choose one of {', '.join(sorted(names))}{did_you_mean(run, names)}" if names else "there is none"
        raise Fault(f"{run}: no run has this name; {remedy}")
    if (state := state_of(there)) in ("finished", "failed", "cancelled"):
        raise Fault(f"{run}: has {state} already, so there is nothing to cancel")
    about = {"apiVersion": there["apiVersion"], "kind": "Workflow", "metadata": {"name": run}}
    # A manager of its own: it owns this field alone.
    access.api.apply(path, {**about, "spec": {"shutdown": "Terminate"}}, f"{MANAGER}-cancel")
    return f"{run}: cancelled; results of parts that are done stay for the next run"


def _template(access: Access, pipeline: str) -> dict[str, Any]:
    if found := access.api.get(pipeline_run.path(TEMPLATES, access.namespace, pipeline)):
        return found
    declared = workflows.declared(access)
    if pipeline in declared:
        raise Fault(f"{pipeline}: is not deployed yet; deploy it with: {advice.deploy(access.stack, access.context)}")
    remedy = f"choose one of {', '.join(declared)}{did_you_mean(pipeline, declared)}" if declared else "declare one"
    raise Fault(f"{pipeline}: no pipeline of stack {access.stack} has this name; {remedy}")


def _newest(access: Access, resolved: ResolvedStack, source: Source, account: str) -> str:
    question = Question(source.dataset, source.branch, access.stack, access.context, account)
    args = remote.declared(resolved, source.dataset)
    with remote.running(access.api, resolved, question, args, read_only=True) as dataset:
        branches = dataset.ask("branches", {})["branches"]
    if source.branch in branches:
        return str(branches[source.branch]["id"])
    put = access.command(f"data put {source.dataset} FOLDER --branch {source.branch}")
    raise Fault(f"{source.dataset}: branch {source.branch} has no version; commit one with: {put}")
