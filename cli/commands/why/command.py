"""Asks a cluster why a job waits, runs or was stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.why import deployed, reasons
from tensorplane.cli.commands.why.answer import Answer, Observed
from tensorplane.cli.kueue import objects as queue_objects
from tensorplane.cli.kueue import quota_tree, workloads
from tensorplane.cli.output.tables import table
from tensorplane.cli.training_jobs.find import get_job_set
from tensorplane.core import command_lines
from tensorplane.core.command_lines import STACK
from tensorplane.core.kube import Kube


def run(access: Access, job: str, console: Console, *, as_json: bool) -> None:
    """Asks the cluster about a job, and prints."""
    if deployed.is_one(access.declared, job):
        found = deployed.ask(access.api, access.namespace, job)
    else:
        found = explained(access, access.job(job))
    if as_json:
        print(json.dumps(asdict(found), indent=2))
    else:
        show(found, console)


def explained(access: Access, job_set: Object) -> Answer:
    """The answer for a job that was found. What a team's members may not read is no news to them."""
    name = f"{job_set['metadata']['namespace']}/{job_set['metadata']['name']}"
    found = ask(access.api, access.namespace, name, access.declared, stack=access.stack, context=access.context)
    return replace(found, notes=()) if access.team else found


def show(found: Answer, console: Console) -> None:
    """The answer for people."""
    console.print(Text(found.conclusion, style="bold"))
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
    objects = queue_objects.gather(api, namespace, also=job.rpartition("/")[0], needs_kueue=False)
    job_set = get_job_set(objects.job_sets, objects.namespace, job, declared, stack, context)
    works = workloads.works(objects)
    work = next((each for each in works if each.owner == job_set["metadata"]["uid"]), None)
    details = queue_objects.details(api, job_set, work.cluster_queue if work else None)
    quota = quota_tree.of(objects, works)
    deploy, refresh = command_lines.deploy(stack, context), command_lines.refresh(stack, context)
    found = reasons.answer(Observed(job_set, work, works, objects, details, quota, datetime.now(UTC), deploy, refresh))
    return replace(found, notes=tuple(objects.notes))
