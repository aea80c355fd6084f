"""The training image: Debian's Python and TensorFlow. Jobs mount their code, so they need no images of their own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from embedded.images import debian, wheels
from embedded.images.base_python import BasePython
from embedded.images.layer import Recipe
from embedded.images.oci import Image, architecture
from embedded.images.scratch import scratch
from embedded.paths import PROJECT
from embedded.step import Step

_REQUIREMENTS = PROJECT / "runtime" / "requirements.txt"
_FOR_STREAMS = PROJECT / "runtime" / "requirements-streams.txt"

BASE = Recipe("base", debian.base, sources=("debian.py", "base_python.py"), inputs=(architecture(),))


def _packages(requirements: Path, root: Path, step: Step) -> None:
    with scratch("base") as base:
        BASE.layer(step).extract(base)
        wheels.install(requirements, root, BasePython(base), step)


def _layer_of(name: str, requirements: Path) -> Recipe:
    return Recipe(
        name,
        partial(_packages, requirements),
        sources=("wheels.py", "elf.py", "base_python.py"),
        inputs=(BASE.key, requirements.read_text()),
    )


TENSORFLOW = _layer_of("tensorflow", _REQUIREMENTS)
STREAMS = _layer_of("streams", _FOR_STREAMS)
"""Kafka's client, for training jobs alone."""

# XLA's and oneDNN's start-up messages would precede the job's first line.
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "1", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def image() -> Image:
    """The image of training jobs."""
    return Image(
        "tensorplane.local/train:2.21.0", (BASE, TENSORFLOW, STREAMS), entrypoint=("/usr/bin/python3",), env=ENVIRONMENT
    )
