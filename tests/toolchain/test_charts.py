"""The device plugin's chart: got from its Go module, and what helm makes of it with the stack's own values."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from tensorplane.components import versions
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.gpu_runtime import NAMESPACE
from tensorplane.components.gpu_runtime.plugin import Plugin
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.core.step import Step
from tensorplane.toolchain import charts
from tests.support.charts import Objects
from tests.support.charts import rendered as rendered_chart

H100 = {"accelerator": "h100-80gb", "perNode": 8, "max": 2}
GROUPS: dict[str, dict[str, Any]] = {
    "cpu": {"max": 3, "min": 1},
    "whole": H100,
    "team": {**H100, "taints": [{"key": "team", "value": "vision", "effect": "NoExecute"}]},
    "slices": {**H100, "spot": True, "sharing": {"kind": "timeSlicing", "replicas": 4}},
    "shares": {**H100, "sharing": {"kind": "mps", "replicas": 8}},
}
MIG = {"parts": {**H100, "sharing": {"kind": "mig", "profile": "1g.10gb"}}}


@pytest.fixture(scope="session")
def chart() -> Path:
    """The chart in the user's own cache, downloaded where it is missing."""
    charts.obtain(Step("chart"))
    return charts.folder() / versions.DEVICE_PLUGIN.name


def machines(groups: dict[str, dict[str, Any]]) -> Fleet:
    parsed = {name: NodeGroupArgs.model_validate(given) for name, given in groups.items()}
    found, faults = fleet.of(parsed, ClusterProperties("existing", None, None))
    assert not faults
    return found


def rendered(chart: Path, kind: str, found: Fleet) -> Objects:
    """What helm would install for a kind of cluster."""
    values = Plugin().values(cast(ClusterArgs, ClusterArgs.variants[kind].model_construct()), found)
    return rendered_chart(versions.DEVICE_PLUGIN.name, chart, NAMESPACE, values)


def pod(found: Objects, daemon_set: str) -> dict[str, Any]:
    return cast(dict[str, Any], found["DaemonSet", daemon_set]["spec"]["template"]["spec"])


def container(spec: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = (c for c in [*spec.get("initContainers", []), *spec["containers"]] if c["name"] == name)
    return cast(dict[str, Any], one)


def test_the_chart_is_the_pinned_version_and_a_second_run_downloads_nothing(own_cache: Path) -> None:
    assert charts.is_missing()
    charts.obtain(Step("chart"))
    kept = charts.folder() / versions.DEVICE_PLUGIN.name
    assert yaml.safe_load((kept / "Chart.yaml").read_text())["version"] == versions.DEVICE_PLUGIN.version
    assert versions.DEVICE_PLUGIN.image_tag == f"v{versions.DEVICE_PLUGIN.version}"
    assert all(path.stat().st_mode & 0o200 for path in kept.rglob("*")), "a copy that can be deleted again"
    before = kept.stat().st_mtime_ns
    charts.obtain(Step("chart"))
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize("kind", ["eks", "existing", "embedded"])
def test_every_daemon_set_tolerates_every_taint_of_the_fleet(chart: Path, kind: str) -> None:
    found = machines(GROUPS)
    installed = rendered(chart, kind, found)
    daemon_sets = [name for what, name in installed if what == "DaemonSet"]
    assert daemon_sets
    wanted = {(taint.key, taint.effect) for shape in found.groups.values() for taint in shape.taints}
    assert {key for key, _ in wanted} == {"nvidia.com/gpu", "team", "tensorplane.dev/spot"}
    for name in daemon_sets:
        tolerated = {(t["key"], t["effect"]) for t in pod(installed, name)["tolerations"] if t["operator"] == "Exists"}
        assert tolerated >= wanted, name


def test_it_runs_on_the_nodes_that_the_groups_label(chart: Path) -> None:
    spec = pod(rendered(chart, "embedded", machines(GROUPS)), "nvidia-device-plugin")
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    labelled = {"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]}
    assert {"matchExpressions": [labelled]} in terms
    assert spec["priorityClassName"] == "system-node-critical"


def test_each_node_takes_the_configuration_that_its_label_names(chart: Path) -> None:
    found = machines(GROUPS)
    installed = rendered(chart, "eks", found)
    data = installed["ConfigMap", "nvidia-device-plugin-configs"]["data"]
    labels = {s.labels["nvidia.com/device-plugin.config"] for s in found.groups.values() if s.args.sharing}
    assert set(data) == labels | {"whole"}
    assert all(yaml.safe_load(text)["version"] == "v1" for text in data.values())
    spec = pod(installed, "nvidia-device-plugin")
    manager = container(spec, "nvidia-device-plugin-sidecar")
    assert manager["command"] == ["config-manager"]
    env = {item["name"]: item.get("value") for item in manager["env"]}
    assert (env["NODE_LABEL"], env["DEFAULT_CONFIG"]) == ("nvidia.com/device-plugin.config", "whole")
    assert spec["shareProcessNamespace"] is True
    assert pod(installed, "nvidia-device-plugin-mps-control-daemon")["nodeSelector"] == {
        "nvidia.com/mps.capable": "true"
    }


@pytest.mark.parametrize(
    ("groups", "strategy", "context"),
    [
        (GROUPS, "none", {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}),
        (GROUPS | MIG, "single", {"capabilities": {"add": ["SYS_ADMIN"]}}),
    ],
    ids=["without", "with"],
)
def test_only_mig_needs_privileges(
    chart: Path, groups: dict[str, dict[str, Any]], strategy: str, context: dict[str, Any]
) -> None:
    spec = pod(rendered(chart, "existing", machines(groups)), "nvidia-device-plugin")
    plugin = container(spec, "nvidia-device-plugin-ctr")
    assert {item["name"]: item.get("value") for item in plugin["env"]}["MIG_STRATEGY"] == strategy
    assert plugin["securityContext"] == context
    assert plugin["image"] == f"{versions.DEVICE_PLUGIN.image}:{versions.DEVICE_PLUGIN.image_tag}"


def test_feature_discovery_runs_where_gpus_are_real(chart: Path) -> None:
    found = machines(GROUPS)
    names = {kind: {name for _, name in rendered(chart, kind, found)} for kind in ("eks", "existing", "embedded")}
    discovery = "nvidia-device-plugin-gpu-feature-discovery"
    worker = "nvidia-device-plugin-node-feature-discovery-worker"
    assert discovery in names["eks"] and worker not in names["eks"]
    assert {discovery, worker} <= names["existing"]
    assert not any("discovery" in name for name in names["embedded"])
