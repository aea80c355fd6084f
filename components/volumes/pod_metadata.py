"""Labels and annotations that pods must have in order to mount a volume, such as those of sidecar injectors."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PodMetadata:
    """Labels and annotations of every pod that mounts a volume. Those of several volumes are merged."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
