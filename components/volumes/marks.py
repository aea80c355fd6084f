"""What pods say of themselves because of a volume that they mount: some drivers have a part in the pod."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Marks:
    """Labels and annotations of every pod that mounts a volume. Those of several volumes go together."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
