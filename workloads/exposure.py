"""What lets clients reach a model server and Prometheus its metrics, as children of the server's component."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.clusters.settings import ClusterArgs
from workloads.manifests import exposure as manifests
from workloads.manifests.objects import Manifest
from workloads.owner import Owner
from workloads.settings.exposure import ExposureArgs, GatewayArgs, LoadBalancerArgs


def service(
    owner: Owner,
    expose: ExposureArgs | None,
    cluster: ClusterArgs,
    ports: Sequence[Mapping[str, Any]],
    annotations: Mapping[str, str],
) -> "k8s.core.v1.Service":
    """Create the server's Service, with a load balancer of the cloud where the settings ask for one."""
    spec: Any = {"selector": owner.selector, "ports": ports}
    if isinstance(expose, LoadBalancerArgs):
        spec |= manifests.load_balancer(expose)
        annotations = {**annotations, **(cluster.load_balancer(public=expose.public) or {}), **expose.annotations}
    metadata = owner.metadata(annotations=annotations)
    return k8s.core.v1.Service(owner.name, metadata=metadata, spec=spec, opts=owner.inside)


def through_gateway(owner: Owner, exposure: GatewayArgs, service: pulumi.Resource, *, rest: int, grpc: int) -> None:
    """Create the Gateway, its policies and the routes, each after the one before."""
    before: pulumi.Resource = service
    for manifest in manifests.through_gateway(owner.identity, exposure, rest=rest, grpc=grpc):
        before = custom(owner, manifest, [before])


def custom(owner: Owner, manifest: Manifest, needed: list[pulumi.Resource]) -> pulumi.Resource:
    """Create one custom resource. One of the server's name has it as its logical name, too."""
    name = manifest["metadata"]["name"]
    return k8s.apiextensions.CustomResource(
        name,
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        metadata=owner.metadata(name),
        spec=manifest["spec"],
        opts=pulumi.ResourceOptions(parent=owner.component, depends_on=needed),
    )
