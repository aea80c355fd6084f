"""A model server's Deployments with their configuration files: the stable one, and a canary's with its controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base.labels import SKIP_AWAIT
from tensorplane.components.base.resolve_outputs import resolve_outputs
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.workloads.component import created
from tensorplane.workloads.model_server import gpus
from tensorplane.workloads.model_server import manifest as manifests
from tensorplane.workloads.model_server.canary import component as rollouts
from tensorplane.workloads.model_server.canary.controller_objects import CANARY_SUFFIX
from tensorplane.workloads.model_server.canary.manifest import LABELS, READINESS_GATES, STABLE_LABELS
from tensorplane.workloads.model_server.manifest import REST_PORT, ConfigFiles
from tensorplane.workloads.model_server.serving import Serving
from tensorplane.workloads.pods import objects, references
from tensorplane.workloads.pods.streams import in_pod

NOT_AWAITED = {SKIP_AWAIT: "true"}
"""Annotation of objects that become ready once a model exists, which may be days after `pulumi up`."""


@dataclass(frozen=True)
class _Track:
    """One Deployment: the stable one, or the canary's."""

    name: str
    replicas: int
    files: ConfigFiles | None
    labels: Mapping[str, str]
    """By which it selects its pods, besides those of the server."""
    pod_labels: Mapping[str, str]
    gates: Sequence[str] = ()
    """Readiness gates of its pods."""


@dataclass(frozen=True)
class Pods:
    """The pods of one server."""

    serving: Serving
    image: pulumi.Output[Any]
    depends_on: Sequence[pulumi.Resource]
    """What they mount, and who they are."""

    @classmethod
    def of(cls, serving: Serving, image: pulumi.Output[Any]) -> Pods:
        """Creates what the pods need."""
        owner, platform, files = serving.owner, serving.platform, serving.files
        depends_on = [
            owner.service_account(),
            *created(platform.volumes, _volumes(serving)),
            *created(platform.streams, serving.args.streams),
            *([owner.config_map(files.once), _model_config(serving, files.models)] if files else []),
            *([owner.config_map(serving.fetching.code)] if serving.fetching else []),
        ]
        return cls(serving, image, depends_on)

    def stable(self) -> k8s.apps.v1.Deployment:
        """Creates the Deployment of all pods, of a canary's others."""
        args = self.serving.args
        replicas = max(1, args.scaling.min) if args.scaling else args.replicas
        pod_labels = STABLE_LABELS if args.tried_by_route else {}
        return self._deployment(_Track(self.serving.owner.name, replicas, self.serving.files, {}, pod_labels))

    def try_versions(self, stable: k8s.apps.v1.Deployment, routes: Sequence[pulumi.Resource]) -> None:
        """Creates the canary with its model config file, and the controller that writes both files and scales both
        Deployments. `routes`: what it divides requests with. Does nothing for a server without a canary."""
        serving, owner, files = self.serving, self.serving.owner, self.serving.files
        if serving.rollout is None or files is None:
            return
        name, of_canary = (
            f"{owner.name}{CANARY_SUFFIX}",
            replace(files, models=manifests.models_map(owner.name, "canary")),
        )
        canary = self._deployment(_Track(name, 0, of_canary, LABELS, LABELS, READINESS_GATES))
        texts = _model_config(serving, of_canary.models)
        rollouts.declare(
            serving.rollout,
            owner,
            serving.args,
            serving.platform,
            config_maps=[files.models, of_canary.models],
            deployments=[owner.name, name],
            depends_on=[stable, canary, texts, *routes],
        )

    def _deployment(self, track: _Track) -> k8s.apps.v1.Deployment:
        return self.serving.owner.deployment(
            self._template(track),
            replicas=track.replicas,
            depends_on=self.depends_on,
            # By an autoscaler, or by a rollout's controller.
            autoscaled=bool(self.serving.args.scaling or self.serving.rollout),
            name=track.name,
            labels=track.labels,
            annotations=NOT_AWAITED,
        )

    def _template(self, track: _Track) -> Any:
        serving, args, platform = self.serving, self.serving.args, self.serving.platform
        by_annotations = serving.files is not None and not serving.by_operator
        volumes = {volume: references.mountable(volume, platform.settings) for volume in _volumes(serving)}
        streams = {stream: references.client(stream, use, platform.settings) for stream, use in args.streams.items()}
        return pulumi.Output.all(self.image, resolve_outputs(streams), resolve_outputs(serving.fetching)).apply(
            lambda known: manifests.pods(
                serving.owner.identity,
                args,
                known[0],
                files=track.files,
                models=volumes,
                fetching=known[2],
                of_streams=in_pod(known[1]),
                gpu_memory=gpus.reserved_memory(args, platform.cluster.fleet),
                placement=node_placement.spec(platform.cluster.fleet, args.resources, interruptible=False),
                annotations=objects.annotations(REST_PORT) if by_annotations else {},
                labels=track.pod_labels,
                readiness_gates=track.gates,
            )
        )


def _volumes(serving: Serving) -> set[str]:
    return {folder.volume for folder in serving.args.folders.values()}


def _model_config(serving: Serving, name: str) -> k8s.core.v1.ConfigMap:
    """Changed in place: the servers read it again, and no pod starts anew. With a canary, its controller writes it."""
    ignored = pulumi.ResourceOptions(ignore_changes=["data"] if serving.args.with_canary else None)
    return k8s.core.v1.ConfigMap(
        name,
        metadata=serving.owner.metadata(name),
        data=manifests.model_config(serving.args),
        opts=pulumi.ResourceOptions.merge(serving.owner.child_options, ignored),
    )
