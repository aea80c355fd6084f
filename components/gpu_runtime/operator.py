"""NVIDIA's GPU Operator: driver, container toolkit, device plugin, MIG manager, feature discovery and metrics."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pulumi
from pydantic import AfterValidator

from components import versions
from components.cluster import Cluster, ClusterArgs
from components.controllers import Controller
from components.faults import Fault
from components.fleet import Fleet
from components.gpu_runtime import GpuRuntimeArgs, by_cluster, sharing
from components.gpu_runtime.daemon_sets import Metrics, feature_discovery_values, tolerations
from components.model import refuse

_OLD_ARCHITECTURES = ("maxwell", "pascal", "volta")
_LAST_BRANCH_OF_OLD = 580
_OWN_DRIVER_NEEDED = f"a driver of branch {_LAST_BRANCH_OF_OLD} or older, such as {versions.DRIVER_OF_OLD_GPUS}"


def _driver_version(value: str) -> str:
    if not re.fullmatch(r"\d{3}(\.\d+){1,2}", value):
        refuse(f"a driver's version, such as {versions.DRIVER_OF_OLD_GPUS}")
    return value


class Operator(GpuRuntimeArgs):
    """NVIDIA's GPU Operator, for a cluster of yours whose nodes have nothing, or for MIG on EKS."""

    kind: Literal["operator"] = "operator"

    driver: bool | None = None
    """Install the driver on the nodes. By default on `existing`; nodes of a cloud have it in their image."""
    driver_version: Annotated[str, AfterValidator(_driver_version)] | None = None
    """The driver to install; the operator's own by default, which is too new for V100 and P100."""
    toolkit: bool | None = None
    """Install the container toolkit, which containerd needs for GPUs. By default as `driver`."""
    metrics: Metrics = "exporter"
    """DCGM exporter: `exporter` alone, `serviceMonitor` where the Prometheus operator is, or `none`."""

    def check(self, cluster: ClusterArgs, fleet: Fleet) -> Iterator[Fault]:
        in_image = by_cluster.of(cluster.kind).driver
        if in_image and self.driver:
            reason = f"true on cluster kind {cluster.kind}, whose nodes have the driver in their image: need false"
            yield Fault(("gpuRuntime", "driver"), reason)
        if in_image and self.toolkit:
            reason = f"true on cluster kind {cluster.kind}, whose nodes have the toolkit in their image: need false"
            yield Fault(("gpuRuntime", "toolkit"), reason)
        installs = self._installs_driver(cluster)
        if self.driver_version and not installs:
            reason = f"got {self.driver_version}, and the operator installs no driver here: leave it out"
            yield Fault(("gpuRuntime", "driverVersion"), reason)
        elif installs:
            yield from self._check_old_cards(fleet)

    def _check_old_cards(self, fleet: Fleet) -> Iterator[Fault]:
        cards = {
            s.accelerator.name for s in fleet.groups.values() if s.accelerator and _is_old(s.accelerator.architecture)
        }
        branch = int(self.driver_version.split(".")[0]) if self.driver_version else None
        if cards and (branch is None or branch > _LAST_BRANCH_OF_OLD):
            said = f"got {self.driver_version}" if self.driver_version else "missing"
            reason = f"{said}, and node groups have {', '.join(sorted(cards))}: need {_OWN_DRIVER_NEEDED}"
            yield Fault(("gpuRuntime", "driverVersion"), reason, given=(("nodeGroups",),))

    def _installs_driver(self, cluster: ClusterArgs) -> bool:
        return not by_cluster.of(cluster.kind).driver if self.driver is None else self.driver

    def install(self, cluster: Cluster, opts: pulumi.ResourceOptions) -> None:
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
            # The operator finds its nodes by what feature discovery sees on the bus, on every kind of cluster.
            "node-feature-discovery": feature_discovery_values(fleet, unlabelled_nodes=True),
        }


def _is_old(architecture: str) -> bool:
    return architecture in _OLD_ARCHITECTURES


def _plugin_config(configs: dict[str, str]) -> dict[str, Any]:
    return {"name": "device-plugin-configs", "create": True, "data": configs, "default": sharing.WHOLE}


def _mig_manager(cluster: ClusterArgs) -> dict[str, Any]:
    # Virtual machines cannot reset a GPU from inside, so that a changed division needs the node to restart.
    reboot = {"env": [{"name": "WITH_REBOOT", "value": "true"}]} if by_cluster.of(cluster.kind).driver else {}
    return {"enabled": True, **reboot}
