"""Checks of Service, Ingress, claims, volumes and the one-field kinds.

Source: additionalComments.go (Service, Ingress), awaiters.go (PersistentVolume, PersistentVolumeClaim, ResourceQuota,
Secret) of pulumi-kubernetes v4.32.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.plugins.kubernetes import await_generic, await_network, await_storage

Object = dict[str, Any]


def a_service(**spec: Any) -> Object:
    full = {"type": "ClusterIP", "selector": {"app": "web"}} | spec
    return {"metadata": {"name": "web"}, "spec": {key: value for key, value in full.items() if value is not None}}


def slices(*ready: bool | None) -> dict[str, list[Object]]:
    endpoints = [{"addresses": [f"10.0.0.{n}"], "conditions": {"ready": is_ready}} for n, is_ready in enumerate(ready)]
    metadata = {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}}
    return {"EndpointSlice": [{"metadata": metadata, "endpoints": endpoints or None}]}


@given(st.lists(st.sampled_from([True, False, None]), max_size=6))
def test_service_is_ready_exactly_when_no_endpoint_is_unready(ready: list[bool | None]) -> None:
    """Documented: "There are no "not ready" endpoints"; the API reads an unset condition as ready."""
    verdict = await_network.check_service(a_service(), slices(*ready))
    assert verdict.ready is (False not in ready)
    if verdict.ready:
        assert verdict.settle_seconds == 10  # "wait 10 seconds for any stragglers"


def test_service_waits_until_endpoints_exist() -> None:
    assert not await_network.check_service(a_service(), {"EndpointSlice": []}).ready


def test_service_evidence_changes_with_its_endpoints_only() -> None:
    one, two = (await_network.check_service(a_service(), slices(*[True] * n)).evidence for n in (1, 2))
    again = slices(True)
    again["EndpointSlice"][0]["metadata"]["resourceVersion"] = "9"
    assert one != two
    assert one == await_network.check_service(a_service(), again).evidence


@pytest.mark.parametrize(
    "spec", [{"clusterIP": "None"}, {"type": "ExternalName", "externalName": "x.org"}, {"selector": None}]
)
def test_headless_external_and_selectorless_services_wait_for_nothing(spec: Object) -> None:
    verdict = await_network.check_service(a_service(**spec), {})
    assert verdict.ready
    assert verdict.settle_seconds == 0


def test_load_balancer_needs_an_address_too() -> None:
    service = a_service(type="LoadBalancer")
    assert not await_network.check_service(service, slices(True)).ready
    service["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    assert await_network.check_service(service, slices(True)).ready
    assert not await_network.check_service(service, slices(False)).ready


def an_ingress(*, address: bool = True) -> Object:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}} if address else {}
    rules = [{"http": {"paths": [{"path": "/", "backend": backend}]}}]
    return {"metadata": {"name": "front"}, "spec": {"rules": rules}, "status": status}


def test_ingress_needs_an_address_and_endpoints() -> None:
    verdict = await_network.check_ingress(an_ingress(), slices(True))
    assert verdict.ready
    assert verdict.settle_seconds == 0
    assert not await_network.check_ingress(an_ingress(address=False), slices(True)).ready


def test_ingress_gives_services_without_endpoints_a_grace_period_only() -> None:
    """ingress.go: 60 s when no endpoints are ever seen (issue 1810), 10 s after the last change otherwise."""
    assert await_network.check_ingress(an_ingress(), {}).settle_seconds == 60
    other = slices(True)
    other["EndpointSlice"][0]["metadata"]["labels"] = {"kubernetes.io/service-name": "other"}
    assert await_network.check_ingress(an_ingress(), other).settle_seconds == 10
    external = {"Service": [{"metadata": {"name": "web"}, "spec": {"type": "ExternalName"}}]}
    assert await_network.check_ingress(an_ingress(), external).settle_seconds == 0


def a_claim(phase: str) -> Object:
    return {"metadata": {"name": "data"}, "spec": {"storageClassName": "disk"}, "status": {"phase": phase}}


def a_class(mode: str) -> dict[str, list[Object]]:
    return {"StorageClass": [{"metadata": {"name": "disk"}, "volumeBindingMode": mode}]}


def test_claim_is_ready_when_bound_or_waiting_for_its_first_consumer() -> None:
    assert await_storage.check_claim(a_claim("Bound"), a_class("Immediate")).ready
    assert await_storage.check_claim(a_claim("Bound"), a_class("WaitForFirstConsumer")).ready
    assert await_storage.check_claim(a_claim("Pending"), a_class("WaitForFirstConsumer")).ready
    assert not await_storage.check_claim(a_claim("Pending"), a_class("Immediate")).ready
    assert not await_storage.check_claim(a_claim(""), a_class("WaitForFirstConsumer")).ready
    assert not await_storage.check_claim(a_claim("Lost"), a_class("WaitForFirstConsumer")).ready


def test_claim_names_a_class_that_does_not_exist() -> None:
    verdict = await_storage.check_claim(a_claim("Pending"), {"StorageClass": []})
    assert "no StorageClass 'disk'" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("phase", "ready"), [("Available", True), ("Bound", True), ("Pending", False), ("Failed", False)]
)
def test_volume_is_ready_when_available_or_bound(phase: str, ready: bool) -> None:
    assert await_storage.check_volume({"metadata": {"name": "v"}, "status": {"phase": phase}}, {}).ready is ready


def test_one_field_kinds() -> None:
    quota: Object = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    assert not await_generic.check_quota(quota, {}).ready
    assert await_generic.check_quota(quota | {"status": {"hard": {"pods": "2"}}}, {}).ready
    token: Object = {"metadata": {"name": "t"}, "type": "kubernetes.io/service-account-token"}
    assert not await_generic.check_secret(token, {}).ready
    assert await_generic.check_secret(token | {"data": {"token": "eA=="}}, {}).ready
    assert await_generic.check_secret(token | {"type": "Opaque"}, {}).ready


def test_crd_is_ready_when_established_and_fails_when_its_names_are_refused() -> None:
    crd: Object = {"metadata": {"name": "things.example.org"}}
    assert not await_generic.check_crd(crd, {}).ready
    established = {"type": "Established", "status": "True"}
    assert await_generic.check_crd(crd | {"status": {"conditions": [established]}}, {}).ready
    refused = {"type": "NamesAccepted", "status": "False", "reason": "PluralConflict", "message": "taken"}
    verdict = await_generic.check_crd(crd | {"status": {"conditions": [refused]}}, {})
    assert verdict.failed
    assert verdict.reasons == ("[PluralConflict] taken",)
