"""Volumes as a stack declares them: a snapshot by the schedule's own job, restored, cloned and mirrored by settings.

One stack, two updates; who may mount its volumes is judged by the real API server.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from kubernetes import client, config

from tensorplane.embedded.csi.contract import AT_ANNOTATION, MIRROR_ANNOTATION
from tests.storage.claims import Claims
from tests.storage.declared import UNRETAINED, Declared, pulumi
from tests.support.waiting import eventually

SCHEDULED: dict[str, Any] = UNRETAINED | {"snapshots": {"schedule": "0 4 1 1 *", "keep": 2}}
MIRRORED: dict[str, Any] = SCHEDULED | {"mirror": {"to": {"pool": "mirror"}, "every": "1m"}}
ADMINISTRATORS = "group:system:masters"
"""The group of the test's own kubeconfig."""
GUARDED: dict[str, Any] = {
    "closed": UNRETAINED | {"writers": ["trainer"], "readers": ["server"]},
    "grouped": UNRETAINED | {"readers": [ADMINISTRATORS]},
}


@pytest.fixture(scope="module")
def path(claims: Claims, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Declared]:
    """The stack after its first update."""
    with Declared.own(claims, tmp_path_factory.mktemp("declared")) as made:
        made.load_images()
        made.up(models=SCHEDULED, **GUARDED)
        yield made


def begun(stack: Declared) -> dict[str, Any]:
    """Volumes that begin as a snapshot of the first one, and as what that has now."""
    stack.write("models", "first")
    taken = stack.snapshot_now("models")
    stack.write("models", "second")
    return {
        "old": UNRETAINED | {"from": {"snapshot": taken}},
        "copy": UNRETAINED | {"sizeGib": 2, "from": {"volume": "models"}},
    }


def test_a_scheduled_snapshot_is_restored_and_a_volume_cloned_and_mirrored(path: Declared) -> None:
    volumes = begun(path)
    written = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path.up(models=MIRRORED, **GUARDED, **volumes)
    assert (path.read("old"), path.read("copy")) == ("first", "second")
    path.write("old", "third")
    assert path.read("models") == "second"
    # A mirror that is turned on copies at once.
    volume = f"/api/v1/persistentvolumes/{path.volume('models')}"
    said = path.claims.until(volume, lambda found: found["metadata"]["annotations"].get(AT_ANNOTATION, "") > written)
    assert said["metadata"]["annotations"][MIRROR_ANNOTATION] == "mirror"
    eventually(lambda: "second" in path.claims.copied("file"))


def test_pods_mount_what_lets_them_in(path: Declared) -> None:
    core = client.CoreV1Api(config.new_client_from_config(str(path.claims.instance.kubeconfig)))
    for account in ("trainer", "server", "stranger"):
        core.create_namespaced_service_account(path.namespace, {"metadata": {"name": account}})

    def refusal(account: str, claim: str, *, read_only: bool) -> str:
        """Why the server would not make such a pod; empty where it would."""
        pod = _pod(account, claim, read_only=read_only)
        try:
            core.create_namespaced_pod(path.namespace, pod, dry_run="All")
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


@pytest.mark.nightly("three updates and a preview; the words are told by tests/unit/cli/commands/check/test_volumes")
def test_what_a_volume_began_as_never_changes_and_may_be_left_out_later(declared: Declared) -> None:
    declared.load_images()
    declared.up(models=SCHEDULED)
    volumes = begun(declared)
    declared.up(models=SCHEDULED, **volumes)
    declared.write("old", "third")
    # Plain `pulumi` refuses it in the preview, by the same words as `make`.
    late = SCHEDULED | {"sizeGib": 0.5, "from": volumes["old"]["from"]}
    refused = pulumi(declared.stack(models=late, **volumes), "preview")
    said = refused.stdout + refused.stderr
    assert refused.returncode, said
    taken = volumes["old"]["from"]["snapshot"]
    assert f"tensorplane:volumes.models.from: is {taken}, but volume models already exists" in said
    assert (
        "tensorplane:volumes.models.sizeGib: volume models has 1 GiB and cannot shrink; set sizeGib to 1 or more"
        in said
    )
    assert "immutable" not in said

    # An origin that is left out later is no change, and lets the origin go.
    declared.up(old=UNRETAINED, copy=UNRETAINED | {"sizeGib": 2}, acknowledge={"deleteVolume": ["models"]})
    assert (declared.read("old"), declared.read("copy")) == ("third", "second")
