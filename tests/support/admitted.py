"""What Kueue says of the jobs and pods that it has admitted."""

from __future__ import annotations

from typing import Any

from tensorplane.cli.kueue.objects import KUEUE, condition
from tensorplane.core.kube import Kube


def by_owner(kube: Kube, namespace: str) -> dict[str, dict[str, Any]]:
    """The Workloads of a namespace, by the UIDs of the jobs and pods that own them."""
    found = kube.items(f"{KUEUE}/namespaces/{namespace}/workloads")
    return {owner["uid"]: one for one in found for owner in one["metadata"].get("ownerReferences", ())}


def was_admitted(workload: dict[str, Any]) -> bool:
    """Whether the queue has admitted it, and knows that it has ended."""
    return all(condition(workload, kind).holds for kind in ("Admitted", "Finished"))
