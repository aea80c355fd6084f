"""Whether volumes can only be checked against the cluster. Asking it takes a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from components.base import quantities


def need_cluster(declared: Mapping[str, Any], claims: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a volume names a class or an origin, or is smaller than its claim. The settings alone decide the rest.

    `declared` are the volumes of the settings, `claims` those of the stack's namespace.
    """
    live = {one["metadata"]["name"]: one for one in claims}
    return any(
        "from" in volume or "name" in (volume.get("backend") or {}) or _shrinks(volume, live.get(name))
        for name, volume in declared.items()
        if isinstance(volume, dict)
    )


def _shrinks(volume: Mapping[str, Any], claim: Mapping[str, Any] | None) -> bool:
    wanted = volume.get("sizeGib")
    if claim is None or not isinstance(wanted, int | float):
        return False
    has = claim["spec"]["resources"]["requests"].get("storage", "0")
    # A claim's size is rounded up; the check against the cluster compares to the MiB.
    return bool(wanted * quantities.GIB < quantities.exact(has))
