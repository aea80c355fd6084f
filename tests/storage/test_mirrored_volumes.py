"""The way of docs/mirrors.md, step by step: a mirror turned on, the pool lost, failed over to the copy, failed back."""

from __future__ import annotations

import contextlib
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from kubernetes import client, config

from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import csi, pool, stopping
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.csi.contract import AT_ANNOTATION, BYTES_ANNOTATION, EVERY_ANNOTATION, MIRROR_ANNOTATION
from tensorplane.embedded.instance import Instance
from tests.cluster import shell
from tests.storage.claims import PODS, Claims
from tests.storage.declared import UNRETAINED, Declared
from tests.support import cluster_fixture
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("a cluster of its own that is stopped; told by tests/csi/test_mirror")

VOLUME = UNRETAINED
MIRROR_OF: dict[str, Any] = {"mirror": {"to": {"pool": "mirror"}, "every": "1m"}}


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A cluster beside that of the other tests of this folder: what stops it, or loses its pool, is not theirs."""
    with cluster_fixture.running(tmp_path_factory.mktemp("state"), "e2e", storage=True) as running:
        shell.load_image(running, Step("shell image"))
        yield running


@pytest.fixture(scope="module")
def claims(instance: Instance) -> Claims:
    """Makes claims, snapshots and pods in it."""
    return Claims(instance)


def test_stopping_leaves_nothing_and_starting_again_has_every_byte(claims: Claims) -> None:
    claims.claim("data")
    writer = claims.pod("writer", "data")
    writer("sh", "-c", "echo last > /data/last")
    instance = claims.instance
    cluster.stop(instance)
    assert stopping.residue(instance) == []
    assert pool.loop_devices(NodePaths(instance)) == []
    cluster.start(instance, Step("cluster"))
    claims.kube.delete(f"{PODS}/writer")
    claims.until_gone(f"{PODS}/writer")
    assert claims.pod("writer", "data")("cat", "/data/last") == "last\n"


def test_a_lost_volume_is_failed_over_and_failed_back(declared: Declared) -> None:
    claims, stack = declared.claims, declared
    stack.up(models=VOLUME)
    written = write(stack, "models", "first")
    before = stack.claim("models")
    stack.up(models=VOLUME | MIRROR_OF)
    wait_for_a_copy(stack, "models", written)
    after = stack.claim("models")
    assert after["metadata"]["uid"] == before["metadata"]["uid"], "an update in place"
    assert after["spec"]["volumeName"] == before["spec"]["volumeName"]

    lose_the_pool(claims)
    stack.up(models=VOLUME, again=VOLUME | {"from": {"mirrorOf": "models"}})
    assert stack.read("again") == "first"
    written = write(stack, "again", "second")

    again = VOLUME | MIRROR_OF | {"from": {"mirrorOf": "models"}}
    stack.up(again=again, acknowledge={"deleteVolume": ["models"]})
    wait_for_a_copy(stack, "again", written)
    stack.up(again=again, models=VOLUME | MIRROR_OF | {"from": {"mirrorOf": "again"}})
    assert stack.read("models") == "second"
    wait_for_a_copy(stack, "models", written)
    reader = let_read_metrics(claims)
    said = eventually(lambda: readable_metrics(claims, reader))
    assert f'persistentvolumeclaim="models",volume="{handle(stack, "models")}"' in said
    with pytest.raises(urllib.error.HTTPError, match="403"):
        metrics(claims, "default")


def handle(stack: Declared, name: str) -> str:
    """What the driver calls the volume."""
    return stack.content(name).name


def write(stack: Declared, name: str, text: str) -> str:
    """Puts a text into a volume; when that was done, as Kubernetes writes times."""
    stack.write(name, text)
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def wait_for_a_copy(stack: Declared, name: str, written: str) -> None:
    """The volume says that it has a copy of a later second than the last write: within one, either may be the first."""
    path = f"/api/v1/persistentvolumes/{stack.volume(name)}"
    said = stack.claims.until(
        path, lambda found: found["metadata"].get("annotations", {}).get(AT_ANNOTATION, "") > written
    )
    annotations = said["metadata"]["annotations"]
    assert (annotations[MIRROR_ANNOTATION], annotations[EVERY_ANNOTATION]) == ("mirror", "60")
    assert int(annotations[BYTES_ANNOTATION]) > 0


def lose_the_pool(claims: Claims) -> None:
    """The disk of the first pool is gone; the cluster starts with an empty one."""
    cluster.stop(claims.instance)
    NodePaths(claims.instance).pool_file.unlink()
    cluster.start(claims.instance, Step("cluster"))


def metrics(claims: Claims, account: str) -> str:
    """What a Prometheus with this service account reads."""
    core = client.CoreV1Api(config.new_client_from_config(str(claims.instance.kubeconfig)))
    asked = core.create_namespaced_service_account_token(account, "default", {"spec": {"expirationSeconds": 600}})
    request = urllib.request.Request(
        f"https://{claims.instance.node_ip}:{csi.METRICS_PORT}/metrics",
        headers={"Authorization": f"Bearer {asked.status.token}"},
    )
    trusting = ssl.create_default_context(cafile=str(NodePaths(claims.instance).keys / "ca.crt"))
    with urllib.request.urlopen(request, context=trusting) as answer:
        return str(answer.read().decode())


def readable_metrics(claims: Claims, account: str) -> str:
    """The metrics; nothing while the API server does not know yet that the account may read them."""
    with contextlib.suppress(urllib.error.HTTPError):
        return metrics(claims, account)
    return ""


def let_read_metrics(claims: Claims) -> str:
    """A service account that may read metrics, as Prometheus' own charts make one."""
    api = Objects(Kube.of(claims.instance.kubeconfig))
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
