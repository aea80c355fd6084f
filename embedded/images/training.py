"""The training image: Debian's Python and TensorFlow. A job's code is mounted, so no job needs an image of its own."""

from __future__ import annotations

from pathlib import Path

from embedded.images import debian, wheels
from embedded.images.base_python import BasePython
from embedded.images.layer import Recipe
from embedded.images.oci import Image, architecture
from embedded.images.scratch import scratch
from embedded.paths import PROJECT
from embedded.progress import Step

_REQUIREMENTS = PROJECT / "runtime" / "requirements.txt"

BASE = Recipe("base", debian.base, sources=("debian.py", "base_python.py"), inputs=(architecture(),))


def _tensorflow(root: Path, step: Step) -> None:
    with scratch("base") as base:
        BASE.layer(step).extract(base)
        wheels.install(_REQUIREMENTS, root, BasePython(base), step)


TENSORFLOW = Recipe(
    "tensorflow",
    _tensorflow,
    sources=("wheels.py", "elf.py", "base_python.py"),
    inputs=(BASE.key, _REQUIREMENTS.read_text()),
)

# XLA's and oneDNN's start-up chatter would come before the job's own first line.
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "1", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def image() -> Image:
    """The image that training jobs run in."""
    return Image(
        "tensorplane.local/train:2.21.0", (BASE, TENSORFLOW), entrypoint=("/usr/bin/python3",), env=ENVIRONMENT
    )
