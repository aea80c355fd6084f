"""Kueue: admits jobs within the queues' quotas."""

import json
from collections.abc import Collection, Iterator
from typing import Any, Literal

from tensorplane.components.base.labels import PROMETHEUS_PATH, PROMETHEUS_PORT, PROMETHEUS_SCRAPE
from tensorplane.components.base.model import Model
from tensorplane.components.base.problems import Problem
from tensorplane.components.controllers.base import ControllerKind, Demand, Source, image
from tensorplane.components.namespace.rules import MANAGED
from tensorplane.components.versions import KUEUE as CHART
from tensorplane.components.versions import KUEUE_CONFIG_API

KueueMetrics = Literal["none", "annotations", "serviceMonitor"]


class KueueArgs(Model):
    """Whether the stack installs Kueue, and how its metrics are scraped."""

    kueue: Source = "chart"
    """`chart` installs the Kueue version that tensorplane pins; `present` uses the Kueue of the cluster."""
    kueue_metrics: KueueMetrics = "none"
    """How Prometheus finds Kueue's metrics. `serviceMonitor` requires the Prometheus operator. `annotations` requires a
    Prometheus that scrapes annotated pods with its token. Both also enable Kueue's metrics of quotas and usage."""
    kueue_dashboard: bool = False
    """Whether to create a Grafana dashboard of the stack's queues, as a ConfigMap with the label of Grafana's sidecar.
    """


def _check(settings: KueueArgs) -> Iterator[Problem]:
    if settings.kueue == "present" and settings.kueue_metrics != "none":
        reason = f"is {settings.kueue_metrics}, but the stack does not manage the cluster's Kueue; set it to none"
        yield Problem(("controllers", "kueueMetrics"), reason, given=(("controllers", "kueue"),))


_METRICS_PORT = 8443
_SCRAPED = {
    PROMETHEUS_SCRAPE: "true",
    "prometheus.io/scheme": "https",
    PROMETHEUS_PORT: str(_METRICS_PORT),
    PROMETHEUS_PATH: "/metrics",
}


def values(
    *, fair_sharing: bool = False, pods: bool = False, metrics: KueueMetrics = "none", uncounted: Collection[str] = ()
) -> dict[str, Any]:
    """Values of the chart: one small replica that manages jobs of tensorplane's namespaces only.

    `fair_sharing`: Kueue first preempts queues that borrow beyond their weight, whatever their priority. `pods`: it
    also admits pods without a job that name a queue. `uncounted`: extended resources that pods request with all GPUs
    of a node. No quota counts them, and without this setting Kueue does not admit pods that request them. `metrics`:
    the chart's ServiceMonitor fails to install without the Prometheus operator's CRDs.
    """
    return {
        "controllerManager": {
            "replicas": 1,
            "manager": {
                "image": image(CHART),
                "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}},
            },
        },
        # JSON is YAML: the chart parses it.
        "managerConfig": {
            "controllerManagerConfigYaml": json.dumps(
                _configuration(fair_sharing=fair_sharing, pods=pods, metrics=metrics, uncounted=uncounted)
            )
        },
        "enablePrometheus": metrics == "serviceMonitor",
        # With both, Prometheus would scrape twice.
        **({"metricsService": {"annotations": _SCRAPED}} if metrics == "annotations" else {}),
    }


def _configuration(
    *, fair_sharing: bool, pods: bool, metrics: KueueMetrics, uncounted: Collection[str]
) -> dict[str, Any]:
    """Kueue's own configuration."""
    found: dict[str, Any] = {
        "apiVersion": KUEUE_CONFIG_API,
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        # Quotas and usage are five series for each queue, flavor and resource, so they are off by default.
        "metrics": {"bindAddress": f":{_METRICS_PORT}", "enableClusterQueueResources": metrics != "none"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        # The defaults of Kueue 0.19; with lower ones, admission waits for the client's rate limit.
        "clientConnection": {"qps": 300, "burst": 500},
        # All pods of a job or none: a quota is a number of GPUs, regardless of nodes that failed or never came. Nodes
        # with GPUs take minutes to start, and so does the first pull of an image with CUDA.
        "waitForPodsReady": {
            "timeout": "20m",
            "recoveryTimeout": "10m",
            "blockAdmission": False,
            # The last retry is after about 15 hours. A job that cannot start by then, for lack of its image or a node,
            # would otherwise take its quota forever.
            "requeuingStrategy": {
                "timestamp": "Eviction",
                "backoffBaseSeconds": 60,
                "backoffMaxSeconds": 1800,
                "backoffLimitCount": 20,
            },
        },
        # Every training job is a JobSet. If Kueue managed plain Jobs, a queue named `default` would admit those without
        # a queue, too, and snapshots would wait behind training. With pods, pods cannot be created while Kueue is down.
        "integrations": {"frameworks": ["jobset.x-k8s.io/jobset", *(["pod"] if pods else [])]},
        # The chart's webhooks fail closed: without this, a Kueue that is down blocks every Job of the cluster.
        "managedJobsNamespaceSelector": {"matchLabels": MANAGED},
        # Kueue would give others the quota of a role that has succeeded, and does not take it back when JobSet runs the
        # role again: after a restart of the gang, or once its Job is deleted, as `ttlSecondsAfterFinished` says.
        "featureGates": {"ReclaimablePods": False},
    }
    if fair_sharing:
        found["fairSharing"] = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
    if uncounted:
        found["resources"] = {"excludeResourcePrefixes": sorted(uncounted)}
    return found


def _values(demand: Demand, settings: KueueArgs) -> dict[str, Any]:
    weights = [*(each.weight for each in demand.queues.values()), *(each.weight for each in demand.cohorts.values())]
    fair_sharing = any(weight is not None for weight in weights)
    return values(
        fair_sharing=fair_sharing,
        # Stages of pipelines are pods of a Workflow.
        pods="argo_workflows" in demand.workloads,
        metrics=settings.kueue_metrics,
        uncounted=demand.uncounted,
    )


CONTROLLER = ControllerKind("kueue", CHART, KueueArgs, lambda demand: bool(demand.queues), _values, _check)
