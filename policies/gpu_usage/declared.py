"""What other objects of the stack say about its pods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpu_usage import devices, runtimes
from gpu_usage.manifest import Manifest


@dataclass(frozen=True)
class Declared:
    """Names that pods refer to."""

    network_claims: frozenset[str] = frozenset()
    """Resource claims and templates that request no accelerators."""
    gpu_runtimes: frozenset[str] = frozenset()
    """RuntimeClasses whose handler shows GPUs, whatever their names are."""

    def shows_gpus(self, runtime: Any) -> bool:
        """Whether a RuntimeClass of that name shows containers GPUs."""
        return runtimes.shows_gpus(runtime) or str(runtime) in self.gpu_runtimes


NOTHING = Declared()


def of(manifests: Iterable[Manifest]) -> Declared:
    """What these objects say."""
    known = list(manifests)
    return Declared(devices.network_claims(known), runtimes.with_gpus(known))
