"""The GPU runtime that the cluster has already: nothing is installed."""

from collections.abc import Iterator
from typing import Literal

from components.cluster import ClusterArgs
from components.faults import Fault
from components.fleet import Fleet
from components.gpu_runtime import GpuRuntimeArgs, by_cluster


class Present(GpuRuntimeArgs):
    """What the cluster has: the cloud's own (GKE), or one that somebody else installed. Nothing is added to it."""

    kind: Literal["present"] = "present"

    def check(self, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Fault]:
        others = [kind for kind in by_cluster.of(cluster.kind).runtimes if kind != self.kind]
        for name, shape in fleet.groups.items() if others else ():
            if shape.args.sharing and shape.accelerator and shape.accelerator.kind == "gpu":
                reason = f"got {shape.args.sharing.kind}, and gpuRuntime is present: a plugin that tensorplane did not"
                need = f"install is not told how to share, need gpuRuntime kind {' or '.join(others)}"
                yield Fault(("nodeGroups", name, "sharing"), f"{reason} {need}", given=(("gpuRuntime",),))
