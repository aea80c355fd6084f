"""The objects of a sweep that a person submits: checked and planned as the stack's own sweeps are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tensorplane.cli.commands.run import plan as of_jobs
from tensorplane.cli.commands.run import team_checks
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobRequest
from tensorplane.components.base.model import Resources
from tensorplane.components.base.names import digest_of
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.price import Usd
from tensorplane.components.cost import pods as cost
from tensorplane.components.queues.capacity import PodSet
from tensorplane.components.queues.manifest import DEFAULT
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack
from tensorplane.workloads.pods import mounts, pod_sets
from tensorplane.workloads.pods.objects import Manifest
from tensorplane.workloads.sweep import manifest as submitted
from tensorplane.workloads.sweep import template as sweep_template
from tensorplane.workloads.sweep.controller_objects import ACCOUNT
from tensorplane.workloads.sweep.manifest import Submitted
from tensorplane.workloads.sweep.workload import SweepArgs
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.manifest import JobManifest

_CONTROLLER = PodSet(submitted.ROLE, 1, Resources(cpus=0.02, memory_gib=0.1), together=False, interruptible=False)


@dataclass(frozen=True)
class Planned:
    """A sweep's objects, and what as many trials ask for as run at once."""

    run: str
    objects: list[Manifest]
    """The controller's JobSet first, and what it owns; in a team's namespace only what its members may create."""
    settings: str
    """A hash of what was asked for."""
    namespace: str
    image: str
    """The controller's."""
    trials: int
    parallel: int
    pods: int
    gpus: int
    hourly: Usd | None
    """None: a price is unknown."""


def planned(job: JobRequest, platform: Platform, attempt: int = 1) -> Planned:
    """The objects of a sweep. A UserError with every problem in its settings, a line each.

    `attempt`: how often the same sweep is to run from the beginning.
    """
    found = of_jobs.resolved(job, platform, attempt)
    args = found.config.workloads[job.name]
    if not isinstance(args, SweepArgs):
        raise TypeError(f"{job.name} is a {args.kind}: the command makes sweeps only")
    image = of_jobs.image_of(job, args.trial, args.default_image(found.config.cluster.images), found)
    of_jobs.check_egress(job, args.trial, platform)
    pods = args.pod_sets()
    _check_gpus(job, platform, sum(each.gpus for each in pods), args)
    _check_default_queue(job, platform, args, found)
    trial = sweep_template.template_settings(args)
    context = _without_file(job, of_jobs.context_of(job, trial, found, platform))
    template = sweep_template.template(trial, context, image=image)
    run = sweep_template.run_of(job.name, args.search, template)
    controller = _image(args, found)
    return Planned(
        run,
        [
            *submitted.objects_of(_submitted(args, run, controller, template, context, platform)),
            *([] if platform.team else [template.service_account, *template.network_policies]),
            *template.config_maps,
        ],
        digest_of([args.search.for_controller(), template.run.manifest, controller]),
        context.namespace,
        controller,
        args.search.count,
        args.search.parallel,
        sum(each.count for each in pods),
        sum(each.gpus for each in pods),
        cost.of(pods, found.fleet),
    )


def _without_file(job: JobRequest, context: JobContext) -> JobContext:
    """The trials do not get the sweep's own file: with it, more trials would be another sweep."""
    own = job.file.name if job.file else ""
    return replace(context, files={path: content for path, content in context.files.items() if path != own})


def _submitted(
    args: SweepArgs, run: str, image: str, template: JobManifest, context: JobContext, platform: Platform
) -> Submitted:
    trial = args.trial
    if trial.checkpoints is None:
        raise ValueError(f"{run} has no checkpoints: the checks refuse that")
    name = trial.checkpoints.volume
    path = mounts.path_of(name, trial.volumes, context.volumes)
    return Submitted(
        context.identity,
        run,
        image,
        args.search.for_controller(),
        template.job_set,
        context.volumes[name].at(path, read_only=False),
        mounts.inside(trial.checkpoints, trial.volumes, context.volumes),
        sweep_template.for_publishing(trial),
        ACCOUNT if platform.team else None,
    )


def _image(args: SweepArgs, found: ResolvedStack) -> str:
    image = args.image_of_controller(found.config.cluster.images)
    if not isinstance(image, str):
        raise TypeError(f"{image!r} is no image: a file cannot refer to what another resource produces")
    return image


def _check_gpus(job: JobRequest, platform: Platform, gpus: int, args: SweepArgs) -> None:
    """A UserError if trials that run at once need more GPUs than the team may hold: not all pods could be created."""
    team_checks.check_grace(job, platform, gpus)
    most = team_checks.most_gpus(platform) if platform.team else None
    if most is None or gpus <= most:
        return
    each = gpus // args.search.parallel
    team_checks.check_gpus(job, platform, each)
    reason = f"{args.search.parallel} trials need {number_of(gpus, 'GPU')}, but team {platform.team} may hold {most}"
    raise UserError(f"{job.path(('search', 'parallel'))}: {reason}; set {most // each} or less")


def _check_default_queue(job: JobRequest, platform: Platform, args: SweepArgs, found: ResolvedStack) -> None:
    """A UserError if trials never fit beside the controller: Kueue puts jobs without a queue into one of this name."""
    name = DEFAULT
    there: Sequence[str] = platform.queues if platform.team else list(found.config.queues)
    if name in there and args.trial.queue == name:
        capacity = found.capacities.get(name)
        if capacity and not capacity.fit_together([_CONTROLLER, *pod_sets.of(args.trial)]):
            reason = f"a trial fills queue {name}, into which Kueue also puts the sweep's controller"
            raise UserError(f"{job.path_of('resources')}: {reason}; ask for less, or use a queue with another name")
