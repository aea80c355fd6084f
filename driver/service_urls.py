"""The addresses under which a cluster's services can be reached from this machine."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def urls(services: list[Object], nodes: list[Object], *, routed: bool) -> list[tuple[str, ...]]:
    """Namespace, name, port and URL of each port that can be reached; add-ons' services are left out."""
    rows: list[tuple[str, ...]] = []
    for service in services:
        name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
        if namespace.startswith("kube-") or namespace.endswith("-system") or (namespace, name) == _KUBERNETES_SERVICE:
            continue
        for port in service["spec"].get("ports", []):
            if port.get("protocol", "TCP") == "TCP" and (place := _address(service, port, nodes, routed=routed)):
                rows.append((namespace, name, port.get("name", ""), _scheme(port) + place))
    return rows


_KUBERNETES_SERVICE = ("default", "kubernetes")


def _address(service: Object, port: Object, nodes: list[Object], *, routed: bool) -> str | None:
    """Host and port; None for a service that only pods can reach."""
    spec = service["spec"]
    for ingress in service.get("status", {}).get("loadBalancer", {}).get("ingress", []):
        return f"{ingress.get('ip') or ingress['hostname']}:{port['port']}"
    if routed and spec.get("clusterIP", "None") != "None":
        return f"{spec['clusterIP']}:{port['port']}"
    if "nodePort" in port and (node := _node_address(nodes)):
        return f"{node}:{port['nodePort']}"
    return None


def _node_address(nodes: list[Object]) -> str | None:
    addresses = [address for node in nodes for address in node["status"].get("addresses", [])]
    order = ("ExternalIP", "InternalIP")
    known = sorted((each for each in addresses if each["type"] in order), key=lambda each: order.index(each["type"]))
    return known[0]["address"] if known else None


def _scheme(port: Object) -> str:
    names = f"{port.get('appProtocol', '')} {port.get('name', '')}".lower()
    for word, scheme in (("grpc", ""), ("https", "https://"), ("http", "http://"), ("rest", "http://")):
        if word in names:
            return scheme
    return ""
