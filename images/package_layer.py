"""A layer of locked Python packages on the training image: one image per set, named by its content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.images import training, wheels
from tensorplane.images.base_python import BasePython
from tensorplane.images.layer import Recipe
from tensorplane.images.oci import Image
from tensorplane.stack_file import package_lock


def image(locked: Sequence[str], below: Image | None = None) -> Image:
    """The training image, or the image `below`, with a locked set: lines of a requirements file, with hashes.

    Its archive has the added layer only: the others are imported with the image below.
    """
    below = below or training.image()
    name = package_lock.image_name(below.name, locked)
    return below.extended(name, layer(locked))


def layer(locked: Sequence[str]) -> Recipe:
    """The layer with a locked set. pip checks the hashes."""
    lines = "\n".join(sorted(locked)) + "\n"
    return Recipe(
        package_lock.image_name("packages", locked),
        partial(_install, lines),
        sources=("package_layer.py", "wheels.py", "base_python.py"),
        inputs=(training.BASE.key, lines),
    )


def _install(lines: str, root: Path, step: Step) -> None:
    with scratch("base") as base, scratch("locked") as work:
        requirements = work / "requirements.txt"
        requirements.write_text(lines)
        training.BASE.layer(step).extract(base)
        wheels.install(requirements, root, BasePython(base), step, slim=False)
