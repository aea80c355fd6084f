"""The controllers that a stack needs, from their charts: JobSet runs gangs, Kueue starts them, VolSync mirrors."""

import json
from collections.abc import Collection, Iterator
from typing import Any, Literal

import pulumi
import pulumi_kubernetes as k8s

from components import versions
from components.cluster import Cluster
from components.faults import Fault
from components.model import Model
from components.namespace import MANAGED

Source = Literal["chart", "present"]
KueueMetrics = Literal["none", "annotations", "serviceMonitor"]

_SECONDS_TO_READY = 600


class ControllersArgs(Model):
    """Where each controller comes from. One that nothing in the stack needs is never installed."""

    kueue: Source = "chart"
    """`chart` installs Kueue at tensorplane's version; `present` uses the one that the cluster has."""
    jobset: Source = "chart"
    """`chart` installs JobSet at tensorplane's version; `present` uses the one that the cluster has."""
    volsync: Source = "chart"
    """`chart` installs VolSync at tensorplane's version; `present` uses the one that the cluster has."""
    kueue_metrics: KueueMetrics = "none"
    """How a Prometheus finds Kueue's metrics: `serviceMonitor` where its operator is, `annotations` where it follows
    them and shows its token. With either, Kueue tells quotas and their use, too."""
    kueue_dashboard: bool = False
    """Whether Grafana gets a dashboard of the stack's queues: a ConfigMap that its sidecar finds by its label."""

    def check(self) -> Iterator[Fault]:
        """What cannot be asked of controllers that others installed."""
        if self.kueue == "present" and self.kueue_metrics != "none":
            reason = f"got {self.kueue_metrics}, and the cluster's Kueue is not the stack's to change: need none"
            yield Fault(("controllers", "kueueMetrics"), reason, given=(("controllers", "kueue"),))


class Controller(pulumi.ComponentResource):
    """One controller, ready to take its custom resources once this exists."""

    def __init__(
        self,
        chart: versions.Chart,
        values: dict[str, Any],
        *,
        cluster: Cluster,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        props = {"version": chart.version, "image": f"{chart.image}:{chart.image_tag}"}
        super().__init__("tensorplane:index:Controller", chart.name, props, opts)
        location = cluster.args.chart(chart)
        fetched = location["chart"] == chart.reference
        k8s.helm.v3.Release(
            chart.name,
            name=chart.name,
            namespace=chart.namespace,
            create_namespace=True,
            chart=location["chart"],
            version=location.get("version"),
            repository_opts={"repo": chart.repository} if fetched and chart.repository else None,
            values=values,
            timeout=_SECONDS_TO_READY,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"version": chart.version})


def _image(chart: versions.Chart) -> dict[str, str]:
    return {"repository": chart.image, "tag": chart.image_tag, "pullPolicy": "IfNotPresent"}


_METRICS_PORT = 8443
_SCRAPED = {
    "prometheus.io/scrape": "true",
    "prometheus.io/scheme": "https",
    "prometheus.io/port": str(_METRICS_PORT),
    "prometheus.io/path": "/metrics",
}


def kueue_values(
    *, fair_sharing: bool = False, metrics: KueueMetrics = "none", uncounted: Collection[str] = ()
) -> dict[str, Any]:
    """Values of Kueue's chart: one small replica that manages jobs of tensorplane's namespaces and no others.

    `fair_sharing`: who borrows beyond its weight gives back first, whatever its priority.
    `uncounted`: what pods ask for with all GPUs of a node. No quota counts it, and without this, Kueue admits nobody
    who asks for what its queue does not count.
    `metrics`: the chart's ServiceMonitor fails to install without the Prometheus operator's CRDs.
    """
    # JSON is YAML: the chart parses it.
    configuration: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        # Quotas and their use are five series for each queue, kind of machine and resource: for those who read them.
        "metrics": {"bindAddress": f":{_METRICS_PORT}", "enableClusterQueueResources": metrics != "none"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        # What Kueue 0.19 has by default; below that, admitting waits for the client's own limit.
        "clientConnection": {"qps": 300, "burst": 500},
        # All pods of a job or none: quotas count cards, and cannot know of a node that broke or never came. Nodes with
        # GPUs take minutes to start, and so does the first pull of an image with CUDA.
        "waitForPodsReady": {
            "timeout": "20m",
            "recoveryTimeout": "10m",
            "blockAdmission": False,
            # The last try is after about 15 hours. What cannot begin by then, for want of its image or of a node, would
            # take its quota again and again for ever.
            "requeuingStrategy": {
                "timestamp": "Eviction",
                "backoffBaseSeconds": 60,
                "backoffMaxSeconds": 1800,
                "backoffLimitCount": 20,
            },
        },
        # Every training job is a JobSet. With plain Jobs among them, a queue named `default` would hold those that name
        # no queue, too: snapshots would wait behind training.
        "integrations": {"frameworks": ["jobset.x-k8s.io/jobset"]},
        # The chart's webhooks fail closed. Without this, a Kueue that is down stops every Job of the cluster.
        "managedJobsNamespaceSelector": {"matchLabels": MANAGED},
    }
    if fair_sharing:
        configuration["fairSharing"] = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
    if uncounted:
        configuration["resources"] = {"excludeResourcePrefixes": sorted(uncounted)}
    return {
        "controllerManager": {
            "replicas": 1,
            "manager": {
                "image": _image(versions.KUEUE),
                "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}},
            },
        },
        "managerConfig": {"controllerManagerConfigYaml": json.dumps(configuration)},
        "enablePrometheus": metrics == "serviceMonitor",
        # Prometheus would count everything twice where it follows both.
        **({"metricsService": {"annotations": _SCRAPED}} if metrics == "annotations" else {}),
    }


def jobset_values() -> dict[str, Any]:
    """Values of JobSet's chart: one small replica."""
    return {
        "image": _image(versions.JOBSET),
        "controller": {
            "replicas": 1,
            "resources": {"requests": {"cpu": "50m", "memory": "48Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}},
        },
    }


def volsync_values(*, alerts: bool) -> dict[str, Any]:
    """Values of VolSync's chart: one small replica, and movers of the same image.

    Its ServiceMonitor, which it makes where the Prometheus operator is, shows no token: with alerts, the metrics are
    there for everybody in the cluster.
    """
    image = {"repository": versions.VOLSYNC.image, "tag": versions.VOLSYNC.image_tag}
    return {
        "replicaCount": 1,
        "image": {**image, "pullPolicy": "IfNotPresent"},
        "rsync-tls": image,
        "metrics": {"disableAuth": alerts},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
    }
