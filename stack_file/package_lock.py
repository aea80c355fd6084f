"""packages.lock, beside the stack files: the locked versions of the jobs' `packages`, by what the jobs ask for.

`tensorplane image lock` writes it; everything else only reads it, so that a preview needs no package index. A set is
named by its content: the name of its image, and with it the run of a job, change with the set.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tensorplane.core.paths import PACKAGE

FILE = "packages.lock"
TRAINING_IMAGE = PACKAGE / "images" / "requirements" / "training.txt"
"""The packages of the training image."""
REMEDY = "run: tensorplane image lock"
_HEADER = """\
# Versions and SHA-256 of the jobs' `packages`, and of what they require beside TensorFlow. Check it in.
# Written by `tensorplane image lock`; do not edit.
"""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_TAG_LENGTH = 12
_CPU_TENSORFLOW = "tensorflow-cpu"
IMAGE_ONLY_PACKAGES = frozenset({"tf-keras", "tensorboard", "markdown", "werkzeug", "markupsafe", "pillow"})
"""Packages of the training image that TensorFlow does not require, so that its public image lacks them."""


@dataclass(frozen=True)
class PackageLock:
    """The content of the file."""

    base_image_hash: str = ""
    """Hash of the training image's own pins, with which the sets were resolved."""
    locked_sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Lines of a requirements file, with hashes, by what was asked for."""

    def locked(self, packages: Iterable[str]) -> tuple[str, ...] | None:
        """The locked set of these `packages`; None if they are not locked."""
        return self.locked_sets.get(key_of(packages))


def key_of(packages: Iterable[str]) -> str:
    """What a job asks for, whatever the order."""
    return ", ".join(sorted({package.strip() for package in packages}))


def read(project: Path) -> PackageLock:
    """The project's lock; empty without the file. Raises ValueError with the reason if it cannot be read."""
    file = project / FILE
    if not file.exists():
        return PackageLock()
    try:
        found = yaml.safe_load(file.read_text())
        return PackageLock(
            str(found["against"]),
            {str(name): tuple(map(str, lines)) for name, lines in found["sets"].items()},
        )
    except (OSError, UnicodeDecodeError, yaml.YAMLError, TypeError, KeyError, AttributeError):
        raise ValueError(f"{FILE}: cannot be read; {REMEDY}") from None


def write(project: Path, lock: PackageLock) -> None:
    """Replaces the project's lock."""
    content = {
        "against": lock.base_image_hash,
        "sets": {name: list(lines) for name, lines in sorted(lock.locked_sets.items())},
    }
    text = _HEADER + yaml.safe_dump(content, sort_keys=False, width=10_000)
    temporary_file = project / f".{FILE}.draft"
    temporary_file.write_text(text)
    temporary_file.replace(project / FILE)


def pins() -> dict[str, str]:
    """The versions of the training image's own packages, by name."""
    found = dict(_PIN.findall(TRAINING_IMAGE.read_text()))
    found.pop(_CPU_TENSORFLOW, None)
    return found


def base_image_hash() -> str:
    """A hash of the training image's own packages, and of those among them that a lock contains."""
    hashed = [pins(), sorted(IMAGE_ONLY_PACKAGES)]
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()[:_TAG_LENGTH]


def lines_not_in_base(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines of a locked set that the training image does not contain already."""
    own = {f"{name}=={version}" for name, version in pins().items()}
    return tuple(line for line in lines if line.split()[0] not in own)


def image_name(base: str, lines: Iterable[str]) -> str:
    """The name of the image that adds a locked set to the image `base`; `base` itself for an empty set."""
    lines = sorted(lines)
    if not lines:
        return base
    return f"{base}-{hashlib.sha256(json.dumps(lines).encode()).hexdigest()[:_TAG_LENGTH]}"
