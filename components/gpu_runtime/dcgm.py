"""The exporter of NVIDIA's GPU metrics (DCGM): on every GPU node, found by Prometheus."""

from typing import Any

from components import versions
from components.base.labels import GPU_PRESENT, PROMETHEUS_PORT, PROMETHEUS_SCRAPE
from components.gpu_runtime.daemon_sets import Metrics, tolerations
from components.node_groups.fleet import Fleet

_PORT = 9400


def values(metrics: Metrics, fleet: Fleet, runtime_class: str | None) -> dict[str, Any]:
    """Values of the exporter's chart. Its ServiceMonitor fails to install without the Prometheus operator's CRDs."""
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
