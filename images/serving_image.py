"""The image of the serving stand-in: the training image's layers, the server's libraries, and the server."""

from __future__ import annotations

import shutil
from pathlib import Path

from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.images import wheels
from tensorplane.images.base_python import BasePython
from tensorplane.images.layer import Recipe
from tensorplane.images.oci import Image
from tensorplane.images.training import BASE, ENVIRONMENT, TENSORFLOW

_SOURCE = Path(__file__).parent / "serving"
_REQUIREMENTS = _SOURCE / "requirements.txt"
_MODULES = sorted(_SOURCE.glob("*.py"))


def _serving(root: Path, step: Step) -> None:
    with scratch("base") as base:
        BASE.layer(step).extract(base)
        python = BasePython(base)
        package = python.packages(root) / "serving_stand_in"
        package.mkdir(parents=True)
        for module in _MODULES:
            shutil.copyfile(module, package / module.name)
        wheels.install(_REQUIREMENTS, root, python, step)


SERVING = Recipe(
    "serving",
    _serving,
    sources=("serving_image.py", "wheels.py", "base_python.py"),
    inputs=(BASE.key, _REQUIREMENTS.read_text(), *(module.read_text() for module in _MODULES)),
)


def image() -> Image:
    """The stand-in replaces tensorflow/serving, and its name, labels and log say that it is a stand-in."""
    return Image(
        "tensorplane.local/serving-stand-in:2.21.0",
        (BASE, TENSORFLOW, SERVING),
        entrypoint=("/usr/bin/python3", "-m", "serving_stand_in"),
        env={**ENVIRONMENT, "MODEL_NAME": "model", "MODEL_BASE_PATH": "/models"},
        labels={
            "org.opencontainers.image.title": "Stand-in for tensorflow/serving",
            "org.opencontainers.image.description": "Answers TF Serving's REST and gRPC API; it is not TF Serving.",
            "tensorplane.dev/stand-in-for": "docker.io/tensorflow/serving",
        },
    )
