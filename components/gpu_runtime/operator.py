"""NVIDIA's GPU Operator: driver, container toolkit, device plugin, MIG manager, feature discovery and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator

from tensorplane.components import versions
from tensorplane.components.base.model import refuse_all_but
from tensorplane.components.base.problems import Problem
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.gpu_runtime import GpuRuntimeArgs, sharing
from tensorplane.components.gpu_runtime.daemon_sets import Metrics, feature_discovery_values, tolerations
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.shape import Shape

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster

_OLD_ARCHITECTURES = ("maxwell", "pascal", "volta")
_LAST_BRANCH_OF_OLD = 580
_OWN_DRIVER_NEEDED = f"a driver of branch {_LAST_BRANCH_OF_OLD} or older, such as {versions.DRIVER_OF_OLD_GPUS}"


def _check_driver_version(value: str) -> str:
    if not re.fullmatch(r"\d{3}(\.\d+){1,2}", value):
        refuse_all_but(f"a driver's version, such as {versions.DRIVER_OF_OLD_GPUS}")
    return value


class Operator(GpuRuntimeArgs):
    """NVIDIA's GPU Operator, for an existing cluster whose nodes have no GPU software, or for MIG on EKS."""

    kind: Literal["operator"] = "operator"

    driver: bool | None = None
    """Install the driver on the nodes. By default on `existing`, and on `aks`, whose node pools are then created
    without one; node images of other clouds have it."""
    driver_version: Annotated[str, AfterValidator(_check_driver_version)] | None = None
    """The driver to install; the operator's own by default, which is too new for V100 and P100."""
    toolkit: bool | None = None
    """Install the container toolkit, which containerd requires for GPUs. By default as `driver`."""
    metrics: Metrics = "exporter"
    """DCGM exporter: `exporter` alone, `serviceMonitor` with the Prometheus operator, or `none`."""

    def check(self, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Problem]:
        in_image = _in_image(cluster)
        if in_image and self.driver:
            reason = f"node images of cluster kind {cluster.kind} have the driver; set driver: false"
            yield Problem(("gpuRuntime", "driver"), reason)
        if in_image and self.toolkit:
            reason = f"node images of cluster kind {cluster.kind} have the toolkit; set toolkit: false"
            yield Problem(("gpuRuntime", "toolkit"), reason)
        for key, value in (("driver", self.driver), ("toolkit", self.toolkit)):
            if cluster.gpu_support.left_to_operator and value is False:
                reason = f"node images of cluster kind {cluster.kind} have no {key} where the operator runs"
                yield Problem(("gpuRuntime", key), f"{reason}; remove it, or use kind plugin")
        installs = self._installs_driver(cluster)
        if self.driver_version and not installs:
            reason = "the operator installs no driver on this cluster; remove driverVersion"
            yield Problem(("gpuRuntime", "driverVersion"), reason)
        elif installs:
            yield from self._check_old_gpus(fleet)

    def _check_old_gpus(self, fleet: Fleet) -> Iterator[Problem]:
        old = {
            s.accelerator.name for s in fleet.groups.values() if s.accelerator and _is_old(s.accelerator.architecture)
        }
        branch = int(self.driver_version.split(".")[0]) if self.driver_version else None
        if old and (branch is None or branch > _LAST_BRANCH_OF_OLD):
            driver = f"driver {self.driver_version}" if self.driver_version else "the operator's own driver"
            reason = f"{driver} does not support {', '.join(sorted(old))}; set {_OWN_DRIVER_NEEDED}"
            yield Problem(("gpuRuntime", "driverVersion"), reason, given=(("nodeGroups",),))

    def _installs_driver(self, cluster: ClusterArgs) -> bool:
        return not _in_image(cluster) if self.driver is None else self.driver

    def prepare(self, cluster: ClusterArgs, shape: Shape) -> Shape:
        return replace(shape, driver_in_image=not cluster.gpu_support.left_to_operator)

    def install(self, cluster: Cluster, opts: pulumi.ResourceOptions) -> None:
        from tensorplane.components.controllers.component import Controller

        Controller(versions.GPU_OPERATOR, self.values(cluster.args, cluster.fleet), cluster=cluster, opts=opts)

    def values(self, cluster: ClusterArgs, fleet: Fleet) -> dict[str, Any]:
        """Values of the operator's chart."""
        driver = self._installs_driver(cluster)
        configs = sharing.configs(fleet)
        return {
            "operator": {"runtimeClass": self.runtime_class} if self.runtime_class else {},
            "daemonsets": {"tolerations": tolerations(fleet)},
            "driver": {"enabled": driver, **({"version": self.driver_version} if self.driver_version else {})},
            "toolkit": {"enabled": driver if self.toolkit is None else self.toolkit},
            "devicePlugin": {"config": _plugin_config(configs)} if configs else {},
            "mig": {"strategy": "single"},
            "migManager": _mig_manager(cluster) if sharing.has_mig(fleet) else {"enabled": False},
            "dcgmExporter": {
                "enabled": self.metrics != "none",
                "serviceMonitor": {"enabled": self.metrics == "serviceMonitor"},
            },
            # The operator selects nodes by the PCI labels of feature discovery, on every kind of cluster.
            "node-feature-discovery": feature_discovery_values(fleet, unlabelled_nodes=True),
        }


def _in_image(cluster: ClusterArgs) -> bool:
    brings = cluster.gpu_support
    return brings.driver and not brings.left_to_operator


def _is_old(architecture: str) -> bool:
    return architecture in _OLD_ARCHITECTURES


def _plugin_config(configs: dict[str, str]) -> dict[str, Any]:
    return {"name": "device-plugin-configs", "create": True, "data": configs, "default": sharing.WHOLE}


def _mig_manager(cluster: ClusterArgs) -> dict[str, Any]:
    # A virtual machine cannot reset its GPU, so a change of MIG requires a restart of the node.
    reboot = {"env": [{"name": "WITH_REBOOT", "value": "true"}]} if cluster.gpu_support.driver else {}
    return {"enabled": True, **reboot}
