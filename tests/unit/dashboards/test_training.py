"""The dashboard of training jobs: every query names metrics of the library or of DCGM, and Grafana takes it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as grafana

from tensorplane import metrics
from tensorplane.components.base.labels import FENCED
from tensorplane.components.dashboards import training as dashboards_training
from tests.support import rendering
from tests.support.problems import dev
from tests.support.rendered_files import rendered_tree
from tests.unit.dashboards.test_queues import labels_of, lost

DCGM = yaml.safe_load((Path(__file__).parent / "dcgm_metrics.yaml").read_text())
_TARGET = frozenset({"namespace", "pod"})
"""Labels that Prometheus gives to what it scrapes in pods."""


def series() -> dict[str, frozenset[str]]:
    """All series with their labels: those of the library as it writes them, and DCGM's."""
    written = {line.split(" ")[0] for line in metrics.text().splitlines() if not line.startswith("#")}
    labels = frozenset(DCGM["labels"]) | {"exported_namespace", "exported_pod"}
    return {**dict.fromkeys(written, _TARGET), **{name: labels for kind in ("gauge", "counter") for name in DCGM[kind]}}


def made() -> dict[str, Any]:
    return dashboards_training.of("lab", ("lab", "vision"))


def panels() -> list[dict[str, Any]]:
    return [panel for panel in made()["panels"] if panel["type"] != "row"]


QUERIES = [(panel["title"], target) for panel in panels() for target in panel["targets"]]


def filled_in(promql: str) -> str:
    """The query as Grafana sends it."""
    values = {"job": "(train-1a2b|tune-3c4d)", "namespace": "(lab|vision)", "__rate_interval": "1m"}
    return re.sub(r"\$([a-z_]{2,})", lambda found: values[found[1]], promql)


@pytest.mark.parametrize(("title", "target"), QUERIES, ids=[title for title, _ in QUERIES])
def test_every_metric_and_label_is_there(title: str, target: Mapping[str, Any]) -> None:
    left = labels_of(promql_parser.parse(filled_in(target["expr"])), series())
    assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= left


def test_a_metric_that_is_not_there_is_found() -> None:
    with pytest.raises(KeyError):
        labels_of(promql_parser.parse("max by (pod) (tensorplane_speed)"), series())


def test_it_shows_every_metric_of_the_library() -> None:
    shown = "".join(target["expr"] for _, target in QUERIES)
    missing = {metric._name for metric in metrics.TRAINING if metric._name not in shown}
    assert missing == set()


def test_a_run_is_what_is_before_the_pods_own_part_of_its_name() -> None:
    (query,) = [target["expr"] for title, target in QUERIES if title == "Loss"]
    pattern = re.findall(r'"pod", "(.+?)"\)', query)[0]
    found = re.fullmatch(pattern, "my-train-11bc110f-worker-0-12-2gfwv")
    assert found
    assert found[1] == "my-train-11bc110f"


def test_grafanas_own_types_take_all_of_it() -> None:
    register_default_plugins()
    taken = json.loads(JSONEncoder().encode(grafana.Dashboard.from_json(made())))
    assert list(lost(made(), taken)) == []


def test_the_setting_creates_it_and_a_port_of_metrics_opens_the_pods_to_prometheus() -> None:
    tree = dev()
    assert "training-dashboard" not in {one.name for one in _built(tree).all("ConfigMap")}
    assert "digits-clients" not in {one.name for one in _built(tree).all("NetworkPolicy")}
    tree["controllers"] = {"trainingDashboard": True}
    tree["workloads"]["digits"]["env"]["TENSORPLANE_METRICS_PORT"] = 9100
    built = _built(tree)
    data = built.one("ConfigMap", "training-dashboard").inputs["data"]
    ((name, text),) = data.items()
    assert name.endswith("-training.json")
    assert json.loads(text)["title"].startswith("Training of ")
    policy = built.one("NetworkPolicy", "digits-clients").inputs["spec"]
    assert policy["ingress"] == [{"ports": [{"protocol": "TCP", "port": 9100}]}]
    pod = built.one("JobSet", "digits").inputs["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    scraped = {"prometheus.io/scrape": "true", "prometheus.io/port": "9100"}
    assert pod["metadata"]["annotations"] == {**scraped, FENCED: "true"}


def _built(tree: dict[str, Any]) -> rendering.Rendered:
    return rendered_tree(tree)
