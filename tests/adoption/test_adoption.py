"""A cluster that had volumes on folders of this machine gets the driver: same claims, same bytes, nothing lost."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from kubernetes import config

from embedded import cluster
from embedded.paths import Instance
from embedded.progress import Step
from embedded.provider.api import Api
from tests import cluster_fixture
from tests.cluster import shell
from tests.storage.claims import CLAIMS, PODS, SNAPSHOTS, Claims


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A cluster without the driver."""
    with cluster_fixture.running(tmp_path_factory.mktemp("before")) as running:
        shell.load_image(running, Step("shell image"))
        yield running


def _static(folder: Path) -> list[dict[str, Any]]:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "persistentVolumeReclaimPolicy": "Retain"}
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["tensorplane"]}]}]
    place = {"local": {"path": str(folder)}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    claim = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
        "volumeName": "default-models",
    }
    meta = {"name": "models", "namespace": "default", "labels": {"app.kubernetes.io/name": "models"}}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "default-models"},
            "spec": {**spec, **place},
        },
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim},
    ]


def test_a_folder_becomes_a_volume_of_the_pool_under_the_same_claim(instance: Instance) -> None:
    folder = instance.volumes / "default" / "models"
    (folder / "digits" / "1").mkdir(parents=True)
    (folder / "digits" / "1" / "saved_model.pb").write_bytes(hashlib.sha256(b"model").digest() * 40000)
    folder.chmod(0o2777)
    api, claims = Api(config.new_client_from_config(str(instance.kubeconfig))), Claims(instance)
    for manifest in _static(folder):
        api.apply(manifest, manager="test")
    run = claims.pod("user", "models")
    run("sh", "-c", "echo written by a pod > /data/note")
    content = run("sha256sum", "/data/digits/1/saved_model.pb")

    cluster.start(instance, Step("cluster"), storage=True)

    claim = claims.until(f"{CLAIMS}/models", lambda found: found["status"].get("phase") == "Bound")
    assert claim["spec"]["volumeName"] == "default-models-pool"
    assert claim["metadata"]["labels"] == {"app.kubernetes.io/name": "models"}
    claims.until(f"{PODS}/user", lambda found: _runs_again(found), 30)
    assert shell.execute(instance, "user", "cat", "/data/note") == (0, "written by a pod\n")
    assert shell.execute(instance, "user", "sha256sum", "/data/digits/1/saved_model.pb") == (0, content)
    claims.snapshot("first", "models")
    assert claims.kube.get(f"{SNAPSHOTS}/first")

    aside = instance.home / "adopted" / "default" / "models"
    assert not folder.exists()
    assert hashlib.sha256((aside / "digits" / "1" / "saved_model.pb").read_bytes()).hexdigest() == content.split()[0]


def _runs_again(pod: dict[str, Any]) -> bool:
    [status] = pod["status"].get("containerStatuses") or [{}]
    return bool(status.get("restartCount")) and "running" in status.get("state", {})
