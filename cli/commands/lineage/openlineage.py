"""The graph as run events of OpenLineage, the standard that catalogs such as Marquez and DataHub read. Pure.

A version is a dataset of the standard, and what made it a run: two events, START and COMPLETE. COMPLETE is at the time
of the version, and START too if its record, of an older tensorplane, does not say when it was begun. Versions that
nobody knows to be made by a program are inputs only.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tensorplane.cli.commands.lineage.graph import Graph, Node
from tensorplane.cli.commands.lineage.record import split_record

PRODUCER = "urn:tensorplane:lineage"
"""URI of what makes the events."""
_SPEC = "https://openlineage.io/spec"
_SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs"
_FACETS = {
    "jobType": "2-0-4/JobTypeJobFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "executionParameters": "1-0-0/ExecutionParametersRunFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet",
    "datasetType": "1-0-1/DatasetTypeDatasetFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
}
"""Versions of the standard's facets, with their names there."""
_OWN = "tensorplane_lineage"
"""A facet of our own, with the whole record."""
_RUNS = uuid.UUID("6f1d2c0a-6c62-5d0f-9a5b-6f3a1f7c2e11")
"""Namespace of the runs' ids, so that the same version has the same one."""


def events(graph: Graph, stack: str) -> Iterator[dict[str, Any]]:
    """Two events for each version that something made, the earliest inputs first."""
    namespace = f"tensorplane://{stack}"
    for node in reversed(list(graph)):
        if node.record and not node.problem:
            for kind in ("START", "COMPLETE"):
                yield _event(kind, node, graph, namespace)


def _event(kind: str, node: Node, graph: Graph, namespace: str) -> dict[str, Any]:
    inputs = [graph.nodes[each] for each in node.inputs if each in graph.nodes]
    return {
        "eventType": kind,
        "eventTime": (kind == "START" and split_record(node.record)[0].get("started")) or _time(node),
        "producer": PRODUCER,
        "schemaURL": f"{_SCHEMA}/RunEvent",
        "run": {"runId": str(uuid.uuid5(_RUNS, f"{namespace}/{node.id}")), "facets": _of_run(node.record)},
        "job": {"namespace": namespace, "name": _job(node), "facets": _of_job(node)},
        "inputs": [_dataset(each, namespace) for each in inputs],
        "outputs": [{**_dataset(node, namespace), **_written(node)}] if kind == "COMPLETE" else [],
    }


def _time(node: Node) -> str:
    """When the version was made; the beginning of time if its record does not say."""
    if node.commit:
        return datetime.fromtimestamp(node.commit["time"], UTC).isoformat()
    return str(node.record.get("published", datetime.fromtimestamp(0, UTC).isoformat()))


def _job(node: Node) -> str:
    parts = [str(node.record[key]) for key in ("job", "pipeline", "stage") if node.record.get(key)]
    return ".".join(parts) or node.name


def _of_job(node: Node) -> dict[str, Any]:
    kind = "TRAINING" if node.kind == "model" else "STAGE"
    return _facets(jobType={"processingType": "BATCH", "integration": "TENSORPLANE", "jobType": kind})


def _of_run(record: Mapping[str, Any]) -> dict[str, Any]:
    known, _ = split_record(record)
    versions = known.get("versions", {})
    params = {**known.get("settings", {}).get("env", {}), **known.get("params", {})}
    found: dict[str, Any] = {}
    if "tensorflow" in versions:
        adapter = {"openlineageAdapterVersion": versions["tensorplane"]} if "tensorplane" in versions else {}
        found["processing_engine"] = {"version": versions["tensorflow"], "name": "tensorflow", **adapter}
    if texts := {key: value for key, value in params.items() if not isinstance(value, Mapping)}:
        found["executionParameters"] = {
            "parameters": [{"key": key, "value": str(value)} for key, value in sorted(texts.items())]
        }
    own = {"_producer": PRODUCER, "_schemaURL": f"{_SCHEMA}/RunFacet", **record}
    return {**_facets(**found), _OWN: own}


def _dataset(node: Node, namespace: str) -> dict[str, Any]:
    what = {"datasetType": "MODEL" if node.kind == "model" else "FILE"}
    facets = _facets(version={"datasetVersion": node.version}, datasetType=what)
    return {"namespace": namespace, "name": node.location.replace(":/", "/", 1) or node.name, "facets": facets}


def _written(node: Node) -> dict[str, Any]:
    """What is known of an output's size."""
    if not node.commit:
        return {}
    return {"outputFacets": _facets(outputStatistics={"size": node.commit["size"], "fileCount": node.commit["files"]})}


def _facets(**found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {"_producer": PRODUCER, "_schemaURL": _url(name), **facet} for name, facet in found.items()}


def _url(name: str) -> str:
    version, _, kind = _FACETS[name].partition("/")
    return f"{_SPEC}/facets/{version}/{kind}.json#/$defs/{kind}"
