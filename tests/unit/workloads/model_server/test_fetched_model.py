"""Models from a URI: what is refused, what the pods do before they start, and where they connect to."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.stack import checks
from tests.support.problems import CPU, EKS, dev, problems_of
from tests.support.rendered_files import rendered_tree

HERE = "tensorplane:workloads.digits-server.model"
DIGEST = "ab" * 32
EXISTING = {"kind": "existing", "context": "team"}


def _tree(cluster: Any = EXISTING, **model: Any) -> dict[str, Any]:
    found = dev()
    found["cluster"] = cluster
    server = found["workloads"]["digits-server"]
    return {**found, "workloads": {"digits-server": {**server, "model": model}}, "queues": {}, "volumes": {}}


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"uri": "https://example.org/digits.tar.gz"}, ""),
        ({"uri": "https://example.org/digits.zip?version=7", "fetch": {"sha256": DIGEST, "credentials": "a"}}, ""),
        ({"uri": "http://files.ml.svc:8000/digits.tgz", "fetch": {"sha256": DIGEST, "egress": ["10.0.0.0/8"]}}, ""),
        ({"uri": "gs://bucket/models/digits"}, ""),
        ({"uri": "s3://bucket/digits.tar", "fetch": {"sha256": DIGEST, "endpoint": "https://store:9000"}}, ""),
        (
            {"uri": "ftp://example.org/digits.tar"},
            ".uri: invalid value 'ftp://example.org/digits.tar'; use https://HOST",
        ),
        (
            {"uri": "https://example.org/digits"},
            ".uri: invalid value 'https://example.org/digits'; use the address of an",
        ),
        (
            {"uri": "https://me:pass@example.org/x.zip"},
            ".uri: invalid value 'https://me:pass@example.org/x.zip'; use an",
        ),
        (
            {"uri": "gs://bucket"},
            ".uri: invalid value 'gs://bucket'; use https://HOST/NAME.tar.gz, gs://BUCKET/PATH or",
        ),
        ({"uri": "https://h/x.zip", "path": "x"}, ": uri and path are set; use volume and path, from, or uri"),
        ({"uri": "https://h/7.zip"}, ".uri: the model would have the name 7, which clients could take for a version;"),
        (
            {"uri": "http://h/x.zip"},
            ".fetch.sha256: missing, but http has no TLS, so anybody on the way may change the",
        ),
        (
            {"uri": "http://h/x.zip", "fetch": {"sha256": DIGEST, "credentials": "a"}},
            ".fetch.credentials: would be sent without TLS; remove it, or use https",
        ),
        (
            {"uri": "gs://b/x", "fetch": {"sha256": DIGEST}},
            ".fetch.sha256: is set, but uri names a folder, which has no",
        ),
        (
            {"uri": "gs://b/x", "fetch": {"endpoint": "https://h"}},
            ".fetch.endpoint: is set, but uri begins with gs, and",
        ),
        (
            {"uri": "https://h/x.zip", "fetch": {"sha256": DIGEST.upper()}},
            f".fetch.sha256: invalid value '{DIGEST.upper()[:59]}…; use 64 hexadecimal digits (did you mean {DIGEST}?)",
        ),
        (
            {"uri": "https://h/x.zip", "pin": 3},
            ".pin: requires versions on a volume, but the model comes from a uri; set volume and path, or remove it",
        ),
        (
            {"uri": "https://h/x.zip", "canary": {"gate": {"metric": "errorRate", "threshold": 0.1}}},
            ".canary: requires versions on a volume, but the model comes from a uri; set volume and path, or remove it",
        ),
    ],
)
def test_what_cannot_be_fetched_is_refused(model: dict[str, Any], told: str) -> None:
    found = problems_of(_tree(**model))
    assert len(found) == bool(told), found
    assert all(line.startswith(f"{HERE}{told}") for line in found), found


def test_options_without_a_uri_are_refused() -> None:
    tree = dev()
    tree["workloads"]["digits-server"]["model"]["fetch"] = {"sha256": DIGEST}
    assert problems_of(tree) == [f"{HERE}.fetch: is set, but the model has no uri; remove it"]


def test_the_embedded_cluster_reaches_no_bucket_and_no_other_machine() -> None:
    embedded = {"kind": "embedded"}
    (line,) = problems_of(_tree(embedded, uri="gs://bucket/digits"))
    assert line.startswith(f"{HERE}.uri: is in a bucket, but pods of this cluster cannot reach one; use an address")
    outside = stack.load(Settings(_tree(embedded, uri="https://example.org/digits.zip")))
    assert any("example.org is no Service of it" in note.text for note in checks.notes(outside))
    inside = stack.load(Settings(_tree(embedded, uri="http://files.ml.svc:8000/digits.zip", fetch={"sha256": DIGEST})))
    assert not any("no Service" in note.text for note in checks.notes(inside))


def test_nothing_can_be_published_to_it() -> None:
    tree = dev()
    tree["workloads"]["digits-server"]["model"] = {"uri": "https://example.org/digits.zip"}
    tree["workloads"]["digits"]["onSuccess"] = {"publish": "digits-server"}
    (line,) = problems_of(tree)
    told = "digits-server serves a model from a URI, to which nothing can be published; give its model a volume and a"
    assert line.startswith(f"tensorplane:workloads.digits.onSuccess.publish: {told}")


def _pod(tree: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The pods' spec, and the destinations of the NetworkPolicy."""
    made = rendered_tree(tree)
    policy = made.one("NetworkPolicy", "digits-server-egress").inputs["spec"]["egress"]
    return made.one("Deployment", "digits-server").inputs["spec"]["template"]["spec"], policy


def test_pods_download_verify_and_mount_an_archive() -> None:
    uri = "https://example.org/digits.tar.gz"
    spec, egress = _pod(_tree(uri=uri, fetch={"sha256": DIGEST, "credentials": "reader"}))
    (fetching,) = spec["initContainers"]
    assert fetching["command"][3:] == ["/fetched/digits", "--url", uri, "--sha256", DIGEST]
    secret = {"secretKeyRef": {"name": "reader", "key": "authorization"}}
    assert {"name": "AUTHORIZATION", "valueFrom": secret} in fetching["env"]
    (container,) = spec["containers"]
    mounted = {mount["mountPath"]: mount.get("readOnly", False) for mount in container["volumeMounts"]}
    assert mounted["/fetched"] is True
    assert {"name": "MODEL_BASE_PATH", "value": "/fetched"} in container["env"]
    assert [rule["ports"] for rule in egress] == [[{"protocol": "TCP", "port": 443}]]
    assert egress[0]["to"][0]["ipBlock"]["cidr"] == "0.0.0.0/0"


def test_rclone_reads_a_bucket_as_the_pods_service_account() -> None:
    tree = _tree(EKS, uri="s3://models/digits.tar", fetch={"sha256": DIGEST})
    spec, egress = _pod({**tree, "nodeGroups": {"cpu": CPU}})
    downloading, fetching = spec["initContainers"]
    assert downloading["image"].startswith("rclone/rclone:")
    assert downloading["command"][:4] == ["rclone", "copyto", ":s3:models/digits.tar", "/downloaded/digits"]
    variables = {each["name"]: each["value"] for each in downloading["env"]}
    assert variables["RCLONE_S3_REGION"] == "us-west-2"
    assert (variables["RCLONE_S3_ENV_AUTH"], variables["RCLONE_S3_PROVIDER"]) == ("true", "AWS")
    assert fetching["command"][3:] == ["/fetched/digits", "--downloaded", "/downloaded/digits", "--sha256", DIGEST]
    assert "169.254.170.23/32" in str(egress)
