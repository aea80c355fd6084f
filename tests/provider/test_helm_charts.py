"""The charts that the stack installs, with its values for them: they render, and nothing speaks against them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane import toolchain
from tensorplane.components import versions
from tensorplane.components.controllers import jobset, kueue
from tensorplane.core.errors import UserError
from tensorplane.plugins.kubernetes.helm_chart import located
from tensorplane.plugins.kubernetes.helm_live import objects
from tensorplane.plugins.kubernetes.helm_process import Helm, program
from tensorplane.plugins.kubernetes.helm_release import ReleaseResource
from tensorplane.plugins.kubernetes.session import Session
from tensorplane.plugins.kubernetes.values import UNKNOWN, plain
from tensorplane.toolchain import golang
from tests.support import charts

pytest_plugins = ["tests.provider.helm_fixtures"]

CASES = [
    pytest.param(versions.KUEUE, kueue.values, id="kueue"),
    pytest.param(versions.JOBSET, jobset.values, id="jobset"),
]


def chart_folder(name: str) -> Path:
    """The chart inside the Go module that the toolchain builds, also where nothing is built yet."""
    try:
        return toolchain.tools().charts / name
    except UserError:
        go = golang.find()
        assert go is not None, f"the chart of {name} is not here: run `make up` once, or install Go"
        argv = [str(go.program), "list", "-m", "-f", "{{.Dir}}", f"sigs.k8s.io/{name}"]
        folder = subprocess.run(argv, cwd=golang.MODULES / "tools", capture_output=True, text=True, check=True)
        return Path(folder.stdout.strip()) / "charts" / name


@pytest.mark.nightly("told by every end-to-end `make up`")
@pytest.mark.parametrize(("chart", "chart_values"), CASES)
def test_chart_passes_check_and_preview_with_the_stacks_values(
    helm: ReleaseResource, chart: versions.Chart, chart_values: Callable[[], dict[str, Any]]
) -> None:
    news = {
        "chart": str(chart_folder(chart.name)),
        "name": chart.name,
        "namespace": chart.namespace,
        "createNamespace": True,
        "values": chart_values(),
        "timeout": 600,
    }
    urn = f"urn:pulumi:dev::tensorplane::kubernetes:helm.sh/v3:Release::{chart.name}"
    inputs, failures = helm.check({}, news, b"seed", urn)
    assert failures == []
    assert inputs["version"] == chart.version
    assert helm.create(urn, inputs, preview=True)[1]["status"] is UNKNOWN


@pytest.mark.nightly("told by the embedded cluster, which has only that image")
@pytest.mark.parametrize(("chart", "chart_values"), CASES)
def test_chart_renders_the_stacks_image_and_one_replica(
    session: Session, chart: versions.Chart, chart_values: Callable[[], dict[str, Any]]
) -> None:
    helm = Helm(program(), session.kubeconfig, {}, session.cancelled)
    folder = {"chart": str(chart_folder(chart.name)), "version": "", "devel": False, "verify": False}
    words = ("template", "--include-crds", "--values", "-", "--namespace", chart.namespace, "--", chart.name)
    with located(helm, folder) as found:
        rendered = list(objects(helm.run(*words, found.reference, values=plain(chart_values()))))
    deployments = [obj for obj in rendered if obj["kind"] == "Deployment"]
    assert [obj["spec"]["replicas"] for obj in deployments] == [1]
    images = {box["image"] for box in deployments[0]["spec"]["template"]["spec"]["containers"]}
    assert images == {f"{chart.image}:{chart.image_tag}"}
    assert any(obj["kind"] == "CustomResourceDefinition" for obj in rendered)
    assert yaml.safe_dump(rendered)  # plain data, no YAML tags of a library


@pytest.mark.parametrize("metrics", ["none", "annotations", "serviceMonitor"])
def test_kueues_metrics_are_found_the_way_that_is_asked_for(metrics: kueue.KueueMetrics) -> None:
    chart = versions.KUEUE
    values = plain(kueue.values(metrics=metrics))
    rendered = charts.rendered(chart.name, chart_folder(chart.name), chart.namespace, values).values()
    (service,) = (
        obj for obj in rendered if obj["kind"] == "Service" and obj["metadata"]["name"].endswith("-metrics-service")
    )
    monitors = [obj["spec"] for obj in rendered if obj["kind"] == "ServiceMonitor"]
    assert ("prometheus.io/scrape" in service["metadata"].get("annotations", {})) == (metrics == "annotations")
    assert [port["port"] for port in service["spec"]["ports"]] == [8443]
    assert len(monitors) == (1 if metrics == "serviceMonitor" else 0)
    for monitor in monitors:
        assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert {port["name"] for port in service["spec"]["ports"]} == {each["port"] for each in monitor["endpoints"]}
    (config,) = (obj for obj in rendered if obj["kind"] == "ConfigMap" and "manager-config" in obj["metadata"]["name"])
    ((_, text),) = config["data"].items()
    assert yaml.safe_load(text)["metrics"]["enableClusterQueueResources"] is (metrics != "none")
