"""The GPU runtime of a stack as a component."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base import encrypted, outputs
from tensorplane.components.base.labels import POD_SECURITY_ENFORCE, TENSORPLANE
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.gpu_runtime import NAMESPACE, GpuRuntimeArgs


class GpuRuntime(pulumi.ComponentResource):
    """The stack's GPU runtime, in a privileged namespace of its own."""

    def __init__(self, args: GpuRuntimeArgs, *, cluster: Cluster, opts: pulumi.ResourceOptions | None = None) -> None:
        props = outputs.GpuRuntime(kind=args.kind, runtimeClass=args.runtime_class)
        super().__init__(outputs.GPU_RUNTIME, NAMESPACE, dict(props), opts)
        namespace = k8s.core.v1.Namespace(
            NAMESPACE,
            metadata={"name": NAMESPACE, "labels": {**TENSORPLANE, POD_SECURITY_ENFORCE: "privileged"}},
            opts=pulumi.ResourceOptions(parent=self),
        )
        args.install(cluster, pulumi.ResourceOptions(parent=self, depends_on=[namespace]))
        self.register_outputs(encrypted.concealed(dict(props)))
