"""Model servers: a Deployment of TensorFlow Serving with REST and gRPC, for the newest version of a model on a
volume."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components import versions
from components.base import facts as registered
from components.base.faults import Fault, Key
from components.base.labels import SKIP_AWAIT
from components.node_groups import placement as node_placement
from components.queues.room import PodSet
from workloads import references
from workloads.base import Declared, Platform, Workload, WorkloadArgs
from workloads.checks import model_server as checks
from workloads.manifests import model_server as manifests
from workloads.manifests.model_server import GRPC_PORT, REST_PORT
from workloads.manifests.streams import in_pod
from workloads.owner import Owner
from workloads.settings.model_server import ServerSettings
from workloads.settings.mounts import Location

# Both become ready once a model exists, which may be days after `pulumi up`.
_NOT_AWAITED = {SKIP_AWAIT: "true"}


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
    def models_read(self) -> Location | None:
        return self.model

    def pod_sets(self) -> list[PodSet]:
        return [PodSet("server", self.replicas, self.resources, together=False, interruptible=False)]

    def mounts(self) -> Mapping[str, Key]:
        return {self.model.volume: ("model", "volume")}

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
        gpus = args.replicas * args.resources.gpus
        props = registered.ModelServer(model=args.model_name, image=image, replicas=args.replicas, gpus=gpus)
        super().__init__(registered.MODEL_SERVER, name, dict(props), opts)
        owner = Owner(self, name, platform.namespace, "serving")
        needed: list[pulumi.Resource] = [
            owner.service_account(),
            platform.volumes[args.model.volume],
            *(platform.streams[stream] for stream in sorted(args.streams)),
        ]
        owner.allow_clients([GRPC_PORT, REST_PORT])
        placement = node_placement.spec(platform.cluster.fleet, args.resources, interruptible=False)
        streams = {stream: references.client(stream, use, platform.settings) for stream, use in args.streams.items()}
        template: Any = image.apply(
            lambda image: manifests.pods(
                owner.identity,
                args,
                image,
                models=references.mountable(args.model.volume, platform.settings),
                of_streams=in_pod(streams),
                placement=placement,
            )
        )
        deployment = k8s.apps.v1.Deployment(
            name,
            metadata=owner.metadata(annotations=_NOT_AWAITED),
            spec={
                "replicas": args.replicas,
                "selector": {"match_labels": owner.selector},
                "strategy": {"type": "RollingUpdate", "rolling_update": {"max_unavailable": 0, "max_surge": 1}},
                "template": template,
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=needed),
        )
        service = self._service(owner)
        if args.replicas > 1:
            self._disruption_budget(owner)
        host = platform.cluster.args.address(service)
        self.gpus = gpus
        self.outputs = registered.ModelServerOutputs(
            kind=args.kind,
            deployment=deployment.metadata["name"],
            service=service.metadata["name"],
            model=args.model_name,
            rest=pulumi.Output.format("http://{0}:{1}/v1/models/{2}", host, REST_PORT, args.model_name),
            grpc=pulumi.Output.format("{0}:{1}", host, GRPC_PORT),
            gpus=gpus,
        )
        self.register_outputs(dict(self.outputs))

    def _service(self, owner: Owner) -> "k8s.core.v1.Service":
        return k8s.core.v1.Service(
            owner.name,
            metadata=owner.metadata(annotations=_NOT_AWAITED),
            spec={
                "selector": owner.selector,
                "ports": [
                    {"name": "grpc", "port": GRPC_PORT, "target_port": "grpc", "app_protocol": "grpc"},
                    {"name": "rest", "port": REST_PORT, "target_port": "rest", "app_protocol": "http"},
                ],
            },
            opts=owner.inside,
        )

    def _disruption_budget(self, owner: Owner) -> None:
        k8s.policy.v1.PodDisruptionBudget(
            owner.name,
            metadata=owner.metadata(),
            spec={"max_unavailable": 1, "selector": {"match_labels": owner.selector}},
            opts=owner.inside,
        )
