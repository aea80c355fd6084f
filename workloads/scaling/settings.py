"""How many pods a model server has, by its load."""

from typing import Annotated

from pydantic import Field

from tensorplane.components.base.model import Model, NonEmptyStr


class ScalingArgs(Model):
    """How many pods a model server has, by its load. One of `cpu`, `requestsPerSecond`, `latencyMilliseconds` and
    `queueMilliseconds` is required; the latter three require KEDA and a Prometheus server."""

    min: Annotated[int, Field(ge=0, le=1000)] = 1
    """The fewest pods. 0, with `requestsPerSecond` and `requestsQuery` only, stops the last pod when no requests
    arrive."""
    max: Annotated[int, Field(ge=1, le=1000)]
    """The most pods. Quotas count as many."""
    cpu: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Percent of `resources.cpus` that the pods use on average. Above 100, pods use idle cores of their nodes."""
    requests_per_second: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = None
    """Requests per second of each pod."""
    latency_milliseconds: Annotated[float, Field(gt=0, le=3_600_000)] | None = None
    """95th percentile of the time that TensorFlow Serving takes for a request."""
    queue_milliseconds: Annotated[float, Field(gt=0, le=3_600_000)] | None = None
    """95th percentile of the time that a request waits for its batch, with `batching`."""
    requests_query: NonEmptyStr | None = None
    """PromQL for the requests per second of all clients, instead of the pods' own metrics: those of a gateway, which
    exist while the server has no pods."""
    scale_down_seconds: Annotated[int, Field(ge=0, le=3600)] = 300
    """Seconds of lower load before pods are stopped, at most half of them each minute."""

    @property
    def by_metrics(self) -> bool:
        """Whether it scales by metrics of a Prometheus server, as KEDA asks for them."""
        return self.cpu is None

    @property
    def controllers(self) -> frozenset[str]:
        """Names of the controllers that scaling needs."""
        return frozenset({"keda", "prometheus"} if self.by_metrics else {"metrics_server"})
