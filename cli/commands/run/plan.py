"""The objects of a job that a person runs: checked and planned as the stack's own jobs are."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane import stack, stack_file
from tensorplane.cli.commands.run import team_checks
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobRequest
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base import stack_name
from tensorplane.components.base.price import Usd
from tensorplane.components.cost import pods as cost
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.pods.objects import Manifest
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.platform_context import job_context
from tensorplane.workloads.training_job.settings import JobSettings
from tensorplane.workloads.training_job.workload import TrainingJobArgs

_JOBS = frozenset({"trainingJob", "sweep"})


@dataclass(frozen=True)
class Planned:
    """A job's objects, and what it asks for."""

    manifest: JobManifest
    namespace: str
    pods: int
    gpus: int
    hourly: Usd | None
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

    @property
    def settings(self) -> str:
        """A hash of what was asked for."""
        return self.manifest.run.manifest


def planned(
    job: JobRequest,
    platform: Platform,
    attempt: int = 1,
    publisher: str | None = None,
    reproduces: Mapping[str, Any] | None = None,
) -> Planned:
    """The objects of a job on a stack. A UserError with every problem in the job's settings, a line each.

    `attempt`: how often the same job is to run from the beginning. `publisher`: the run in whose name it publishes, by
    default its own. `reproduces`: of the model's version that the job makes again.
    """
    found = resolved(job, platform, attempt)
    settings = found.config.workloads[job.name]
    if not isinstance(settings, TrainingJobArgs):
        raise TypeError(f"{job.name} is a {settings.kind}: the command makes training jobs only")
    default = settings.default_image(found.config.cluster.images)
    image = image_of(job, settings, default, found)
    check_egress(job, settings, platform)
    context = context_of(job, settings, found, platform, team=settings.team)
    context = dataclasses.replace(context, publisher=publisher, reproduces=reproduces or {})
    pods = pod_sets.of(settings)
    gpus = sum(each.gpus for each in pods)
    team_checks.check_grace(job, platform, gpus)
    team_checks.check_gpus(job, platform, gpus)
    return Planned(
        plan(settings, context, image=image),
        context.namespace,
        sum(each.count for each in pods),
        gpus,
        cost.of(pods, found.fleet),
        platform.team,
    )


def image_of(job: JobRequest, settings: JobSettings, default: str | None, found: ResolvedStack) -> str:
    """The image of a training job's pods. A UserError if it cannot have one. `default`: if the settings name none."""
    images = found.config.cluster.images
    if settings.packages and settings.image is None and images.built_here:
        remedy = f"build an image with `tensorplane image build`, load it, and set {job.path_of('image')}"
        reason = "only the stack's own jobs get packages on this cluster"
        raise UserError(f"{job.path_of('packages')}: {reason}; {remedy}")
    image = settings.image or default
    if not isinstance(image, str):
        kind = found.config.cluster.kind
        raise UserError(f"{job.path_of('image')}: missing, and cluster {kind} has no default; set it")
    return image


def check_egress(job: JobRequest, settings: JobSettings, platform: Platform) -> None:
    """A UserError if a team's job asks for connections that its namespace does not allow."""
    if platform.team and settings.egress:
        raise UserError(f"{job.path_of('egress')}: pods of a team connect only to each other and to DNS; remove it")


def context_of(
    job: JobRequest, settings: JobSettings, found: ResolvedStack, platform: Platform, *, team: str | None = None
) -> JobContext:
    """The context in which a person's job is planned. `team`: the one that its settings name."""
    context = job_context(job.name, settings, found.platform, team=team)
    context = dataclasses.replace(context, managed_by=jobset_api.CLI_MANAGER)
    if platform.team:
        # Members create no service accounts and no network policies: those of the namespace apply.
        context = dataclasses.replace(context, namespace=platform.namespace, account="default")
    return context


def resolved(job: JobRequest, platform: Platform, attempt: int = 1) -> ResolvedStack:
    """The stack with the job among its workloads. A UserError with every problem in the job's settings."""
    if platform.team and not job.training.get("queue") and len(platform.queues) == 1:
        job = job.with_training(queue=platform.queues[0])
    if attempt > 1:
        job = job.with_training(attempt=attempt)
    return _of_team(job, platform) if platform.team else _of_stack(job, platform)


def _of_team(job: JobRequest, platform: Platform) -> ResolvedStack:
    """The same for a team's job. A UserError, with all others, if it asks for what the team does not have."""
    own = team_checks.problems(job, platform)
    try:
        found = _of_stack(job, platform)
    except UserError as others:
        # What the team does not have is reported once, as its members see it.
        own_lines = tuple(f"{path}: " for path in own)
        raise UserError(*own.values(), *(line for line in others.lines if not line.startswith(own_lines))) from None
    if own:
        raise UserError(*own.values())
    return found


def _of_stack(job: JobRequest, platform: Platform) -> ResolvedStack:
    of_stack = platform.settings
    stack_name.configure(platform.stack)
    declared = platform.workloads
    if job.name in declared:
        raise UserError(f"--name: {job.name} is a workload of the stack, which pulumi deploys; choose another name")
    # The stack's own jobs are checked when it is deployed; its servers are what a job may publish to.
    servers = {name: one for name, one in declared.items() if isinstance(one, dict) and one.get("kind") not in _JOBS}
    tree = {**of_stack.tree, "workloads": {**servers, job.name: job.settings}}
    try:
        return stack.load(dataclasses.replace(of_stack, tree=tree), job.folder)
    except UserError as error:
        raise UserError(*(_for_submitter(line, job) for line in error.lines)) from None


def _for_submitter(line: str, job: JobRequest) -> str:
    """A problem's line, with the option that sets its key."""
    key, colon, rest = line.partition(": ")
    prefix = f"{stack_file.PROJECT}:workloads.{job.name}"
    if not colon or not key.startswith(prefix):
        return line
    if key == prefix:
        return f"--name: {rest}"
    return f"{job.path(re.split(r'[.]', key.removeprefix(prefix).lstrip('.')))}: {rest}"
