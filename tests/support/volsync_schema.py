"""What VolSync takes as its objects, as far as mirrors come to it: names and types of fields, nothing else.

The facts are those of backube/volsync at commit 0e7979c9, its release 0.16: `config/crd/bases`, API version v1alpha1.
The CRDs themselves drop unknown fields in silence, so that a wrong name would mirror nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.support.schema import Whole, differences

_SCHEDULE = re.compile(r"((((\d+,)*\d+|(\d+(\/|-)\d+)|\*(\/\d+)?)\s?){5})")
_METHODS = {"Direct", "None", "Clone", "Snapshot"}
_SECURITY = {
    "fsGroup": Whole(),
    "fsGroupChangePolicy": {"Always", "OnRootMismatch"},
    "runAsGroup": Whole(),
    "runAsNonRoot": bool,
    "runAsUser": Whole(),
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
        "rsyncTLS": {**_MOVER, "address": str, "port": Whole()},
    },
    "ReplicationDestination": {
        "paused": bool,
        "trigger": {"schedule": _SCHEDULE, "manual": str},
        "rsyncTLS": {**_MOVER, "destinationPVC": str, "cleanupTempPVC": bool, "serviceType": str},
    },
}


def find_problems(manifest: Mapping[str, Any]) -> list[str]:
    """Everything that Kubernetes would refuse, or drop, because of VolSync's schemas."""
    kind = manifest["kind"]
    if manifest["apiVersion"] != "volsync.backube/v1alpha1" or kind not in _SPECS:
        return [f"{manifest['apiVersion']} {kind}: unknown"]
    return list(differences(kind, manifest["spec"], _SPECS[kind]))
