"""Who reaches a model server: inside of the cluster everyone or those declared, outside whom the settings let in."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tensorplane.components.base.labels import TRACK
from tests.support import exposed
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.serving_schema import find_problems

_ALLOWED = ["203.0.113.0/24"]


def _service(cluster: str, **expose: Any) -> tuple[dict[str, Any], dict[str, str]]:
    tree = exposed.tree(cluster, expose={"kind": "loadBalancer", **expose})
    inputs = rendered_tree(tree).one("Service", "server").inputs
    annotations = dict(inputs["metadata"]["annotations"])
    # An address, which does not depend on pods.
    assert annotations.pop("pulumi.com/waitFor") == "jsonpath={.status.loadBalancer.ingress}"
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
    cluster: str, internal: dict[str, str], public: dict[str, str]
) -> None:
    spec, annotations = _service(cluster)
    assert (spec["type"], annotations) == ("LoadBalancer", internal)
    assert "loadBalancerSourceRanges" not in spec
    spec, annotations = _service(cluster, public=True, allowedCidrs=_ALLOWED)
    assert (spec["loadBalancerSourceRanges"], annotations) == (_ALLOWED, public)


def test_an_existing_cluster_names_the_annotation_of_its_cloud() -> None:
    _, annotations = _service("existing", annotations={"example.org/internal": "yes"})
    assert annotations == {"example.org/internal": "yes"}


def _outside(cluster: str, expose: dict[str, Any]) -> Any:
    rendered = rendered_tree(exposed.tree(cluster, expose=expose))
    return rendered.exports["workloads"]["server"]["outside"]


def test_the_outputs_say_where_clients_outside_reach_the_server() -> None:
    gateway = {**exposed.GATEWAY, "grpcHosts": ["grpc.example.org"]}
    assert _outside("existing", gateway) == {"rest": ["digits.example.org"], "grpc": ["grpc.example.org"]}
    found = _outside("gke", {"kind": "loadBalancer"})
    assert found == {"rest": ["10.0.0.7:8501"], "grpc": ["10.0.0.7:8500"]}
    assert "outside" not in rendered_tree(exposed.tree()).exports["workloads"]["server"]


def test_a_server_without_exposure_has_an_address_in_the_cluster_only() -> None:
    rendered = rendered_tree(exposed.tree())
    assert "type" not in rendered.one("Service", "server").inputs["spec"]
    rule = rendered.one("NetworkPolicy", "server-clients").inputs["spec"]["ingress"]
    assert rule == [{"ports": [{"protocol": "TCP", "port": 8500}, {"protocol": "TCP", "port": 8501}]}]


def _ingress(tree: dict[str, Any]) -> Any:
    return rendered_tree(tree).one("NetworkPolicy", "server-clients").inputs["spec"].get("ingress")


def test_only_declared_clients_may_connect() -> None:
    (rule,) = _ingress(exposed.tree(clients=[{"workload": "web"}, {"namespace": "shop"}]))
    assert rule["from"] == [
        {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "web"}}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}},
    ]


def test_no_clients_are_nobody() -> None:
    assert not _ingress(exposed.tree(clients=[]))


def test_the_page_reaches_the_server_and_only_the_servers_clients_reach_the_page() -> None:
    clients = [{"workload": "web"}]
    rendered = rendered_tree(exposed.tree(clients=clients, page={}))
    spec = rendered.one("NetworkPolicy", "server-clients").inputs["spec"]
    names = [peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for peer in spec["ingress"][0]["from"]]
    assert names == ["web", "server-page"]
    (rule,) = rendered.one("NetworkPolicy", "server-page-clients").inputs["spec"]["ingress"]
    assert rule["from"] == [spec["ingress"][0]["from"][0]]
    (egress,) = rendered.one("NetworkPolicy", "server-page").inputs["spec"]["egress"]
    assert egress["to"][0]["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "server"}
    assert _ingress(exposed.tree(page={})) == [{"ports": spec["ingress"][0]["ports"]}], "by default everyone"


def test_clients_behind_a_load_balancer_are_those_of_its_addresses() -> None:
    expose = {"kind": "loadBalancer", "allowedCidrs": _ALLOWED}
    rendered = rendered_tree(exposed.tree("gke", clients=[{"workload": "web"}], expose=expose))
    (rule,) = rendered.one("NetworkPolicy", "server-clients").inputs["spec"]["ingress"]
    assert rule["from"][1:] == [{"ipBlock": {"cidr": "203.0.113.0/24"}}]
    # Otherwise the node's address would be in the place of the client's.
    assert rendered.one("Service", "server").inputs["spec"]["externalTrafficPolicy"] == "Local"


def test_rest_and_grpc_have_routes_of_their_own_from_an_existing_gateway() -> None:
    found = exposed.custom(namespace="gateways", grpcHosts=["grpc.example.org"])
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


def test_clients_outside_cannot_replace_the_models() -> None:
    (rule,) = exposed.custom(grpcHosts=["grpc.example.org"])["GRPCRoute"].inputs["spec"]["rules"]
    methods = {(one["method"]["service"].rpartition(".")[2], one["method"].get("method")) for one in rule["matches"]}
    assert methods == {("PredictionService", None), ("ModelService", "GetModelStatus"), ("Health", None)}


def test_the_stack_creates_a_gateway_with_tls_for_its_hosts() -> None:
    create = {"gatewayClass": "eg", "certificate": "digits-tls"}
    found = exposed.custom(grpcHosts=["grpc.example.org"], create=create)
    spec = found["Gateway"].inputs["spec"]
    assert spec["gatewayClassName"] == "eg"
    assert [(one["hostname"], one["protocol"], one["port"]) for one in spec["listeners"]] == [
        ("digits.example.org", "HTTPS", 443),
        ("grpc.example.org", "HTTPS", 443),
    ]
    references = [{"kind": "Secret", "name": "digits-tls"}]
    assert all(one["tls"]["certificateRefs"] == references for one in spec["listeners"])


def test_nobody_gets_in_before_tokens_and_certificates_are_checked() -> None:
    jwt = {"issuer": "https://id.example.org", "audiences": ["digits"], "jwks": "https://id.example.org/keys"}
    create = {"gatewayClass": "eg", "certificate": "digits-tls", "clientAuthority": "clients"}
    found = exposed.custom(grpcHosts=["grpc.example.org"], jwt=jwt, create=create)
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


def test_prometheus_finds_the_metrics_by_annotations_or_a_service_monitor() -> None:
    path = "/monitoring/prometheus/metrics"
    rendered = rendered_tree(exposed.tree())
    template = rendered.one("Deployment", "server").inputs["spec"]["template"]
    assert template["metadata"]["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "8501",
        "prometheus.io/path": path,
    }
    rendered = rendered_tree(exposed.tree(controllers={"servingMetrics": "serviceMonitor"}))
    assert "annotations" not in rendered.one("Deployment", "server").inputs["spec"]["template"]["metadata"]
    monitor = rendered.one("ServiceMonitor", "server").inputs
    assert find_problems(monitor) == []
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
            {"expose": {**exposed.GATEWAY, "grpcHosts": ["digits.example.org"]}},
            [".expose.grpcHosts: digits.example.org is in hosts, too, and the Gateway API allows a host REST or gRPC"],
        ),
        (
            "existing",
            {"expose": {**exposed.GATEWAY, "hosts": ["Digits.example.org"]}},
            [".expose.hosts.0: invalid value 'Digits.example.org'; use the name of a host in lower-case letters"],
        ),
        (
            "existing",
            {"expose": {**exposed.GATEWAY, "namespace": "a", "create": {"gatewayClass": "eg", "certificate": "tls"}}},
            [".expose.namespace: conflicts with create, which creates the Gateway in the stack's namespace"],
        ),
        (
            "embedded",
            {"expose": {**exposed.GATEWAY, "create": {"gatewayClass": "eg", "certificate": "tls"}}},
            [".expose.create.gatewayClass: embedded clusters have no GatewayClass eg; use traefik"],
        ),
        (
            "existing",
            {
                "expose": {
                    **exposed.GATEWAY,
                    "jwt": {"issuer": "a", "audiences": ["a"], "jwks": "https://a.example.org"},
                    "create": {"gatewayClass": "traefik", "certificate": "tls", "clientAuthority": "clients"},
                }
            },
            [
                ".expose.jwt: only Envoy Gateway can check that, and Traefik would let in everyone; use another",
                ".expose.create.clientAuthority: only Envoy Gateway can check that, and Traefik would let in everyone",
            ],
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
    found = [line.removeprefix(prefix) for line in problems_of(exposed.tree(cluster, **server))]
    assert len(found) == len(lines), found
    assert all(line.startswith(start) for line, start in zip(found, lines, strict=True)), found
