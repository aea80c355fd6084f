"""The Prometheus of the cluster, which the stack uses and never installs."""

from typing import Annotated, Literal

from pydantic import AfterValidator

from components.base.model import Model, NonEmptyStr, refuse


def _url(value: str) -> str:
    scheme, separator, rest = value.partition("://")
    if scheme not in ("http", "https") or not separator or not rest or "@" in rest:
        refuse("a URL without a password, such as http://prometheus-operated.monitoring.svc:9090")
    return value


class PrometheusArgs(Model):
    """The Prometheus of the cluster, which the stack uses and never installs."""

    serving_metrics: Literal["annotations", "serviceMonitor"] = "annotations"
    """How Prometheus finds the metrics of model servers and scorers. `serviceMonitor` requires the Prometheus operator.
    `annotations` requires a Prometheus that scrapes annotated pods."""
    prometheus_url: Annotated[NonEmptyStr, AfterValidator(_url)] | None = None
    """URL at which KEDA reaches the Prometheus server with the metrics of model servers and scorers, for those
    that scale by requests, latency, queue or lag. Its `namespace` and `pod` labels must name the pods."""
