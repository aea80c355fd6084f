"""The objects that scale model servers and scorers: a HorizontalPodAutoscaler by CPU, a ScaledObject of KEDA by
metrics or lag."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorplane.components.base.model import In
from tensorplane.workloads.pods.files import Bundle, bundle
from tensorplane.workloads.pods.objects import Identity, Manifest
from tensorplane.workloads.scaling.settings import ScalingArgs
from tensorplane.workloads.scorer.settings import LagScalingArgs

_WINDOW = "2m"
"""Time over which rates are computed: at least two scrapes of Prometheus, which by default are a minute apart."""
_POLL_SECONDS = 10
"""How often KEDA asks whether a server without pods gets requests, or a scorer without pods has records to read."""
_KAFKA_PROTOCOL = "2.5.0"
"""The version of Kafka whose protocol KEDA speaks. Kafka 4 refuses that of before 2.1, and KEDA's default is 1.0."""
_API = "keda.sh/v1alpha1"
_USERNAME = "username"


def by_cpu(owner: Identity, scaling: ScalingArgs) -> Manifest:
    """Scales a server's Deployment by CPU."""
    target = {"type": "Utilization", "averageUtilization": scaling.cpu}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": owner.metadata(owner.name),
        "spec": {
            "scaleTargetRef": _target(owner),
            "minReplicas": scaling.min,
            "maxReplicas": scaling.max,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            "behavior": _behavior(scaling),
        },
    }


def by_metrics(owner: Identity, scaling: ScalingArgs, prometheus: str) -> Manifest:
    """Scales a server's Deployment by metrics. `prometheus`: URL of the server that has them."""
    query, threshold, metric_type = _trigger(owner, scaling)
    trigger = {
        "type": "prometheus",
        "metricType": metric_type,
        "metadata": {
            "serverAddress": prometheus,
            "query": query,
            "threshold": f"{threshold:.12g}",
            # The first request starts a pod.
            "activationThreshold": "0",
        },
    }
    return _scaled_object(owner, scaling, trigger)


@dataclass(frozen=True)
class Lag:
    """The records of a topic that a consumer group has not read, and how KEDA reaches the brokers."""

    bootstrap: In[str]
    topic: str
    group: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings of KEDA's Kafka trigger."""
    secrets: Mapping[str, tuple[In[str], str]] = field(default_factory=dict)
    """Secret and key of each credential, by the trigger's parameter."""
    username: str | None = None


def username(owner: Identity, lag: Lag) -> Bundle | None:
    """The name with which KEDA logs in; None without. A trigger takes it, as the password, from an object only."""
    return bundle(f"{owner.name}-lag", {_USERNAME: lag.username.encode()}) if lag.username else None


def by_lag(owner: Identity, scaling: LagScalingArgs, lag: Lag) -> list[Manifest]:
    """Scales a scorer's Deployment by its lag, as the brokers know it: objects in the order of their creation."""
    trigger: dict[str, Any] = {
        "type": "kafka",
        "metricType": "AverageValue",
        "metadata": {
            "bootstrapServers": lag.bootstrap,
            "topic": lag.topic,
            "consumerGroup": lag.group,
            "lagThreshold": str(scaling.lag),
            # The first record starts a pod.
            "activationLagThreshold": "0",
            # Where a scorer without committed offsets starts.
            "offsetResetPolicy": "earliest",
            "version": _KAFKA_PROTOCOL,
            **lag.settings,
        },
    }
    spec: dict[str, Any] = {}
    if lag.secrets:
        secrets = sorted(lag.secrets.items())
        spec["secretTargetRef"] = [{"parameter": name, "name": of, "key": key} for name, (of, key) in secrets]
    if secret := username(owner, lag):
        (item,) = secret.items
        spec["configMapTargetRef"] = [{"parameter": _USERNAME, "name": secret.name, "key": item["key"]}]
    if not spec:
        return [_scaled_object(owner, scaling, trigger)]
    trigger["authenticationRef"] = {"name": owner.name}
    metadata = owner.metadata(owner.name)
    authentication = {"apiVersion": _API, "kind": "TriggerAuthentication", "metadata": metadata, "spec": spec}
    return [authentication, _scaled_object(owner, scaling, trigger)]


def _scaled_object(owner: Identity, scaling: ScalingArgs | LagScalingArgs, trigger: Mapping[str, Any]) -> Manifest:
    return {
        "apiVersion": _API,
        "kind": "ScaledObject",
        "metadata": owner.metadata(owner.name),
        "spec": {
            "scaleTargetRef": _target(owner),
            "minReplicaCount": scaling.min,
            "maxReplicaCount": scaling.max,
            "pollingInterval": _POLL_SECONDS,
            "cooldownPeriod": scaling.scale_down_seconds,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behavior(scaling)}},
            "triggers": [trigger],
        },
    }


def _target(owner: Identity) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": owner.name}


def _behavior(scaling: ScalingArgs | LagScalingArgs) -> dict[str, Any]:
    """Up at once, since a new pod takes time to load its models; down slowly, since load comes back."""
    return {
        "scaleUp": {"stabilizationWindowSeconds": 0},
        "scaleDown": {
            "stabilizationWindowSeconds": scaling.scale_down_seconds,
            "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
        },
    }


def _trigger(owner: Identity, scaling: ScalingArgs) -> tuple[str, float, str]:
    """Query, threshold, and whether the threshold is that of each pod or of the whole server."""
    if scaling.requests_per_second:
        own = f"sum(rate(:tensorflow:serving:request_count{_series(owner)}[{_WINDOW}]))"
        return scaling.requests_query or own, scaling.requests_per_second, "AverageValue"
    if scaling.latency_milliseconds:
        return _percentile("request_latency", owner), scaling.latency_milliseconds, "Value"
    return _percentile("batching_session:queuing_latency", owner), scaling.queue_milliseconds or 0, "Value"


def _percentile(metric: str, owner: Identity) -> str:
    """TensorFlow Serving measures microseconds. Without requests, the percentile would be no number."""
    rate = f"sum by (le) (rate(:tensorflow:serving:{metric}_bucket{_series(owner)}[{_WINDOW}]))"
    return f"(histogram_quantile(0.95, {rate}) >= 0) / 1000"


def _series(owner: Identity) -> str:
    """The labels that Prometheus adds to the metrics of the server's pods."""
    return f'{{namespace="{owner.namespace}", pod=~"{owner.name}-[a-z0-9]+-[a-z0-9]{{5}}"}}'
