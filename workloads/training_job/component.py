"""Training jobs: a strategy's pods as a JobSet with TF_CONFIG, admitted by a queue, restarted as a gang."""

from __future__ import annotations

from functools import partial
from typing import cast

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key
from tensorplane.components.cost import pods as pods_cost
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.component import Library, Platform, Workload, created
from tensorplane.workloads.pods.files import Bundle
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.training_job import deployed_runs, queueing
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.platform_context import job_context
from tensorplane.workloads.training_job.resolve_job import resolve_job
from tensorplane.workloads.training_job.role import total
from tensorplane.workloads.training_job.run import Recorded
from tensorplane.workloads.training_job.workload import TrainingJobArgs


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
        made = pulumi.Output.all(resolve_job(args, known), image, secret and secret.metadata["name"], recorded).apply(
            lambda found: plan(*found[0], image=found[1], secret=found[2], recorded=found[3])
        )
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
    metadata: k8s.meta.v1.ObjectMetaArgsDict,
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
