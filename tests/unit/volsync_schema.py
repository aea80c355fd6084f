"""What VolSync takes as its objects, as far as mirrors come to it: names and types of fields, nothing else.

The facts are those of backube/volsync at commit 0e7979c9, its release 0.16: `config/crd/bases`, API version v1alpha1.
The CRDs themselves drop unknown fields in silence, so that a wrong name would mirror nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SCHEDULE = re.compile(r"((((\d+,)*\d+|(\d+(\/|-)\d+)|\*(\/\d+)?)\s?){5})")
_METHODS = {"Direct", "None", "Clone", "Snapshot"}
_SECURITY = {
    "fsGroup": int,
    "fsGroupChangePolicy": {"Always", "OnRootMismatch"},
    "runAsGroup": int,
    "runAsNonRoot": bool,
    "runAsUser": int,
    "seccompProfile": {"type": {"RuntimeDefault", "Unconfined", "Localhost"}},
}
_MOVER = {
    "moverServiceAccount": str,
    "moverSecurityContext": _SECURITY,
    "moverResources": {"requests": {str: str}, "limits": {str: str}},
    "copyMethod": _METHODS,
    "keySecret": str,
    "storageClassName": str,
    "volumeSnapshotClassName": str,
    "accessModes": [str],
    "capacity": str,
}
_SPECS: Mapping[str, Mapping[str, Any]] = {
    "ReplicationSource": {
        "sourcePVC": str,
        "paused": bool,
        "trigger": {"schedule": _SCHEDULE, "manual": str},
        "rsyncTLS": {**_MOVER, "address": str, "port": int},
    },
    "ReplicationDestination": {
        "paused": bool,
        "trigger": {"schedule": _SCHEDULE, "manual": str},
        "rsyncTLS": {**_MOVER, "destinationPVC": str, "cleanupTempPVC": bool, "serviceType": str},
    },
}


def wrong(manifest: Mapping[str, Any]) -> list[str]:
    """Everything that Kubernetes would refuse, or drop, because of VolSync's schemas."""
    kind = manifest["kind"]
    if manifest["apiVersion"] != "volsync.backube/v1alpha1" or kind not in _SPECS:
        return [f"{manifest['apiVersion']} {kind}: unknown"]
    return list(_differences(kind, manifest["spec"], _SPECS[kind]))


def _differences(path: str, value: Any, kind: Any) -> Iterator[str]:
    if isinstance(kind, Mapping):
        yield from _inside(path, value, kind)
    elif isinstance(kind, list):
        for index, item in enumerate(value):
            yield from _differences(f"{path}[{index}]", item, kind[0])
    elif not _fits(value, kind):
        yield f"{path}: {value!r} does not fit {kind}"


def _inside(path: str, value: Any, kind: Mapping[Any, Any]) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no object"
        return
    for key, item in value.items():
        wanted = kind.get(key, kind.get(str))
        if wanted is None:
            yield f"{path}.{key}: unknown field"
        else:
            yield from _differences(f"{path}.{key}", item, wanted)


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, set):
        return value in kind
    if isinstance(kind, re.Pattern):
        return kind.fullmatch(value) is not None
    if kind is int:
        # Numbers reach mocks as floats.
        return not isinstance(value, bool) and value == int(value)
    return isinstance(value, kind)
