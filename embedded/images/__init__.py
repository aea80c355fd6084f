"""Container images of the embedded cluster, built on this machine from Debian's and PyPI's packages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from embedded.fault import Fault
from embedded.images import add_ons, training
from embedded.images.layer import Recipe
from embedded.images.oci import Image, manifest_digest
from embedded.progress import Step
from embedded.tasks import Task

__all__ = ["archives", "manifest_digest", "tasks"]


def tasks() -> list[Task]:
    """What is missing now; nothing when every image is in the cache."""
    missing: list[Task] = []
    if not _cached(add_ons.images):
        missing.append(Task("image add-ons", partial(_build, add_ons.images), after=("kubernetes",)))
    if not training.image().archive.exists():
        if not training.BASE.cached():
            missing.append(Task("image base", partial(_layer, training.BASE)))
        if not training.TENSORFLOW.cached():
            missing.append(Task("image tensorflow", partial(_layer, training.TENSORFLOW), after=("image base",)))
        missing.append(Task("image train", partial(_build, lambda: [training.image()]), after=("image tensorflow",)))
    return missing


def archives() -> dict[str, Path]:
    """Each image's OCI archive by the image's name."""
    return {image.name: image.archive for image in (*add_ons.images(), training.image())}


def _cached(images: Callable[[], list[Image]]) -> bool:
    try:
        return all(image.archive.exists() for image in images())
    except Fault:  # a program that goes into an image is not built yet
        return False


def _layer(recipe: Recipe, step: Step) -> None:
    recipe.layer(step)


def _build(images: Callable[[], list[Image]], step: Step) -> None:
    for image in images():
        image.build(step)
