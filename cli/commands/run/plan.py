"""The objects of a job that a person runs: checked and planned as the stack's own jobs are."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

import pulumi

import stack
import stack_file
from cli import stack_config
from cli.commands.run.asked import Job
from components import cost
from components.base.settings import Settings
from components.cost import HourlyUsd
from driver.stack_settings import read
from embedded.fault import Fault
from stack import ResolvedStack
from workloads import pod_sets
from workloads.job_facts import facts_of
from workloads.kinds.training_job import TrainingJobArgs
from workloads.manifests.training_job import JobManifest, plan


@dataclass(frozen=True)
class Planned:
    """A job's objects, and what it asks for."""

    manifest: JobManifest
    namespace: str
    queue: str | None
    pods: int
    gpus: int
    hourly: HourlyUsd | None
    """None: a price is unknown."""

    @property
    def run(self) -> str:
        """The name of its JobSet."""
        return self.manifest.run.name


def planned(job: Job, stack_name: str, attempt: int = 1) -> Planned:
    """The objects of a job on a stack. A Fault with every mistake in the job's settings, a line each.

    `attempt`: how often the same job is to run from the beginning.
    """
    file = stack_config.file(stack_name)
    resolved = _resolved(job, file, attempt)
    settings = resolved.config.workloads[job.name]
    if not isinstance(settings, TrainingJobArgs):
        raise TypeError(f"{job.name} is a {settings.kind}: the command makes training jobs only")
    if settings.packages and settings.image is None and resolved.config.cluster.images.built_here:
        remedy = f"build an image with `tensorplane image build`, load it, and set {job.place(('image',))}"
        raise Fault(f"{job.place(('packages',))}: only the stack's own jobs get packages on this cluster; {remedy}")
    image = settings.image or settings.default_image(resolved.config.cluster.images)
    if not isinstance(image, str):
        raise Fault(
            f"{job.place(('image',))}: missing, and cluster {resolved.config.cluster.kind} has no default; set it"
        )
    facts = dataclasses.replace(facts_of(job.name, settings, resolved.platform), managed_by="tensorplane")
    pods = pod_sets.of(settings)
    return Planned(
        plan(settings, facts, image=image),
        facts.namespace,
        settings.queue,
        sum(each.count for each in pods),
        sum(each.gpus for each in pods),
        cost.of(pods, resolved.fleet),
    )


def _resolved(job: Job, file: Path, attempt: int) -> ResolvedStack:
    """The stack with the job among its workloads."""
    of_stack = Settings.of_file(read(file))
    pulumi.runtime.configure(pulumi.runtime.Settings(project=stack_file.PROJECT, stack=file.name.split(".")[1]))
    declared = of_stack.tree.get("workloads") or {}
    if job.name in declared:
        raise Fault(f"--name: {job.name} is a workload of the stack, which pulumi deploys; choose another name")
    own = {**job.settings, **({"attempt": attempt} if attempt > 1 else {})}
    # The stack's own jobs are checked when it is deployed; its servers are what a job may publish to.
    servers = {
        name: one for name, one in declared.items() if isinstance(one, dict) and one.get("kind") != "trainingJob"
    }
    tree = {**of_stack.tree, "workloads": {**servers, job.name: own}}
    try:
        return stack.load(dataclasses.replace(of_stack, tree=tree), job.folder)
    except pulumi.RunError as error:
        raise Fault(*(_told(line, job) for line in str(error).splitlines())) from None


def _told(line: str, job: Job) -> str:
    """A fault's line, with the option that sets its key."""
    key, colon, rest = line.partition(": ")
    prefix = f"{stack_file.PROJECT}:workloads.{job.name}"
    if not colon or not key.startswith(prefix):
        return line
    return f"{job.place(re.split(r'[.]', key.removeprefix(prefix).lstrip('.')))}: {rest}"
