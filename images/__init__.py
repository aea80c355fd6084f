"""Container images of the embedded cluster, built on this machine from Debian's and PyPI's packages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.core.tasks import Task
from tensorplane.images import add_ons, kafka_image, package_layer, serving_image, training
from tensorplane.images.layer import Recipe
from tensorplane.images.oci import Image, manifest_digest

__all__ = ["archives", "manifest_digest", "tasks"]


Locked = tuple[str, ...]
"""A locked set of packages: lines of a requirements file, with hashes."""


def tasks(*, streams: bool = False, controllers: Collection[str] = (), packages: Iterable[Locked] = ()) -> list[Task]:
    """The tasks that build missing images; none if all are in the cache.

    With `streams`, also that of their broker. `controllers`: those of `go_module.CONTROLLERS` whose images are wanted.
    `packages`: locked sets that jobs add to the training image.
    """
    images = {name: image for name, image in _python_images().items() if not image.archive.exists()}
    needed = {recipe.name for image in images.values() for recipe in image.recipes if not recipe.cached()}
    missing = (
        [] if _is_cached(_add_ons) else [Task("image add-ons", partial(_build_all, _add_ons), after=("kubernetes",))]
    )
    for name in sorted(controllers):
        made = partial(add_ons.controller, name)
        if not _is_cached(made):
            missing.append(Task(f"image {name}", partial(_build_all, made), after=("kubernetes", name)))
    if training.BASE.name in needed:
        missing.append(Task("image base", partial(_layer, training.BASE)))
    if training.TENSORFLOW.name in needed:
        missing.append(Task("image tensorflow", partial(_layer, training.TENSORFLOW), after=("image base",)))
    for name, image in images.items():
        missing.append(Task(name, partial(_build, image), after=("image base", "image tensorflow")))
    with_packages = [image for image in map(package_layer.image, packages) if not image.archive.exists()]
    for position, image in enumerate(with_packages):
        missing.append(Task(f"image packages {position + 1}", partial(_build, image), after=("image train",)))
    if streams and not kafka_image.image().archive.exists():
        # It may install Java and Maven, and apt allows one installation at a time.
        missing.append(Task("image kafka", partial(_build, kafka_image.image()), after=("debian packages", "kafka")))
    return missing


def archives(
    *, streams: bool = False, controllers: Collection[str] = (), packages: Iterable[Locked] = ()
) -> dict[str, Path]:
    """Each image's OCI archive, by the image's name, in the order in which they can be imported."""
    more = [kafka_image.image()] if streams else []
    more += [image for name in sorted(controllers) for image in add_ons.controller(name)]
    more += map(package_layer.image, packages)
    return {image.name: image.archive for image in (*add_ons.images(), *_python_images().values(), *more)}


def _python_images() -> dict[str, Image]:
    return {"image train": training.image(), "image serving": serving_image.image()}


def _add_ons() -> list[Image]:
    return add_ons.images()


def _is_cached(images: Callable[[], list[Image]]) -> bool:
    try:
        return all(image.archive.exists() for image in images())
    except UserError:  # a program that goes into an image is not built yet
        return False


def _build_all(images: Callable[[], list[Image]], step: Step) -> None:
    for image in images():
        image.build(step)


def _build(image: Image, step: Step) -> None:
    image.build(step)


def _layer(recipe: Recipe, step: Step) -> None:
    recipe.layer(step)
