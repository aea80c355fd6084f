"""Prints the logs of a job's pods: those that are there, or new lines until the job has ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.console import Console

from cli import cluster_api
from cli.api_values import Object
from cli.commands.logs import around, follow, kept, lines, pods
from cli.commands.logs.pods import Choice
from cli.jobs.named import named
from components import versions
from driver.kube import Kube
from driver.stack_settings import StackSettings
from driver.target import Target
from embedded.fault import Fault

_JOB_SETS = f"/apis/{versions.JOBSET_API}"


@dataclass(frozen=True)
class Question:
    """The command's arguments."""

    job: str
    stack: str
    context: str = ""
    choice: Choice = field(default_factory=Choice)
    follow: bool = False


def run(question: Question, console: Console) -> None:
    """Prints the reason of a failure, then the lines."""
    target = Target.of(question.context, stack=question.stack)
    settings = StackSettings(question.stack, target.home)
    settings.source()
    api = cluster_api.reached(target)
    job_sets, declared = api.items(f"{_JOB_SETS}/jobsets"), settings.section("workloads")
    job_set = named(job_sets, settings.namespace, question.job, declared, question.stack, question.context)
    if question.follow:
        follow.until_end(api, job_set, question.choice, console)
    else:
        show(api, job_set, question.choice, console)


def show(api: Kube, job_set: Object, choice: Choice, console: Console) -> None:
    """The lines that there are, of deleted pods too if the job has kept them. A Fault if there are none."""
    there = around.of_job(api, job_set)
    around.reason(job_set, there, console)
    started = [pod for pod in pods.chosen(there, choice) if pods.has_started(pod)]
    found = {} if choice.previous else {pods.place(pod): _lines(api, pod, choice) for pod in started}
    if not found:
        found = kept.lines(api, job_set, choice)
    if not found:
        raise Fault(around.nothing(job_set, there, choice))
    prefixes = lines.Prefixes(around.wide(found))
    for place, of_pod in found.items():
        for line in of_pod:
            console.print(prefixes.line(place, line), soft_wrap=True)


def _lines(api: Kube, pod: Object, choice: Choice) -> list[str]:
    about = pod["metadata"]
    path = f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}/log"
    return api.text(path, **choice.query).splitlines()
