"""Model servers: a Deployment of TensorFlow Serving with REST and gRPC, for models on volumes or from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key
from tensorplane.workloads import gpu_requests
from tensorplane.workloads.component import Platform, Workload
from tensorplane.workloads.model_server import manifest as manifests
from tensorplane.workloads.model_server import page as model_page
from tensorplane.workloads.model_server import serves
from tensorplane.workloads.model_server.exposure import component as exposure_component
from tensorplane.workloads.model_server.exposure.settings import GatewayArgs
from tensorplane.workloads.model_server.manifest import GRPC_PORT, REST_PORT
from tensorplane.workloads.model_server.serving import Serving, allow_connections
from tensorplane.workloads.model_server.serving_pods import NOT_AWAITED, Pods
from tensorplane.workloads.model_server.settings import ModelPageArgs, ServerSettings
from tensorplane.workloads.model_server.workload import ModelServerArgs
from tensorplane.workloads.pods import objects
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.scaling import autoscaler as scaling_component


class ModelServer(Workload):
    """A model server. It is Ready once a version of the model is on the volume; `pulumi up` does not wait for that."""

    def __init__(
        self,
        name: str,
        args: ModelServerArgs,
        *,
        at: Key,
        platform: Platform,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`at`: the path of the settings."""
        image = platform.guarded(at, args.image or args.default_image(platform.cluster.args.images))
        props = _props(args, image)
        super().__init__(registered.MODEL_SERVER, name, dict(props), opts)
        serving = Serving(Owner(self, name, platform.namespace, manifests.COMPONENT_VALUE), args, platform)
        allow_connections(serving)
        pods = Pods.of(serving, image)
        deployment = pods.stable()
        service, routes = _expose(serving)
        pods.try_versions(deployment, routes)
        if args.scaling:
            url = platform.settings.prometheus.url
            scaling_component.declare(serving.owner, args.scaling, url, [deployment, *platform.controllers])
        if args.most_replicas > 1:
            _disruption_budget(serving.owner)
        self.gpus = props["gpus"]
        self.outputs = _outputs(serving, deployment, service, self.gpus)
        if (outside := exposure_component.outside(args.expose, service)) is not None:
            self.outputs["outside"] = outside
        if args.page:
            self.outputs["page"] = _show(args.page, serving)
        self.register_outputs(encrypted.concealed({**self.outputs, **gpu_requests.of(args, platform.settings)}))


def _expose(serving: Serving) -> tuple[k8s.core.v1.Service, Sequence[pulumi.Resource]]:
    """The Service, and the routes that bring clients to it from a Gateway."""
    owner, args, platform = serving.owner, serving.args, serving.platform
    ports = _ports(args)
    service = exposure_component.service(owner, args.expose, platform.cluster.args, ports, NOT_AWAITED)
    if serving.is_monitored:
        exposure_component.custom(owner, objects.service_monitor(owner.identity), [service])
    if not isinstance(args.expose, GatewayArgs):
        return service, ()
    tracks = exposure_component.of_tracks(owner, ports, NOT_AWAITED) if args.tried_by_route else []
    before = [service, *tracks, *(platform.controllers if args.needs_gateway else ())]
    return service, exposure_component.through_gateway(owner, args.expose, before, tries=args.tried_by_route)


def _ports(args: ServerSettings) -> list[dict[str, Any]]:
    """Of the Services. What Kubernetes calls gRPC without TLS is what implementations of the Gateway API know."""
    grpc = "kubernetes.io/h2c" if isinstance(args.expose, GatewayArgs) else "grpc"
    return [
        {"name": "grpc", "port": GRPC_PORT, "target_port": "grpc", "app_protocol": grpc},
        {"name": "rest", "port": REST_PORT, "target_port": "rest", "app_protocol": "http"},
    ]


def _disruption_budget(owner: Owner) -> None:
    k8s.policy.v1.PodDisruptionBudget(
        owner.name,
        metadata=owner.metadata(),
        spec={"max_unavailable": 1, "selector": {"match_labels": owner.selector}},
        opts=owner.child_options,
    )


def _show(settings: ModelPageArgs, serving: Serving) -> pulumi.Output[str]:
    """The web page; its URL. Who may not ask the server may not ask it through the page either."""
    owner, cluster = serving.owner, serving.platform.cluster.args
    serving.page.allow_clients([model_page.POD_PORT], serving.clients)
    shown = model_page.Request(owner.name, owner.selector, REST_PORT, list(serving.args.served), settings.ink)
    at_page = model_page.declare(
        shown, cluster.images.python, namespace=serving.platform.namespace.name, opts=owner.child_options
    )
    return pulumi.Output.format("http://{0}/", cluster.address(at_page))


def _outputs(
    serving: Serving, deployment: k8s.apps.v1.Deployment, service: k8s.core.v1.Service, gpus: int
) -> registered.ModelServerOutputs:
    """Names and URLs."""
    host = serving.platform.cluster.args.address(service)
    return registered.ModelServerOutputs(
        kind="modelServer",
        deployment=deployment.metadata["name"],
        service=service.metadata["name"],
        models={
            model: pulumi.Output.format("http://{0}:{1}/v1/models/{2}", host, REST_PORT, model)
            for model in serving.args.served
        },
        grpc=pulumi.Output.format("{0}:{1}", host, GRPC_PORT),
        gpus=gpus,
    )


def _props(args: ModelServerArgs, image: pulumi.Input[Any]) -> registered.ModelServer:
    """What policies and reports read of a server."""
    return registered.ModelServer(
        models=list(args.served),
        serves=serves.words(args.served),
        image=image,
        replicas=args.scaling.max if args.scaling else args.replicas,
        gpus=args.most_replicas * args.resources.gpus,
    )
