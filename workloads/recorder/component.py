"""Recorders: a Deployment that makes versions of a dataset of the records of a topic."""

from __future__ import annotations

from typing import Any

import pulumi

from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key
from tensorplane.components.base.resolve_outputs import resolve_outputs
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.workloads.component import Platform, Workload, created
from tensorplane.workloads.model_server.exposure import component as exposure_component
from tensorplane.workloads.pipeline import context as pipeline_context
from tensorplane.workloads.pods import objects, references, sources
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.recorder import manifest as manifests
from tensorplane.workloads.recorder.workload import RecorderArgs
from tensorplane.workloads.scorer import manifest as scorer_manifest


class Recorder(Workload):
    """A recorder."""

    def __init__(
        self,
        name: str,
        args: RecorderArgs,
        *,
        at: Key,
        platform: Platform,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`at`: the path of the settings."""
        image = platform.guarded(at, args.image or args.default_image(platform.cluster.args.images))
        props = registered.Recorder(dataset=args.dataset, image=image, gpus=0)
        super().__init__(registered.RECORDER, name, dict(props), opts)
        owner = Owner(self, name, platform.namespace, manifests.COMPONENT_VALUE)
        code = scorer_manifest.library(owner.identity, sources.library())
        depends_on = [
            owner.service_account(),
            owner.config_map(code),
            owner.allow_clients([scorer_manifest.METRICS_PORT]),
            *created(platform.streams, [args.input.stream]),
            *created(platform.volumes, [platform.settings.datasets[args.dataset].volume]),
        ]
        by_operator = platform.settings.prometheus.serving_metrics == "serviceMonitor"
        stream = references.client(args.input.stream, args.input.use, platform.settings, known_as=scorer_manifest.INPUT)
        template: Any = pulumi.Output.all(image, resolve_outputs(stream)).apply(
            lambda known: manifests.pods(
                owner.identity,
                args,
                known[0],
                dataset=pipeline_context.stored(args.dataset, platform.settings),
                code=code,
                stream=known[1],
                placement=node_placement.spec(platform.cluster.fleet, args.resources, interruptible=True),
                annotations={} if by_operator else scorer_manifest.for_prometheus(),
            )
        )
        # Two would be safe, but each would read what only one can commit.
        deployment = owner.deployment(template, replicas=1, depends_on=depends_on, unavailable=1, surge=0)
        if by_operator:
            exposure_component.custom(owner, objects.pod_monitor(owner.identity), [deployment])
        self.gpus = 0
        self.outputs = registered.ScorerOutputs(
            kind=args.kind,
            deployment=deployment.metadata["name"],
            input=f"{args.input.stream}/{args.input.topic}",
            output=f"{args.dataset}@{args.branch}",
            gpus=0,
        )
        self.register_outputs(encrypted.concealed(dict(self.outputs)))
