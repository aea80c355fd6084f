"""The image of sweeps' controllers on the embedded cluster, for a sweep that `tensorplane up` did not know of."""

from __future__ import annotations

from tensorplane import images
from tensorplane.core import terminal
from tensorplane.core.progress import Progress
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tensorplane.images import package_layer
from tensorplane.stack_file import sweep_packages

_OF_PACKAGES = "image packages"


def provide(instance: Instance, image: str) -> None:
    """Builds it and imports it into the running cluster, as far as it is missing. `image`: what the controller runs;
    nothing is done for another."""
    lines = sweep_packages.lines()
    if image != package_layer.image(lines).name or cluster.has_image(instance, image):
        return
    with Progress(terminal.console()) as progress:
        for task in images.tasks(packages=[lines]):
            if task.name.startswith(_OF_PACKAGES):
                with progress.step(task.name) as step:
                    task.run(step)
        with progress.step("load image") as step:
            cluster.load_packages(instance, step, lines)
