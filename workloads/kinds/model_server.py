"""Model servers: a Deployment of TensorFlow Serving with REST and gRPC, for the newest version of a model on a
volume."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components import model_page, versions
from components.base import facts as registered
from components.base.faults import Fault, Key
from components.base.labels import SKIP_AWAIT
from components.node_groups import placement as node_placement
from components.queues.room import PodSet
from components.rollout_controller import CANARY_SUFFIX
from workloads import exposure, references, scaling
from workloads import rollout as rollouts
from workloads.base import Declared, Platform, Workload, WorkloadArgs, created
from workloads.checks import model_server as checks
from workloads.manifests import exposure as exposing
from workloads.manifests import model_server as manifests
from workloads.manifests import serves, service_monitor
from workloads.manifests.model_server import GRPC_PORT, REST_PORT
from workloads.manifests.rollout import LABELS, READINESS_GATES, STABLE_LABELS, Rollout
from workloads.manifests.streams import in_pod
from workloads.owner import Owner
from workloads.settings.exposure import GatewayArgs
from workloads.settings.model_page import ModelPageArgs
from workloads.settings.model_server import ServerSettings
from workloads.settings.mounts import Location

# Both become ready once a model exists, which may be days after `pulumi up`.
_NOT_AWAITED = {SKIP_AWAIT: "true"}

_PORTS: Any = [
    {"name": "grpc", "port": GRPC_PORT, "target_port": "grpc", "app_protocol": "grpc"},
    {"name": "rest", "port": REST_PORT, "target_port": "rest", "app_protocol": "http"},
]


class ModelServerArgs(ServerSettings, WorkloadArgs):
    """Settings of a model server."""

    kind: Literal["modelServer"] = "modelServer"
    stays: ClassVar[bool] = True
    accepts_clients: ClassVar[bool] = True

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        return images.serving(self.resources.gpus)

    @property
    def models_served(self) -> Sequence[str]:
        return list(self.served)

    @property
    def models_read(self) -> Mapping[Key, Location]:
        return {self.key_of(name): folder for name, folder in self.folders.items()}

    @property
    def controllers(self) -> frozenset[str]:
        return frozenset({self.scaling.controller} if self.scaling else ())

    def pod_sets(self) -> list[PodSet]:
        at = ("scaling", "max") if self.scaling else ("replicas",)
        pods = PodSet("server", self.most_replicas, self.resources, together=False, interruptible=False, count_at=at)
        return [pods]

    def mounts(self) -> Mapping[str, Key]:
        return {
            folder.volume: (*self.key_of(name), self.served[name].key("volume"))
            for name, folder in self.folders.items()
        }

    def unqueued(self) -> list[PodSet]:
        # A rolling update starts one additional pod.
        return [replace(pods, count=pods.count + 1) for pods in self.pod_sets()]

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Fault]:
        yield from checks.faults(self, name, at, self.pod_sets(), declared)

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "ModelServer":
        return ModelServer(name, self, at=at, platform=platform, opts=opts)


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
        owner = Owner(self, name, platform.namespace, manifests.PART)
        needed: list[pulumi.Resource] = [
            owner.service_account(),
            *created(platform.volumes, args.mounts()),
            *created(platform.streams, args.streams),
        ]
        rollout = Rollout.of(args)
        sources = None if args.clients is None else exposing.sources(args.clients, args.expose)
        if sources is not None and rollout:
            sources.append(rollouts.source(name))
        page = Owner(self, f"{name}{model_page.NAME_SUFFIX}", platform.namespace, model_page.COMPONENT)
        of_page = [{"podSelector": {"matchLabels": page.selector}}] if args.page else []
        owner.allow_clients([GRPC_PORT, REST_PORT], None if sources is None else [*sources, *of_page])
        # An image that reads streams is no TensorFlow Serving.
        files = None if args.streams else manifests.config_files(owner.identity, args)
        if files:
            needed += [owner.config_map(files.once), self._model_config(owner, files.models, args)]
        by_operator = platform.settings.prometheus.serving_metrics == "serviceMonitor"
        annotations = service_monitor.annotations(REST_PORT) if files and not by_operator else {}
        placement = node_placement.spec(platform.cluster.fleet, args.resources, interruptible=False)
        streams = {stream: references.client(stream, use, platform.settings) for stream, use in args.streams.items()}

        def template(of: manifests.ConfigFiles | None, labels: Mapping[str, str], gates: Sequence[str]) -> Any:
            return image.apply(
                lambda image: manifests.pods(
                    owner.identity,
                    args,
                    image,
                    files=of,
                    models={volume: references.mountable(volume, platform.settings) for volume in args.mounts()},
                    of_streams=in_pod(streams),
                    placement=placement,
                    annotations=annotations,
                    labels=labels,
                    readiness_gates=gates,
                )
            )

        after = pulumi.ResourceOptions(parent=self, depends_on=needed)
        replicas = max(1, args.scaling.min) if args.scaling else args.replicas
        # An update of the stack must not reset what an autoscaler or a rollout's controller has set.
        scaled = bool(args.scaling or rollout)
        stable_labels = STABLE_LABELS if args.tried_by_route else {}
        deployment = _deployment(owner, name, replicas, template(files, stable_labels, ()), {}, after, scaled=scaled)
        service, routes = self._expose(owner, args, platform, monitored=bool(files and by_operator))
        if rollout and files:
            pods = template(replace(files, models=manifests.models_map(name, "canary")), LABELS, READINESS_GATES)
            canary = _deployment(owner, f"{name}{CANARY_SUFFIX}", 0, pods, LABELS, after, scaled=True)
            self._try_versions(rollout, owner, args, platform, files.models, [deployment, canary], routes)
        if args.scaling:
            url = platform.settings.prometheus.prometheus_url
            scaling.declare(owner, args.scaling, url, [deployment, *platform.controllers])
        if args.most_replicas > 1:
            self._disruption_budget(owner)
        host = platform.cluster.args.address(service)
        self.gpus = props["gpus"]
        self.outputs = registered.ModelServerOutputs(
            kind=args.kind,
            deployment=deployment.metadata["name"],
            service=service.metadata["name"],
            models={
                model: pulumi.Output.format("http://{0}:{1}/v1/models/{2}", host, REST_PORT, model)
                for model in args.served
            },
            grpc=pulumi.Output.format("{0}:{1}", host, GRPC_PORT),
            gpus=self.gpus,
        )
        if args.page:
            self.outputs["page"] = self._show(args.page, page, owner, args, platform, sources)
        self.register_outputs(dict(self.outputs))

    def _try_versions(
        self,
        rollout: Rollout,
        owner: Owner,
        args: ModelServerArgs,
        platform: Platform,
        stable_models: str,
        deployments: "Sequence[k8s.apps.v1.Deployment]",
        routes: Sequence[pulumi.Resource],
    ) -> None:
        """The canary's model config file, and the controller that writes both files and scales both Deployments.
        `stable_models`: name of the stable pods' file; `deployments`: the stable one and the canary; `routes`: what it
        divides requests with."""
        name_of_texts = manifests.models_map(owner.name, "canary")
        texts = self._model_config(owner, name_of_texts, args)
        rollouts.declare(
            rollout,
            owner,
            args,
            platform,
            config_maps=[stable_models, name_of_texts],
            deployments=[owner.name, f"{owner.name}{CANARY_SUFFIX}"],
            needed=[*deployments, texts, *routes],
        )

    def _expose(
        self, owner: Owner, args: ModelServerArgs, platform: Platform, *, monitored: bool
    ) -> "tuple[k8s.core.v1.Service, Sequence[pulumi.Resource]]":
        """The Service and what brings clients to it, the last of which are the routes from a Gateway. `monitored`:
        whether Prometheus' operator collects metrics."""
        service = exposure.service(owner, args.expose, platform.cluster.args, _PORTS, _NOT_AWAITED)
        if monitored:
            exposure.custom(owner, service_monitor.service_monitor(owner.identity), [service])
        if not isinstance(args.expose, GatewayArgs):
            return service, ()
        tracks = exposure.of_tracks(owner, _PORTS, _NOT_AWAITED) if args.tried_by_route else []
        routes = exposure.through_gateway(owner, args.expose, [service, *tracks], tries=args.tried_by_route)
        return service, routes

    def _show(
        self,
        settings: ModelPageArgs,
        page: Owner,
        owner: Owner,
        args: ModelServerArgs,
        platform: Platform,
        sources: Sequence[Mapping[str, Any]] | None,
    ) -> pulumi.Output[str]:
        """The web page; its URL. Who may not ask the server may not ask it through the page either."""
        page.allow_clients([model_page.POD_PORT], sources)
        shown = model_page.Request(owner.name, owner.selector, REST_PORT, list(args.served), settings.ink)
        at_page = model_page.declare(
            shown, platform.cluster.args.images.python, namespace=platform.namespace.name, opts=owner.inside
        )
        return pulumi.Output.format("http://{0}/", platform.cluster.args.address(at_page))

    def _model_config(self, owner: Owner, name: str, args: ModelServerArgs) -> "k8s.core.v1.ConfigMap":
        """Changed in place: the servers read it again, and no pod starts anew. With a canary, its controller writes
        it."""
        ignored = ["data"] if args.with_canary else None
        return k8s.core.v1.ConfigMap(
            name,
            metadata=owner.metadata(name),
            data=manifests.model_config(args),
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=ignored),
        )

    def _disruption_budget(self, owner: Owner) -> None:
        k8s.policy.v1.PodDisruptionBudget(
            owner.name,
            metadata=owner.metadata(),
            spec={"max_unavailable": 1, "selector": {"match_labels": owner.selector}},
            opts=owner.inside,
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


def _deployment(
    owner: Owner,
    name: str,
    replicas: int,
    template: Any,
    track: Mapping[str, str],
    opts: pulumi.ResourceOptions,
    *,
    scaled: bool,
) -> "k8s.apps.v1.Deployment":
    """A Deployment of server pods. `track`: labels of the canary's; `scaled`: whether others set the replicas."""
    own = pulumi.ResourceOptions(ignore_changes=["spec.replicas"]) if scaled else None
    return k8s.apps.v1.Deployment(
        name,
        metadata=owner.metadata(name, labels=track, annotations=_NOT_AWAITED),
        spec={
            "replicas": replicas,
            "selector": {"match_labels": {**owner.selector, **track}},
            "strategy": {"type": "RollingUpdate", "rolling_update": {"max_unavailable": 0, "max_surge": 1}},
            "template": template,
        },
        opts=pulumi.ResourceOptions.merge(opts, own),
    )
