"""Workloads that read and write streams: what their pods get, and names that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tensorplane.declared_streams import DeclaredStream
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree

_STREAM: dict[str, Any] = {
    "broker": {"kind": "strimzi", "cluster": "kafka"},
    "topics": {"clicks": {}, "labels": {}},
    "groups": {"trainer": {}},
    "producers": {"website": {"topics": ["clicks"]}},
}
_LOCAL = {**{key: value for key, value in _STREAM.items() if key != "broker"}, "volume": "records"}
_JOB: dict[str, Any] = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["python3"]}
_SERVER: dict[str, Any] = {"kind": "modelServer", "model": {"volume": "models", "path": "m"}}
_BY_PASSWORD = {
    "bootstrap": "b.example:9096",
    "authentication": "scram-sha-512",
    "secret": "there",
    "username": "u",
    "authority": "ca",
}


def _tree(*, cluster: str = "existing", stream: dict[str, Any] | None = None, **workloads: Any) -> dict[str, Any]:
    kinds = {"existing": {"kind": "existing", "context": "team"}, "embedded": {"kind": "embedded"}}
    return {
        "cluster": kinds[cluster],
        "namespace": "ns",
        "volumes": {"records": {"sizeGib": 1}, "models": {"sizeGib": 1}},
        "streams": {"events": stream or _STREAM},
        "workloads": workloads,
    }


def _pod(tree: dict[str, Any], kind: str = "JobSet", name: str | None = None) -> dict[str, Any]:
    """The one pod template of a kind's only object, or of the named one."""
    spec = rendered_tree(tree).one(kind, name).inputs["spec"]
    if kind == "JobSet":
        (job,) = spec["replicatedJobs"]
        spec = job["template"]["spec"]
    template: dict[str, Any] = spec["template"]
    return template


def _environment(pod: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in pod["spec"]["containers"][0]["env"]}


def _secrets(pod: dict[str, Any]) -> dict[str, tuple[str, list[str], int]]:
    """Folder in the pod -> the secret there, its keys, the files' mode."""
    volumes = {one["name"]: one["secret"] for one in pod["spec"]["volumes"] if "secret" in one}
    mounts = [one for one in pod["spec"]["containers"][0]["volumeMounts"] if one["name"] in volumes]
    assert all(one["readOnly"] for one in mounts)
    return {
        one["mountPath"]: (secret["secretName"], [item["key"] for item in secret["items"]], int(secret["defaultMode"]))
        for one in mounts
        for secret in [volumes[one["name"]]]
    }


def test_a_reader_gets_address_topics_group_and_its_certificate() -> None:
    pod = _pod(_tree(job={**_JOB, "streams": {"events": {"group": "trainer"}}}))
    told = DeclaredStream.of("events", _environment(pod))
    assert (told.bootstrap, told.topics, told.group) == (
        "kafka-kafka-bootstrap:9093",
        ("clicks", "labels"),
        "trainer",
    )
    assert told.settings == {
        "security.protocol": "ssl",
        "ssl.ca.location": "/opt/tensorplane/streams/events/authority/ca.crt",
        "ssl.certificate.location": "/opt/tensorplane/streams/events/client/user.crt",
        "ssl.key.location": "/opt/tensorplane/streams/events/client/user.key",
    }
    assert _secrets(pod) == {
        "/opt/tensorplane/streams/events/authority": ("kafka-cluster-ca-cert", ["ca.crt"], 0o440),
        "/opt/tensorplane/streams/events/client": ("events-trainer", ["user.crt", "user.key"], 0o440),
    }
    assert pod["metadata"]["labels"]["streams.tensorplane/events"] == "client"


def test_a_producer_gets_its_own_topics_and_no_group() -> None:
    pod = _pod(_tree(job={**_JOB, "streams": {"events": {"producer": "website"}}}))
    told = DeclaredStream.of("events", _environment(pod))
    assert (told.topics, told.group) == (("clicks",), None)
    assert _secrets(pod)["/opt/tensorplane/streams/events/client"][0] == "events-website"


def test_a_password_stays_in_its_secret_until_the_program_reads_it(tmp_path: Path) -> None:
    managed = {**_STREAM, "broker": {"kind": "managed", "endpoint": _BY_PASSWORD}}
    pod = _pod(_tree(stream=managed, job={**_JOB, "streams": {"events": {"group": "trainer"}}}))
    folder = "/opt/tensorplane/streams/events"
    assert _secrets(pod) == {
        f"{folder}/authority": ("ca", ["ca.crt"], 0o440),
        f"{folder}/client": ("there", ["password"], 0o440),
    }
    (tmp_path / "password").write_text("hush\n")
    environment = {"STREAMS": _environment(pod)["STREAMS"].replace(f"{folder}/client", str(tmp_path))}
    told = DeclaredStream.of("events", environment)
    assert told.settings["sasl.password"] == "hush"
    assert (told.settings["security.protocol"], told.settings["sasl.mechanism"]) == ("sasl_ssl", "SCRAM-SHA-512")
    assert "hush" not in repr(told)
    assert "hush" not in json.dumps(pod)


def test_pods_without_streams_hear_nothing_of_them() -> None:
    pod = _pod(_tree(job=_JOB))
    assert "STREAMS" not in _environment(pod)
    assert not any("streams" in label for label in pod["metadata"]["labels"])


def test_a_server_s_own_image_may_read() -> None:
    server = {**_SERVER, "image": "registry.example/ranker:1", "streams": {"events": {"group": "trainer"}}}
    pod = _pod(_tree(server=server), "Deployment", "server")
    assert DeclaredStream.of("events", _environment(pod)).group == "trainer"
    assert len(_secrets(pod)) == 2
    assert pod["metadata"]["labels"]["streams.tensorplane/events"] == "client"


def test_on_the_embedded_cluster_the_volume_itself_is_the_broker_s_disk() -> None:
    tree = _tree(cluster="embedded", stream=_LOCAL, job={**_JOB, "streams": {"events": {"group": "trainer"}}})
    made = rendered_tree(tree)
    pod = made.one("StatefulSet").inputs["spec"]["template"]
    claims = [one["persistentVolumeClaim"] for one in pod["spec"]["volumes"] if "persistentVolumeClaim" in one]
    assert claims == [{"claimName": "records"}]
    assert pod["spec"]["containers"][0]["image"] == "tensorplane.local/kafka:4.3.1"
    settings = made.one("ConfigMap", "events-kafka").inputs["data"]["server.properties"]
    assert "advertised.listeners=PLAINTEXT://events-kafka.ns.svc:9092\n" in settings
    job = made.one("Job").inputs["spec"]["template"]
    *_, address, topics = job["spec"]["containers"][0]["command"]
    assert address == "events-kafka.ns.svc:9092"
    assert json.loads(topics)["clicks"]["config"]["min.insync.replicas"] == "1"
    policies = {one.name: one.inputs["spec"] for one in made.all("NetworkPolicy")}
    let_in = policies["events-stream-brokers"]
    assert let_in["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert let_in["ingress"][0]["from"][0]["podSelector"]["matchLabels"].items() <= job["metadata"]["labels"].items()


@pytest.fixture
def job_name() -> Callable[[int], str]:
    """The name of the job that makes topics which keep records for so many hours."""

    def name(hours: int) -> str:
        stream = {"volume": "records", "topics": {"clicks": {"retentionHours": hours}}}
        made = rendered_tree({"volumes": {"records": {"sizeGib": 1}}, "streams": {"events": stream}})
        return str(made.one("Job").inputs["metadata"]["name"])

    return name


def test_a_changed_topic_is_another_job(job_name: Callable[[int], str]) -> None:
    assert job_name(1) == job_name(1) != job_name(2)


def test_the_job_that_makes_topics_comes_after_what_looks_at_every_job() -> None:
    tree = {
        "volumes": {"records": {"sizeGib": 1}},
        "streams": {"events": {"volume": "records", "topics": {"clicks": {}}}},
        "queues": {"default": {"cpus": 1, "memoryGib": 1}},
    }
    made = rendered_tree(tree)
    needed = made.one("Job").options["dependsOn"]
    assert {"LocalQueue", "StatefulSet"} <= {one.split()[0] for one in needed}


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        (
            _tree(job={**_JOB, "streams": {"event": {"group": "trainer"}}}),
            "workloads.job.streams.event: no stream is named 'event'; choose one of events (did you mean events?)",
        ),
        (
            _tree(job={**_JOB, "streams": {"models": {"group": "trainer"}}}),
            "workloads.job.streams.models: no stream is named 'models'; choose one of events",
        ),
        (
            _tree(job={**_JOB, "streams": {"events": {"group": "trainr"}}}),
            "workloads.job.streams.events.group: no group is named 'trainr'; choose one of trainer (did you mean "
            "trainer?)",
        ),
        (
            _tree(job={**_JOB, "streams": {"events": {"producer": "trainer"}}}),
            "workloads.job.streams.events.producer: no producer is named 'trainer'; choose one of website",
        ),
        (
            _tree(job={**_JOB, "streams": {"events": {"group": "trainer", "producer": "website"}}}),
            "workloads.job.streams.events: group and producer are set; use exactly one of group and producer",
        ),
        (
            _tree(server={**_SERVER, "streams": {"events": {"group": "trainer"}}}),
            "workloads.server.streams: is set, but TensorFlow Serving does not read streams; set an `image` that does",
        ),
        (
            {**_tree(cluster="embedded", stream=_LOCAL), "workloads": {"events-kafka": _JOB}},
            "workloads.events-kafka: is also the name of a Service of stream events; use another name",
        ),
        (
            {**_tree(), "workloads": {"kafka-kafka-bootstrap": _JOB}},
            "workloads.kafka-kafka-bootstrap: is also the name of a Service of stream events; use another name",
        ),
        (
            _tree(cluster="embedded", stream=_LOCAL, job={**_JOB, "volumes": {"records": "/records"}}),
            "workloads.job.volumes.records: volume records has the records of stream events; mount another "
            "volume, and read the records with `streams`",
        ),
        (
            _tree(cluster="embedded", stream={**_LOCAL, "mirror": {"to": {"bootstrap": "b:1"}}}),
            "streams.events.mirror: broker kind embedded cannot mirror, because it is a single broker on this "
            "machine; use kind strimzi",
        ),
        (
            {"volumes": {"records": {"sizeGib": 1, "path": "/records"}}, "streams": {"events": _LOCAL}},
            "volumes.records.path: is set, but only the broker of stream events mounts this volume; remove it",
        ),
        (
            {"volumes": {"records": {"sizeGib": 1}}, "streams": {"e" * 47: _LOCAL}},
            f"streams.{'e' * 47}: the name has 47 characters; shorten it to 46, the limit of broker kind embedded",
        ),
    ],
)
def test_what_cannot_be_is_one_line(tree: dict[str, Any], says: str) -> None:
    assert problems_of(tree) == [f"tensorplane:{says}"]


def test_the_program_hears_what_its_job_may_use() -> None:
    told = {"events": {"bootstrap": "b:1", "topics": ["a", "c"], "settings": {}}}
    found = DeclaredStream.of("events", {"STREAMS": json.dumps(told)})
    assert (found.topic("a"), found.client()) == ("a", {"bootstrap.servers": "b:1"})
    with pytest.raises(ValueError, match="topic: None is not a topic of this stream; choose one of a, c"):
        found.topic()
    with pytest.raises(ValueError, match=r"no stream 'event' in the job's `streams` \(events\); declare it there"):
        DeclaredStream.of("event", {"STREAMS": json.dumps(told)})
    with pytest.raises(ValueError, match=r"\(none\)"):
        DeclaredStream.of("event", {})
