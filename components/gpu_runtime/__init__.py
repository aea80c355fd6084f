"""What makes a node's GPUs available to pods: one family, installed once per cluster, never beside another."""

from collections.abc import Iterator
from typing import cast

import pulumi
import pulumi_kubernetes as k8s

from components.cluster import Cluster, ClusterArgs
from components.family import Variant, load_family
from components.faults import Fault, did_you_mean
from components.fleet import Fleet
from components.gpu_runtime import by_cluster
from components.labels import TENSORPLANE
from components.model import Name

NAMESPACE = "gpu-runtime"
"""Namespace of everything that a GPU runtime installs."""


class GpuRuntimeArgs(Variant, family=True):
    """How a node's GPUs become something that pods can ask for."""

    kind: str

    runtime_class: Name | None = None
    """RuntimeClass of pods with GPUs, where containerd's default runtime knows none: `nvidia` on kops, k3s, kind."""

    def check(self, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Fault]:
        """What of these settings cannot work with this cluster and its node groups."""
        yield from ()

    def install(self, cluster: Cluster, opts: pulumi.ResourceOptions) -> None:
        """Create what runs in the namespace `gpu-runtime`."""
        raise NotImplementedError


class GpuRuntime(pulumi.ComponentResource):
    """The stack's GPU runtime, in a namespace of its own that lets its pods reach the nodes' devices."""

    def __init__(self, args: GpuRuntimeArgs, *, cluster: Cluster, opts: pulumi.ResourceOptions | None = None) -> None:
        facts = {"kind": args.kind, "runtimeClass": args.runtime_class}
        super().__init__("tensorplane:index:GpuRuntime", NAMESPACE, facts, opts)
        namespace = k8s.core.v1.Namespace(
            NAMESPACE,
            metadata={"name": NAMESPACE, "labels": {**TENSORPLANE, "pod-security.kubernetes.io/enforce": "privileged"}},
            opts=pulumi.ResourceOptions(parent=self),
        )
        args.install(cluster, pulumi.ResourceOptions(parent=self, depends_on=[namespace]))
        self.register_outputs(facts)


load_family(__name__, __path__)


def of(settings: GpuRuntimeArgs | None, cluster: ClusterArgs, fleet: Fleet) -> GpuRuntimeArgs:
    """The GPU runtime in use: the one that is asked for, or the cluster's usual one where a group has GPUs."""
    kind = by_cluster.of(cluster.kind).runtimes[0] if fleet.gpus_max else "present"
    return settings or cast(GpuRuntimeArgs, GpuRuntimeArgs.variants[kind]())


def check(settings: GpuRuntimeArgs | None, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Fault]:
    """Why the stack's nodes would have two GPU runtimes, or one that cannot do what the groups ask for."""
    runtime, allowed = of(settings, cluster, fleet), by_cluster.of(cluster.kind).runtimes
    if runtime.kind in allowed:
        yield from runtime.check(cluster, fleet)
        return
    why = ", which brings its own" if allowed == ("present",) else ""
    reason = f"got {runtime.kind} on cluster kind {cluster.kind}{why}: need {' or '.join(allowed)}"
    yield Fault(("gpuRuntime", "kind"), reason + did_you_mean(runtime.kind, allowed), given=(("cluster", "kind"),))
