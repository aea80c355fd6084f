"""A run of a training job, as `outputs.py` has it for components."""

from collections.abc import Mapping
from typing import TypedDict


class Run(TypedDict):
    """A run of a training job, as the next deployment identifies it."""

    name: str
    decisive: Mapping[str, str]
    """Hashes of what decides its result: command, code, environment, image, strategy, data, model."""
    manifest: str
    """Hash of its JobSet, without tensorplane's library."""
    kept: bool
    """Whether the JobSet was kept as the deployment before had it."""
    library: str
    """Pulumi's name of the ConfigMap with the library that its pods mount."""
