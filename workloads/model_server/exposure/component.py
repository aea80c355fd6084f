"""What lets clients reach a model server and Prometheus its metrics, as children of the server's component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base.labels import BACKENDS, WAIT_FOR
from tensorplane.components.base.outputs import Outside
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.workloads.model_server.canary.controller_objects import CANARY_SUFFIX, STABLE_SUFFIX
from tensorplane.workloads.model_server.canary.manifest import LABELS, STABLE_LABELS
from tensorplane.workloads.model_server.exposure import manifest as manifests
from tensorplane.workloads.model_server.exposure.settings import ExposureArgs, GatewayArgs, LoadBalancerArgs
from tensorplane.workloads.model_server.manifest import GRPC_PORT, REST_PORT
from tensorplane.workloads.pods.objects import Manifest
from tensorplane.workloads.pods.owner import Owner


def service(
    owner: Owner,
    expose: ExposureArgs | None,
    cluster: ClusterArgs,
    ports: Sequence[Mapping[str, Any]],
    annotations: Mapping[str, str],
) -> k8s.core.v1.Service:
    """Creates the server's Service, with a load balancer of the cloud where the settings ask for one."""
    spec: Any = {"selector": owner.selector, "ports": ports}
    noted: Mapping[str, pulumi.Input[str]] = annotations
    if isinstance(expose, LoadBalancerArgs):
        spec |= manifests.load_balancer(expose)
        # Not for pods, which are ready once there is a model.
        awaited = {WAIT_FOR: "jsonpath={.status.loadBalancer.ingress}"}
        own = {key: as_input(value) for key, value in expose.annotations.items()}
        noted = {**awaited, **(cluster.load_balancer(public=expose.public) or {}), **own}
    metadata = owner.metadata(annotations=noted)
    return k8s.core.v1.Service(owner.name, metadata=metadata, spec=spec, opts=owner.child_options)


def outside(expose: ExposureArgs | None, service: k8s.core.v1.Service) -> pulumi.Output[Outside] | None:
    """Where clients outside of the cluster reach the server; None if it is not exposed."""
    if isinstance(expose, GatewayArgs):
        return pulumi.Output.from_input(Outside(rest=list(expose.hosts), grpc=list(expose.grpc_hosts)))
    return service.status.apply(_of_load_balancer) if expose else None


def _of_load_balancer(status: Any) -> Outside:
    """Clouds give load balancers a name or an address."""
    found = (status and status.load_balancer and status.load_balancer.ingress) or []
    hosts = [one.hostname or one.ip for one in found]
    return Outside(rest=[f"{host}:{REST_PORT}" for host in hosts], grpc=[f"{host}:{GRPC_PORT}" for host in hosts])


def of_tracks(
    owner: Owner, ports: Sequence[Mapping[str, Any]], annotations: Mapping[str, str]
) -> list[pulumi.Resource]:
    """Creates the Services of the stable pods alone and of the canary, between which routes divide requests."""
    made: list[pulumi.Resource] = []
    for suffix, track in ((STABLE_SUFFIX, STABLE_LABELS), (CANARY_SUFFIX, LABELS)):
        name, spec = f"{owner.name}{suffix}", {"selector": {**owner.selector, **track}, "ports": ports}
        metadata = owner.metadata(name, labels=track, annotations=annotations)
        made.append(k8s.core.v1.Service(name, metadata=metadata, spec=cast(Any, spec), opts=owner.child_options))
    return made


def through_gateway(
    owner: Owner, exposure: GatewayArgs, depends_on: Sequence[pulumi.Resource], *, tries: bool
) -> list[pulumi.Resource]:
    """Creates the Gateway, its policies and the routes, each after the one before. Returns the last one.

    `depends_on`: the Services; `tries`: whether the server has a canary, whose controller writes the routes' backends.
    """
    before = list(depends_on)
    for manifest in manifests.through_gateway(owner.identity, exposure, tries=tries):
        before = [custom(owner, manifest, before)]
    return before


def custom(owner: Owner, manifest: Manifest, depends_on: list[pulumi.Resource]) -> pulumi.Resource:
    """Creates one custom resource. One of the server's name has it as its logical name, too."""
    name, annotations = manifest["metadata"]["name"], manifest["metadata"].get("annotations", {})
    return k8s.apiextensions.CustomResource(
        name,
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        metadata=owner.metadata(name, annotations=annotations),
        spec=manifest["spec"],
        opts=pulumi.ResourceOptions(
            parent=owner.component,
            depends_on=depends_on,
            ignore_changes=[manifests.DIVIDED] if BACKENDS in annotations else None,
        ),
    )
