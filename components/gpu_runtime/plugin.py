"""NVIDIA's device plugin alone, on nodes whose image has the driver, with feature discovery and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from tensorplane.components import versions
from tensorplane.components.base.labels import GPU_PRESENT, PROMETHEUS_PORT, PROMETHEUS_SCRAPE
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.gpu_runtime import GpuRuntimeArgs, sharing
from tensorplane.components.gpu_runtime.daemon_sets import Metrics, feature_discovery_values, tolerations
from tensorplane.components.node_groups.fleet import Fleet

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster


class Plugin(GpuRuntimeArgs):
    """NVIDIA's device plugin. The nodes must have driver and container toolkit, as the images of EKS and AKS do."""

    kind: Literal["plugin"] = "plugin"

    feature_discovery: bool | None = None
    """Label nodes with properties of their GPUs: memory, driver, CUDA. True by default, except on `embedded`."""
    metrics: Metrics | None = None
    """DCGM exporter: `exporter` with annotations for Prometheus, `serviceMonitor` with the Prometheus
    operator. `exporter` by default, `none` on `embedded`."""

    def check(self, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Problem]:
        brings = cluster.gpu_support
        if brings.simulated:
            yield from self._check_simulated(cluster)
        for name, shape in fleet.groups.items():
            if not brings.divided and sharing.is_divided(shape):
                reason = f"on cluster kind {cluster.kind} only the GPU Operator configures MIG"
                path = ("nodeGroups", name, "sharing")
                yield Problem(path, f"{reason}; use gpuRuntime kind operator", given=(("gpuRuntime",),))

    def _check_simulated(self, cluster: ClusterArgs) -> Iterator[Problem]:
        if self.feature_discovery:
            reason = f"the GPUs of cluster kind {cluster.kind} are simulated and have nothing to discover"
            yield Problem(("gpuRuntime", "featureDiscovery"), f"{reason}; remove featureDiscovery")
        if self.metrics not in (None, "none"):
            reason = f"the GPUs of cluster kind {cluster.kind} are simulated and have no metrics; set metrics: none"
            yield Problem(("gpuRuntime", "metrics"), reason)

    def install(self, cluster: Cluster, opts: pulumi.ResourceOptions) -> None:
        from tensorplane.components.controllers.component import Controller

        real = not cluster.args.gpu_support.simulated
        Controller(versions.DEVICE_PLUGIN, self.values(cluster.args, cluster.fleet), cluster=cluster, opts=opts)
        metrics = self.metrics or ("exporter" if real else "none")
        if metrics != "none":
            values = dcgm_values(metrics, cluster.fleet, self.runtime_class)
            Controller(versions.DCGM_EXPORTER, values, cluster=cluster, opts=opts)

    def values(self, cluster: ClusterArgs, fleet: Fleet) -> dict[str, Any]:
        """Values of the device plugin's chart."""
        real = not cluster.gpu_support.simulated
        configs = sharing.configs(fleet)
        discover = real if self.feature_discovery is None else self.feature_discovery
        return {
            "image": {
                "repository": versions.DEVICE_PLUGIN.image,
                "tag": versions.DEVICE_PLUGIN.image_tag,
                "pullPolicy": "IfNotPresent",
            },
            "tolerations": tolerations(fleet),
            **({"config": {"map": configs, "default": sharing.WHOLE}} if configs else {}),
            # Set here in addition to the configurations, so that the chart grants SYS_ADMIN only for MIG.
            "migStrategy": "single" if sharing.has_mig(fleet) else "none",
            "deviceListStrategy": "envvar",
            **({"runtimeClassName": self.runtime_class} if self.runtime_class else {}),
            "gfd": {"enabled": discover},
            **({"nfd": feature_discovery_values(fleet, unlabelled_nodes=cluster.catalog is None)} if discover else {}),
        }


_PORT = 9400


def dcgm_values(metrics: Metrics, fleet: Fleet, runtime_class: str | None) -> dict[str, Any]:
    """Values of the chart of DCGM's exporter of GPU metrics.

    Its ServiceMonitor fails to install without the Prometheus operator's CRDs.
    """
    annotations = {PROMETHEUS_SCRAPE: "true", PROMETHEUS_PORT: str(_PORT)}
    return {
        "image": {
            "repository": versions.DCGM_EXPORTER.image,
            "tag": versions.DCGM_EXPORTER.image_tag,
            "pullPolicy": "IfNotPresent",
        },
        "tolerations": tolerations(fleet),
        "nodeSelector": {GPU_PRESENT: "true"},
        **({"runtimeClassName": runtime_class} if runtime_class else {}),
        "serviceMonitor": {"enabled": metrics == "serviceMonitor"},
        # With both, Prometheus would scrape twice.
        **({"podAnnotations": annotations} if metrics == "exporter" else {}),
    }
