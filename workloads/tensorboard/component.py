"""TensorBoards: a Deployment that shows the event files of a volume to those who open a tunnel to it."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import pulumi

from tensorplane.components import versions
from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, Platform, Workload, WorkloadArgs, created
from tensorplane.workloads.pods import references
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.tensorboard import checks as tensorboard_checks
from tensorplane.workloads.tensorboard import manifest as manifests
from tensorplane.workloads.tensorboard.settings import BoardSettings


class TensorBoardArgs(BoardSettings, WorkloadArgs):
    """Settings of a TensorBoard. `tensorplane tensorboard NAME` opens it."""

    kind: Literal["tensorboard"] = "tensorboard"
    stays: ClassVar[bool] = True

    @property
    def named_image(self) -> Any:
        return self.image

    def default_image(self, images: versions.Images) -> str | None:
        # TensorFlow's public image has no TensorBoard.
        return images.training(0) if images.built_here else None

    def pod_sets(self) -> list[PodSet]:
        return [PodSet("tensorboard", 1, self.resources, together=False, interruptible=False)]

    def mounts(self) -> Mapping[str, Key]:
        return {self.logs.volume: ("logs", "volume")}

    def unqueued(self) -> list[PodSet]:
        return self.pod_sets()

    def check(self, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
        yield from tensorboard_checks.find_problems(self, name, at, self.pod_sets(), declared)

    def build(self, name: str, at: Key, platform: Platform, opts: pulumi.ResourceOptions) -> "TensorBoard":
        return TensorBoard(name, self, at=at, platform=platform, opts=opts)


class TensorBoard(Workload):
    """A TensorBoard. It has no Service and accepts no connections from other pods."""

    def __init__(
        self,
        name: str,
        args: TensorBoardArgs,
        *,
        at: Key,
        platform: Platform,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`at`: the path of the settings."""
        image = platform.guarded(at, args.image or args.default_image(platform.cluster.args.images))
        props = registered.TensorBoard(volume=args.logs.volume, path=args.logs.path, image=image, gpus=0)
        super().__init__(registered.TENSORBOARD, name, dict(props), opts)
        owner = Owner(self, name, platform.namespace, "tensorboard")
        depends_on = [owner.service_account(), *created(platform.volumes, [args.logs.volume])]
        placement = node_placement.spec(platform.cluster.fleet, args.resources, interruptible=False)
        template: Any = image.apply(
            lambda image: manifests.pods(
                owner.identity,
                args,
                image,
                logs=references.mountable(args.logs.volume, platform.settings),
                placement=placement,
            )
        )
        # It only reads: two at once, during an update, do not disturb each other.
        deployment = owner.deployment(template, replicas=1, depends_on=depends_on)
        self.gpus = 0
        self.outputs = registered.TensorBoardOutputs(
            kind=args.kind, deployment=deployment.metadata["name"], volume=args.logs.volume, gpus=0
        )
        self.register_outputs(encrypted.concealed(dict(self.outputs)))
