"""Gateways of model servers: the Services and routes of a canary behind one, and the Traefik that stacks install."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tensorplane import stack
from tensorplane.agents.rollout.spec import RolloutSpec
from tensorplane.components.base.labels import TRACK
from tensorplane.components.base.settings import Settings
from tensorplane.stack import checks
from tests.support import exposed
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.support.serving_schema import find_problems

_CANARY: dict[str, Any] = {"percent": 5, "gate": {"metric": "errorRate", "threshold": 0.01}}


def _tried_tree(expose: dict[str, Any] | None) -> dict[str, Any]:
    server: dict[str, Any] = {"expose": expose} if expose else {}
    tree = exposed.tree(model={"volume": "models", "path": "digits", "canary": _CANARY}, replicas=4, **server)
    tree["volumes"]["models"]["accessModes"] = ["ReadWriteMany"]
    return tree


def _tried(expose: dict[str, Any] | None) -> Rendered:
    return rendered_tree(_tried_tree(expose))


def test_a_canary_behind_a_gateway_has_a_service_for_each_track() -> None:
    rendered = _tried({**exposed.GATEWAY, "grpcHosts": ["grpc.example.org"]})
    name = {"app.kubernetes.io/name": "server"}
    selectors = {one.name: one.inputs["spec"]["selector"] for one in rendered.all("Service") if "web" not in one.name}
    assert selectors == {
        "server": name,
        "server-stable": {**name, TRACK: "stable"},
        "server-canary": {**name, TRACK: "canary"},
    }
    deployments = {one.name: one.inputs["spec"] for one in rendered.all("Deployment")}
    for track in ("stable", "canary"):
        pods = deployments["server" if track == "stable" else "server-canary"]["template"]["metadata"]["labels"]
        assert selectors[f"server-{track}"].items() <= pods.items()
    assert deployments["server"]["selector"] == {"matchLabels": name}, "the selector of a Deployment cannot change"


def test_the_controller_divides_the_requests_of_its_routes_and_pulumi_leaves_them_to_it() -> None:
    rendered = _tried({**exposed.GATEWAY, "grpcHosts": ["grpc.example.org"]})
    for kind in ("HTTPRoute", "GRPCRoute"):
        route = rendered.one(kind)
        assert find_problems(route.inputs) == []
        assert route.options["ignoreChanges"] == ["spec.rules[0].backendRefs"]
        assert route.inputs["metadata"]["annotations"]["tensorplane.dev/backends"] == "tensorplane-rollout"
    assert "GRPCRoute server" in rendered.one("Deployment", "server-rollout").options["dependsOn"]
    rules = rendered.one("Role", "server-rollout").inputs["rules"]
    of_routes = [rule for rule in rules if rule["apiGroups"] == ["gateway.networking.k8s.io"]]
    assert of_routes == [
        {
            "apiGroups": ["gateway.networking.k8s.io"],
            "resources": [kind],
            "resourceNames": ["server"],
            "verbs": ["get", "patch"],
        }
        for kind in ("httproutes", "grpcroutes")
    ]
    settings = json.loads(rendered.one("ConfigMap", "server-rollout-settings").inputs["data"]["rollout.json"])
    found = RolloutSpec.read(settings)
    assert (found.routes, found.rollout.percent) == ({"HTTPRoute": 8501, "GRPCRoute": 8500}, 5)
    assert found.rollout.canary_replicas == 1
    assert found.rollout.stable_beside_canary == 4


def test_a_route_that_nobody_divides_takes_its_backend_back() -> None:
    route = exposed.custom()["HTTPRoute"]
    assert route.inputs["metadata"]["annotations"] == {"pulumi.com/patchForce": "true"}
    assert not route.options.get("ignoreChanges")


def test_without_a_gateway_a_canary_gets_its_share_of_replicas() -> None:
    rendered = _tried(None)
    assert [one.name for one in rendered.all("Service") if "web" not in one.name] == ["server"]
    assert TRACK not in rendered.one("Deployment", "server").inputs["spec"]["template"]["metadata"]["labels"]
    settings = json.loads(rendered.one("ConfigMap", "server-rollout-settings").inputs["data"]["rollout.json"])
    found = RolloutSpec.read(settings)
    assert (found.routes, found.rollout.percent, found.rollout.stable_beside_canary) == ({}, None, 3)


@pytest.mark.parametrize(
    ("expose", "note"),
    [
        (None, "by shares of replicas: a canary is 1 of 4, and gets about 25 %"),
        (
            exposed.GATEWAY,
            "by the Gateway's route: a canary gets 5 % of its requests; clients inside the cluster, who do not come"
            " through it, are divided by shares of replicas: 1 of 5",
        ),
    ],
)
def test_the_preview_says_how_requests_are_divided(expose: dict[str, Any] | None, note: str) -> None:
    notes = [str(one) for one in checks.notes(stack.load(Settings(_tried_tree(expose))))]
    assert f"tensorplane:workloads.server.model.canary.percent: {note}" in notes


_TRAEFIK = {"gatewayClass": "traefik", "certificate": "digits-tls"}


@pytest.mark.parametrize(
    ("cluster", "annotations", "service"),
    [
        ("embedded", {}, {"type": "ClusterIP"}),
        ("existing", {}, {"type": "ClusterIP"}),
        (
            "existing",
            {"example.org/internal": "yes"},
            {"type": "LoadBalancer", "annotations": {"example.org/internal": "yes"}},
        ),
        (
            "gke",
            {},
            {"type": "LoadBalancer", "annotations": {"networking.gke.io/load-balancer-type": "Internal"}},
        ),
    ],
)
def test_a_gateway_of_traefiks_class_installs_traefik(
    cluster: str, annotations: dict[str, str], service: dict[str, Any]
) -> None:
    controllers = {"gatewayAnnotations": annotations} if annotations else None
    rendered = rendered_tree(exposed.tree(cluster, controllers, expose={**exposed.GATEWAY, "create": _TRAEFIK}))
    values = rendered.one("Release", "traefik").inputs["values"]
    assert values["service"] == service
    (listener,) = rendered.one("Gateway").inputs["spec"]["listeners"]
    assert values["ports"]["websecure"]["port"] == listener["port"], "a listener's port is that of the process"
    assert "Release traefik" in rendered.one("Gateway").options["dependsOn"]


@pytest.mark.parametrize(
    ("controllers", "create"), [({"gateway": "present"}, _TRAEFIK), (None, {**_TRAEFIK, "gatewayClass": "eg"})]
)
def test_the_clusters_own_implementation_of_the_gateway_api_is_used(
    controllers: dict[str, Any] | None, create: dict[str, Any]
) -> None:
    rendered = rendered_tree(exposed.tree(controllers=controllers, expose={**exposed.GATEWAY, "create": create}))
    assert not [one for one in rendered.all("Release") if one.name == "traefik"]


def test_traefik_is_installed_for_the_servers_of_other_stacks_where_the_settings_say_so() -> None:
    rendered = rendered_tree(exposed.tree(controllers={"gateway": "chart"}))
    assert rendered.one("Release", "traefik").inputs["chart"] == "traefik"


def test_two_servers_cannot_create_one_gateway() -> None:
    create = {"gatewayClass": "eg", "certificate": "tls"}
    tree = exposed.tree(expose={**exposed.GATEWAY, "create": create})
    tree["workloads"]["web"]["expose"] = {**exposed.GATEWAY, "hosts": ["web.example.org"], "create": create}
    reason = "model server server creates the Gateway public, too; use another name"
    assert problems_of(tree) == [f"tensorplane:workloads.web.expose.name: {reason}"]
    tree["workloads"]["web"]["expose"]["name"] = "other"
    assert problems_of(tree) == []


def test_the_services_of_a_canarys_tracks_are_no_other_workloads() -> None:
    model = {"volume": "models", "path": "digits", "canary": _CANARY}
    tree = exposed.tree(model=model, expose=exposed.GATEWAY)
    tree["volumes"]["models"]["accessModes"] = ["ReadWriteMany"]
    tree["workloads"]["server-stable"] = tree["workloads"]["web"]
    assert problems_of(tree) == [
        "tensorplane:workloads.server-stable: is also the name of an object of model server server; use another name"
    ]


def test_a_server_whose_list_of_models_has_the_name_of_a_canarys_is_refused() -> None:
    tree = _tried_tree(None)
    tree["workloads"]["server-stable"] = {"kind": "modelServer", "model": {"volume": "models", "path": "other"}}
    line = "tensorplane:workloads.server-stable: is also the name of an object of model server server; use another name"
    assert problems_of(tree) == [line]
    tree["workloads"]["server-stable"]["model"]["canary"] = _CANARY
    tree["workloads"]["server-stable"]["replicas"] = 4
    assert problems_of(tree) == []


def test_a_gateway_knows_the_protocol_of_grpc() -> None:
    for expose, protocol in ((None, "grpc"), (exposed.GATEWAY, "kubernetes.io/h2c")):
        ports = _tried(expose).one("Service", "server").inputs["spec"]["ports"]
        assert {one["name"]: one["appProtocol"] for one in ports} == {"grpc": protocol, "rest": "http"}
