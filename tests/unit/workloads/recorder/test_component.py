"""Recorders: what can be declared, and a pod that reaches its stream and its dataset, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree

_TABLE = {"columns": {"user": "int64"}}


def tree(*, cluster: str = "existing", **recorder: Any) -> dict[str, Any]:
    """A stack with a stream, datasets and a recorder with these settings."""
    kinds = {"existing": {"kind": "existing", "context": "team"}, "embedded": {"kind": "embedded"}}
    here = cluster == "embedded"
    nfs = {"kind": "nfs", "server": "nas.example", "folder": "/export"}
    return {
        "cluster": kinds[cluster],
        "namespace": "ranking",
        "volumes": {
            "data": {"sizeGib": 1, **({} if here else {"backend": nfs})},
            "closed": {"sizeGib": 1, "writers": ["trainer"], **({} if here else {"backend": nfs})},
            "records": {"sizeGib": 1},
        },
        "streams": {
            "events": {
                **({"volume": "records"} if here else {"broker": {"kind": "strimzi", "cluster": "kafka"}}),
                "topics": {"clicks": {}, "scores": {}},
                "groups": {"recorder": {"topics": ["clicks"]}},
                "producers": {"website": {"topics": ["clicks"]}},
            }
        },
        "datasets": {
            "clicks": {"volume": "data", "retention": {"last": 5}},
            "table": {"volume": "data", "table": _TABLE},
            "closed": {"volume": "closed"},
        },
        "workloads": {
            "recorder": {
                "kind": "recorder",
                "input": {"stream": "events", "topic": "clicks", "group": "recorder"},
                "dataset": "clicks",
                **({} if here else {"image": "registry.example/recorder:1"}),
                **recorder,
            }
        },
    }


def test_the_program_knows_its_stream_and_its_dataset() -> None:
    rendered = rendered_tree(tree(window={"records": 5}, branch="live"))
    deployment = rendered.one("Deployment", "recorder").inputs["spec"]
    assert deployment["replicas"] == 1
    template = deployment["template"]
    assert template["metadata"]["labels"]["streams.tensorplane/events"] == "client"
    (container,) = template["spec"]["containers"]
    variables = {one["name"]: one["value"] for one in container["env"]}
    asked = json.loads(variables["RECORDER"])
    assert json.loads(variables["STREAMS"])["input"]["group"] == "recorder"
    assert (asked["topic"], asked["branch"]) == ("clicks", "live")
    assert asked["window"] == {"records": 5, "size": 64 * 2**20, "seconds": 60.0}
    assert asked["rules"]["retention"] == {"last": 5, "days": None}
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "volume-0"]
    assert asked["root"] == f"{mount['mountPath']}/datasets/clicks"
    assert asked["rules"]["others"] == [f"{mount['mountPath']}/datasets/table"]
    assert "readOnly" not in mount


def test_the_embedded_cluster_has_an_image_for_it() -> None:
    rendered = rendered_tree(tree(cluster="embedded"))
    spec = rendered.one("Deployment", "recorder").inputs["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"]


@pytest.mark.parametrize(
    ("recorder", "faults"),
    [
        ({}, []),
        (
            {"input": {"stream": "event", "topic": "clicks", "group": "recorder"}},
            ["input.stream: no stream is named 'event'; choose one of events (did you mean events?)"],
        ),
        (
            {"input": {"stream": "events", "topic": "scores", "group": "recorder"}},
            ["input.topic: is scores, which group recorder of stream events does not use; add it to streams.events"],
        ),
        (
            {"dataset": "click"},
            ["dataset: no dataset is named 'click'; choose one of clicks, closed, table (did you mean clicks?)"],
        ),
        ({"dataset": "table"}, ["dataset: dataset table is a table of Parquet files, and a recorder writes"]),
        ({"dataset": "closed"}, ["dataset: volume closed does not allow recorder to mount it"]),
        ({"window": {"mib": 256}}, ["window.mib: is 256, for which the pod needs 0.88 GiB, and it has 0.5; raise"]),
        ({"window": {"mib": 1322}, "resources": {"memoryGib": 4}}, []),
        (
            {"window": {"mib": 1323}, "resources": {"memoryGib": 4}},
            ["window.mib: is 1323, for which the pod needs 4 GiB"],
        ),
        ({"window": {"records": 0}}, ["window.records: invalid value 0; use 1"]),
        ({"branch": "a/b"}, ["branch: "]),
        ({"resources": {"gpus": 1, "memoryGib": 1}}, ["resources.gpus: is 1, but a recorder does not use GPUs"]),
    ],
)
def test_what_cannot_work_is_refused(recorder: dict[str, Any], faults: list[str]) -> None:
    found = [line.removeprefix("tensorplane:workloads.recorder.") for line in problems_of(tree(**recorder))]
    assert len(found) == len(faults), found
    assert all(line.startswith(start) for line, start in zip(found, faults, strict=True)), found


def test_a_group_of_a_job_is_refused() -> None:
    found = tree()
    job = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["python3"]}
    found["workloads"]["another"] = {**job, "streams": {"events": {"group": "recorder"}}}
    (line,) = problems_of(found)
    assert line.startswith("tensorplane:workloads.recorder.input.group: is recorder, which another uses too")


def test_the_prometheus_operator_gets_a_monitor_of_the_pod() -> None:
    found = tree()
    found["controllers"] = {"servingMetrics": "serviceMonitor"}
    rendered = rendered_tree(found)
    spec = rendered.one("PodMonitor", "recorder").inputs["spec"]
    assert spec["selector"] == {"matchLabels": {"app.kubernetes.io/name": "recorder"}}
