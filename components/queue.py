"""Queues that share the cluster between jobs: Kueue's objects from one short description."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import Field

from components import quantity, versions
from components.labels import labels
from components.model import Model
from components.namespace import Namespace
from components.top_level import TopLevelResource

PRIORITIES = {"low": 100, "normal": 1000, "high": 10000}
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
DEFAULT = "default"
"""The queue that Kueue gives jobs that name none."""


class QueueArgs(Model):
    """Settings of one queue: what its jobs may hold together, and how much they matter."""

    priority: Literal["low", "normal", "high"] = "normal"
    """Kueue's priority of the queue's jobs. It decides nothing between queues yet: each has a share of its own."""
    cpus: Annotated[float, Field(gt=0)]
    """CPU cores that the queue's running jobs may hold together."""
    memory_gib: Annotated[float, Field(gt=0)]
    """Memory in GiB that the queue's running jobs may hold together."""
    gpus: Annotated[int, Field(ge=0)] = 0
    """GPUs that the queue's running jobs may hold together."""

    def quotas(self) -> dict[str, str]:
        """The limits by resource, complete: Kueue admits no job that asks for a resource without a limit."""
        return {
            "cpu": quantity.cpus(self.cpus),
            "memory": quantity.gibibytes(self.memory_gib),
            "nvidia.com/gpu": str(self.gpus),
        }


@dataclass(frozen=True)
class Flavor:
    """A kind of machine that queues draw from."""

    name: str
    resource: k8s.apiextensions.CustomResource


def any_node(namespace: Namespace, opts: pulumi.ResourceOptions) -> Flavor:
    """The one flavor that all queues draw from for now: any node of the cluster."""
    name = f"{namespace.plain_name}-any-node"
    # A label's value is shorter than a name may be.
    return Flavor(name, _kueue("ResourceFlavor", name, labels(namespace.plain_name, "queue"), {}, opts))


class Queue(pulumi.ComponentResource):
    """A queue of the stack's namespace. `labels` on a job puts it in."""

    def __init__(
        self,
        name: str,
        args: QueueArgs,
        *,
        namespace: Namespace,
        flavor: Flavor,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {"priority": args.priority, "cpus": args.cpus, "memoryGib": args.memory_gib, "gpus": args.gpus}
        super().__init__("tensorplane:index:Queue", name, props, opts)
        # Cluster-wide names, shared with every other stack on the cluster.
        wide = cluster_wide_name(namespace.plain_name, name)
        marks = labels(name, "queue")
        cluster_queue = _kueue(
            "ClusterQueue",
            wide,
            marks,
            _cluster_queue(args, namespace, flavor.name),
            pulumi.ResourceOptions(parent=self, depends_on=[flavor.resource]),
        )
        TopLevelResource(
            wide,
            api_version=versions.KUEUE_API,
            kind="WorkloadPriorityClass",
            metadata={"name": wide, "labels": marks},
            fields={
                "value": PRIORITIES[args.priority],
                "description": f"Priority {args.priority} of tensorplane's queue {name}.",
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        k8s.apiextensions.CustomResource(
            name,
            api_version=versions.KUEUE_API,
            kind="LocalQueue",
            metadata={"name": name, "namespace": namespace.name, "labels": marks},
            spec={"clusterQueue": wide},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[cluster_queue]),
        )
        self.labels = {QUEUE_LABEL: name, PRIORITY_LABEL: wide}
        self.register_outputs({"name": name, "gpus": args.gpus})


def cluster_wide_name(namespace: str, queue: str) -> str:
    """Name of a queue's objects outside the namespace; the priority class's is also a label on jobs."""
    return f"{namespace}-{queue}"


def _cluster_queue(args: QueueArgs, namespace: Namespace, flavor: str) -> dict[str, Any]:
    quotas = args.quotas()
    resources = [{"name": name, "nominalQuota": quota} for name, quota in quotas.items()]
    return {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority"},
        # One group for all resources: a job's CPU and GPU must come from the same machines.
        "resourceGroups": [{"coveredResources": list(quotas), "flavors": [{"name": flavor, "resources": resources}]}],
    }


def _kueue(
    kind: str, name: str, marks: dict[str, str], spec: dict[str, Any], opts: pulumi.ResourceOptions
) -> k8s.apiextensions.CustomResource:
    return k8s.apiextensions.CustomResource(
        name, api_version=versions.KUEUE_API, kind=kind, metadata={"name": name, "labels": marks}, spec=spec, opts=opts
    )
