"""The packages of the image that runs a sweep's controller, beside those of the training image."""

from pathlib import Path

OPTUNA = "optuna==5.0.0"
"""What an image for the controller must have at least."""


def lines(project: Path) -> tuple[str, ...]:
    """Lines of a requirements file, with hashes."""
    text = (project / "runtime" / "requirements-sweep.txt").read_text()
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def is_sweep(workload: object) -> bool:
    """Whether the unchecked settings of a workload are those of a sweep."""
    return isinstance(workload, dict) and workload.get("kind") == "sweep"
