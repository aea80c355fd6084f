"""What a killed update left behind: which objects may exist."""

from __future__ import annotations

from typing import Any

from tensorplane.driver.update import pending_operations
from tensorplane.driver.update.stack import diagnostics


def _export(*operations: dict[str, Any]) -> dict[str, Any]:
    resources = [{"urn": "urn:stack", "type": "pulumi:pulumi:Stack"}]
    return {"version": 3, "deployment": {"resources": resources, "pending_operations": list(operations)}}


def _creating(urn: str, kind: str, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"type": "creating", "resource": {"urn": urn, "type": kind, "custom": True, "inputs": inputs}}


def test_nothing_pending_needs_nothing() -> None:
    assert pending_operations.settled(_export()) is None


def test_what_was_being_created_is_entered_under_the_id_of_its_inputs() -> None:
    settled = pending_operations.settled(
        _export(
            _creating("urn:ns", "kubernetes:core/v1:Namespace", {"metadata": {"name": "a"}}),
            _creating("urn:svc", "kubernetes:core/v1:Service", {"metadata": {"name": "s-1f", "namespace": "a"}}),
            _creating("urn:rel", "kubernetes:helm.sh/v3:Release", {"name": "kueue", "namespace": "kueue-system"}),
        )
    )
    assert settled is not None
    ids = {one["urn"]: one.get("id") for one in settled["deployment"]["resources"]}
    assert ids == {"urn:stack": None, "urn:ns": "a", "urn:svc": "a/s-1f", "urn:rel": "kueue-system/kueue"}
    assert settled["deployment"]["pending_operations"] == []


def test_a_resource_that_the_state_has_is_not_entered_twice() -> None:
    export = _export(_creating("urn:ns", "kubernetes:core/v1:Namespace", {"metadata": {"name": "a"}}))
    export["deployment"]["resources"].append({"urn": "urn:ns", "type": "kubernetes:core/v1:Namespace", "id": "a"})
    settled = pending_operations.settled(export)
    assert settled is not None
    assert len(settled["deployment"]["resources"]) == 2


def test_other_operations_and_other_providers_resources_are_dropped() -> None:
    settled = pending_operations.settled(
        _export(
            {"type": "deleting", "resource": {"urn": "urn:x", "type": "kubernetes:core/v1:Secret"}},
            _creating("urn:p", "pulumi:providers:kubernetes", {}),
        )
    )
    assert settled is not None
    assert [one["urn"] for one in settled["deployment"]["resources"]] == ["urn:stack"]


OUTPUT = """Updating (dev):
 +  kubernetes:core/v1:Service server creating (0s)
Diagnostics:
  pulumi:pulumi:Stack (tensorplane-dev):
    warning: using pulumi-language-python from $PATH at /somewhere/pulumi-language-python
    error: update failed

  kubernetes:core/v1:Service (server):
    error: Service a/server was not created: it exists

Resources:
    1 errored
"""


def test_a_failed_update_shows_only_its_errors() -> None:
    assert diagnostics(OUTPUT) == [
        "kubernetes:core/v1:Service (server):",
        "  Service a/server was not created: it exists",
    ]
