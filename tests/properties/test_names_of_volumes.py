"""No two resources of a stack have one name, whatever its volumes and streams are called: others are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tests.support import counts, rendering
from tests.support.problems import problems_of
from tests.support.rendering import Rendered
from tests.support.volume_problems import EXISTING, HOURLY

Volume = dict[str, Any]

CEPH = {"kind": "cephfs"}
ELSEWHERE = {"address": "far.example", "keySecret": "key"}
PLAIN = {"kind": "nfs", "server": "nfs.example.com", "folder": "/f"}


def _stream(kafka: str, client: str, topic: str) -> dict[str, Any]:
    to = {"bootstrap": "elsewhere:9092", "tls": False}
    broker = {"kind": "strimzi", "cluster": kafka}
    return {"broker": broker, "topics": {topic: {}}, "groups": {client: {}}, "mirror": {"to": to}}


def _anywhere(names: list[str], choose: Callable[[list[Any]], Any]) -> dict[str, Volume]:
    kinds: list[Callable[[str], Volume]] = [
        lambda name: {"backend": CEPH, "snapshots": {**HOURLY, **choose([{}, {"group": "c"}])}},
        lambda name: {"backend": CEPH, "mirror": {"to": {"remote": ELSEWHERE}, "every": "1h", "alert": True}},
        lambda name: {"backend": PLAIN, "readers": ["reader"]},
    ]
    return {name: choose(kinds)(name) for name in names}


def _embedded(names: list[str], choose: Callable[[list[Any]], Any]) -> dict[str, Volume]:
    kinds: list[Callable[[str], Volume]] = [
        lambda name: {"from": {"mirrorOf": choose(["b", "b-of-mirror-of-b"])}, "snapshots": HOURLY},
        lambda name: {},
    ]
    return {name: choose(kinds)(name) for name in names}


def _streams(cluster: str, names: list[str], choose: Callable[[list[Any]], Any]) -> dict[str, dict[str, Any]]:
    """Streams that are called like some of the volumes."""
    kinds: dict[str, Callable[[str], dict[str, Any]]] = {
        "existing": lambda name: _stream("k", choose(["b-mirror", "c", "b-c"]), name),
        "embedded": lambda name: {"volume": name, "topics": {"t": {}}},
    }
    return {name: kinds[cluster](name) for name in names if cluster in kinds and choose([True, False])}


def _google(names: list[str], choose: Callable[[list[Any]], Any]) -> dict[str, Volume]:
    away = {"mirror": {"to": {"region": "us-east1"}}}
    kinds: list[Volume] = [
        {"backend": {"kind": "gcsFuse"}, **away},
        {"backend": {"kind": "gcsFuse"}, "readers": ["c", "b-c", "b-namespace"]},
        {"backend": {"kind": "filestore", "tier": "regional"}, "sizeGib": 2048, **away},
    ]
    return {name: choose(kinds) for name in names}


def _amazon(names: list[str], choose: Callable[[list[Any]], Any]) -> dict[str, Volume]:
    away = {"mirror": {"to": {"region": "us-east-2"}}}
    kinds: list[Volume] = [
        {"backend": {"kind": "s3"}, **away},
        {"backend": {"kind": "efs"}, "snapshots": {"schedule": "0 3 * * *", "expire": "35d"}, **away},
        {"backend": {"kind": "s3"}},
    ]
    return {name: choose(kinds) for name in names}


# Names of volumes that are what one of the others comes to: they meet far more often than by chance.
NAMES = {
    "existing": ["a", "a-b", "a-copies"],
    "embedded": ["a", "a-of-mirror-of-b"],
    "gke": ["a", "a-b", "a-mirror"],
    "eks": ["a", "a-mirror", "b"],
}
EXAMPLES = {
    cluster: counts.of(quick=quick, nightly=100 * quick)
    for cluster, quick in {"existing": 5, "embedded": 5, "gke": 2, "eks": 2}.items()
}
CLUSTERS: dict[str, tuple[dict[str, Any], Callable[..., dict[str, Volume]]]] = {
    "existing": ({"cluster": EXISTING}, _anywhere),
    "embedded": ({"cluster": {"kind": "embedded"}}, _embedded),
    "gke": (
        {
            "cluster": {"kind": "gke", "project": "ml-platform", "region": "us-central1"},
            "nodeGroups": {"cpu": {"machine": "n2-standard-8", "min": 2, "max": 4}},
        },
        _google,
    ),
    "eks": (
        {
            "cluster": {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}},
            "nodeGroups": {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 4}},
        },
        _amazon,
    ),
}


def _twice(made: Rendered) -> list[Any]:
    """Resources with the URN of another one, and objects with another one's name."""
    urns = Counter(made.urns)
    objects = Counter(
        (one.type, one.inputs["metadata"].get("namespace"), one.inputs["metadata"]["name"])
        for one in made.resources
        if isinstance(one.inputs.get("metadata"), dict) and "name" in one.inputs["metadata"]
    )
    return [which for which, count in [*urns.items(), *objects.items()] if count > 1]


@pytest.mark.counted
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_no_two_resources_have_one_name(cluster: str) -> None:
    tree, volumes = CLUSTERS[cluster]

    @settings(max_examples=EXAMPLES[cluster])
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        names = data.draw(st.permutations(NAMES[cluster]))

        def choose(found: list[Any]) -> Any:
            return data.draw(st.sampled_from(found))

        wanted = {name: {"sizeGib": 10, **one} for name, one in volumes(names, choose).items()}
        streams = _streams(cluster, names, choose)
        whole = {"namespace": "ns", **tree, "volumes": wanted, "streams": streams}
        try:
            config = stack.load(Settings(whole))
        except UserError:
            return
        assert _twice(rendering.run(lambda: stack.build(config))) == []

    holds()


def _problems(cluster: str, volumes: dict[str, Volume]) -> list[str]:
    found = problems_of(
        {**CLUSTERS[cluster][0], "volumes": {name: {"sizeGib": 10, **one} for name, one in volumes.items()}}
    )
    return [line.removeprefix("tensorplane:volumes.") for line in found]


COPIED = {"backend": CEPH, "mirror": {"to": {"volume": "b"}, "every": "1h"}}
AWAY = {"backend": {"kind": "s3"}, "mirror": {"to": {"region": "us-east-2"}}}


@pytest.mark.parametrize(
    ("cluster", "volumes", "line"),
    [
        ("existing", {"a": COPIED, "b": {"backend": PLAIN}, "a-copies": {"backend": CEPH}},
         "a-copies: its StorageClass would be a-copies, as that of volume a; use another name"),
        ("existing", {"volsync-a-src": {"backend": PLAIN}, "a": COPIED, "b": {"backend": PLAIN}},
         "a: its claim would be volsync-a-src, as that of volume volsync-a-src; use another name"),
        ("embedded", {"x": {"from": {"mirrorOf": "y-of-mirror-of-z"}}, "x-of-mirror-of-y": {"from": {"mirrorOf": "z"}}},
         "x-of-mirror-of-y: its StorageClass would be x-of-mirror-of-y-of-mirror-of-z, as that of volume x; use "
         "another name"),
        ("eks", {"a": AWAY, "a-mirror": {"backend": {"kind": "s3"}}},
         "a-mirror: its bucket would be a-mirror, as that of volume a; use another name"),
        ("gke", {"a": {"backend": {"kind": "gcsFuse"}, "readers": ["b-c"]},
                 "a-b": {"backend": {"kind": "gcsFuse"}, "readers": ["c"]}},
         "a-b: its bucket permission would be a-b-c, as that of volume a; use another name"),
    ],
)  # fmt: skip
def test_names_that_meet_are_one_line(cluster: str, volumes: dict[str, Volume], line: str) -> None:
    assert _problems(cluster, volumes) == [line]


@pytest.mark.parametrize(
    ("cluster", "volumes"),
    [
        ("existing", {"a": COPIED, "b": {"backend": PLAIN}, "a-copies": {"backend": PLAIN}}),
        ("eks", {"a": AWAY, "a-mirror": {"backend": {"kind": "s3", "bucket": "ns-a-mirror-1a2b3c4"}}}),
        (
            "eks",
            {"a": {"backend": {"kind": "efs"}, "mirror": AWAY["mirror"]}, "a-mirror": {"backend": {"kind": "efs"}}},
        ),
    ],
)
def test_names_that_only_look_alike_are_taken(cluster: str, volumes: dict[str, Volume]) -> None:
    assert _problems(cluster, volumes) == []


@pytest.mark.parametrize(
    ("streams", "line"),
    [
        ({"a": _stream("k", "b-c", "t"), "a-b": _stream("k", "c", "u")},
         "a-b: stream a already has the user a-b-c; use another name"),
        ({"a": _stream("k", "b-mirror", "t"), "a-b": _stream("k", "c", "u")},
         "a-b: stream a already has the user a-b-mirror; use another name"),
        ({"a": _stream("k", "c", "t"), "b": _stream("other", "c", "t")},
         "b.topics.t: stream a already has this KafkaTopic (of Kafka k); use another name"),
        ({"k-cluster": _stream("k", "ca-cert", "t")},
         "k-cluster.groups.ca-cert: its KafkaUser would be k-cluster-ca-cert, the name of a Secret of that "
         "Kafka; use another name"),
    ],
)  # fmt: skip
def test_names_of_streams_that_meet_are_one_line(streams: dict[str, Any], line: str) -> None:
    assert problems_of({"cluster": EXISTING, "streams": streams}) == [f"tensorplane:streams.{line}"]


def test_streams_that_only_look_alike_are_taken() -> None:
    streams = {"a": _stream("k", "c", "t"), "b": _stream("k", "c", "u")}
    assert problems_of({"cluster": EXISTING, "streams": streams}) == []


def test_a_server_beside_a_stream_has_network_policies_of_its_own() -> None:
    server = {"kind": "modelServer", "model": {"volume": "models", "path": "m"}}
    job = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["python3"]}
    models = {"models": {"sizeGib": 1, "backend": PLAIN}}
    tree = {"cluster": EXISTING, "volumes": models, "streams": {"a": _stream("k", "c", "t")}}
    (line,) = problems_of({**tree, "workloads": {"a-stream": server}})
    assert line.startswith("tensorplane:workloads.a-stream: is also the name of a NetworkPolicy of stream a")
    assert problems_of({**tree, "workloads": {"a-stream": job}}) == []
