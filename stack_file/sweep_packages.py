"""The packages of the image that runs a sweep's controller, beside those of the training image."""

from tensorplane.core.paths import PACKAGE

OPTUNA = "optuna==5.0.0"
"""What an image for the controller must have at least."""


def lines() -> tuple[str, ...]:
    """Lines of a requirements file, with hashes."""
    text = (PACKAGE / "images" / "requirements" / "sweep.txt").read_text()
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def is_sweep(workload: object) -> bool:
    """Whether the unchecked settings of a workload are those of a sweep."""
    return isinstance(workload, dict) and workload.get("kind") == "sweep"
