"""How Prometheus finds the metrics of TensorFlow Serving and of scorers."""

from components.base.labels import COMPONENT, PROMETHEUS_PATH, PROMETHEUS_PORT, PROMETHEUS_SCRAPE, TRACK
from workloads.pods.objects import Identity, Manifest

PATH = "/monitoring/prometheus/metrics"


def annotations(port: int) -> dict[str, str]:
    """Annotations of the pods, for a Prometheus that discovers pods by them."""
    return {PROMETHEUS_SCRAPE: "true", PROMETHEUS_PORT: str(port), PROMETHEUS_PATH: PATH}


def service_monitor(owner: Identity) -> Manifest:
    """Scrapes the pods behind the server's Service, for the Prometheus operator."""
    # The Services of a canary's tracks have the same pods once more.
    once = [{"key": TRACK, "operator": "DoesNotExist"}]
    labels = {**owner.selector, COMPONENT: owner.part}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": owner.metadata(owner.name),
        "spec": {
            "selector": {"matchLabels": labels, "matchExpressions": once},
            "endpoints": [{"port": "rest", "path": PATH}],
        },
    }


def pod_monitor(owner: Identity) -> Manifest:
    """Scrapes the port `metrics` of the workload's pods, which have no Service, for the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": owner.metadata(owner.name),
        "spec": {
            "selector": {"matchLabels": owner.selector},
            "podMetricsEndpoints": [{"port": "metrics", "path": "/metrics"}],
        },
    }
