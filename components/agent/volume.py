"""A claim of the namespace that an agent's pods mount."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pulumi_kubernetes as k8s

from components.agent.agent import Mount


@dataclass(frozen=True)
class Volume:
    """One claim."""

    claim: str
    path: str
    pod_labels: Mapping[str, str]
    """Labels of pods that mount it."""
    read_only: bool = True
    pod_annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of pods that mount it."""

    @property
    def mount(self) -> Mount:
        """The claim in the pod."""
        volume: k8s.core.v1.VolumeArgsDict = {
            "name": self.claim,
            "persistent_volume_claim": {"claim_name": self.claim, "read_only": self.read_only},
        }
        return Mount(volume, self.path, read_only=self.read_only)


def pod_labels(volumes: Iterable[Volume]) -> dict[str, str]:
    """Those of pods that mount all of them."""
    return {key: value for volume in volumes for key, value in volume.pod_labels.items()}


def pod_annotations(volumes: Iterable[Volume]) -> dict[str, str]:
    """Those of pods that mount all of them."""
    return {key: value for volume in volumes for key, value in volume.pod_annotations.items()}
