"""Scorers: a Deployment that scores the records of a topic with a model server, and writes the results to a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key
from tensorplane.components.base.resolve_outputs import resolve_outputs
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.workloads.component import Platform, Workload, created
from tensorplane.workloads.model_server.exposure import component as exposure_component
from tensorplane.workloads.model_server.manifest import REST_PORT
from tensorplane.workloads.pods import objects, references, sources
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.pods.streams import Client
from tensorplane.workloads.scaling import autoscaler as scaling_component
from tensorplane.workloads.scorer import manifest as manifests
from tensorplane.workloads.scorer.workload import ScorerArgs


class Scorer(Workload):
    """A scorer. Its pods wait for the model server, and for the model's first version."""

    def __init__(
        self,
        name: str,
        args: ScorerArgs,
        *,
        at: Key,
        platform: Platform,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`at`: the path of the settings."""
        image = platform.guarded(at, args.image or args.default_image(platform.cluster.args.images))
        props = registered.Scorer(server=args.server, image=image, replicas=args.most_replicas, gpus=0)
        super().__init__(registered.SCORER, name, dict(props), opts)
        owner = Owner(self, name, platform.namespace, manifests.COMPONENT_VALUE)
        code = manifests.library(owner.identity, sources.library())
        server, _, _ = args.server.partition("/")
        depends_on = [
            owner.service_account(),
            owner.config_map(code),
            owner.allow_servers([server], REST_PORT),
            owner.allow_clients([manifests.METRICS_PORT]),
            *created(platform.streams, {args.input.stream, args.output.stream}),
        ]
        by_operator = platform.settings.prometheus.serving_metrics == "serviceMonitor"
        template: Any = pulumi.Output.all(image, resolve_outputs(_streams(args, platform))).apply(
            lambda known: manifests.pods(
                owner.identity,
                args,
                known[0],
                model=platform.settings.model_names[args.server],
                code=code,
                streams=known[1],
                placement=node_placement.spec(platform.cluster.fleet, args.resources, interruptible=True),
                annotations={} if by_operator else manifests.for_prometheus(),
            )
        )
        deployment = owner.deployment(
            template,
            replicas=max(1, args.scaling.min) if args.scaling else args.replicas,
            depends_on=depends_on,
            autoscaled=args.scaling is not None,
            # Each pod that comes or goes makes all share the partitions anew: a new one takes an old one's place.
            unavailable=1,
            surge=0,
        )
        if by_operator:
            exposure_component.custom(owner, objects.pod_monitor(owner.identity), [deployment])
        if args.scaling:
            lag = references.lag(args.input.stream, args.input.topic, args.input.use, platform.settings)
            scaling_component.declare_by_lag(owner, args.scaling, lag, [deployment, *platform.controllers])
        self.gpus = 0
        self.outputs = registered.ScorerOutputs(
            kind=args.kind,
            deployment=deployment.metadata["name"],
            input=f"{args.input.stream}/{args.input.topic}",
            output=f"{args.output.stream}/{args.output.topic}",
            gpus=0,
        )
        self.register_outputs(encrypted.concealed(dict(self.outputs)))


def _streams(args: ScorerArgs, platform: Platform) -> Mapping[str, Client]:
    """Both ends, by their names in the pods."""
    ends = {
        manifests.INPUT: (args.input.stream, args.input.use),
        manifests.OUTPUT: (args.output.stream, args.output.use),
    }
    return {
        known_as: references.client(stream, use, platform.settings, known_as=known_as)
        for known_as, (stream, use) in ends.items()
    }
