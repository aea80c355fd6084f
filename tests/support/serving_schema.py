"""What KEDA, the Prometheus operator, the Gateway API and Envoy Gateway take as their objects, as far as model servers
use them: names and types of fields, nothing else.

The facts are those of kedacore/keda, release 2.17 (`config/crd/bases/keda.sh_scaledobjects.yaml`, and the scalers of
Prometheus and Kafka), kubernetes-sigs/gateway-api, release 1.4 (`config/crd/standard`), envoyproxy/gateway, release 1.5
(`charts/gateway-helm/crds/generated`), and prometheus-operator, release 0.85.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.support.schema import Whole, differences, fields

_NUMBER = re.compile(r"\d+(\.\d+)?")
_RULES = fields(
    stabilizationWindowSeconds=Whole(0, 3600),
    selectPolicy={"Max", "Min", "Disabled"},
    policies=[
        fields("type", "value", "periodSeconds", type={"Pods", "Percent"}, value=Whole(1), periodSeconds=Whole(1, 1800))
    ],
)
_PROMETHEUS = fields(
    "serverAddress",
    "query",
    "threshold",
    serverAddress=str,
    query=str,
    threshold=_NUMBER,
    activationThreshold=_NUMBER,
    namespace=str,
    ignoreNullValues={"true", "false"},
)
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_KAFKA = fields(
    "bootstrapServers",
    "consumerGroup",
    bootstrapServers=re.compile(r"[^,]+:\d+(,[^,]+:\d+)*"),
    consumerGroup=str,
    topic=str,
    lagThreshold=re.compile(r"[1-9]\d*"),
    activationLagThreshold=re.compile(r"\d+"),
    offsetResetPolicy={"earliest", "latest"},
    version=re.compile(r"\d+\.\d+\.\d+"),
    tls={"enable", "disable"},
    sasl={"none", "plaintext", "scram_sha256", "scram_sha512"},
)
_CREDENTIAL = fields(
    "parameter",
    "name",
    "key",
    parameter={"ca", "cert", "key", "username", "password"},
    name=_NAME,
    key=str,
)
_HOST = re.compile(r"(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PARENT = fields("name", name=_NAME, namespace=_NAME, sectionName=_NAME, port=Whole(1, 65535))
_BACKEND = fields("name", name=_NAME, port=Whole(1, 65535), weight=Whole(0))
_AUTHORITY = fields("name", group=str, kind={"ConfigMap", "Secret"}, name=_NAME, namespace=_NAME)
_ROUTES = "gateway.networking.k8s.io"

_TRIGGERS = {"kafka": _KAFKA, "prometheus": _PROMETHEUS}
_TRIGGER = fields(
    "type",
    "metadata",
    type=set(_TRIGGERS),
    metricType={"AverageValue", "Value", "Utilization"},
    metadata={str: str},
    authenticationRef=fields("name", name=_NAME),
)


def _route(match: Any) -> Any:
    return fields(parentRefs=[_PARENT], hostnames=[_HOST], rules=[fields(matches=[match], backendRefs=[_BACKEND])])


def _target(*kinds: str) -> Any:
    return fields("group", "kind", "name", group={_ROUTES}, kind=set(kinds), name=_NAME, sectionName=_NAME)


_LISTENER = fields(
    "name",
    "port",
    "protocol",
    name=_NAME,
    hostname=_HOST,
    port=Whole(1, 65535),
    protocol={"HTTP", "HTTPS", "TLS", "TCP", "UDP"},
    tls=fields(
        mode={"Terminate", "Passthrough"},
        certificateRefs=[fields("name", kind={"Secret"}, name=_NAME, group=str, namespace=_NAME)],
    ),
    allowedRoutes=fields(namespaces=fields(**{"from": {"All", "Selector", "Same"}})),
)
_SPECS = {
    ("monitoring.coreos.com/v1", "ServiceMonitor"): fields(
        "selector",
        "endpoints",
        selector=fields(
            matchLabels={str: str},
            matchExpressions=[
                fields("key", "operator", key=str, operator={"In", "NotIn", "Exists", "DoesNotExist"}, values=[str])
            ],
        ),
        endpoints=[fields(port=str, path=str, interval=str, scheme={"http", "https"})],
        namespaceSelector=fields(matchNames=[_NAME]),
    ),
    (f"{_ROUTES}/v1", "Gateway"): fields(
        "gatewayClassName", "listeners", gatewayClassName=_NAME, listeners=[_LISTENER]
    ),
    (f"{_ROUTES}/v1", "HTTPRoute"): _route(
        fields(path=fields(type={"Exact", "PathPrefix", "RegularExpression"}, value=re.compile("/.*")))
    ),
    (f"{_ROUTES}/v1", "GRPCRoute"): _route(
        fields(method=fields(type={"Exact", "RegularExpression"}, service=str, method=str))
    ),
    ("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy"): fields(
        targetRefs=[_target("Gateway", "HTTPRoute", "GRPCRoute")],
        jwt=fields(
            "providers",
            optional=bool,
            providers=[
                fields(
                    "name",
                    name=str,
                    issuer=str,
                    audiences=[str],
                    remoteJWKS=fields("uri", uri=re.compile("https?://.+")),
                )
            ],
        ),
    ),
    ("gateway.envoyproxy.io/v1alpha1", "ClientTrafficPolicy"): fields(
        targetRefs=[_target("Gateway")],
        tls=fields(
            clientValidation=fields(
                optional=bool,
                caCertificateRefs=[_AUTHORITY],
            )
        ),
    ),
    ("keda.sh/v1alpha1", "ScaledObject"): fields(
        "scaleTargetRef",
        "triggers",
        scaleTargetRef=fields("name", name=str, kind=str, apiVersion=str),
        pollingInterval=Whole(1),
        cooldownPeriod=Whole(0),
        initialCooldownPeriod=Whole(0),
        minReplicaCount=Whole(0),
        maxReplicaCount=Whole(1),
        advanced=fields(
            horizontalPodAutoscalerConfig=fields(behavior=fields(scaleUp=_RULES, scaleDown=_RULES), name=str),
            restoreToOriginalReplicaCount=bool,
        ),
        triggers=[_TRIGGER],
    ),
    ("keda.sh/v1alpha1", "TriggerAuthentication"): fields(
        secretTargetRef=[_CREDENTIAL],
        configMapTargetRef=[_CREDENTIAL],
    ),
}


def find_problems(manifest: Mapping[str, Any]) -> list[str]:
    """Everything that the API server would refuse because of the schemas."""
    spec = _SPECS.get((manifest["apiVersion"], manifest["kind"]))
    if spec is None:
        return [f"{manifest['apiVersion']} {manifest['kind']}: unknown"]
    triggers = manifest["spec"].get("triggers", ())
    return [
        *differences(manifest["kind"], manifest["spec"], spec),
        *(line for one in triggers for line in differences(one["type"], one["metadata"], _TRIGGERS[one["type"]])),
    ]
