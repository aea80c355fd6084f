"""How Prometheus finds the endpoint of a job's pods that TENSORPLANE_METRICS_PORT opens."""

from collections.abc import Mapping

from components.base.labels import PROMETHEUS_PORT, PROMETHEUS_SCRAPE
from workloads.training_job.settings import JobSettings

_VARIABLE = "TENSORPLANE_METRICS_PORT"


def port(settings: JobSettings) -> int | None:
    """The port of the endpoint; None without one."""
    value = settings.env.get(_VARIABLE)
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def annotations(settings: JobSettings) -> Mapping[str, str]:
    """Annotations of the pods, for a Prometheus that discovers pods by them."""
    found = port(settings)
    return {PROMETHEUS_SCRAPE: "true", PROMETHEUS_PORT: str(found)} if found else {}
