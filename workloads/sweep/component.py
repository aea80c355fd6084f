"""Sweeps: trials of one training job with other values of its parameters, started and stopped by a controller."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

import pulumi

from tensorplane.components import versions
from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.model import In
from tensorplane.components.base.names import digest_of
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.value_types import Image
from tensorplane.components.queues.capacity import PodSet
from tensorplane.stack_file import package_lock, sweep_packages
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.family import Declared, Platform, Workload, WorkloadArgs, created
from tensorplane.workloads.pods import mounts, pod_sets, references
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.sweep import checks as sweep_checks
from tensorplane.workloads.sweep import controller
from tensorplane.workloads.sweep.checks import TRIAL
from tensorplane.workloads.sweep.controller import RUN, placeholder
from tensorplane.workloads.sweep.settings import Search
from tensorplane.workloads.training_job import packages, platform_context
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.role import total
from tensorplane.workloads.training_job.run import Recorded
from tensorplane.workloads.training_job.settings import JobSettings


class SweepArgs(WorkloadArgs):
    """Settings of a sweep. A change that affects the result of its trials starts a new sweep, whose predecessor's
    trials are deleted; more trials or more at once continue it."""

    kind: Literal["sweep"] = "sweep"

    search: Search
    """Parameters, how their values are chosen, and which trials are stopped early."""
    trial: JobSettings
    """Settings of the job that every trial runs, as of a training job. It finds its parameters in environment variables
    and needs `checkpoints`."""
    controller_image: In[Image] | None = None
    """Container image of the controller, with Python, numpy and Optuna. Required except on `embedded`;
    `tensorplane image build optuna==5.0.0` makes one."""

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset({"jobset"})

    @property
    def named_image(self) -> Any:
        return self.trial.image

    def default_image(self, images: versions.Images) -> str | None:
        image = images.training(max(role.resources.gpus for role in self.trial.roles()))
        return packages.image(image, self.trial.packages) if image and images.built_here else image

    @property
    def trained(self) -> JobSettings:
        return self.trial

    def image_of_controller(self, images: versions.Images) -> Any:
        """The controller's image; None if the settings must name it."""
        if self.controller_image or not images.built_here:
            return self.controller_image
        return package_lock.image_name(images.train, sweep_packages.lines())

    def unqueued(self) -> list[PodSet]:
        return [] if self.trial.queue else self.pod_sets()

    def pod_sets(self) -> list[PodSet]:
        """Of as many trials as may run at once."""
        return [
            replace(
                pods,
                count=pods.count * self.search.parallel,
                at=(TRIAL, *pods.at),
                count_at=(TRIAL, *pods.count_at),
            )
            for pods in pod_sets.of(self.trial)
        ]

    def mounts(self) -> Mapping[str, Key]:
        return {volume: (TRIAL, "volumes", volume) for volume in self.trial.volumes}

    def queues(self) -> Mapping[str, Key]:
        return {self.trial.queue: (TRIAL, "queue")} if self.trial.queue else {}

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from sweep_checks.find_problems(self.search, self.trial, name, at, declared)
        if self.image_of_controller(declared.cluster.images) is None:
            build = f"tensorplane image build --push REGISTRY/NAME:TAG {sweep_packages.OPTUNA}"
            reason = f"missing, and no public image has Optuna; build one: {build}"
            yield Problem((*at, "controllerImage"), reason, given=(("cluster",),))

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "Sweep":
        return Sweep(name, self, at=at, platform=platform, opts=opts)


class Sweep(Workload):
    """A sweep: its controller, and what its trials share. The controller creates the trials."""

    def __init__(
        self,
        name: str,
        args: SweepArgs,
        *,
        at: Key,
        platform: Platform,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`at`: the path of the settings."""
        images, within = platform.cluster.args.images, (*at, TRIAL)
        image = platform.guarded(within, args.trial.image or args.default_image(images))
        props = _props(args, image)
        super().__init__(registered.SWEEP, name, dict(props), opts)
        owner = Owner(self, name, platform.namespace, "training")
        trial = template_settings(args)
        hidden = platform.secret_env(within, args.trial.env)
        values = {key: cast(pulumi.Input[str], args.trial.env[key]) for key in sorted(hidden)}
        secret = owner.secret(f"{name}-env", values) if values else None
        known = platform_context.job_context(name, trial, platform.settings, hidden)
        made = pulumi.Output.all(image=image, secret=secret and secret.metadata["name"]).apply(
            lambda resolved: template(trial, known, **resolved)
        )
        run = pulumi.Output.unsecret(made.apply(lambda manifest: run_of(name, args.search, manifest)))
        depends_on: list[pulumi.Resource] = [
            *(owner.config_map(content) for parts in known.bundles().values() for content in parts),
            owner.service_account(),
            *owner.gang_policies(trial.egress),
            *created(platform.volumes, trial.volumes),
            *created(platform.streams, trial.streams),
            *platform.controllers,
            *created(platform.queues, [trial.queue] if trial.queue else []),
        ]
        controller.declare(
            _request(name, args, platform),
            run,
            pulumi.Output.all(name=run, search=args.search.for_controller(), jobSet=made.apply(lambda it: it.job_set)),
            namespace=platform.namespace.name,
            opts=pulumi.ResourceOptions(parent=self, depends_on=depends_on),
        )
        self.gpus = props["gpus"]
        self.outputs = registered.SweepOutputs(
            kind=args.kind, run=run, queue=trial.queue, trials=props["trials"], gpus=props["gpus"]
        )
        self.register_outputs(encrypted.concealed({**self.outputs, **gpu_requests.of(args, platform.settings)}))


def template_settings(args: SweepArgs) -> JobSettings:
    """The settings of a trial whose parameters are placeholders. Each trial has a folder of its own for its model."""
    variables = {name: placeholder(name) for name in args.search.parameters}
    if asha := args.search.pruner:
        # A report at each rung, so that decisions do not depend on when trials report.
        variables["TENSORPLANE_RUNGS"] = f"{asha.min_steps}:{asha.reduction}"
    model = args.trial.model
    return args.trial.model_copy(
        update={
            "env": {**args.trial.env, **variables},
            "model": model and model.model_copy(update={"path": f"{model.path}/{RUN}"}),
        }
    )


def template(trial: JobSettings, context: JobContext, *, image: str, secret: str | None = None) -> JobManifest:
    """The plan of a trial whose name is a placeholder, too."""
    return plan(trial, context, image=image, secret=secret, recorded=Recorded(RUN))


def run_of(name: str, search: Search, manifest: JobManifest) -> str:
    """The name of the sweep's run: another one when the search or what decides the trials' results changes."""
    return f"{name}-{digest_of([search.decisive, manifest.run.decisive])}"


def _request(name: str, args: SweepArgs, platform: Platform) -> controller.Request:
    trial = args.trial
    if trial.checkpoints is None:
        raise ValueError(f"sweep {name} has no checkpoints: the checks refuse that")
    volumes = {volume: references.mountable(volume, platform.settings) for volume in trial.volumes}
    used = volumes[trial.checkpoints.volume]
    return controller.Request(
        name,
        image=args.image_of_controller(platform.cluster.args.images),
        claim=used.claim,
        pod_labels=used.labels,
        path=mounts.path_of(trial.checkpoints.volume, trial.volumes, volumes),
        folder=mounts.inside(trial.checkpoints, trial.volumes, volumes),
        trials=args.search.count,
        trial=for_publishing(trial),
    )


def for_publishing(trial: JobSettings) -> dict[str, Any]:
    """The settings of the trials that publishing the best one requires."""
    return trial.model_dump(mode="json", by_alias=True, include={"volumes", "model", "queue"})


def _props(args: SweepArgs, image: pulumi.Input[str]) -> registered.Sweep:
    """What policies and reports read of a sweep."""
    each, parallel = total(args.trial.roles()), args.search.parallel
    return registered.Sweep(
        trials=args.search.count,
        parallel=parallel,
        image=image,
        queue=args.trial.queue,
        pods=parallel * each.pods,
        cpus=parallel * each.cpus,
        memoryGib=parallel * each.memory_gib,
        gpus=parallel * each.gpus,
    )
