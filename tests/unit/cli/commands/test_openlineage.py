"""`tensorplane lineage --openlineage`: what it prints are events that the standard's own client would send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    RunFacet,
    dataset_type_dataset,
    dataset_version_dataset,
    execution_parameters_run,
    job_type_job,
    output_statistics_output_dataset,
    processing_engine_run,
)
from openlineage.client.serde import Serde
from rich.console import Console

from tensorplane.cli.commands.lineage import command as lineage
from tensorplane.cli.commands.lineage import openlineage
from tensorplane.cli.commands.lineage.command import OutputFormat
from tensorplane.cli.commands.lineage.graph import Graph, Node

_CLASSES: dict[str, Any] = {
    "jobType": job_type_job.JobTypeJobFacet,
    "processing_engine": processing_engine_run.ProcessingEngineRunFacet,
    "executionParameters": execution_parameters_run.ExecutionParametersRunFacet,
    "version": dataset_version_dataset.DatasetVersionDatasetFacet,
    "datasetType": dataset_type_dataset.DatasetTypeDatasetFacet,
    "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
}


def _node(kind: str, name: str, version: str, record: dict[str, Any], *inputs: str) -> Node:
    commit = {"time": 1764172800.5, "size": 12, "files": 3, "id": "c" * 64} if kind == "dataset" else {}
    return Node(kind, name, f"data:/{name}", version, record, commit, inputs=inputs)


@pytest.fixture
def found() -> Graph:
    """raw -> clean -> digits, and an input of it that is gone."""
    raw = _node("dataset", "raw", "a" * 64, {})
    clean = _node(
        "dataset", "clean", "b" * 64, {"pipeline": "prepare", "stage": "clean", "params": {"size": 8}}, raw.id
    )
    lost = Node("", "lost", "", "d" * 64, problem="the stack has no such dataset")
    record = {
        "job": "digits",
        "run": "digits-1",
        "started": "2026-11-26T14:00:00Z",
        "published": "2026-11-26T15:00:00Z",
        "versions": {"tensorplane": "0.1.0", "tensorflow": "2.21.0"},
        "settings": {"env": {"STEPS": "60", "TOKEN": {"secret": "s", "key": "k"}}},
    }
    digits = _node("model", "digits", "2", record, clean.id, lost.id)
    return Graph(digits.id, {node.id: node for node in (digits, clean, lost, raw)})


def _facets(given: dict[str, Any]) -> dict[str, Any]:
    """Facets as objects of the client, which know their own schema; those of our own as any facet."""
    found = {}
    for name, facet in given.items():
        values = {key: value for key, value in facet.items() if key not in ("_producer", "_schemaURL")}
        if name == "executionParameters":
            each = execution_parameters_run.ExecutionParameter
            values["parameters"] = [each(**parameter) for parameter in values["parameters"]]
        if name in _CLASSES:
            found[name] = _CLASSES[name](**values, producer=facet["_producer"])
        else:
            found[name] = RunFacet(producer=facet["_producer"]).with_additional_properties(**values)
    return found


def _of_client(event: dict[str, Any]) -> dict[str, Any]:
    """The event that the client makes of the same facts."""
    run, job = event["run"], event["job"]

    def datasets(kind: Any, own: str, given: list[dict[str, Any]]) -> list[Any]:
        return [
            kind(each["namespace"], each["name"], **{own: _facets(each.get(own, {}))}, facets=_facets(each["facets"]))
            for each in given
        ]

    made = RunEvent(
        eventType=RunState[event["eventType"]],
        eventTime=event["eventTime"],
        producer=event["producer"],
        run=Run(run["runId"], _facets(run["facets"])),
        job=Job(job["namespace"], job["name"], _facets(job["facets"])),
        inputs=datasets(InputDataset, "inputFacets", event["inputs"]),
        outputs=datasets(OutputDataset, "outputFacets", event["outputs"]),
    )
    return dict(json.loads(Serde.to_json(made)))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        cleaned = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in cleaned.items() if each not in ({}, [], None)}
    return [_without_empty(each) for each in value] if isinstance(value, list) else value


def test_the_standards_client_makes_the_same_events(found: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    lineage.show(found, "dev", OutputFormat(openlineage=True), Console())
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(event["job"]["name"], event["eventType"]) for event in events] == [
        ("prepare.clean", "START"),
        ("prepare.clean", "COMPLETE"),
        ("digits", "START"),
        ("digits", "COMPLETE"),
    ]
    for event in events:
        assert _without_empty(event) == _without_empty(_of_client(event))


def test_events_of_a_run_are_one_run_and_name_what_they_read(found: Graph) -> None:
    events = list(openlineage.events(found, "dev"))
    assert len({event["run"]["runId"] for event in events}) == 2
    assert events == list(openlineage.events(found, "dev")), "the same version has the same run"
    last = events[-1]
    assert [(each["namespace"], each["name"]) for each in last["inputs"]] == [
        ("tensorplane://dev", "data/clean"),
        ("tensorplane://dev", "lost"),
    ]
    assert [event["eventTime"] for event in events[2:]] == ["2026-11-26T14:00:00Z", "2026-11-26T15:00:00Z"]
    assert last["outputs"][0]["facets"]["version"]["datasetVersion"] == "2"
    parameters = last["run"]["facets"]["executionParameters"]["parameters"]
    assert parameters == [{"key": "STEPS", "value": "60"}], "no reference to a Secret"
