"""Model servers: a Deployment that serves the newest version of a model on a volume, by TF Serving's REST and gRPC."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components import node_room
from components.faults import Fault, Key
from components.image import Image
from components.model import In, Name
from components.queue.room import PodSet
from components.volume import Volume
from workloads import Declared, Platform, Workload, WorkloadArgs, mounts, pod, streams
from workloads.owner import Owner

GRPC_PORT = 8500
REST_PORT = 8501

# Both become ready when training has written a model, which may be days after `pulumi up`.
_NOT_AWAITED = {"pulumi.com/skipAwait": "true"}
_NO_PART_OF_A_URL = re.compile(r"[:%?#\s]")
_ROOT = "/models"
"""Where the server sees the model's volume."""


class ModelServerArgs(WorkloadArgs):
    """Settings of a model server."""

    kind: Literal["modelServer"] = "modelServer"

    model: mounts.Location
    """Where the model's numbered versions are. The last part of the path is the model's name for clients."""
    replicas: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of server pods."""
    image: In[Image] | None = None
    """Container image that answers TF Serving's API; tensorflow/serving by default, on `embedded` its stand-in."""

    streams: Annotated[dict[Name, streams.StreamUseArgs], Field(default_factory=dict)]
    """Streams by the names of their volumes, which an `image` of yours reads or writes: `events: {group: ranker}`. It
    finds them in STREAMS."""

    @property
    def model_name(self) -> str:
        """The model's name in URLs."""
        return self.model.path.rsplit("/", 1)[-1]

    @property
    def base_path(self) -> str:
        """Folder in the pod that holds the model's folder: the image appends the model's name itself."""
        return f"{_ROOT}/{self.model.path}".rsplit("/", 1)[0]

    stays: ClassVar[bool] = True

    def pod_sets(self) -> list[PodSet]:
        return [PodSet("server", self.replicas, self.resources, together=False, interruptible=self.interruptible)]

    def mounts(self) -> Mapping[str, Key]:
        return {self.model.volume: ("model", "volume")}

    @property
    def gpus_beside_queues(self) -> int:
        # A rolling update starts one more before it stops one.
        return (self.replicas + 1) * self.resources.gpus

    def check(self, name: str, declared: Declared) -> Iterator[Fault]:
        at = ("workloads", name, "resources")
        yield from declared.fleet.check(self.resources, at, interruptible=self.interruptible)
        shapes = declared.fleet.taking(self.resources, interruptible=self.interruptible)
        yield from node_room.count_faults(self.resources, self.replicas, at, ("workloads", name, "replicas"), shapes)
        where, volume = ("workloads", name, "model", "volume"), self.model.volume
        yield from mounts.check_volume(volume, where, declared.volumes)
        yield from mounts.check_access(name, volume, where, declared.volumes, read_only=True)
        yield from mounts.check_stream(volume, where, declared.volumes, declared.cluster)
        if _NO_PART_OF_A_URL.search(self.model_name):
            reason = f"the model would be called {self.model_name!r}, which no URL of TensorFlow Serving can name"
            yield Fault(("workloads", name, "model", "path"), f"{reason}; end the path without spaces and : % ? #")
        yield from streams.check(self.streams, ("workloads", name, "streams"), declared.volumes)
        if self.streams and self.image is None:
            reason = "given, and TensorFlow Serving reads no streams: need an `image` of yours that does"
            yield Fault(("workloads", name, "streams"), reason, given=(("workloads", name, "image"),))

    def build(self, name: str, platform: Platform, opts: pulumi.ResourceOptions) -> "ModelServer":
        return ModelServer(name, self, platform=platform, opts=opts)


class ModelServer(Workload):
    """A model server. It is Ready once a version of the model is on the volume; `pulumi up` does not wait for that."""

    def __init__(
        self, name: str, args: ModelServerArgs, *, platform: Platform, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        image = platform.guarded(name, args.image or platform.cluster.args.images.serving(args.resources.gpus))
        gpus = args.replicas * args.resources.gpus
        props = {"model": args.model_name, "image": image, "replicas": args.replicas, "gpus": gpus}
        super().__init__("tensorplane:index:ModelServer", name, props, opts)
        owner = Owner(self, name, platform.namespace, "serving")
        volume = platform.volumes[args.model.volume]
        needed: list[pulumi.Resource] = [
            owner.service_account(),
            volume,
            *(platform.streams[stream] for stream in sorted(args.streams)),
        ]
        owner.allow_clients([GRPC_PORT, REST_PORT])
        placement = platform.cluster.fleet.placement(args.resources, interruptible=args.interruptible)
        of_streams = streams.in_pod(args.streams, platform.streams)
        template: Any = image.apply(lambda image: _pod(owner, args, image, volume, of_streams, placement))
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
        self.outputs = {
            "kind": args.kind,
            "deployment": deployment.metadata["name"],
            "service": service.metadata["name"],
            "model": args.model_name,
            "rest": pulumi.Output.format("http://{0}:{1}/v1/models/{2}", host, REST_PORT, args.model_name),
            "grpc": pulumi.Output.format("{0}:{1}", host, GRPC_PORT),
            "gpus": gpus,
        }
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


def _pod(
    owner: Owner,
    args: ModelServerArgs,
    image: str,
    volume: Volume,
    of_streams: streams.InPod,
    placement: Mapping[str, Any],
) -> dict[str, Any]:
    container = pod.Container(
        image=image,
        resources=args.resources,
        env=[
            *pod.variables({"MODEL_NAME": args.model_name, "MODEL_BASE_PATH": args.base_path}),
            *of_streams.env,
        ],
        ports={"grpc": GRPC_PORT, "rest": REST_PORT},
        volumes=[
            pod.VolumeMount(volume.claim_name, _ROOT, read_only=True, one_node=volume.one_node, marks=volume.marks)
        ],
        secrets=of_streams.secrets,
        # It answers once a version is loaded. No liveness probe: a server without a model waits and must not be killed.
        readiness={
            "httpGet": {"path": f"/v1/models/{args.model_name}/metadata", "port": "rest"},
            "periodSeconds": 2,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        },
    )
    labels = {**owner.labels, **of_streams.labels}
    return pod.template(owner.name, labels, container, grace_seconds=30, placement=placement)
