"""Checks of how a model server scales."""

from collections.abc import Iterator

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.controllers.prometheus import PrometheusArgs
from tensorplane.workloads.family import Declared
from tensorplane.workloads.model_server.settings import ServerSettings
from tensorplane.workloads.scaling.settings import ScalingArgs

NO_METRICS = (
    "requires a Prometheus server with the metrics, but that of the stack does not find ServiceMonitors; "
    "set controllers.prometheusUrl, remove controllers.servingMetrics"
)
_LOADS = ("cpu", "requestsPerSecond", "latencyMilliseconds", "queueMilliseconds")


def find_problems(settings: ServerSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of `scaling`. `at`: the path of the server's settings."""
    scaling = settings.scaling
    if scaling is None:
        return
    here = (*at, "scaling")
    if "replicas" in settings.model_fields_set:
        yield Problem((*at, "replicas"), "conflicts with scaling; remove one of them", given=(here,))
    yield from _range(scaling, here)
    values = (scaling.cpu, scaling.requests_per_second, scaling.latency_milliseconds, scaling.queue_milliseconds)
    loads = [name for name, value in zip(_LOADS, values, strict=True) if value is not None]
    if not loads:
        yield Problem(here, f"required setting is missing: the load; set one of {', '.join(_LOADS)}")
    for other in loads[1:]:
        yield Problem((*here, other), f"conflicts with {loads[0]}; remove one of them", given=((*here, loads[0]),))
    if scaling.queue_milliseconds and not settings.batching:
        yield Problem((*here, "queueMilliseconds"), "is set, but requests only wait with batching; set batching: {}")
    if measured := [(*here, name) for name in loads if name != "cpu"]:
        yield from _measured(settings, measured[0], at, declared.prometheus)


def _range(scaling: ScalingArgs, here: Key) -> Iterator[Problem]:
    if scaling.min > scaling.max:
        reason = f"is {scaling.min}, more than max, which is {scaling.max}; set {scaling.max} or less"
        yield Problem((*here, "min"), reason, given=((*here, "max"),))
    if scaling.min == 0 and (not scaling.requests_per_second or not scaling.requests_query):
        reason = "is 0, but without pods only the metrics of a gateway show requests; set requestsPerSecond and"
        yield Problem((*here, "min"), f"{reason} requestsQuery, or set 1", given=(here,))
    if scaling.requests_query and not scaling.requests_per_second:
        reason = "is set without requestsPerSecond; set it, or remove the query"
        yield Problem((*here, "requestsQuery"), reason, given=(here,))


def _measured(settings: ServerSettings, key: Key, at: Key, prometheus: PrometheusArgs) -> Iterator[Problem]:
    """Problems of a server that scales by metrics. `key`: the path of the load."""
    if prometheus.finds_nothing:
        yield Problem(key, f"{NO_METRICS}, or scale on cpu", given=(("controllers",),))
    if settings.streams and settings.scaling and not settings.scaling.requests_query:
        reason = "requires TensorFlow Serving's metrics, which an image that reads streams does not have"
        yield Problem(key, f"{reason}; scale on cpu", given=((*at, "streams"),))
