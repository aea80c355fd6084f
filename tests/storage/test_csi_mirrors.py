"""Mirrors of claims in a real cluster: copied, taken over, mirrored again; and what the driver may say of them."""

from __future__ import annotations

import urllib.error
from datetime import UTC, datetime
from typing import Any

import pytest

from tensorplane.cli.commands.volumes import leftovers, objects
from tensorplane.embedded.cluster import csi, kubeconfig
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.csi.api import Api
from tensorplane.embedded.csi.contract import AT_ANNOTATION, MIRROR_ANNOTATION
from tests.storage import kubectl
from tests.storage.claims import CLAIMS, Claims
from tests.support.waiting import eventually


def test_a_mirrored_volume_is_copied_into_the_second_pool_and_begins_again_from_there(claims: Claims) -> None:
    claims.claim("mirrored", mirrored=claims.mirroring_class("mirrored", 1))
    claims.pod("mirrored", "mirrored")("sh", "-c", "echo copied > /data/file; sync")
    eventually(lambda: "copied\n" in claims.copied("file"))
    claims.claim("taken-over", of_class=claims.class_of_copies("taken-over", "mirrored"))
    assert claims.pod("taken-over", "taken-over")("cat", "/data/file") == "copied\n"
    claims.unmirror("mirrored")
    claims.remove("mirrored", "taken-over")


@pytest.mark.nightly("waits for two looks of 20 s; told by tests/unit/embedded/test_csi_intended")
def test_a_volume_that_comes_back_to_its_claim_is_mirrored_again(claims: Claims) -> None:
    every = claims.mirroring_class("back", 1)
    first = claims.claim("back", mirrored=every)["spec"]["volumeName"]
    mirrored(claims, first)
    lose_the_claim(claims, first)
    second = claims.claim("back", mirrored=every)["spec"]["volumeName"]
    mirrored(claims, second)
    lose_the_claim(claims, second)
    left = leftovers.leftovers(objects.gather(claims.kube, "default"), {"default/back"})
    kubectl.run(claims.instance.kubeconfig, next(one.back for one in left if one.name == first))
    assert claims.claim("back", mirrored=every)["spec"]["volumeName"] == first
    mirrored(claims, first)
    claims.unmirror("back")


def test_the_driver_changes_what_it_says_of_mirrors_and_nothing_else(claims: Claims) -> None:
    volume = claims.claim("narrow")["spec"]["volumeName"]
    keys = NodePaths(claims.instance).keys
    driver = Api(kubeconfig.server(claims.instance), keys / "ca.crt", keys / f"{csi.DRIVER_PROGRAM}.pem")

    def is_refused() -> bool:
        try:
            driver.annotate(volume, {"another.example/probe": "1"})
        except urllib.error.HTTPError:
            return True
        return False

    eventually(is_refused)  # the policy is in force a moment after the cluster's start
    driver.annotate(volume, {AT_ANNOTATION: "2026-11-21T16:00:00Z"})
    driver.annotate(volume, {AT_ANNOTATION: None})
    for other in ("another.example", None):
        with pytest.raises(urllib.error.HTTPError) as refused:
            driver.annotate(volume, {"pv.kubernetes.io/provisioned-by": other})
        assert "annotations of mirrors alone" in refused.value.read().decode()


def mirrored(claims: Claims, volume: str) -> None:
    """The volume says that it is copied, now: what it said of an earlier copy does not count."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def is_copied(found: dict[str, Any]) -> bool:
        said = found["metadata"].get("annotations", {})
        return MIRROR_ANNOTATION in said and said.get(AT_ANNOTATION, "") > now

    claims.until(f"/api/v1/persistentvolumes/{volume}", is_copied)


def lose_the_claim(claims: Claims, volume: str) -> None:
    """The claim is deleted; its volume is nobody's."""
    claims.kube.delete(f"{CLAIMS}/back")
    claims.released(volume)
