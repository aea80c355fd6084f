"""The dashboard of the queues, and what scrapes Kueue: metrics and labels that exist, panels that Grafana takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as grafana

from tensorplane.components.controllers import kueue
from tensorplane.components.controllers.kueue import KueueMetrics
from tensorplane.components.dashboards import queues as dashboards_queues
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import PROJECT, Rendered, settings_of

RECORDED = yaml.safe_load((Path(__file__).parent / "kueue_metrics.yaml").read_text())
QUEUES = ("research", "production")


def metrics() -> dict[str, frozenset[str]]:
    """What Kueue tells, each series by its name in Prometheus, with its labels."""
    found = {name: set(labels) for kind in ("counter", "gauge") for name, labels in RECORDED[kind].items()}
    for name, labels in RECORDED["histogram"].items():
        found |= {f"{name}_bucket": {*labels, "le"}, f"{name}_sum": set(labels), f"{name}_count": set(labels)}
    # A Prometheus whose targets have a label `namespace` of their own renames the metric's.
    return {
        name: frozenset(labels | ({"exported_namespace"} if "namespace" in labels else set()))
        for name, labels in found.items()
    }


def made() -> dict[str, Any]:
    return dashboards_queues.of("lab", QUEUES, ("lab", "vision"))


def panels() -> list[dict[str, Any]]:
    return [panel for panel in made()["panels"] if panel["type"] != "row"]


def filled_in(promql: str) -> str:
    """The query as Grafana sends it."""
    values = {"stack": "lab", "queue": "(research|production)", "namespace": "(lab|vision)", "window": "1h"}
    return re.sub(r"\$([a-z]+)", lambda found: values[found[1]], promql)


QUERIES = [(panel["title"], target) for panel in panels() for target in panel["targets"]]


def labels_of(expr: Any, known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The labels of what an expression comes to; fails where it names one that there is not."""
    if isinstance(expr, promql_parser.ParenExpr):
        return labels_of(expr.expr, known)
    if isinstance(expr, promql_parser.MatrixSelector):
        return labels_of(expr.vector_selector, known)
    if isinstance(expr, promql_parser.VectorSelector):
        labels = known[str(expr.name)]
        assert {matcher.name for matcher in expr.matchers.matchers} <= labels
        return labels
    if isinstance(expr, promql_parser.AggregateExpr):
        inside = labels_of(expr.expr, known)
        by = frozenset(expr.modifier.labels) if expr.modifier else frozenset()
        assert by <= inside
        return by
    if isinstance(expr, promql_parser.BinaryExpr):
        sides = [labels_of(side, known) for side in (expr.lhs, expr.rhs) if not is_constant(side)]
        return frozenset.intersection(*sides)
    assert isinstance(expr, promql_parser.Call)
    inside = next(labels_of(arg, known) for arg in expr.args if not is_constant(arg))
    if expr.func.name == "label_replace":
        target, _, source = (arg.val for arg in expr.args[1:4])
        assert source in inside
        return inside | {target}
    return inside - {"le"} if expr.func.name == "histogram_quantile" else inside


def is_constant(expr: Any) -> bool:
    literal = isinstance(expr, promql_parser.NumberLiteral | promql_parser.StringLiteral)
    return literal or (isinstance(expr, promql_parser.Call) and expr.func.name == "vector")


@pytest.mark.parametrize(("title", "target"), QUERIES, ids=[f"{title} {one['refId']}" for title, one in QUERIES])
def test_every_metric_and_label_is_kueues(title: str, target: Mapping[str, Any]) -> None:
    left = labels_of(promql_parser.parse(filled_in(target["expr"])), metrics())
    assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= left


def test_shows_waiting_use_and_preemptions() -> None:
    shown = "".join(target["expr"] for _, target in QUERIES)
    for metric in (
        "admission_wait_time_seconds_bucket",
        "pending_workloads",
        "admitted_active_workloads",
        "admitted_until_ready_wait_time_seconds_bucket",
        "cluster_queue_resource_usage",
        "cluster_queue_nominal_quota",
        "preempted_workloads_total",
        "evicted_workloads_total",
    ):
        assert f"kueue_{metric}{{" in shown
    assert all(panel["description"] and panel["fieldConfig"]["defaults"]["unit"] for panel in panels())


def test_variables_are_those_that_queries_use() -> None:
    declared = {variable["name"] for variable in made()["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]+)", json.dumps([panel["targets"] for panel in panels()])))
    assert used == declared


def lost(given: Any, taken: Any, at: str = "") -> Iterator[str]:
    """What Grafana's own types did not take over as it is."""
    if isinstance(given, dict) and isinstance(taken, dict):
        for key, value in given.items():
            yield from lost(value, taken.get(key), f"{at}/{key}")
    elif isinstance(given, list) and isinstance(taken, list) and len(given) == len(taken):
        for index, pair in enumerate(zip(given, taken, strict=True)):
            yield from lost(*pair, f"{at}/{index}")
    elif given != taken:
        yield at


def test_grafanas_own_types_take_all_of_it() -> None:
    register_default_plugins()
    taken = json.loads(JSONEncoder().encode(grafana.Dashboard.from_json(made())))
    assert list(lost(made(), taken)) == []


def test_panels_do_not_overlap_and_fill_each_row() -> None:
    cells: dict[tuple[int, int], str] = {}
    for panel in made()["panels"]:
        at = panel["gridPos"]
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                assert cells.setdefault((x, y), panel["title"]) == panel["title"]
    height = max(y for _, y in cells) + 1
    assert len(cells) == 24 * height
    assert len({panel["id"] for panel in made()["panels"]}) == len(made()["panels"])


def test_two_stacks_have_a_dashboard_each() -> None:
    one, other = made(), dashboards_queues.of("lab-two", QUEUES, ("lab-two",))
    assert one["uid"] != other["uid"]
    assert len(dashboards_queues.of("n" * 63, QUEUES, ("lab",))["uid"]) <= 40


def test_pods_that_are_not_ready_in_time_are_beyond_the_line() -> None:
    (panel,) = (panel for panel in panels() if panel["title"] == "Time to pods ready")
    configuration = json.loads(kueue.values()["managerConfig"]["controllerManagerConfigYaml"])
    minutes = int(configuration["waitForPodsReady"]["timeout"].removesuffix("m"))
    assert panel["fieldConfig"]["defaults"]["thresholds"]["steps"][-1]["value"] == minutes * 60


@cache
def built() -> Rendered:
    tree = dict(settings_of(PROJECT / "examples" / "queues.yaml").tree)
    tree["controllers"] = {"kueueMetrics": "serviceMonitor", "kueueDashboard": True}
    tree["teams"] = {**tree["teams"], "speech": {"namespace": "talk"}}
    return rendered_tree(tree)


def test_the_sidecar_finds_the_stacks_own_queues_and_namespaces() -> None:
    found = built().one("ConfigMap", "queues-dashboard").inputs
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    ((name, text),) = found["data"].items()
    assert name == "tensorplane-dev-queues.json"
    variables = {variable["name"]: variable["query"] for variable in json.loads(text)["templating"]["list"]}
    assert variables["stack"] == "tensorplane-dev"
    assert variables["queue"] == "research,production"
    assert variables["namespace"] == "tensorplane-dev,vision,talk"


@pytest.mark.parametrize("metrics", ["none", "annotations", "serviceMonitor"])
def test_one_way_to_find_the_metrics_or_none(metrics: KueueMetrics) -> None:
    values = kueue.values(metrics=metrics)
    configuration = json.loads(values["managerConfig"]["controllerManagerConfigYaml"])
    assert configuration["metrics"]["enableClusterQueueResources"] == (metrics != "none")
    assert values["enablePrometheus"] == (metrics == "serviceMonitor")
    annotated = values.get("metricsService", {}).get("annotations", {})
    assert annotated.get("prometheus.io/scheme") == ("https" if metrics == "annotations" else None)


def test_the_setting_reaches_the_chart_and_nothing_is_there_by_default() -> None:
    values = built().one("Release", "kueue").inputs["values"]
    assert values["enablePrometheus"] is True
    tree = settings_of(PROJECT / "examples" / "queues.yaml").tree
    plain = rendered_tree(tree)
    assert plain.one("Release", "kueue").inputs["values"]["enablePrometheus"] is False
    assert "queues-dashboard" not in {one.name for one in plain.all("ConfigMap")}
