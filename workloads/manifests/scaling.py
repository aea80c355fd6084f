"""The objects that scale model servers and scorers: a HorizontalPodAutoscaler by CPU, a ScaledObject of KEDA by
metrics."""

from typing import Any

from workloads.manifests.objects import Identity, Manifest
from workloads.settings.scaling import ScalingArgs
from workloads.settings.scorer import LagScalingArgs

_WINDOW = "2m"
"""Time over which rates are computed: at least two scrapes of Prometheus, which by default are a minute apart."""
_POLL_SECONDS = 10
"""How often KEDA asks Prometheus whether a server without pods gets requests."""


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
    return _scaled_object(owner, scaling, prometheus, query, threshold, metric_type)


def by_lag(owner: Identity, scaling: LagScalingArgs, prometheus: str) -> Manifest:
    """Scales a scorer's Deployment by the lag that its pods publish."""
    query = f"sum(tensorplane_scorer_lag{_series(owner)})"
    return _scaled_object(owner, scaling, prometheus, query, scaling.lag, "AverageValue")


def _scaled_object(
    owner: Identity,
    scaling: ScalingArgs | LagScalingArgs,
    prometheus: str,
    query: str,
    threshold: float,
    metric_type: str,
) -> Manifest:
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
    return {
        "apiVersion": "keda.sh/v1alpha1",
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
