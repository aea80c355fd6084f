"""The charts of KEDA, Prometheus, Traefik and Argo Workflows for the embedded cluster: what helm makes of them and the
values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import yaml

from tensorplane.components import versions
from tensorplane.components.controllers import argo_workflows, gateway, keda, prometheus
from tensorplane.components.controllers.prometheus import PrometheusArgs
from tensorplane.components.versions import GATEWAY_CLASS, Chart
from tensorplane.core.step import Step
from tensorplane.images import add_ons
from tensorplane.toolchain import go_build, go_module, golang
from tests.support import charts
from tests.support.charts import Objects

Template = Callable[[str], Objects]
_CHARTS = {
    "keda": (versions.KEDA, keda.values()),
    "prometheus": (versions.PROMETHEUS, prometheus.values()),
    "traefik": (versions.TRAEFIK, gateway.values(annotations=None)),
    "argo-workflows": (versions.ARGO_WORKFLOWS, argo_workflows.values()),
}
_EXECUTOR = f"quay.io/argoproj/argoexec:{versions.ARGO_WORKFLOWS.image_tag}"


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """What helm would install."""
    go = golang.obtain(Step("go"))
    folder = tmp_path_factory.mktemp("charts")
    for name in _CHARTS:
        # Definitions are of a module that the copy of another one requires.
        module = replace(go_module.CONTROLLERS[name](), definitions={})
        go_build.own_chart(module, go, folder / name, Step(name))

    def template(name: str) -> Objects:
        chart, values = _CHARTS[name]
        return charts.rendered(name, folder / name, chart.namespace, values)

    return template


@pytest.mark.parametrize("name", _CHARTS)
def test_every_pod_runs_an_image_of_this_machine_with_the_stacks_resources(rendered: Template, name: str) -> None:
    built = {f"{image}:{go_module.CONTROLLERS[name]().release}" for image in add_ons.OF_CONTROLLERS[name]}
    # The controller names it in the pods that it creates.
    built -= {_EXECUTOR}
    found = [one for (kind, _), one in rendered(name).items() if kind == "Deployment"]
    containers = [container for one in found for container in one["spec"]["template"]["spec"]["containers"]]
    assert {container["image"] for container in containers} == built
    for container in containers:
        assert container["imagePullPolicy"] == "IfNotPresent"
        assert container["resources"]["requests"]["cpu"] == "50m"


@pytest.mark.parametrize("name", _CHARTS)
def test_everything_is_in_the_namespace_of_the_chart(rendered: Template, name: str) -> None:
    chart: Chart = _CHARTS[name][0]
    namespaces = {
        (kind, of): one["metadata"]["namespace"]
        for (kind, of), one in rendered(name).items()
        if "namespace" in one["metadata"]
    }
    elsewhere = {key for key, namespace in namespaces.items() if namespace != chart.namespace}
    # It lets KEDA read how clients of the API server's extensions authenticate.
    assert elsewhere == ({("RoleBinding", "keda-auth-reader")} if name == "keda" else set())


def test_prometheus_answers_where_keda_asks(rendered: Template) -> None:
    found = rendered("prometheus")
    service = found["Service", "prometheus-server"]
    metadata, (port,) = service["metadata"], service["spec"]["ports"]
    assert PrometheusArgs().url == f"http://{metadata['name']}.{metadata['namespace']}.svc"
    assert port["port"] == 80
    pods = found["Deployment", "prometheus-server"]["spec"]["template"]
    assert service["spec"]["selector"].items() <= pods["metadata"]["labels"].items()
    settings = yaml.safe_load(found["ConfigMap", "prometheus-server"]["data"]["prometheus.yml"])
    assert settings["global"]["scrape_interval"] == "15s"
    assert [job["job_name"] for job in settings["scrape_configs"]] == ["kubernetes-pods"]


def test_keda_has_its_kinds_and_serves_external_metrics(rendered: Template) -> None:
    found = rendered("keda")
    kinds = {name.partition(".")[0] for kind, name in found if kind == "CustomResourceDefinition"}
    assert kinds >= {"scaledobjects", "triggerauthentications"}
    service = found["APIService", "v1beta1.external.metrics.k8s.io"]["spec"]["service"]
    assert ("Service", service["name"]) in found
    account = found["Deployment", "keda-operator"]["spec"]["template"]["spec"]["serviceAccountName"]
    assert ("ServiceAccount", account) in found


def test_traefik_listens_where_gateways_do_and_has_their_class(rendered: Template) -> None:
    found = rendered("traefik")
    pods = found["Deployment", "traefik"]["spec"]["template"]["spec"]
    assert "--entryPoints.websecure.address=:443/tcp" in pods["containers"][0]["args"]
    assert {"name": "net.ipv4.ip_unprivileged_port_start", "value": "443"} in pods["securityContext"]["sysctls"]
    assert found["Service", "traefik"]["spec"]["type"] == "ClusterIP"
    assert ("GatewayClass", GATEWAY_CLASS) in found


def test_argos_controller_knows_the_executor_and_makes_restricted_pods(rendered: Template) -> None:
    found = rendered("argo-workflows")
    pods = found["Deployment", "argo-workflows-workflow-controller"]["spec"]["template"]["spec"]
    (container,) = pods["containers"]
    options = dict(zip(container["args"][::2], container["args"][1::2], strict=True))
    assert options["--executor-image"] == _EXECUTOR
    config = yaml.safe_load(found["ConfigMap", options["--configmap"]]["data"]["config"])
    for name in ("executor", "mainContainer"):
        assert config[name]["imagePullPolicy"] == "IfNotPresent"
        assert config[name]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    spec = config["workflowDefaults"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert set(spec["ttlStrategy"]) == {"secondsAfterSuccess", "secondsAfterFailure"}
    kinds = {name.partition(".")[0] for kind, name in found if kind == "CustomResourceDefinition"}
    assert kinds >= {"workflows", "workflowtemplates", "cronworkflows", "workflowtaskresults"}
