"""What a preview says: the server's own dry run, or the inputs where that is not possible.

Source of the semantics: the preview branches of Create and Update in provider/pkg/provider/provider.go of
pulumi-kubernetes v4.32.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes.values import UNKNOWN, Properties
from tests.provider.driver import CONFIG_MAP, Driver, Failed, configured
from tests.provider.objects import config_map, workload
from tests.support import kubeconfigs

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
RELEASE = "kubernetes:helm.sh/v3:Release"
NOWHERE = "https://127.0.0.1:1"


def test_creating_is_tried_on_the_server(provider: Driver, api: Objects, namespace: str) -> None:
    preview = provider.preview(DEPLOYMENT, workload("Deployment", namespace))
    assert preview["spec"]["strategy"]["type"] == "RollingUpdate", "the server's defaults are there"
    assert "status" not in preview, "a program must not read a status that is not there yet"
    with pytest.raises(ApiError, match="not found"):
        api.get(GVK("apps", "v1", "Deployment"), "web", namespace)


def test_what_the_server_would_refuse_fails_the_preview(provider: Driver, namespace: str) -> None:
    with pytest.raises(Failed, match=r"spec\.replicas: Invalid value: -1"):
        provider.preview(DEPLOYMENT, workload("Deployment", namespace, replicas=-1))


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(config_map("not-there-yet", {"a": "1"}), id="its namespace is made by the same program"),
        pytest.param(config_map("default", {"a": UNKNOWN}), id="a value is not known yet"),
        pytest.param(
            {"apiVersion": "soon.example/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {"a": 1}},
            id="its CRD is made by the same program",
        ),
    ],
)
def test_what_cannot_be_tried_is_shown_as_given(provider: Driver, inputs: Properties) -> None:
    group = inputs["apiVersion"] if "/" in inputs["apiVersion"] else "core/v1"
    assert provider.preview(f"kubernetes:{group}:{inputs['kind']}", inputs) == inputs


def test_an_object_that_is_there_is_shown_as_given(provider: Driver, namespace: str) -> None:
    """A replacement of the same name: the old object is still there during the preview."""
    inputs = config_map(namespace, {"a": "1"})
    provider.create(CONFIG_MAP, inputs)
    assert provider.preview(CONFIG_MAP, inputs) == inputs


def test_updating_is_tried_on_the_server(provider: Driver, api: Objects, namespace: str) -> None:
    _, state = provider.create(CONFIG_MAP, config_map(namespace, {"a": "1"}))
    preview = provider.update(CONFIG_MAP, state, config_map(namespace, {"a": "1", "b": "2"}), preview=True)
    assert preview["data"] == {"a": "1", "b": "2"}
    assert preview["metadata"]["uid"] == state["metadata"]["uid"]
    assert api.get(GVK("", "v1", "ConfigMap"), "settings", namespace)["data"] == {"a": "1"}
    news = config_map(namespace, {"a": UNKNOWN})
    assert provider.update(CONFIG_MAP, state, news, preview=True) == news


def test_a_cluster_that_is_not_there_yet_does_not_stop_a_preview(without_cluster: Driver) -> None:
    """Source: gvkExists and clusterUnreachable in provider.go: the kubeconfig is known when the cluster is made."""
    inputs = config_map("default", {"a": "1"})
    assert without_cluster.preview(CONFIG_MAP, inputs) == inputs
    with pytest.raises(Failed, match="the Kubernetes cluster cannot be reached"):
        without_cluster.create(CONFIG_MAP, inputs)


def test_a_kubeconfig_that_cannot_be_used_does_not_stop_a_preview() -> None:
    """Source: unreachableCluster in Configure: what is wrong with it shows when the cluster is needed."""
    with configured(kubeconfigs.kubeconfig(NOWHERE, {"token": "t"}, authority="eA==")) as provider:
        inputs = config_map("default", {"a": "1"})
        assert provider.preview(CONFIG_MAP, inputs) == inputs
        with pytest.raises(Failed, match=r"cannot be reached: the kubeconfig cannot be used: .*certificate"):
            provider.create(CONFIG_MAP, inputs)


def test_a_chart_for_a_cluster_that_is_not_there_yet_shows_its_inputs(without_cluster: Driver, tmp_path: Path) -> None:
    """Source: Create on GetPreview in helm_release.go: without a cluster, the inputs, and the rest unknown."""
    chart = chart_of(tmp_path)
    inputs = without_cluster.check(RELEASE, {"chart": str(chart), "name": "x", "values": {"a": 1}})
    preview = without_cluster.preview(RELEASE, inputs)
    assert {name: preview[name] for name in inputs} == inputs
    assert preview["status"] is preview["resourceNames"] is UNKNOWN
    unknown = {**inputs, "values": {"a": UNKNOWN}}
    assert without_cluster.preview(RELEASE, unknown)["values"] == {"a": UNKNOWN}
    with pytest.raises(Failed, match="the Kubernetes cluster cannot be reached"):
        without_cluster.create(RELEASE, inputs)


@pytest.fixture
def without_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """A provider that knows nothing of a cluster yet."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with configured() as provider:
        yield provider


def chart_of(folder: Path) -> Path:
    """A chart of one ConfigMap."""
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: small\nversion: 1.0.0\n")
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {a: '{{ .Values.a }}'}\n"
    (chart / "templates" / "map.yaml").write_text(template)
    return chart


@pytest.fixture
def stopped(kubeconfig: dict[str, Any]) -> dict[str, Any]:
    """The kubeconfig of a cluster that does not answer."""
    return kubeconfigs.kubeconfig(NOWHERE, kubeconfig["users"][0]["user"])


def test_a_stopped_cluster_is_one_line_that_says_what_to_do(stopped: dict[str, Any]) -> None:
    """Source: Read and Delete on clusterUnreachable; the environment variable is the official plugin's."""
    inputs = config_map("default", {"a": "1"})
    state, resource_id = {**inputs, "__inputs": inputs}, "default/settings"
    with configured(stopped) as provider:
        for operation in (
            lambda: provider.create(CONFIG_MAP, inputs),
            lambda: provider.read(CONFIG_MAP, resource_id, inputs, inputs),
            lambda: provider.delete(CONFIG_MAP, resource_id, state),
        ):
            with pytest.raises(Failed) as failure:
                operation()
            assert NOWHERE in failure.value.message
            assert len(failure.value.message.splitlines()) == 1
    with configured(stopped, deleteUnreachable="true") as provider:
        assert provider.read(CONFIG_MAP, resource_id, inputs, inputs)[0] == ""
        provider.delete(CONFIG_MAP, resource_id, state)
    with configured(stopped, skipUpdateUnreachable="true") as provider:
        assert provider.read(CONFIG_MAP, resource_id, inputs, inputs) == (resource_id, inputs, inputs)


def test_what_exists_is_skipped_without_a_cluster_and_what_is_new_is_not_made(
    stopped: dict[str, Any], tmp_path: Path
) -> None:
    """Source: Check on skipUpdateUnreachable in provider.go; Create needs the cluster whatever is set."""
    old, new = config_map("default", {"a": "1"}), config_map("default", {"a": "2"})
    chart = {"chart": str(chart_of(tmp_path)), "name": "x"}
    with configured(stopped, skipUpdateUnreachable="true") as provider:
        assert provider.check(CONFIG_MAP, new, old) == old
        assert provider.check(RELEASE, chart, {"chart": "old"}) == {"chart": "old"}
        assert any("skipUpdateUnreachable" in text for text in provider.engine.texts(ephemeral=False))
        inputs = provider.check(CONFIG_MAP, new)
        assert inputs == new
        assert provider.preview(CONFIG_MAP, inputs) == new
        with pytest.raises(Failed, match="the Kubernetes cluster cannot be reached") as failure:
            provider.create(CONFIG_MAP, inputs)
        assert len(failure.value.message.splitlines()) == 1
