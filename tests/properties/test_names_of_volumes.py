"""No two resources of a stack have one name, whatever its volumes are called: such names are refused in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stack
from components.settings import Settings
from tests.unit import rendering
from tests.unit.rendering import Rendered
from tests.unit.test_bad_settings import faults_of
from tests.unit.test_volume_settings import EXISTING, HOURLY

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
        lambda name: {"stream": _stream("k", choose(["b-mirror", "c", "b-c"]), name)},
    ]
    return {name: choose(kinds)(name) for name in names}


def _embedded(names: list[str], choose: Callable[[list[Any]], Any]) -> dict[str, Volume]:
    kinds: list[Callable[[str], Volume]] = [
        lambda name: {"from": {"mirrorOf": choose(["b", "b-of-mirror-of-b"])}, "snapshots": HOURLY},
        lambda name: {"stream": {"topics": {"t": {}}}},
    ]
    return {name: choose(kinds)(name) for name in names}


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
EXAMPLES = {"existing": 40, "embedded": 40, "gke": 8, "eks": 8}
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


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_no_two_resources_have_one_name(cluster: str) -> None:
    tree, volumes = CLUSTERS[cluster]

    @settings(max_examples=EXAMPLES[cluster], deadline=None)
    @given(data=st.data())
    def holds(data: st.DataObject) -> None:
        names = data.draw(st.permutations(NAMES[cluster]))
        wanted = volumes(names, lambda found: data.draw(st.sampled_from(found)))
        whole = {"namespace": "ns", **tree, "volumes": {name: {"sizeGib": 10, **one} for name, one in wanted.items()}}
        try:
            config = stack.StackConfig.load(Settings(whole))
        except pulumi.RunError:
            return
        assert _twice(rendering.run(lambda: stack.build(config))) == []

    holds()


def _wrong(cluster: str, volumes: dict[str, Volume]) -> list[str]:
    found = faults_of(
        {**CLUSTERS[cluster][0], "volumes": {name: {"sizeGib": 10, **one} for name, one in volumes.items()}}
    )
    return [line.removeprefix("tensorplane:volumes.") for line in found]


COPIED = {"backend": CEPH, "mirror": {"to": {"volume": "b"}, "every": "1h"}}
AWAY = {"backend": {"kind": "s3"}, "mirror": {"to": {"region": "us-east-2"}}}


@pytest.mark.parametrize(
    ("cluster", "volumes", "line"),
    [
        ("existing", {"a": COPIED, "b": {"backend": PLAIN}, "a-copies": {"backend": CEPH}},
         "a-copies: its StorageClass a-copies is volume a's too, need another name"),
        ("existing", {"volsync-a-src": {"backend": PLAIN}, "a": COPIED, "b": {"backend": PLAIN}},
         "a: its claim volsync-a-src is volume volsync-a-src's too, need another name"),
        ("existing", {"a": {"stream": _stream("k", "b-c", "t")}, "a-b": {"stream": _stream("k", "c", "u")}},
         "a-b.stream: its user a-b-c is one of volume a's stream too, need another name"),
        ("existing", {"a": {"stream": _stream("k", "b-mirror", "t")}, "a-b": {"stream": _stream("k", "c", "u")}},
         "a-b.stream: its user a-b-mirror is one of volume a's stream too, need another name"),
        ("existing", {"a": {"stream": _stream("k", "c", "t")}, "b": {"stream": _stream("other", "c", "t")}},
         "b.stream.topics.t: the stream of volume a has this KafkaTopic, for Kafka k, too, need another name"),
        ("existing", {"k-cluster": {"stream": _stream("k", "ca-cert", "t")}},
         "k-cluster.stream.groups.ca-cert: its user is k-cluster-ca-cert, a Secret of the Kafka's: need another"),
        ("embedded", {"x": {"from": {"mirrorOf": "y-of-mirror-of-z"}}, "x-of-mirror-of-y": {"from": {"mirrorOf": "z"}}},
         "x-of-mirror-of-y: its StorageClass x-of-mirror-of-y-of-mirror-of-z is volume x's too, need another name"),
        ("eks", {"a": AWAY, "a-mirror": {"backend": {"kind": "s3"}}},
         "a-mirror: its bucket a-mirror is volume a's too, need another name"),
        ("gke", {"a": {"backend": {"kind": "gcsFuse"}, "readers": ["b-c"]},
                 "a-b": {"backend": {"kind": "gcsFuse"}, "readers": ["c"]}},
         "a-b: its right on a bucket a-b-c is volume a's too, need another name"),
    ],
)  # fmt: skip
def test_names_that_meet_are_one_line(cluster: str, volumes: dict[str, Volume], line: str) -> None:
    assert _wrong(cluster, volumes) == [line]


@pytest.mark.parametrize(
    ("cluster", "volumes"),
    [
        ("existing", {"a": COPIED, "b": {"backend": PLAIN}, "a-copies": {"backend": PLAIN}}),
        ("eks", {"a": AWAY, "a-mirror": {"backend": {"kind": "s3", "bucket": "ns-a-mirror-1a2b3c4"}}}),
        (
            "eks",
            {"a": {"backend": {"kind": "efs"}, "mirror": AWAY["mirror"]}, "a-mirror": {"backend": {"kind": "efs"}}},
        ),
        ("existing", {"a": {"stream": _stream("k", "c", "t")}, "b": {"stream": _stream("k", "c", "u")}}),
    ],
)
def test_names_that_only_look_alike_are_taken(cluster: str, volumes: dict[str, Volume]) -> None:
    assert _wrong(cluster, volumes) == []


def test_a_server_beside_a_stream_has_network_policies_of_its_own() -> None:
    server = {"kind": "modelServer", "model": {"volume": "models", "path": "m"}}
    job = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["python3"]}
    streamed = {"sizeGib": 9, "stream": _stream("k", "c", "t")}
    tree = {"cluster": EXISTING, "volumes": {"a": streamed, "models": {"sizeGib": 1, "backend": PLAIN}}}
    (line,) = faults_of({**tree, "workloads": {"a-stream": server}})
    assert line.startswith("tensorplane:workloads.a-stream: the name of the network policies of volume a's stream")
    assert faults_of({**tree, "workloads": {"a-stream": job}}) == []
