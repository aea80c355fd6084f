"""GPU runtimes, which make a node's GPUs available to pods. A cluster has exactly one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from tensorplane.components.base.family import Variant, load_family
from tensorplane.components.base.model import Name
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.shape import Shape

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster

NAMESPACE = "gpu-runtime"
"""Namespace of everything that a GPU runtime installs."""


class GpuRuntimeArgs(Variant, family=True):
    """How nodes advertise their GPUs to pods."""

    kind: str
    untried: ClassVar[str] = "Not run on a GPU so far: tests have mocks, and simulated nodes of the embedded cluster."

    runtime_class: Name | None = None
    """RuntimeClass of pods with GPUs, if containerd's default runtime does not support them: `nvidia` on kops, k3s and
    kind."""

    def check(self, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Problem]:
        """Problems of these settings on this cluster and its node groups."""
        yield from ()

    def prepare(self, cluster: ClusterArgs, shape: Shape) -> Shape:
        """A node group, adapted to this runtime."""
        return shape

    def install(self, cluster: Cluster, opts: pulumi.ResourceOptions) -> None:
        """Creates the runtime in the namespace `gpu-runtime`."""
        raise NotImplementedError


load_family(__name__, __path__)


def of(settings: GpuRuntimeArgs | None, cluster: ClusterArgs, fleet: Fleet) -> GpuRuntimeArgs:
    """The GPU runtime in use: the one in the settings, or the cluster's default if a group has GPUs."""
    kind = cluster.gpu_support.runtimes[0] if fleet.gpus_max else "present"
    return settings or cast(GpuRuntimeArgs, GpuRuntimeArgs.variants[kind]())


def prepared(settings: GpuRuntimeArgs | None, cluster: ClusterArgs, machines: Fleet) -> Fleet:
    """The node groups, adapted to the GPU runtime in use."""
    runtime = of(settings, cluster, machines)
    groups = {name: runtime.prepare(cluster, shape) for name, shape in machines.groups.items()}
    return replace(machines, groups=groups, runtime_class=runtime.runtime_class)


def check(settings: GpuRuntimeArgs | None, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Problem]:
    """Problems of a second GPU runtime, and of groups with settings that the runtime does not support."""
    runtime, allowed = of(settings, cluster, fleet), cluster.gpu_support.runtimes
    if runtime.kind in allowed:
        yield from runtime.check(cluster, fleet)
        return
    why = ", which brings its own" if allowed == ("present",) else ""
    reason = f"kind {runtime.kind} is not available on cluster kind {cluster.kind}{why}; use {' or '.join(allowed)}"
    yield Problem(("gpuRuntime", "kind"), reason + did_you_mean(runtime.kind, allowed), given=(("cluster", "kind"),))
