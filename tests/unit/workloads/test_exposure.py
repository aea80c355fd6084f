"""Who reaches a model server: inside of the cluster everyone or those declared, outside whom the settings let in."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

import stack
from agents.rollout.described import Described
from components.base.labels import TRACK
from components.base.settings import Settings
from stack import checks
from tests.support.faults import EKS, faults_of
from tests.support.rendering import Render, Rendered
from tests.support.serving_schema import wrong

_AKS = {
    "kind": "aks",
    "region": "westeurope",
    "admins": {"platform": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
    "endpoint": {"deployFromInside": True},
}
_GKE = {"kind": "gke", "project": "acme-ml", "region": "europe-west4"}
_CLUSTERS: dict[str, tuple[dict[str, Any], str | None]] = {
    "existing": ({"kind": "existing", "context": "team"}, None),
    "eks": (EKS, "m7i.2xlarge"),
    "gke": (_GKE, "n2-standard-8"),
    "aks": (_AKS, "Standard_D8s_v5"),
    "embedded": ({"kind": "embedded"}, None),
}
_ALLOWED = ["203.0.113.0/24"]
_GATEWAY: dict[str, Any] = {"kind": "gateway", "name": "public", "hosts": ["digits.example.org"]}


def _tree(cluster: str = "existing", controllers: dict[str, Any] | None = None, **server: Any) -> dict[str, Any]:
    kind, machine = _CLUSTERS[cluster]
    volume = {"sizeGib": 10} if cluster == "embedded" else {"sizeGib": 10, "backend": _NFS}
    return {
        "cluster": kind,
        "namespace": "vision",
        **({"nodeGroups": {"cpu": {"machine": machine, "min": 1, "max": 3}}} if machine else {}),
        **({"controllers": controllers} if controllers else {}),
        "volumes": {"models": volume},
        "workloads": {
            "server": {"kind": "modelServer", "model": {"volume": "models", "path": "digits"}, **server},
            "web": {"kind": "modelServer", "model": {"volume": "models", "path": "web"}},
        },
    }


_NFS = {"kind": "nfs", "server": "10.0.0.2", "folder": "/models"}


def _rendered(render: Render, tree: dict[str, Any]) -> Rendered:
    return render(lambda: stack.build(stack.load(Settings(tree))))


def _service(render: Render, cluster: str, **expose: Any) -> tuple[dict[str, Any], dict[str, str]]:
    tree = _tree(cluster, expose={"kind": "loadBalancer", **expose})
    inputs = _rendered(render, tree).one("Service", "server").inputs
    annotations = dict(inputs["metadata"]["annotations"])
    del annotations["pulumi.com/skipAwait"]
    return inputs["spec"], annotations


_AWS = "service.beta.kubernetes.io/aws-load-balancer"
_AZURE = "service.beta.kubernetes.io/azure-load-balancer"


@pytest.mark.parametrize(
    ("cluster", "internal", "public"),
    [
        (
            "eks",
            {f"{_AWS}-type": "nlb", f"{_AWS}-internal": "true", f"{_AWS}-scheme": "internal"},
            {f"{_AWS}-type": "nlb", f"{_AWS}-scheme": "internet-facing"},
        ),
        ("gke", {"networking.gke.io/load-balancer-type": "Internal"}, {}),
        ("aks", {f"{_AZURE}-internal": "true"}, {}),
    ],
)
def test_a_load_balancer_is_internal_unless_the_settings_say_public(
    render: Render, cluster: str, internal: dict[str, str], public: dict[str, str]
) -> None:
    spec, annotations = _service(render, cluster)
    assert (spec["type"], annotations) == ("LoadBalancer", internal)
    assert "loadBalancerSourceRanges" not in spec
    spec, annotations = _service(render, cluster, public=True, allowedCidrs=_ALLOWED)
    assert (spec["loadBalancerSourceRanges"], annotations) == (_ALLOWED, public)


def test_an_existing_cluster_names_the_annotation_of_its_cloud(render: Render) -> None:
    _, annotations = _service(render, "existing", annotations={"example.org/internal": "yes"})
    assert annotations == {"example.org/internal": "yes"}


def test_a_server_without_exposure_has_an_address_in_the_cluster_only(render: Render) -> None:
    rendered = _rendered(render, _tree())
    assert "type" not in rendered.one("Service", "server").inputs["spec"]
    rule = rendered.one("NetworkPolicy", "server-clients").inputs["spec"]["ingress"]
    assert rule == [{"ports": [{"protocol": "TCP", "port": 8500}, {"protocol": "TCP", "port": 8501}]}]


def _ingress(render: Render, tree: dict[str, Any]) -> Any:
    return _rendered(render, tree).one("NetworkPolicy", "server-clients").inputs["spec"].get("ingress")


def test_only_declared_clients_may_connect(render: Render) -> None:
    (rule,) = _ingress(render, _tree(clients=[{"workload": "web"}, {"namespace": "shop"}]))
    assert rule["from"] == [
        {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "web"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}},
    ]


def test_no_clients_are_nobody(render: Render) -> None:
    assert not _ingress(render, _tree(clients=[]))


def test_the_page_reaches_the_server_and_only_the_servers_clients_reach_the_page(render: Render) -> None:
    clients = [{"workload": "web"}]
    rendered = _rendered(render, _tree(clients=clients, page={}))
    spec = rendered.one("NetworkPolicy", "server-clients").inputs["spec"]
    names = [peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for peer in spec["ingress"][0]["from"]]
    assert names == ["web", "server-page"]
    (rule,) = rendered.one("NetworkPolicy", "server-page-clients").inputs["spec"]["ingress"]
    assert rule["from"] == [spec["ingress"][0]["from"][0]]
    (egress,) = rendered.one("NetworkPolicy", "server-page").inputs["spec"]["egress"]
    assert egress["to"][0]["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "server"}
    assert _ingress(render, _tree(page={})) == [{"ports": spec["ingress"][0]["ports"]}], "by default everyone"


def test_clients_behind_a_load_balancer_are_those_of_its_addresses(render: Render) -> None:
    expose = {"kind": "loadBalancer", "allowedCidrs": _ALLOWED}
    rendered = _rendered(render, _tree("gke", clients=[{"workload": "web"}], expose=expose))
    (rule,) = rendered.one("NetworkPolicy", "server-clients").inputs["spec"]["ingress"]
    assert rule["from"][1:] == [{"ipBlock": {"cidr": "203.0.113.0/24"}}]
    # Otherwise the node's address would be in the place of the client's.
    assert rendered.one("Service", "server").inputs["spec"]["externalTrafficPolicy"] == "Local"


def _custom(render: Render, **expose: Any) -> dict[str, Any]:
    rendered = _rendered(render, _tree(expose={**_GATEWAY, **expose}))
    kinds = ("Gateway", "HTTPRoute", "GRPCRoute", "SecurityPolicy", "ClientTrafficPolicy")
    found = {one.type.rpartition(":")[2]: one for one in rendered.resources if one.type.endswith(kinds)}
    assert [line for one in found.values() for line in wrong(one.inputs)] == []
    return found


def test_rest_and_grpc_have_routes_of_their_own_from_an_existing_gateway(render: Render) -> None:
    found = _custom(render, namespace="gateways", grpcHosts=["grpc.example.org"])
    assert set(found) == {"HTTPRoute", "GRPCRoute"}
    rest, grpc = found["HTTPRoute"].inputs["spec"], found["GRPCRoute"].inputs["spec"]
    assert rest["parentRefs"] == grpc["parentRefs"] == [{"name": "public", "namespace": "gateways"}]
    assert (rest["hostnames"], grpc["hostnames"]) == (["digits.example.org"], ["grpc.example.org"])
    assert rest["rules"] == [
        {
            "matches": [{"path": {"type": "PathPrefix", "value": "/v1/models"}}],
            "backendRefs": [{"name": "server", "port": 8501}],
        }
    ]
    (rule,) = grpc["rules"]
    assert rule["backendRefs"] == [{"name": "server", "port": 8500}]


def test_clients_outside_cannot_replace_the_models(render: Render) -> None:
    (rule,) = _custom(render, grpcHosts=["grpc.example.org"])["GRPCRoute"].inputs["spec"]["rules"]
    methods = {(one["method"]["service"].rpartition(".")[2], one["method"].get("method")) for one in rule["matches"]}
    assert methods == {("PredictionService", None), ("ModelService", "GetModelStatus"), ("Health", None)}


def test_the_stack_creates_a_gateway_with_tls_for_its_hosts(render: Render) -> None:
    create = {"gatewayClass": "eg", "certificate": "digits-tls"}
    found = _custom(render, grpcHosts=["grpc.example.org"], create=create)
    spec = found["Gateway"].inputs["spec"]
    assert spec["gatewayClassName"] == "eg"
    assert [(one["hostname"], one["protocol"], one["port"]) for one in spec["listeners"]] == [
        ("digits.example.org", "HTTPS", 443),
        ("grpc.example.org", "HTTPS", 443),
    ]
    references = [{"kind": "Secret", "name": "digits-tls"}]
    assert all(one["tls"]["certificateRefs"] == references for one in spec["listeners"])


def test_nobody_gets_in_before_tokens_and_certificates_are_checked(render: Render) -> None:
    jwt = {"issuer": "https://id.example.org", "audiences": ["digits"], "jwks": "https://id.example.org/keys"}
    create = {"gatewayClass": "eg", "certificate": "digits-tls", "clientAuthority": "clients"}
    found = _custom(render, grpcHosts=["grpc.example.org"], jwt=jwt, create=create)
    policy = found["SecurityPolicy"].inputs["spec"]
    assert [(one["kind"], one["name"]) for one in policy["targetRefs"]] == [
        ("HTTPRoute", "server"),
        ("GRPCRoute", "server"),
    ]
    (provider,) = policy["jwt"]["providers"]
    assert (provider["issuer"], provider["audiences"]) == ("https://id.example.org", ["digits"])
    certificates = found["ClientTrafficPolicy"].inputs["spec"]
    assert certificates["targetRefs"][0]["name"] == "public"
    order = ["Gateway public", "ClientTrafficPolicy server", "SecurityPolicy server", "HTTPRoute server"]
    for before, after in itertools.pairwise(order):
        assert before in found[after.split()[0]].options["dependsOn"]
    assert "HTTPRoute server" in found["GRPCRoute"].options["dependsOn"]


_CANARY: dict[str, Any] = {"percent": 5, "gate": {"metric": "errorRate", "threshold": 0.01}}


def _tried_tree(expose: dict[str, Any] | None) -> dict[str, Any]:
    server: dict[str, Any] = {"expose": expose} if expose else {}
    tree = _tree(model={"volume": "models", "path": "digits", "canary": _CANARY}, replicas=4, **server)
    tree["volumes"]["models"]["accessModes"] = ["ReadWriteMany"]
    return tree


def _tried(render: Render, expose: dict[str, Any] | None) -> Rendered:
    return _rendered(render, _tried_tree(expose))


def test_a_canary_behind_a_gateway_has_a_service_for_each_track(render: Render) -> None:
    rendered = _tried(render, {**_GATEWAY, "grpcHosts": ["grpc.example.org"]})
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


def test_the_controller_divides_the_requests_of_its_routes_and_pulumi_leaves_them_to_it(render: Render) -> None:
    rendered = _tried(render, {**_GATEWAY, "grpcHosts": ["grpc.example.org"]})
    for kind in ("HTTPRoute", "GRPCRoute"):
        route = rendered.one(kind)
        assert wrong(route.inputs) == []
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
    found = Described.read(settings)
    assert (found.routes, found.rollout.percent) == ({"HTTPRoute": 8501, "GRPCRoute": 8500}, 5)
    assert found.rollout.canary_replicas == 1
    assert found.rollout.stable_beside_canary == 4


def test_a_route_that_nobody_divides_takes_its_backend_back(render: Render) -> None:
    route = _custom(render)["HTTPRoute"]
    assert route.inputs["metadata"]["annotations"] == {"pulumi.com/patchForce": "true"}
    assert not route.options.get("ignoreChanges")


def test_without_a_gateway_a_canary_gets_its_share_of_replicas(render: Render) -> None:
    rendered = _tried(render, None)
    assert [one.name for one in rendered.all("Service") if "web" not in one.name] == ["server"]
    assert TRACK not in rendered.one("Deployment", "server").inputs["spec"]["template"]["metadata"]["labels"]
    settings = json.loads(rendered.one("ConfigMap", "server-rollout-settings").inputs["data"]["rollout.json"])
    found = Described.read(settings)
    assert (found.routes, found.rollout.percent, found.rollout.stable_beside_canary) == ({}, None, 3)


@pytest.mark.parametrize(
    ("expose", "note"),
    [
        (None, "by shares of replicas: a canary is 1 of 4, and gets about 25 %"),
        (
            _GATEWAY,
            "by the Gateway's route: a canary gets 5 % of its requests; clients inside the cluster, who do not come"
            " through it, are divided by shares of replicas: 1 of 5",
        ),
    ],
)
def test_the_preview_says_how_requests_are_divided(expose: dict[str, Any] | None, note: str) -> None:
    notes = [str(one) for one in checks.notes(stack.load(Settings(_tried_tree(expose))))]
    assert f"tensorplane:workloads.server.model.canary.percent: {note}" in notes


def test_two_servers_cannot_create_one_gateway() -> None:
    create = {"gatewayClass": "eg", "certificate": "tls"}
    tree = _tree(expose={**_GATEWAY, "create": create})
    tree["workloads"]["web"]["expose"] = {**_GATEWAY, "hosts": ["web.example.org"], "create": create}
    reason = "model server server creates the Gateway public, too; use another name"
    assert faults_of(tree) == [f"tensorplane:workloads.web.expose.name: {reason}"]
    tree["workloads"]["web"]["expose"]["name"] = "other"
    assert faults_of(tree) == []


def test_the_services_of_a_canarys_tracks_are_no_other_workloads() -> None:
    model = {"volume": "models", "path": "digits", "canary": _CANARY}
    tree = _tree(model=model, expose=_GATEWAY)
    tree["volumes"]["models"]["accessModes"] = ["ReadWriteMany"]
    tree["workloads"]["server-stable"] = tree["workloads"]["web"]
    assert faults_of(tree) == [
        "tensorplane:workloads.server-stable: is also the name of an object of model server server; use another name"
    ]


def test_prometheus_finds_the_metrics_by_annotations_or_a_service_monitor(render: Render) -> None:
    path = "/monitoring/prometheus/metrics"
    rendered = _rendered(render, _tree())
    template = rendered.one("Deployment", "server").inputs["spec"]["template"]
    assert template["metadata"]["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "8501",
        "prometheus.io/path": path,
    }
    rendered = _rendered(render, _tree(controllers={"servingMetrics": "serviceMonitor"}))
    assert "annotations" not in rendered.one("Deployment", "server").inputs["spec"]["template"]["metadata"]
    monitor = rendered.one("ServiceMonitor", "server").inputs
    assert wrong(monitor) == []
    assert monitor["spec"]["endpoints"] == [{"port": "rest", "path": path}]
    labels = rendered.one("Service", "server").inputs["metadata"]["labels"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert monitor["spec"]["selector"]["matchExpressions"] == [{"key": TRACK, "operator": "DoesNotExist"}]
    ports = {one["name"]: one["port"] for one in rendered.one("Service", "server").inputs["spec"]["ports"]}
    assert ports["rest"] == 8501


@pytest.mark.parametrize(
    ("cluster", "server", "lines"),
    [
        ("eks", {"expose": {"kind": "loadBalancer"}}, []),
        (
            "existing",
            {"expose": {"kind": "loadBalancer"}},
            [".expose.annotations: which annotation keeps a load balancer internal on an existing cluster is unknown"],
        ),
        (
            "embedded",
            {"expose": {"kind": "loadBalancer"}},
            [".expose.kind: embedded clusters have no load balancers"],
        ),
        (
            "eks",
            {"expose": {"kind": "loadBalancer", "public": True}},
            [".expose.allowedCidrs: missing, but public is true, and TensorFlow Serving has no authentication; list"],
        ),
        (
            "eks",
            {"expose": {"kind": "loadBalancer", "allowedCidrs": ["10.0.0.1/8"]}},
            [".expose.allowedCidrs.0: invalid value '10.0.0.1/8'; use IPv4 addresses as a CIDR"],
        ),
        (
            "eks",
            {"expose": {"kind": "loadBalancer"}, "clients": [{"workload": "web"}]},
            [".expose.allowedCidrs: missing, but clients let in no address behind the load balancer; list those"],
        ),
        ("eks", {"expose": {"kind": "loadbalancer"}}, [".expose.kind: invalid value 'loadbalancer'; use gateway or"]),
        (
            "existing",
            {"expose": {"kind": "gateway", "name": "public"}},
            [".expose.hosts: required setting is missing; set it, or grpcHosts for gRPC alone"],
        ),
        (
            "existing",
            {"expose": {**_GATEWAY, "grpcHosts": ["digits.example.org"]}},
            [".expose.grpcHosts: digits.example.org is in hosts, too, and the Gateway API allows a host REST or gRPC"],
        ),
        (
            "existing",
            {"expose": {**_GATEWAY, "hosts": ["Digits.example.org"]}},
            [".expose.hosts.0: invalid value 'Digits.example.org'; use the name of a host in lower-case letters"],
        ),
        (
            "existing",
            {"expose": {**_GATEWAY, "namespace": "a", "create": {"gatewayClass": "eg", "certificate": "tls"}}},
            [".expose.namespace: conflicts with create, which creates the Gateway in the stack's namespace"],
        ),
        (
            "existing",
            {"clients": [{"workload": "wbe"}]},
            [".clients.0.workload: no workload is named 'wbe'; choose one of web (did you mean web?)"],
        ),
        ("existing", {"clients": [{}]}, [".clients.0: empty map; use one of workload and namespace"]),
    ],
)
def test_exposure_that_cannot_work_is_refused(cluster: str, server: dict[str, Any], lines: list[str]) -> None:
    prefix = "tensorplane:workloads.server"
    found = [line.removeprefix(prefix) for line in faults_of(_tree(cluster, **server))]
    assert len(found) == len(lines), found
    assert all(line.startswith(start) for line, start in zip(found, lines, strict=True)), found
