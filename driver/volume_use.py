"""How many bytes volumes hold, according to the kubelets of the nodes that mount them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.kube import Kube


def used_bytes(api: Kube, namespace: str, pods: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Claims and their bytes. `pods` are those of the namespace."""
    for node in sorted({pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}):
        # A simulated node has no kubelet, and asking one takes a permission.
        text = api.text(f"/api/v1/nodes/{node}/proxy/stats/summary")
        try:
            summary = json.loads(text)
        except ValueError:
            continue
        for pod in summary.get("pods", ()):
            for volume in pod.get("volume", ()):
                claim = volume.get("pvcRef") or {}
                if claim.get("namespace") == namespace and "usedBytes" in volume:
                    yield claim["name"], volume["usedBytes"]
