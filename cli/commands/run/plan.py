"""The objects of a job that a person runs: checked and planned as the stack's own jobs are."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

import pulumi

import stack
import stack_file
from cli.commands.run.asked import Job
from cli.commands.run.platform import Platform
from components import cost
from components.cost import HourlyUsd
from embedded.fault import Fault
from stack import ResolvedStack
from workloads import pod_sets
from workloads.job_facts import facts_of
from workloads.kinds.training_job import TrainingJobArgs
from workloads.manifests.objects import Manifest
from workloads.manifests.training_job import JobManifest, plan


@dataclass(frozen=True)
class Planned:
    """A job's objects, and what it asks for."""

    manifest: JobManifest
    namespace: str
    pods: int
    gpus: int
    hourly: HourlyUsd | None
    """None: a price is unknown."""
    team: str = ""

    @property
    def objects(self) -> list[Manifest]:
        """The JobSet first, and what it owns; in a team's namespace only what its members may create."""
        made = self.manifest
        if self.team:
            return [made.job_set, *made.config_maps]
        return [made.job_set, made.service_account, *made.config_maps, *made.network_policies]

    @property
    def run(self) -> str:
        """The name of its JobSet."""
        return self.manifest.run.name


def planned(job: Job, platform: Platform, attempt: int = 1) -> Planned:
    """The objects of a job on a stack. A Fault with every mistake in the job's settings, a line each.

    `attempt`: how often the same job is to run from the beginning.
    """
    resolved = _of_team(job, platform, attempt) if platform.team else _resolved(job, platform, attempt)
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
    if platform.team and settings.egress:
        raise Fault(f"{job.place(('egress',))}: pods of a team connect only to each other and to DNS; remove it")
    facts = dataclasses.replace(facts_of(job.name, settings, resolved.platform), managed_by="tensorplane")
    if platform.team:
        # Members create no service accounts and no network policies: those of the namespace apply.
        facts = dataclasses.replace(facts, namespace=platform.namespace, account="default")
    pods = pod_sets.of(settings)
    return Planned(
        plan(settings, facts, image=image),
        facts.namespace,
        sum(each.count for each in pods),
        sum(each.gpus for each in pods),
        cost.of(pods, resolved.fleet),
        platform.team,
    )


def _of_team(job: Job, platform: Platform, attempt: int) -> ResolvedStack:
    """The same for a team's job. A Fault, with all others, if it is in no queue of the team's."""
    declared = platform.settings.tree.get("queues") or {}
    queues = [name for name, args in declared.items() if platform.team in args.get("teams", ())]
    queue, place = job.settings.get("queue"), job.place(("queue",))
    if queue in queues:
        return _resolved(job, platform, attempt)
    what = f"{queue} is no queue of team {platform.team}" if queue else "missing, and a team's jobs wait in a queue"
    lines = [f"{place}: {what}; choose one of {', '.join(queues) or 'none'}"]
    try:
        _resolved(job, platform, attempt)
    except Fault as others:
        lines += [line for line in others.lines if not line.startswith(f"{place}: ")]
    raise Fault(*lines)


def _resolved(job: Job, platform: Platform, attempt: int) -> ResolvedStack:
    """The stack with the job among its workloads."""
    of_stack = platform.settings
    pulumi.runtime.configure(pulumi.runtime.Settings(project=stack_file.PROJECT, stack=platform.stack))
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
