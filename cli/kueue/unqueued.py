"""GPUs that pods hold without a queue: Kueue's objects do not list them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.objects import ClusterObjects
from tensorplane.cli.kueue.workloads import requests
from tensorplane.components.admission.gpu_guard import ADMITTED
from tensorplane.components.base.labels import FLAVOR
from tensorplane.components.catalog import GPU_RESOURCE


@dataclass(frozen=True)
class Held:
    """The GPUs of one flavor that the pods of one owner hold."""

    namespace: str
    owner: str
    """The service account of the pods, which is the name of a workload of the stack; else the pod's own name."""
    flavor: str
    gpus: int


def of(objects: ClusterObjects) -> list[Held]:
    """All of them, the most GPUs first."""
    flavors = {
        node["metadata"]["name"]: (node["metadata"].get("labels") or {}).get(FLAVOR, "") for node in objects.nodes
    }
    found: dict[tuple[str, str, str], int] = defaultdict(int)
    for pod in _unqueued(objects):
        about, spec = pod["metadata"], pod["spec"]
        account = spec.get("serviceAccountName") or "default"
        owner = about["name"] if account == "default" else account
        found[about["namespace"], owner, flavors.get(spec["nodeName"], "")] += int(requests(spec).get(GPU_RESOURCE, 0))
    held = [Held(*key, gpus) for key, gpus in found.items()]
    return sorted(held, key=lambda one: (-one.gpus, one.namespace, one.owner))


def _unqueued(objects: ClusterObjects) -> Iterator[Object]:
    """Scheduled pods with GPUs that no queue admitted."""
    for pod in objects.pods:
        admitted = ADMITTED in (pod["metadata"].get("labels") or {})
        if pod["spec"].get("nodeName") and not admitted and requests(pod["spec"]).get(GPU_RESOURCE):
            yield pod
