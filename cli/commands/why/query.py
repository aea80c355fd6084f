"""Asks a cluster why a job waits, runs or was stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from cli import cluster_api
from cli.api_values import Object
from cli.commands.why import verdict
from cli.commands.why.answer import Answer, Asked
from cli.kueue import facts as queue_facts
from cli.kueue import quota_tree, workloads
from cli.kueue.facts import Facts
from cli.output.tables import table
from components.base.faults import did_you_mean
from components.base.labels import NAME
from driver import advice
from driver.kube import Kube
from driver.stack_settings import STACK, StackSettings, stack_names
from driver.target import Target
from embedded.fault import Fault


@dataclass(frozen=True)
class Question:
    """The command's arguments."""

    job: str
    """A workload of the stack, a JobSet's name, or namespace/name of a team's."""
    stack: str
    context: str = ""
    as_json: bool = False


def run(question: Question, console: Console) -> None:
    """Asks the stack's cluster, and prints."""
    target = Target.of(question.context, stack=question.stack)
    settings = StackSettings(question.stack, target.home)
    settings.source()
    api, declared = cluster_api.reached(target), settings.section("workloads")
    found = ask(api, settings.namespace, question.job, declared, stack=question.stack, context=question.context)
    if question.as_json:
        print(json.dumps(asdict(found), indent=2))
    else:
        show(found, console)


def show(found: Answer, console: Console) -> None:
    """The answer for people."""
    console.print(Text(found.verdict, style="bold"))
    for line in found.lines:
        console.print(Text(line))
    if found.rows:
        console.print("", table(found.headings, found.rows))
    for index, line in enumerate(found.after):
        console.print(Text(line) if index else Text(f"\n{line}"))
    for note in found.notes:
        console.print(Text(f"could not read: {note}", style="yellow"))


def ask(
    api: Kube, namespace: str, job: str, declared: Mapping[str, Any], *, stack: str = STACK, context: str = ""
) -> Answer:
    """The answer of a cluster. `declared`: the workloads of the settings of `stack`."""
    # A job without a queue can fail too, also on a cluster without Kueue.
    facts = queue_facts.gather(api, namespace, also=job.rpartition("/")[0], needs_kueue=False)
    job_set = named(facts, job, declared, stack, context)
    works = workloads.works(facts)
    work = next((each for each in works if each.owner == job_set["metadata"]["uid"]), None)
    details = queue_facts.details(api, job_set, work.cluster_queue if work else None)
    room = quota_tree.of(facts, works)
    deploy, refresh = advice.deploy(stack, context), advice.refresh(stack, context)
    found = verdict.answer(Asked(job_set, work, works, facts, details, room, datetime.now(UTC), deploy, refresh))
    return replace(found, notes=tuple(facts.notes))


def named(facts: Facts, job: str, declared: Mapping[str, Any], stack: str = STACK, context: str = "") -> Object:
    """The job's JobSet; of several runs the newest. A Fault if there is none."""
    runs = sorted(facts.job_sets, key=lambda one: str(one["metadata"]["creationTimestamp"]), reverse=True)
    for name_of in (_workload, _plain, _full):
        for one in runs:
            if name_of(one, facts.namespace) == job:
                return one
    kind = (declared.get(job) or {}).get("kind") if isinstance(declared.get(job), Mapping) else None
    if kind and kind != "trainingJob":
        shown = advice.pods(stack, context)
        raise Fault(f"{job} is a {kind}, which needs no queue; see its pods with: {shown}")
    if kind:
        raise Fault(f"{job} is declared but not in the cluster; deploy it with: {advice.deploy(stack, context)}")
    names = sorted({_shown(one, facts.namespace) for one in runs} | _training(declared))
    have = f"{', '.join(names) or 'none'}{did_you_mean(job, names)}"
    raise Fault(f"{job or 'JOB'}: stack {stack} has no such job; it has {have}{_of_another(job, stack)}")


def _of_another(job: str, stack: str) -> str:
    """The commands for the other stacks of the project: those that declare the job, else any."""
    others = [name for name in stack_names() if name != stack]
    declaring = [name for name in others if job in _declared(name)]
    if not others:
        return ""
    if declaring:
        asks = (f"{advice.make('why', name)} JOB={job}" for name in declaring)
        return f"; declared in {', '.join(declaring)}: {', '.join(asks)}"
    return f"; for another stack ({', '.join(others)}), add STACK=NAME"


def _declared(stack: str) -> Mapping[str, Any]:
    try:
        return StackSettings(stack, Path()).section("workloads")
    except Fault:
        # A file that cannot be read does not answer whether its stack declares the job.
        return {}


def _workload(one: Object, namespace: str) -> str:
    """The name in the settings, of the stack's own jobs."""
    inside = one["metadata"]["namespace"] == namespace
    return str((one["metadata"].get("labels") or {}).get(NAME, "")) if inside else ""


def _plain(one: Object, _: str) -> str:
    return str(one["metadata"]["name"])


def _full(one: Object, _: str) -> str:
    return f"{one['metadata']['namespace']}/{one['metadata']['name']}"


def _shown(one: Object, namespace: str) -> str:
    if one["metadata"]["namespace"] == namespace:
        return _workload(one, namespace) or _plain(one, namespace)
    return _full(one, namespace)


def _training(declared: Mapping[str, Any]) -> set[str]:
    return {name for name, one in declared.items() if isinstance(one, Mapping) and one.get("kind") == "trainingJob"}
