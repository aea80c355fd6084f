"""`tensorplane image build`: the training image with locked packages, as an archive or in a registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tensorplane.core import terminal
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.core.progress import Progress
from tensorplane.core.step import Step
from tensorplane.images import oci, package_layer, package_resolution, registry, training
from tensorplane.images.oci import Image
from tensorplane.stack_file import package_lock


@dataclass(frozen=True)
class Build:
    """What is built, and where it goes."""

    packages: Sequence[str]
    gpu: bool = False
    lock: Path | None = None
    """Where the resolved packages are written."""
    push: str | None = None
    output: Path | None = None
    name: str | None = None


def run(wanted: Build) -> None:
    """Builds it, and writes or pushes it, or both."""
    if not wanted.push and not wanted.output:
        raise UserError("image build: names no destination; add --push REF or --output ARCHIVE")
    destination = registry.Destination.of(wanted.push) if wanted.push else None
    with Progress(terminal.console()) as progress, progress.step("image") as step:
        resolved = locked(wanted.packages, step)
        image = _image(wanted.name or wanted.push, resolved, gpu=wanted.gpu)
        layers = [recipe.layer(step) for recipe in image.recipes]
        config = image.config(layers)
        if wanted.output:
            step.note(f"writing {wanted.output}")
            oci.write(wanted.output, image.name, config, layers)
        digest = registry.push(destination, config, layers, step) if destination else ""
    if wanted.lock:
        wanted.lock.write_text("".join(f"{line}\n" for line in resolved))
        print(f"{wanted.lock}: the packages with versions and hashes; build the same again with --requirements")
    if wanted.output:
        print(f"{wanted.output}: image {image.name}; load it with: tensorplane image load {wanted.output}")
    if destination:
        print(f"{wanted.push}@{digest}")


def _image(name: str | None, resolved: Sequence[str], *, gpu: bool) -> Image:
    if gpu and oci.architecture() != "amd64":
        raise UserError("--gpu: TensorFlow's wheels for GPUs exist for x86-64 only; build it on such a machine")
    base = training.gpu_image() if gpu else training.image()
    added = package_lock.lines_not_in_base(resolved)
    image = package_layer.image(added, base) if added else base
    return image.with_name(name) if name else image


def requirements(file: Path | None) -> list[str]:
    """The lines of a requirements file, without comments."""
    if file is None:
        return []
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{file}: {getattr(error, 'strerror', None) or 'is not text'}; correct --requirements"
        ) from None
    lines = [line.partition(" #")[0].strip() for line in text.replace("\\\n", " ").splitlines()]
    found = [line for line in lines if line and not line.startswith("#")]
    if option := next((line for line in found if line.startswith("-")), None):
        raise UserError(f"{file}: {option} is an option of pip; set it in pip's configuration, and name packages only")
    return found


def locked(packages: Sequence[str], step: Step) -> tuple[str, ...]:
    """The packages with versions and hashes: as given if they have hashes, from packages.lock, or resolved now."""
    hashed = [package for package in packages if "--hash=" in package]
    if hashed and len(hashed) < len(packages):
        plain = next(package for package in packages if "--hash=" not in package)
        raise UserError(f"{plain}: has no hash, and other packages have; give all of them hashes, or none")
    if hashed:
        return tuple(sorted(" ".join(package.split()) for package in packages))
    if not packages:
        return ()
    try:
        lock = package_lock.read(PROJECT)
    except ValueError as error:
        raise UserError(str(error)) from None
    known = lock.locked(packages) if lock.base_image_hash == package_lock.base_image_hash() else None
    return known if known is not None else package_resolution.resolve(packages, package_lock.pins(), step)
