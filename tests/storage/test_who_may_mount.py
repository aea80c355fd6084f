"""Who may mount a volume, as the real API server judges: pods by their account, or by the group of who makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from tests.storage.claims import Claims
from tests.storage.declared import NAMESPACE, Declared
from tests.support.waiting import eventually

ADMINISTRATORS = "group:system:masters"
"""The group of the test's own kubeconfig."""


def _pod(account: str, claim: str, *, read_only: bool) -> dict[str, Any]:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim, "readOnly": read_only}}
    container = {
        "name": "c",
        "image": "any",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    spec = {"serviceAccountName": account, "securityContext": security, "containers": [container], "volumes": [volume]}
    return {"metadata": {"generateName": "access-"}, "spec": spec}


@pytest.fixture
def core(claims: Claims, tmp_path: Path) -> client.CoreV1Api:
    """The API of a cluster with two volumes, one with accounts listed and one with a group."""
    Declared(claims, tmp_path).up(
        closed={"sizeGib": 1, "retain": False, "writers": ["trainer"], "readers": ["server"]},
        grouped={"sizeGib": 1, "retain": False, "readers": [ADMINISTRATORS]},
    )
    core = client.CoreV1Api(config.new_client_from_config(str(claims.instance.kubeconfig)))
    for account in ("trainer", "server", "stranger"):
        core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": account}})
    return core


def test_pods_mount_what_lets_them_in(core: client.CoreV1Api) -> None:
    def refusal(account: str, claim: str, *, read_only: bool) -> str:
        """Why the server would not make such a pod; empty where it would."""
        pod = _pod(account, claim, read_only=read_only)
        try:
            core.create_namespaced_pod(NAMESPACE, pod, dry_run="All")
        except client.ApiException as error:
            return str(error.body)
        return ""

    # A policy is in force a moment after it is made.
    for claim in ("closed", "grouped"):
        eventually(lambda claim=claim: refusal("stranger", claim, read_only=False))  # type: ignore[misc]
    assert refusal("trainer", "closed", read_only=False) == ""
    assert refusal("server", "closed", read_only=True) == ""
    lets_in = r"of its writers [\"trainer\"] or, to mount it read-only, of its readers [\"server\"]"
    assert lets_in in refusal("server", "closed", read_only=False)
    assert lets_in in refusal("stranger", "closed", read_only=True)
    assert refusal("stranger", "grouped", read_only=True) == ""
    assert "volumes.grouped: this pod may not mount the volume" in refusal("stranger", "grouped", read_only=False)
