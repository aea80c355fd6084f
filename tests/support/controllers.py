"""Controllers that the embedded cluster has only for stacks that use them."""

from __future__ import annotations

from tensorplane import images, toolchain
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance


def provide(instance: Instance, *controllers: str, streams: bool = False) -> None:
    """The programs, charts and images of these controllers, which `make up` gets for stacks that use them."""
    tools = toolchain.tasks(cluster=True, pulumi=False, controllers=controllers)
    for task in (*tools, *images.tasks(streams=streams, controllers=controllers)):
        if task.name.removeprefix("image ") in (*controllers, "kafka"):
            task.run(Step(task.name))
    cluster.start(instance, Step("cluster"), storage=True)
    cluster.load_images(instance, Step("load images"), streams=streams, controllers=controllers)
