"""Sweeps: trials of one training job with other values of its parameters, started and stopped by a controller."""

from __future__ import annotations

from typing import cast

import pulumi

from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.component import Platform, Workload, created
from tensorplane.workloads.pods import mounts, references
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.sweep import controller
from tensorplane.workloads.sweep.checks import TRIAL
from tensorplane.workloads.sweep.template import for_publishing, run_of, template, template_settings
from tensorplane.workloads.sweep.workload import SweepArgs
from tensorplane.workloads.training_job import platform_context
from tensorplane.workloads.training_job.resolve_job import resolve_job
from tensorplane.workloads.training_job.role import total


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
        made = pulumi.Output.all(resolve_job(trial, known), image, secret and secret.metadata["name"]).apply(
            lambda found: template(*found[0], image=found[1], secret=found[2])
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
