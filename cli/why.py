"""`tensorplane why JOB`: why a job waits, runs or was stopped, and what would let it start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from cli import queue_facts, queue_room, queue_work, reach, tier_table, why_text
from cli.queue_facts import Facts, Object
from cli.why_answer import Answer, Asked
from components.faults import did_you_mean
from components.labels import NAME
from embedded.fault import Fault
from embedded.hosts.stack_settings import StackSettings
from embedded.kube import Kube
from embedded.target import Target


@dataclass(frozen=True)
class Question:
    """What somebody wants to know."""

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
    found = ask(reach.reached(target), settings.namespace, question.job, settings.section("workloads"))
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
        console.print("", tier_table.table(found.headings, found.rows))
    for index, line in enumerate(found.after):
        console.print(Text(line) if index else Text(f"\n{line}"))
    for note in found.notes:
        console.print(Text(f"not asked: {note}", style="yellow"))


def ask(api: Kube, namespace: str, job: str, declared: Mapping[str, Any]) -> Answer:
    """The answer of a cluster. `declared`: the workloads of the settings."""
    # A job without a queue can fail, too, on a cluster that has none.
    facts = queue_facts.gather(api, namespace, also=job.rpartition("/")[0], needs_kueue=False)
    job_set = named(facts, job, declared)
    works = queue_work.works(facts)
    work = next((each for each in works if each.owner == job_set["metadata"]["uid"]), None)
    details = queue_facts.details(api, job_set, work.cluster_queue if work else None)
    room = queue_room.of(facts, works)
    found = why_text.answer(Asked(job_set, work, works, facts, details, room, datetime.now(UTC)))
    return replace(found, notes=tuple(facts.notes))


def named(facts: Facts, job: str, declared: Mapping[str, Any]) -> Object:
    """The job's JobSet; of several runs the newest. A Fault where there is none."""
    runs = sorted(facts.job_sets, key=lambda one: str(one["metadata"]["creationTimestamp"]), reverse=True)
    for name_of in (_workload, _plain, _full):
        for one in runs:
            if name_of(one, facts.namespace) == job:
                return one
    kind = (declared.get(job) or {}).get("kind") if isinstance(declared.get(job), Mapping) else None
    if kind and kind != "trainingJob":
        raise Fault(f"{job}: a {kind}, which no queue admits. Its pods: make status")
    if kind:
        raise Fault(f"{job}: declared, and not in the cluster. Deploy it with: make up")
    names = sorted({_shown(one, facts.namespace) for one in runs} | _training(declared))
    raise Fault(f"{job or 'JOB'}: no such job, have {', '.join(names) or 'none'}{did_you_mean(job, names)}")


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
