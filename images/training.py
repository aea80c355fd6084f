"""The training image: Debian's Python and TensorFlow. Jobs mount their code, so they need no images of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tensorplane.core.paths import PACKAGE
from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.images import cusolver, debian, wheels
from tensorplane.images.base_python import BasePython
from tensorplane.images.layer import Recipe
from tensorplane.images.oci import Image, architecture

_FOLDER = PACKAGE / "images" / "requirements"
_REQUIREMENTS, _FOR_GPUS, _FOR_STREAMS = (_FOLDER / f"{name}.txt" for name in ("training", "gpu", "streams"))

BASE = Recipe("base", debian.base, sources=("debian.py", "base_python.py"), inputs=(architecture(),))


def _packages(requirements: str, root: Path, step: Step) -> Path:
    """The folder with them."""
    with scratch("base") as base, scratch("requirements") as work:
        file = work / "requirements.txt"
        file.write_text(requirements)
        BASE.layer(step).extract(base)
        python = BasePython(base)
        wheels.install(file, root, python, step)
        return python.packages(root)


def _for_cpus(requirements: str, root: Path, step: Step) -> None:
    _packages(requirements, root, step)


def _for_gpus(requirements: str, root: Path, step: Step) -> None:
    cusolver.link(_packages(requirements, root, step))


def _layer_of(
    name: str, requirements: str, make: Callable[[str, Path, Step], None] = _for_cpus, sources: tuple[str, ...] = ()
) -> Recipe:
    return Recipe(
        name,
        partial(make, requirements),
        sources=("wheels.py", "base_python.py", *sources),
        inputs=(BASE.key, requirements),
    )


def gpu_requirements() -> str:
    """The training image's packages, with TensorFlow's GPU build and NVIDIA's libraries instead of its CPU build."""
    lines = _REQUIREMENTS.read_text().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("tensorflow")) + _FOR_GPUS.read_text()


TENSORFLOW = _layer_of("tensorflow", _REQUIREMENTS.read_text())
TENSORFLOW_FOR_GPUS = _layer_of("tensorflow-gpu", gpu_requirements(), _for_gpus, ("cusolver.py",))
STREAMS = _layer_of("streams", _FOR_STREAMS.read_text())
"""Kafka's client, for training jobs alone."""

# XLA's and oneDNN's start-up messages would precede the job's first line.
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "1", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}

FOR_GPUS = {
    # The driver's libraries: GKE mounts them at the first path. NVIDIA's container toolkit (EKS, AKS, GPU Operator)
    # mounts them where the loader looks, or at the second path in an image that it does not recognize as Debian's.
    "LD_LIBRARY_PATH": "/usr/local/nvidia/lib64:/usr/lib64",
    # What the toolkit mounts: CUDA, and nvidia-smi. Which GPUs is the device plugin's decision.
    "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
}


def image() -> Image:
    """The image of training jobs."""
    return Image(
        "tensorplane.local/train:2.21.0", (BASE, TENSORFLOW, STREAMS), entrypoint=("/usr/bin/python3",), env=ENVIRONMENT
    )


def gpu_image() -> Image:
    """The same for nodes with NVIDIA GPUs, x86-64 only. No embedded cluster runs it."""
    return Image(
        "tensorplane.local/train:2.21.0-gpu",
        (BASE, TENSORFLOW_FOR_GPUS, STREAMS),
        entrypoint=("/usr/bin/python3",),
        env={**ENVIRONMENT, **FOR_GPUS},
    )
