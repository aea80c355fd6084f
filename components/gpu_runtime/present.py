"""The existing GPU runtime of the cluster: nothing is installed."""

from collections.abc import Iterator
from typing import Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.gpu_runtime import GpuRuntimeArgs
from tensorplane.components.node_groups.fleet import Fleet


class Present(GpuRuntimeArgs):
    """The existing GPU runtime: the cloud's own (GKE), or one that somebody else installed."""

    kind: Literal["present"] = "present"

    def check(self, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Problem]:
        others = [kind for kind in cluster.gpu_support.runtimes if kind != self.kind]
        for name, shape in fleet.groups.items() if others else ():
            if shape.args.sharing and shape.accelerator and shape.accelerator.kind == "gpu":
                reason = "conflicts with gpuRuntime kind present, whose device plugin tensorplane does not configure"
                remedy = f"use gpuRuntime kind {' or '.join(others)}"
                yield Problem(("nodeGroups", name, "sharing"), f"{reason}; {remedy}", given=(("gpuRuntime",),))
