"""What a preview says: the server's own dry run, or the inputs where that is not possible.

Source of the semantics: the preview branches of Create and Update in provider/pkg/provider/provider.go of
pulumi-kubernetes v4.32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from embedded.provider.api import Api
from embedded.provider.api_error import ApiError
from embedded.provider.gvk import GVK
from embedded.provider.values import UNKNOWN, Properties
from tests.provider.driver import CONFIG_MAP, Driver, Failed, configured, started

DEPLOYMENT = "kubernetes:apps/v1:Deployment"
RELEASE = "kubernetes:helm.sh/v3:Release"


def config_map(namespace: str, **data: Any) -> Properties:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": namespace}, "data": data}


def deployment(namespace: str, replicas: Any = 1) -> Properties:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "main", "image": "a:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x", "namespace": namespace},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": template},
    }


def test_creating_is_tried_on_the_server(provider: Driver, api: Api, namespace: str) -> None:
    preview = provider.preview(DEPLOYMENT, deployment(namespace))
    assert preview["spec"]["strategy"]["type"] == "RollingUpdate", "the server's defaults are there"
    assert "status" not in preview, "a program must not read a status that is not there yet"
    with pytest.raises(ApiError, match="not found"):
        api.get(GVK("apps", "v1", "Deployment"), "x", namespace)


def test_what_the_server_would_refuse_fails_the_preview(provider: Driver, namespace: str) -> None:
    with pytest.raises(Failed, match=r"spec\.replicas: Invalid value: -1"):
        provider.preview(DEPLOYMENT, deployment(namespace, -1))


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(config_map("not-there-yet", a="1"), id="its namespace is made by the same program"),
        pytest.param(config_map("default", a=UNKNOWN), id="a value is not known yet"),
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
    inputs = config_map(namespace, a="1")
    provider.create(CONFIG_MAP, inputs)
    assert provider.preview(CONFIG_MAP, inputs) == inputs


def test_updating_is_tried_on_the_server(provider: Driver, api: Api, namespace: str) -> None:
    _, state = provider.create(CONFIG_MAP, config_map(namespace, a="1"))
    preview = provider.update(CONFIG_MAP, state, config_map(namespace, a="1", b="2"), preview=True)
    assert preview["data"] == {"a": "1", "b": "2"}
    assert preview["metadata"]["uid"] == state["metadata"]["uid"]
    assert api.get(GVK("", "v1", "ConfigMap"), "x", namespace)["data"] == {"a": "1"}
    news = config_map(namespace, a=UNKNOWN)
    assert provider.update(CONFIG_MAP, state, news, preview=True) == news


def test_a_cluster_that_is_not_there_yet_does_not_stop_a_preview(tmp_path: Path) -> None:
    """Source: gvkExists and clusterUnreachable in provider.go: the kubeconfig is known when the cluster is made."""
    with started(tmp_path) as provider:
        provider.configure("")  # nothing is known
        inputs = config_map("default", a="1")
        assert provider.preview(CONFIG_MAP, inputs) == inputs
        with pytest.raises(Failed, match="the Kubernetes cluster cannot be reached"):
            provider.create(CONFIG_MAP, inputs)


def test_a_kubeconfig_that_cannot_be_used_does_not_stop_a_preview(tmp_path: Path) -> None:
    """Source: unreachableCluster in Configure: what is wrong with it shows when the cluster is needed."""
    config = {
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1", "certificate-authority-data": "eA=="}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {"token": "t"}}],
        "current-context": "a",
    }
    with configured(tmp_path, config) as provider:
        inputs = config_map("default", a="1")
        assert provider.preview(CONFIG_MAP, inputs) == inputs
        with pytest.raises(Failed, match=r"cannot be reached: the kubeconfig cannot be used: .*certificate"):
            provider.create(CONFIG_MAP, inputs)


def test_a_chart_for_a_cluster_that_is_not_there_yet_shows_its_inputs(tmp_path: Path) -> None:
    """Source: Create on GetPreview in helm_release.go: without a cluster, the inputs, and the rest unknown."""
    chart = chart_of(tmp_path)
    with started(tmp_path) as provider:
        provider.configure("")
        inputs = provider.check(RELEASE, {"chart": str(chart), "name": "x", "values": {"a": 1}})
        preview = provider.preview(RELEASE, inputs)
        assert {name: preview[name] for name in inputs} == inputs
        assert preview["status"] is preview["resourceNames"] is UNKNOWN
        unknown = {**inputs, "values": {"a": UNKNOWN}}
        assert provider.preview(RELEASE, unknown)["values"] == {"a": UNKNOWN}
        with pytest.raises(Failed, match="the Kubernetes cluster cannot be reached"):
            provider.create(RELEASE, inputs)


def chart_of(folder: Path) -> Path:
    """A chart of one ConfigMap."""
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: small\nversion: 1.0.0\n")
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {a: '{{ .Values.a }}'}\n"
    (chart / "templates" / "map.yaml").write_text(template)
    return chart


def test_a_stopped_cluster_is_one_line_that_says_what_to_do(kubeconfig: dict[str, Any], tmp_path: Path) -> None:
    """Source: Read and Delete on clusterUnreachable; the environment variable is the official plugin's."""
    stopped = yaml.safe_load(yaml.safe_dump(kubeconfig))
    stopped["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    inputs = config_map("default", a="1")
    with configured(tmp_path, stopped) as provider:
        for operation in (
            lambda: provider.create(CONFIG_MAP, inputs),
            lambda: provider.read(CONFIG_MAP, "default/x", inputs, inputs),
            lambda: provider.delete(CONFIG_MAP, "default/x", {**inputs, "__inputs": inputs}),
        ):
            with pytest.raises(Failed) as failure:
                operation()
            assert "https://127.0.0.1:1" in failure.value.message
            assert len(failure.value.message.splitlines()) == 1
    with configured(tmp_path, stopped, deleteUnreachable="true") as provider:
        assert provider.read(CONFIG_MAP, "default/x", inputs, inputs)[0] == ""
        provider.delete(CONFIG_MAP, "default/x", {**inputs, "__inputs": inputs})
    with configured(tmp_path, stopped, skipUpdateUnreachable="true") as provider:
        assert provider.read(CONFIG_MAP, "default/x", inputs, inputs) == ("default/x", inputs, inputs)


def test_what_exists_is_skipped_without_a_cluster_and_what_is_new_is_not_made(
    kubeconfig: dict[str, Any], tmp_path: Path
) -> None:
    """Source: Check on skipUpdateUnreachable in provider.go; Create needs the cluster whatever is set."""
    stopped = yaml.safe_load(yaml.safe_dump(kubeconfig))
    stopped["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    old, new = config_map("default", a="1"), config_map("default", a="2")
    chart = {"chart": str(chart_of(tmp_path)), "name": "x"}
    with configured(tmp_path, stopped, skipUpdateUnreachable="true") as provider:
        assert provider.check(CONFIG_MAP, new, old) == old
        assert provider.check(RELEASE, chart, {"chart": "old"}) == {"chart": "old"}
        assert any("skipUpdateUnreachable" in text for text in provider.engine.texts(ephemeral=False))
        inputs = provider.check(CONFIG_MAP, new)
        assert inputs == new
        assert provider.preview(CONFIG_MAP, inputs) == new
        with pytest.raises(Failed, match="the Kubernetes cluster cannot be reached") as failure:
            provider.create(CONFIG_MAP, inputs)
        assert len(failure.value.message.splitlines()) == 1
