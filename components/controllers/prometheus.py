"""Prometheus: has the metrics by which KEDA scales workloads."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from tensorplane.components.base.model import Model, NonEmptyStr, refuse_all_but
from tensorplane.components.controllers.base import ControllerKind, Source
from tensorplane.components.versions import PROMETHEUS as CHART

_URL = f"http://{CHART.name}-server.{CHART.namespace}.svc"
# Jobs of the chart that scrape anything but annotated pods.
_OTHER_JOBS = (
    "prometheus",
    "kubernetes-api-servers",
    "kubernetes-nodes",
    "kubernetes-nodes-cadvisor",
    "kubernetes-service-endpoints",
    "kubernetes-service-endpoints-slow",
    "prometheus-pushgateway",
    "kubernetes-services",
    "kubernetes-pods-slow",
)
_OTHER_PROGRAMS = ("alertmanager", "kube-state-metrics", "prometheus-node-exporter", "prometheus-pushgateway")


def _check_url(value: str) -> str:
    scheme, separator, rest = value.partition("://")
    if scheme not in ("http", "https") or not separator or not rest or "@" in rest:
        refuse_all_but("a URL without a password, such as http://prometheus-operated.monitoring.svc:9090")
    return value


class PrometheusArgs(Model):
    """The Prometheus that has the metrics of workloads."""

    serving_metrics: Literal["annotations", "serviceMonitor"] = "annotations"
    """How Prometheus finds the metrics of model servers and scorers. `serviceMonitor` requires the Prometheus operator.
    `annotations` requires a Prometheus that scrapes annotated pods, as that of the stack does."""
    agent_alerts: bool = False
    """Whether to create a PrometheusRule that alerts when an agent of the stack has not done its work for 5 minutes.
    Requires the Prometheus operator and kube-state-metrics."""
    prometheus_url: Annotated[NonEmptyStr, AfterValidator(_check_url)] | None = None
    """URL at which KEDA reaches the cluster's Prometheus server with the metrics of model servers, for those that
    scale by requests, latency or queue. Its `namespace` and `pod` labels must name the pods. By default, the stack
    installs a small Prometheus for them, with the metrics of the last hours."""

    @property
    def prometheus(self) -> Source:
        """Whether the stack installs Prometheus if something requires it."""
        return "present" if self.prometheus_url else "chart"

    @property
    def finds_nothing(self) -> bool:
        """Whether the workloads' metrics are only for the Prometheus operator, which the stack does not install."""
        return self.prometheus == "chart" and self.serving_metrics == "serviceMonitor"

    @property
    def namespaces(self) -> list[str]:
        """The namespace of the stack's Prometheus, if it installs one."""
        return [CHART.namespace] if self.prometheus == "chart" else []

    @property
    def url(self) -> str:
        """URL of the Prometheus server in the cluster: the given one, or the stack's."""
        return self.prometheus_url or _URL


def values() -> dict[str, Any]:
    """Values of the chart: one small server, which scrapes annotated pods and nothing else, without a disk."""
    return {
        "server": {
            "image": {"pullPolicy": "IfNotPresent"},
            "global": {"scrape_interval": "15s", "scrape_timeout": "10s"},
            "retention": "6h",
            "persistentVolume": {"enabled": False},
            "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
        },
        "configmapReload": {"prometheus": {"enabled": False}},
        "scrapeConfigs": {job: {"enabled": False} for job in _OTHER_JOBS},
        **{program: {"enabled": False} for program in _OTHER_PROGRAMS},
    }


CONTROLLER = ControllerKind(
    "prometheus", CHART, PrometheusArgs, lambda demand: "prometheus" in demand.workloads, lambda *_: values()
)
