"""The way of docs/mirrors.md, step by step: a mirror turned on, the pool lost, failed over to the copy, failed back."""

from __future__ import annotations

import contextlib
import ssl
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from cli.commands.volumes import facts, leftovers
from embedded import cluster
from embedded.cluster import csi, kubeconfig
from embedded.cluster.places import Places
from embedded.csi.api import Api
from embedded.csi.mirror_annotations import AT, BYTES, EVERY, MIRROR
from embedded.provider.api import Api as Objects
from embedded.step import Step
from tests.storage import kubectl
from tests.storage.claims import Claims
from tests.storage.declared import NAMESPACE, Declared
from tests.support.waiting import eventually

CLAIMS = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
VOLUME: dict[str, Any] = {"sizeGib": 1, "retain": False}
MIRROR_OF: dict[str, Any] = {"mirror": {"to": {"pool": "mirror"}, "every": "1m"}}


def test_a_lost_volume_is_failed_over_and_failed_back(claims: Claims, tmp_path: Path) -> None:
    stack = Declared(claims, tmp_path)
    stack.up(models=VOLUME)
    written = write(stack, "models", "first")
    before = claim(claims, "models")
    stack.up(models=VOLUME | MIRROR_OF)
    wait_for_a_copy(claims, "models", written)
    after = claim(claims, "models")
    assert after["metadata"]["uid"] == before["metadata"]["uid"], "an update in place"
    assert after["spec"]["volumeName"] == before["spec"]["volumeName"]

    lose_the_pool(claims)
    stack = Declared(claims, tmp_path)
    stack.up(models=VOLUME, again=VOLUME | {"from": {"mirrorOf": "models"}})
    assert read(stack, "again") == "first"
    written = write(stack, "again", "second")

    again = VOLUME | MIRROR_OF | {"from": {"mirrorOf": "models"}}
    stack.up(again=again, acknowledge={"deleteVolume": ["models"]})
    wait_for_a_copy(claims, "again", written)
    stack.up(again=again, models=VOLUME | MIRROR_OF | {"from": {"mirrorOf": "again"}})
    assert read(stack, "models") == "second"
    wait_for_a_copy(claims, "models", written)
    reader = let_read_metrics(claims)
    said = eventually(lambda: readable_metrics(claims, reader))
    assert f'persistentvolumeclaim="models",volume="{handle(claims, "models")}"' in said
    with pytest.raises(urllib.error.HTTPError, match="403"):
        metrics(claims, "default")


def test_a_volume_that_comes_back_to_its_claim_is_mirrored_again(claims: Claims) -> None:
    at, every = "/api/v1/namespaces/default/persistentvolumeclaims/back", claims.mirroring_class("back", 1)
    first = claims.claim("back", mirrored=every)["spec"]["volumeName"]
    mirrored(claims, first)
    lose_the_claim(claims, at, first)
    second = claims.claim("back", mirrored=every)["spec"]["volumeName"]
    mirrored(claims, second)
    lose_the_claim(claims, at, second)
    left = leftovers.leftovers(facts.gather(claims.kube, "default"), {"default/back"})
    kubectl.run(claims.instance.kubeconfig, next(one.back for one in left if one.name == first))
    assert claims.claim("back", mirrored=every)["spec"]["volumeName"] == first
    mirrored(claims, first)


def test_the_driver_changes_what_it_says_of_mirrors_and_nothing_else(claims: Claims) -> None:
    volume = claims.claim("narrow")["spec"]["volumeName"]
    keys = Places(claims.instance).keys
    driver = Api(kubeconfig.server(claims.instance), keys / "ca.crt", keys / f"{csi.DRIVER_PROGRAM}.pem")
    driver.annotate(volume, {AT: "2026-11-21T16:00:00Z"})
    driver.annotate(volume, {AT: None})
    for other in ("another.example", None):
        with pytest.raises(urllib.error.HTTPError) as refused:
            driver.annotate(volume, {"pv.kubernetes.io/provisioned-by": other})
        assert "annotations of mirrors alone" in refused.value.read().decode()


def claim(claims: Claims, name: str) -> dict[str, Any]:
    """A claim of the stack's namespace, bound."""
    return claims.until(f"{CLAIMS}/{name}", lambda found: found["status"].get("phase") == "Bound")


def volume_path(claims: Claims, name: str) -> str:
    return f"/api/v1/persistentvolumes/{claim(claims, name)['spec']['volumeName']}"


def handle(claims: Claims, name: str) -> str:
    """What the driver calls the volume."""
    found = claims.kube.get(volume_path(claims, name))
    assert found
    return str(found["spec"]["csi"]["volumeHandle"])


def write(stack: Declared, name: str, text: str) -> str:
    """Puts a text into a volume; when that was done, as Kubernetes writes times."""
    (stack.content(name) / "version").write_text(text)
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(stack: Declared, name: str) -> str:
    """The text that a volume has."""
    return (stack.content(name) / "version").read_text()


def wait_for_a_copy(claims: Claims, name: str, written: str) -> None:
    """The volume says that it has a copy of a later second than the last write: within one, either may be the first."""
    path = volume_path(claims, name)
    said = claims.until(path, lambda found: found["metadata"].get("annotations", {}).get(AT, "") > written)
    annotations = said["metadata"]["annotations"]
    assert (annotations[MIRROR], annotations[EVERY]) == ("mirror", "60")
    assert int(annotations[BYTES]) > 0


def mirrored(claims: Claims, volume: str) -> None:
    """The volume says that it is copied, now: what it said of an earlier copy does not count."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def is_copied(found: dict[str, Any]) -> bool:
        said = found["metadata"].get("annotations", {})
        return MIRROR in said and said.get(AT, "") > now

    claims.until(f"/api/v1/persistentvolumes/{volume}", is_copied)


def lose_the_claim(claims: Claims, path: str, volume: str) -> None:
    """The claim is deleted; its volume is nobody's."""
    claims.kube.delete(path)
    claims.until(f"/api/v1/persistentvolumes/{volume}", lambda found: found["status"]["phase"] == "Released")


def lose_the_pool(claims: Claims) -> None:
    """The disk of the first pool is gone; the cluster starts with an empty one."""
    cluster.stop(claims.instance)
    Places(claims.instance).pool_file.unlink()
    cluster.start(claims.instance, Step("cluster"))


def metrics(claims: Claims, account: str) -> str:
    """What a Prometheus with this service account reads."""
    core = client.CoreV1Api(config.new_client_from_config(str(claims.instance.kubeconfig)))
    asked = core.create_namespaced_service_account_token(account, "default", {"spec": {"expirationSeconds": 600}})
    request = urllib.request.Request(
        f"https://{claims.instance.node_ip}:{csi.METRICS_PORT}/metrics",
        headers={"Authorization": f"Bearer {asked.status.token}"},
    )
    trusting = ssl.create_default_context(cafile=str(Places(claims.instance).keys / "ca.crt"))
    with urllib.request.urlopen(request, context=trusting) as answer:
        return str(answer.read().decode())


def readable_metrics(claims: Claims, account: str) -> str:
    """The metrics; nothing while the API server does not know yet that the account may read them."""
    with contextlib.suppress(urllib.error.HTTPError):
        return metrics(claims, account)
    return ""


def let_read_metrics(claims: Claims) -> str:
    """A service account that may read metrics, as Prometheus' own charts make one."""
    api = Objects(config.new_client_from_config(str(claims.instance.kubeconfig)))
    rbac, name = "rbac.authorization.k8s.io", "scraper"
    about = {"metadata": {"name": name}}
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": name}
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]
    for manifest in (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "rules": rules, **about},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects, **about},
    ):
        api.apply(manifest, manager="test")
    return name
