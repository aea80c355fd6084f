"""Training jobs: a strategy's pods as a JobSet with TF_CONFIG, admitted by a queue, restarted as a gang."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Literal, cast

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.model import Name
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.cost import pods as pods_cost
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.family import Declared, Library, Platform, Workload, WorkloadArgs, created
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.pods.files import Bundle
from tensorplane.workloads.pods.mounts import Location
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.training_job import checks as job_checks
from tensorplane.workloads.training_job import deployed_runs, packages, queueing, team_checks
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.platform_context import job_context
from tensorplane.workloads.training_job.role import total
from tensorplane.workloads.training_job.run import Recorded
from tensorplane.workloads.training_job.settings import JobSettings


class TrainingJobArgs(JobSettings, WorkloadArgs):
    """Settings of a training job. A change of a setting that affects the result starts a new run; a change of resources
    or workers continues it."""

    kind: Literal["trainingJob"] = "trainingJob"
    team: Name | None = None
    """A team in whose namespace the job runs, in one of its queues and with its volumes, instead of the stack's
    namespace."""

    has_runs: ClassVar[bool] = True

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset({"jobset"})

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        image = images.training(max(role.resources.gpus for role in self.roles()))
        # Elsewhere, the pods install them.
        return packages.image(image, self.packages) if image and images.built_here else image

    @property
    def trained(self) -> JobSettings:
        return self

    @property
    def shares_library(self) -> bool:
        return self.team is None

    @property
    def models_written(self) -> Location | None:
        return self.model

    @property
    def publishes_to(self) -> Mapping[str, Key]:
        server = self.on_success.publish if self.on_success else None
        return {server: ("onSuccess", "publish")} if server else {}

    def unqueued(self) -> list[PodSet]:
        return [] if self.queue else self.pod_sets()

    def pod_sets(self) -> list[PodSet]:
        return pod_sets.of(self)

    def mounts(self) -> Mapping[str, Key]:
        return {volume: ("volumes", volume) for volume in self.volumes}

    def queues(self) -> Mapping[str, Key]:
        return {self.queue: ("queue",)} if self.queue else {}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from job_checks.find_problems(self, name, at, declared)
        if self.team:
            yield from team_checks.find_problems(self, self.team, at, declared)

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "TrainingJob":
        return TrainingJob(name, self, at=at, platform=platform, opts=opts)


class TrainingJob(Workload):
    """A run of a training job."""

    def __init__(
        self,
        name: str,
        args: TrainingJobArgs,
        *,
        at: Key,
        platform: Platform,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`at`: the path of the settings."""
        requested = args.image or args.default_image(platform.cluster.args.images)
        image = platform.guarded(at, requested)
        hidden = platform.secret_env(at, args.env)
        props = _props(args, image, platform)
        super().__init__(registered.TRAINING_JOB, name, dict(props), opts)
        space = platform.teams[args.team] if args.team else platform
        owner = Owner(self, name, platform.teams[args.team] if args.team else platform.namespace, "training")
        in_secret = {key: cast(pulumi.Input[str], args.env[key]) for key in sorted(hidden)}
        secret = owner.secret(f"{name}-env", in_secret) if in_secret else None
        library = platform.library if args.shares_library else None
        known = job_context(name, args, platform.settings, hidden, team=args.team, shares_library=library is not None)
        recorded = platform.runs.apply(lambda runs: runs.get(name))
        resolved = pulumi.Output.all(image=image, secret=secret and secret.metadata["name"], recorded=recorded)
        made = resolved.apply(lambda values: plan(args, known, **values))
        # A secret setting makes everything derived from it secret. The run's name does not reveal it; the
        # hashes of single settings stay secret, because a short value can be guessed from its hash.
        run = pulumi.Output.unsecret(made.apply(lambda manifest: manifest.run.name))
        is_kept = pulumi.Output.unsecret(made.apply(lambda manifest: manifest.run.is_kept))
        as_deployed = deployed_runs.unchanged(is_kept)
        if library:
            keep_library = partial(_keep_library, library, owner, known.own_library, as_deployed)
            made.apply(lambda manifest: keep_library(manifest.run))
        depends_on: list[pulumi.Resource] = [
            *([library.current] if library else []),
            *(owner.config_map(content, as_deployed) for content in known.own_bundles()),
            owner.service_account(),
            *owner.gang_policies(args.egress, args.metrics_port),
            *created(space.volumes, args.volumes),
            *created(platform.streams, args.streams),
            *platform.controllers,
            *created(platform.queues, [args.queue] if args.queue else []),
        ]
        _job_set(
            name,
            made,
            owner.metadata(run, labels=known.queue_labels),
            pulumi.ResourceOptions.merge(as_deployed, pulumi.ResourceOptions(parent=self, depends_on=depends_on)),
        )
        self.gpus = props["gpus"]
        self.outputs = registered.TrainingJobOutputs(
            kind=args.kind,
            namespace=known.namespace,
            jobSet=run,
            run=made.apply(lambda manifest: deployed_runs.output(manifest.run)),
            queue=args.queue,
            pods=props["pods"],
            gpus=props["gpus"],
        )
        requests = gpu_requests.of(args, platform.settings, args.team)
        self.register_outputs(encrypted.concealed({**self.outputs, **requests}))


def _keep_library(
    shared: Library, owner: Owner, own: Bundle, as_deployed: pulumi.ResourceOptions, run: Recorded
) -> None:
    """The pods of a run that is kept mount the library that was deployed with it: one of its own, or a shared one."""
    if run.is_kept and run.library:
        if own.name.startswith(f"{run.library}-"):
            owner.config_map(own, as_deployed)
        else:
            shared.keep(run.library)


def _props(args: TrainingJobArgs, image: pulumi.Input[str], platform: Platform) -> registered.TrainingJob:
    """What policies and reports read of a job."""
    requests = total(args.roles())
    props = registered.TrainingJob(
        strategy=args.strategy.kind,
        image=image,
        queue=args.queue,
        pods=requests.pods,
        cpus=requests.cpus,
        memoryGib=requests.memory_gib,
        gpus=requests.gpus,
        cost=pods_cost.run("", args.pod_sets(), platform.settings.fleet).plain(),
    )
    capacity = platform.settings.capacities.get(args.queue) if args.queue else None
    if capacity and (stake := queueing.at_stake(capacity, args.pod_sets(), args.checkpoints, args.grace_seconds)):
        props["mayBeStopped"] = stake
    return props


def _job_set(
    name: str,
    made: pulumi.Output[JobManifest],
    metadata: "k8s.meta.v1.ObjectMetaArgsDict",
    opts: pulumi.ResourceOptions,
) -> None:
    """The JobSet of the run. `opts` are added to those of every JobSet."""
    always = pulumi.ResourceOptions(
        # Kueue owns `suspend`, which is true until it admits the job.
        ignore_changes=["spec.suspend"],
        # A JobSet is immutable. The old gang saves and ends before the new one starts.
        replace_on_changes=["spec", "metadata"],
        delete_before_replace=True,
    )
    k8s.apiextensions.CustomResource(
        name,
        api_version=versions.JOBSET_API,
        kind="JobSet",
        metadata=metadata,
        spec=made.apply(lambda manifest: manifest.job_set["spec"]),
        opts=pulumi.ResourceOptions.merge(opts, always),
    )
