"""TensorBoards: a Deployment that shows the event files of a volume to those who open a tunnel to it."""

from __future__ import annotations

from typing import Any

import pulumi

from tensorplane.components.base import encrypted
from tensorplane.components.base import outputs as registered
from tensorplane.components.base.problems import Key
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.workloads.component import Platform, Workload, created
from tensorplane.workloads.pods import references
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.tensorboard import manifest as manifests
from tensorplane.workloads.tensorboard.workload import TensorBoardArgs


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
