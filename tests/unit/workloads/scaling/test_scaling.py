"""A model server has as many pods as its load requires, and nothing counts fewer than it may have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import EKS, problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.support.serving_schema import find_problems

_PROMETHEUS = {"prometheusUrl": "http://prometheus.monitoring.svc:9090"}
_GATEWAY = 'sum(rate(traefik_service_requests_total{service=~"vision-server.*"}[1m]))'
_CLUSTERS: dict[str, dict[str, Any]] = {
    "existing": {"kind": "existing", "context": "team"},
    "eks": EKS,
    "gke": {"kind": "gke", "project": "acme-ml", "region": "europe-west4"},
}


def _tree(cluster: str = "existing", controllers: dict[str, Any] | None = None, **server: Any) -> dict[str, Any]:
    machines = {"eks": "m7i.2xlarge", "gke": "n2-standard-8"}
    group = {name: {"machine": machine, "min": 1, "max": 3} for name, machine in machines.items()}
    return {
        "cluster": _CLUSTERS[cluster],
        "namespace": "vision",
        **({"nodeGroups": {"cpu": group[cluster]}} if cluster in group else {}),
        **({"controllers": controllers} if controllers else {}),
        "volumes": {"models": {"sizeGib": 10, "backend": {"kind": "nfs", "server": "10.0.0.2", "folder": "/models"}}},
        "workloads": {"server": {"kind": "modelServer", "model": {"volume": "models", "path": "digits"}, **server}},
    }


def _scaled_object(**scaling: Any) -> dict[str, Any]:
    made = rendered_tree(_tree(controllers=_PROMETHEUS, scaling=scaling)).one("ScaledObject")
    assert find_problems(made.inputs) == []
    spec: dict[str, Any] = made.inputs["spec"]
    return spec


def test_a_horizontal_pod_autoscaler_scales_the_deployment_on_cpu() -> None:
    rendered = rendered_tree(_tree(scaling={"min": 2, "max": 8, "cpu": 70, "scaleDownSeconds": 120}))
    autoscaler = rendered.one("HorizontalPodAutoscaler")
    spec = autoscaler.inputs["spec"]
    deployment = rendered.one("Deployment", "server")
    assert spec["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": deployment.inputs["metadata"]["name"],
    }
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 8)
    target = {"type": "Utilization", "averageUtilization": 70}
    assert spec["metrics"] == [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    assert spec["behavior"]["scaleDown"] == {
        "stabilizationWindowSeconds": 120,
        "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
    }
    assert spec["behavior"]["scaleUp"]["stabilizationWindowSeconds"] == 0
    assert "Deployment server" in autoscaler.options["dependsOn"]


def test_an_update_does_not_reset_what_the_autoscaler_has_set() -> None:
    scaled = rendered_tree(_tree(scaling={"min": 2, "max": 8, "cpu": 70})).one("Deployment", "server")
    assert scaled.options["ignoreChanges"] == ["spec.replicas"]
    assert scaled.inputs["spec"]["replicas"] == 2
    fixed = rendered_tree(_tree(replicas=3)).one("Deployment", "server")
    assert "ignoreChanges" not in fixed.options


def test_pods_of_a_scaled_server_are_spread_and_not_all_evicted_at_once() -> None:
    rendered = rendered_tree(_tree(scaling={"max": 2, "cpu": 70}))
    assert rendered.one("PodDisruptionBudget").inputs["spec"]["maxUnavailable"] == 1
    server = rendered.one("Deployment", "server")
    assert server.inputs["spec"]["template"]["spec"]["topologySpreadConstraints"]


@pytest.mark.parametrize(("cluster", "installed"), [("existing", True), ("eks", True), ("gke", False)])
def test_metrics_server_is_installed_where_the_cluster_comes_without_one(cluster: str, *, installed: bool) -> None:
    rendered = rendered_tree(_tree(cluster, scaling={"max": 2, "cpu": 70}))
    releases = {one.name for one in rendered.resources if one.type.endswith(":Release")}
    assert ("metrics-server" in releases) == installed
    if installed:
        assert "Release metrics-server" in rendered.one("HorizontalPodAutoscaler").options["dependsOn"]


def test_keda_scales_by_the_requests_of_the_servers_pods() -> None:
    spec = _scaled_object(max=4, requestsPerSecond=50)
    (trigger,) = spec["triggers"]
    assert trigger["metricType"] == "AverageValue"
    assert trigger["metadata"] == {
        "serverAddress": "http://prometheus.monitoring.svc:9090",
        "query": (
            'sum(rate(:tensorflow:serving:request_count{namespace="vision", pod=~"server-[a-z0-9]+-[a-z0-9]{5}"}[2m]))'
        ),
        "threshold": "50",
        "activationThreshold": "0",
    }
    assert (spec["minReplicaCount"], spec["maxReplicaCount"], spec["cooldownPeriod"]) == (1, 4, 300)


def test_a_server_without_pods_is_started_by_a_metric_of_the_gateway() -> None:
    spec = _scaled_object(min=0, max=4, requestsPerSecond=0.5, requestsQuery=_GATEWAY)
    (trigger,) = spec["triggers"]
    assert spec["minReplicaCount"] == 0
    assert (trigger["metadata"]["query"], trigger["metadata"]["threshold"]) == (_GATEWAY, "0.5")


@pytest.mark.parametrize(
    ("load", "metric"),
    [("latencyMilliseconds", "request_latency"), ("queueMilliseconds", "batching_session:queuing_latency")],
)
def test_keda_scales_by_a_percentile_in_milliseconds(load: str, metric: str) -> None:
    tree = _tree(controllers=_PROMETHEUS, scaling={"max": 4, load: 20}, batching={})
    (trigger,) = rendered_tree(tree).one("ScaledObject").inputs["spec"]["triggers"]
    assert (trigger["metricType"], trigger["metadata"]["threshold"]) == ("Value", "20")
    series = '{namespace="vision", pod=~"server-[a-z0-9]+-[a-z0-9]{5}"}'
    assert trigger["metadata"]["query"] == (
        f"(histogram_quantile(0.95, sum by (le) (rate(:tensorflow:serving:{metric}_bucket{series}[2m]))) >= 0) / 1000"
    )


def test_keda_is_installed_once_for_servers_that_scale_by_metrics() -> None:
    rendered = rendered_tree(_tree(controllers=_PROMETHEUS, scaling={"max": 4, "requestsPerSecond": 50}))
    assert "Release keda" in rendered.one("ScaledObject").options["dependsOn"]
    releases = {one.name for one in rendered.resources if one.type.endswith(":Release")}
    assert releases == {"keda"}
    present = {**_PROMETHEUS, "keda": "present"}
    rendered = rendered_tree(_tree(controllers=present, scaling={"max": 4, "requestsPerSecond": 50}))
    assert not [one for one in rendered.resources if one.type.endswith(":Release")]


def test_gpus_are_counted_at_the_most_pods() -> None:
    resources = {"gpus": 1, "accelerator": "t4"}
    tree = _tree(scaling={"max": 3, "cpu": 70}, resources=resources)
    tree["nodeGroups"] = {"old": {"accelerator": "t4", "perNode": 1, "max": 4}}
    rendered = rendered_tree(tree)
    assert rendered.exports["gpus"] == 3
    tree["queues"] = {"research": {"gpus": {"t4": 1}}}
    (line,) = problems_of(tree)
    assert "workloads without a queue use up to 4 (server 4), but the node groups have at most 4" in line


def test_servers_that_do_not_fit_at_their_most_name_the_limit() -> None:
    resources = {"gpus": 1, "accelerator": "t4"}
    tree = _tree(scaling={"max": 3, "cpu": 70}, resources=resources)
    tree["workloads"]["other"] = {**tree["workloads"]["server"], "scaling": {"max": 2, "cpu": 70}}
    tree["nodeGroups"] = {"old": {"accelerator": "t4", "perNode": 1, "max": 4}}
    assert problems_of(tree) == [
        "tensorplane:workloads.server.scaling.max: servers server, other use 5 GPUs at once, but node groups old have "
        "at most 4; lower scaling.max, or raise max of a node group"
    ]


_LOADS = "cpu, requestsPerSecond, latencyMilliseconds, queueMilliseconds"


@pytest.mark.parametrize(
    ("server", "lines"),
    [
        ({"scaling": {"max": 3, "cpu": 70}}, []),
        ({"scaling": {"max": 3, "cpu": 70}, "replicas": 1}, [".replicas: conflicts with scaling; remove one of them"]),
        ({"scaling": {"cpu": 70}}, [".scaling.max: required setting is missing"]),
        ({"scaling": {"max": 3}}, [f".scaling: required setting is missing: the load; set one of {_LOADS}"]),
        (
            {"scaling": {"min": 4, "max": 3, "cpu": 70}},
            [".scaling.min: is 4, more than max, which is 3; set 3 or less"],
        ),
        (
            {"scaling": {"max": 3, "cpu": 70, "latencyMilliseconds": 20}},
            [".scaling.latencyMilliseconds: conflicts with cpu; remove one of them"],
        ),
        (
            {"scaling": {"min": 0, "max": 3, "cpu": 70}},
            [".scaling.min: is 0, but without pods only the metrics of a gateway show requests; set requestsPerSecond"],
        ),
        (
            {"scaling": {"min": 0, "max": 3, "requestsPerSecond": 5}},
            [".scaling.min: is 0, but without pods only the metrics of a gateway show requests; set requestsPerSecond"],
        ),
        (
            {"scaling": {"max": 3, "cpu": 70, "requestsQuery": _GATEWAY}},
            [".scaling.requestsQuery: is set without requestsPerSecond; set it, or remove the query"],
        ),
        (
            {"scaling": {"max": 3, "queueMilliseconds": 20}},
            [".scaling.queueMilliseconds: is set, but requests only wait with batching; set batching: {}"],
        ),
    ],
)
def test_scaling_that_cannot_work_is_refused(server: dict[str, Any], lines: list[str]) -> None:
    prefix = "tensorplane:workloads.server"
    found = sorted(line.removeprefix(prefix) for line in problems_of(_tree(controllers=_PROMETHEUS, **server)))
    assert len(found) == len(lines), found
    assert all(line.startswith(start) for line, start in zip(found, lines, strict=True)), found


def test_an_image_that_reads_streams_scales_by_metrics_of_its_clients() -> None:
    scaling = {"max": 3, "requestsPerSecond": 5}
    use: dict[str, Any] = {"image": "registry.example/ranker:1", "streams": {"events": {"group": "ranker"}}}
    tree = _tree(controllers=_PROMETHEUS, scaling=scaling, **use)
    tree["streams"] = {
        "events": {"broker": {"kind": "strimzi", "cluster": "kafka"}, "topics": {"a": {}}, "groups": {"ranker": {}}}
    }
    assert problems_of(tree) == [
        "tensorplane:workloads.server.scaling.requestsPerSecond: requires TensorFlow Serving's metrics, which an image "
        "that reads streams does not have; scale on cpu"
    ]
    tree["workloads"]["server"]["scaling"] = {**scaling, "requestsQuery": _GATEWAY}
    assert problems_of(tree) == []


@pytest.mark.parametrize("load", [{"cpu": 70}, {"requestsPerSecond": 5}, {"latencyMilliseconds": 20}])
def test_the_embedded_cluster_scales_by_every_load(load: dict[str, Any]) -> None:
    tree = {
        **_tree(scaling={"max": 3, **load}),
        "cluster": {"kind": "embedded"},
        "volumes": {"models": {"sizeGib": 1}},
    }
    assert problems_of(tree) == []


def test_the_stack_installs_prometheus_where_no_other_one_is_named() -> None:
    scaling = {"max": 3, "latencyMilliseconds": 20}
    rendered = rendered_tree(_tree(scaling=scaling, clients=[{"namespace": "shop"}]))
    made = rendered.one("ScaledObject")
    assert {"Release keda", "Release prometheus"} <= set(made.options["dependsOn"])
    (trigger,) = made.inputs["spec"]["triggers"]
    assert trigger["metadata"]["serverAddress"] == "http://prometheus-server.prometheus.svc"
    assert "prometheus" in str(_let_in(rendered))
    rendered = rendered_tree(_tree(controllers=_PROMETHEUS, scaling=scaling, clients=[{"namespace": "shop"}]))
    assert "prometheus" not in str(_let_in(rendered))


def _let_in(rendered: Rendered) -> Any:
    return rendered.one("NetworkPolicy", "server-clients").inputs["spec"]["ingress"]


def test_the_stacks_prometheus_finds_no_service_monitors() -> None:
    tree = _tree(controllers={"servingMetrics": "serviceMonitor"}, scaling={"max": 3, "latencyMilliseconds": 20})
    assert problems_of(tree) == [
        "tensorplane:workloads.server.scaling.latencyMilliseconds: requires a Prometheus server with the metrics, but "
        "that of the stack does not find ServiceMonitors; set controllers.prometheusUrl, remove "
        "controllers.servingMetrics, or scale on cpu"
    ]


@pytest.mark.parametrize("url", ["prometheus:9090", "http://", "https://user:secret@prometheus"])
def test_a_prometheus_url_has_a_scheme_and_no_password(url: str) -> None:
    (line,) = problems_of(_tree(controllers={"prometheusUrl": url}))
    assert "use a URL without a password, such as http://prometheus-operated.monitoring.svc:9090" in line
