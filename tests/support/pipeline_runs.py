"""Workflows of a pipeline as Argo keeps them, and their pods. The templates are real; a script says what has run."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from tensorplane.cli.pipelines.cost import Prices
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.workloads.pipeline import manifest as pipeline_manifest
from tensorplane.workloads.pipeline.settings import PipelineSettings
from tensorplane.workloads.pipeline.stage_pods import StageContext, Stored
from tensorplane.workloads.pods.files import bundle
from tensorplane.workloads.pods.mounts import Mountable

NAME, NAMESPACE = "texts", "vision"
BEGIN = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
RUN = "texts-5f0c1f0d5a8e2b77"
STAGES: dict[str, Any] = {
    "clean": {
        "command": ["sh", "-c", 'cd /in/texts; for text in *; do tr A-Z a-z < "$text" > "/out/$text"; done'],
        "inputs": {"texts": {"dataset": "raw", "split": "file"}},
        "output": "words",
        "resources": {"cpus": 1, "memoryGib": 1},
        "mayFail": 1,
    },
    "count": {
        "command": ["python3", "count.py"],
        "inputs": {"words": "words"},
        "output": "counts",
        "params": {"LEAST": 2},
        "resources": {"cpus": 1, "memoryGib": 1},
    },
    "embed": {
        "command": ["python3", "-m", "embed"],
        "inputs": {"words": {"dataset": "words", "split": {"batch": 100}}},
        "output": "vectors",
        "accelerator": "t4",
        "queue": "research",
        "resources": {"cpus": 2, "memoryGib": 4},
    },
    "report": {
        "command": ["report"],
        "inputs": {"counts": "counts", "vectors": "vectors"},
        "output": "report",
        "resources": {"cpus": 0.5, "memoryGib": 0.5},
    },
}
_DATASETS = ("raw", "words", "counts", "vectors", "report")
_MIB_OF_EXECUTOR, _MIB_OF_UNIT = 32, 100


@dataclass(frozen=True)
class Part:
    """What happened to a part. Seconds count from the begin of the run."""

    start: float
    end: float | None = None
    phase: str = "Succeeded"
    tries: int = 1
    """The last one is the part's; those before have failed."""


@dataclass(frozen=True)
class Ran:
    """What happened to a stage."""

    start: float
    end: float | None = None
    omitted: bool = False
    summary: Mapping[str, Any] = field(default_factory=dict)
    """What its plan has said; empty as long as it has not."""
    parts: Mapping[int, Part] = field(default_factory=dict)
    """Those that needed work, by number."""
    version: str = ""
    failure: str = ""
    """What its commit has said when it failed; empty if it has not."""


@cache
def template() -> dict[str, Any]:
    """The pipeline's WorkflowTemplate."""
    stored = {name: Stored(Mountable("data", one_node=True), f"datasets/{name}", {}) for name in _DATASETS}
    stages = {name: StageContext(f"registry.example/{name}@sha256:{'0c7a3b0e' * 8}") for name in STAGES}
    library = bundle("texts-runtime", {})
    context = pipeline_manifest.PipelineContext(NAME, NAMESPACE, stages, stored, "python:3", library, {})
    return pipeline_manifest.template(PipelineSettings.model_validate({"stages": STAGES}), context)


def workflow(
    ran: Mapping[str, Ran],
    *,
    name: str = RUN,
    begin: datetime = BEGIN,
    phase: str = "Running",
    end: float | None = None,
    **status: Any,
) -> dict[str, Any]:
    """The Workflow of a run."""
    made = template()
    nodes = {one["id"]: one for stage, each in ran.items() for one in _nodes(name, begin, stage, each)}
    finished = {} if end is None else {"finishedAt": _time(begin, end)}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"uid-{name}",
            "labels": dict(made["metadata"]["labels"]),
            "creationTimestamp": _time(begin, 0),
        },
        "spec": {
            "workflowTemplateRef": {"name": NAME},
            "arguments": {"parameters": [{"name": "raw", "value": "8c1f2a7be01d"}]},
        },
        "status": {
            "phase": phase,
            "startedAt": _time(begin, 0),
            **finished,
            "nodes": nodes,
            "storedWorkflowTemplateSpec": made["spec"],
            **status,
        },
    }


def pods(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pods that Argo has created for a run."""
    specs = {one["name"]: one for one in template()["spec"]["templates"]}
    return [_pod(run, node, specs[node["templateName"]]) for node in _of_type(run, "Pod")]


def _of_type(run: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    return [node for node in run["status"].get("nodes", {}).values() if node["type"] == kind]


def _nodes(run: str, begin: datetime, stage: str, ran: Ran) -> Iterator[dict[str, Any]]:
    at = f"{run}.{stage}"
    if ran.omitted:
        for task in (f"{stage}-plan", stage, f"{stage}-commit", f"{stage}-clean"):
            yield _node(run, f"{run}.{task}", task, "Skipped", "Omitted", (begin, ran.start, ran.end))
        return
    planned = {"summary": json.dumps({"parts": 0, **ran.summary}), "items": "[]"} if ran.summary else {}
    phase, until = ("Succeeded", ran.start + 4) if ran.summary else ("Running", None)
    counts = " ".join(f"{name}={count}" for name, count in ran.summary.items())
    inputs, when = dict.fromkeys(STAGES[stage]["inputs"], "8c1f2a7be01d"), (begin, ran.start, until)
    yield _node(
        run, f"{at}-plan", f"{stage}-plan", "Suspend", phase, when, inputs=inputs, outputs=planned, message=counts
    )
    if until is None:
        return
    lost = sum(part.phase == "Failed" for part in ran.parts.values())
    is_over = ran.end is not None
    when = (begin, until, ran.end)
    phase = "Running" if not is_over else "Failed" if lost else "Succeeded"
    yield _node(run, at, stage, "DAG", phase, when, inputs={"items": "[]"})
    for number, part in ran.parts.items():
        name = f"{at}.work({number}:item:{number})"
        yield from _tries(run, name, f"{stage}-work", part, begin, inputs={"item": str(number)})
    made, outputs, said = f"{stage}-commit", {}, ran.failure
    if is_over and not ran.failure:
        done = {"parts": ran.summary["parts"], "done": len(ran.parts) - lost, "failed": lost}
        outputs, said = {"version": ran.version, "summary": json.dumps(done)}, f"committed={ran.version}"
    phase = "Running" if not is_over else "Failed" if ran.failure else "Succeeded"
    yield _node(run, f"{at}-commit", made, "Suspend", phase, when, outputs=outputs, message=said)
    if is_over and not ran.failure:
        yield _node(run, f"{at}-clean", f"{stage}-clean", "Suspend", "Succeeded", (begin, ran.end or 0, ran.end))


def _tries(
    run: str,
    name: str,
    made: str,
    part: Part,
    begin: datetime,
    *,
    inputs: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """The node that tries again, and that of each pod."""

    def node(at: str, kind: str, phase: str, start: float, end: float | None) -> dict[str, Any]:
        return _node(run, at, made, kind, phase, (begin, start, end), inputs=inputs)

    yield node(name, "Retry", part.phase, part.start, part.end)
    length = ((part.end or part.start) - part.start) / part.tries
    for number in range(part.tries):
        is_last = number == part.tries - 1
        start = part.start + number * length
        phase, end = (part.phase, part.end) if is_last else ("Failed", start + length)
        yield node(f"{name}({number})", "Pod", phase, start, end)


def _node(
    run: str,
    name: str,
    made: str,
    kind: str,
    phase: str,
    when: tuple[datetime, float, float | None],
    *,
    inputs: Mapping[str, str] | None = None,
    outputs: Mapping[str, str] | None = None,
    message: str = "",
) -> dict[str, Any]:
    begin, start, end = when
    return {
        "id": f"{run}-{zlib.crc32(name.encode())}",
        "name": name,
        "displayName": name.rpartition(".")[2],
        "type": kind,
        "templateName": made,
        "templateScope": f"namespaced/{NAME}",
        "phase": phase,
        "startedAt": _time(begin, start),
        **({"finishedAt": _time(begin, end)} if end is not None else {}),
        **({"message": message} if message else {}),
        **({"inputs": _parameters(inputs)} if inputs else {}),
        **({"outputs": _parameters(outputs)} if outputs else {}),
        **({"resourcesDuration": _resources(made, end - start)} if kind == "Pod" and end is not None else {}),
    }


def _resources(made: str, seconds: float) -> dict[str, int]:
    """What Argo counts of a pod: in whole seconds of a core, of 100 MiB and of a GPU."""
    (found,) = (one for one in template()["spec"]["templates"] if one["name"] == made)
    asked = [one["resources"]["requests"] for one in _containers(found)]
    mib = _MIB_OF_EXECUTOR + sum(_mib(one["memory"]) for one in asked)
    gpus = sum(int(one.get("nvidia.com/gpu", 0)) for one in asked)
    return {
        "cpu": int(seconds),
        "memory": int(mib * seconds / _MIB_OF_UNIT),
        **({"nvidia.com/gpu": int(gpus * seconds)} if gpus else {}),
    }


def _mib(text: str) -> float:
    return float(text[:-2]) * {"Mi": 1, "Gi": 1024}[text[-2:]]


def _containers(made: Mapping[str, Any]) -> list[dict[str, Any]]:
    return made["containerSet"]["containers"] if "containerSet" in made else [made["container"]]


def _parameters(values: Mapping[str, str]) -> dict[str, Any]:
    return {"parameters": [{"name": name, "value": value} for name, value in values.items()]}


def _pod(run: Mapping[str, Any], node: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    about, phase = run["metadata"], node["phase"]
    if phase == "Pending":
        state: dict[str, Any] = {"waiting": {"reason": "PodInitializing"}}
    elif phase == "Running":
        state = {"running": {"startedAt": node["startedAt"]}}
    else:
        code, message = (0, "") if phase == "Succeeded" else (1, f"{node['displayName']} broke\nError: exit status 1\n")
        state = {"terminated": {"exitCode": code, "message": message, "finishedAt": node["finishedAt"]}}
    names = ["wait", *(one["name"] for one in _containers(made))]
    return {
        "metadata": {
            "name": f"{about['name']}-{node['templateName']}-{node['id'].rpartition('-')[2]}",
            "namespace": NAMESPACE,
            "uid": node["id"],
            "creationTimestamp": node["startedAt"],
            "labels": {"workflows.argoproj.io/workflow": about["name"]},
            "annotations": {"workflows.argoproj.io/node-id": node["id"]},
        },
        "spec": {"containers": [{"name": name} for name in names]},
        "status": {"phase": phase, "containerStatuses": [{"name": name, "state": state} for name in names]},
    }


def _time(begin: datetime, seconds: float) -> str:
    return (begin + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def at(seconds: float) -> datetime:
    """A moment of the run."""
    return BEGIN + timedelta(seconds=seconds)


def prices() -> Prices:
    """Of a stack with machines of AWS."""
    groups = {
        "cpu": NodeGroupArgs.model_validate({"machine": "m7i.2xlarge", "min": 1, "max": 4}),
        "old": NodeGroupArgs.model_validate({"accelerator": "t4", "perNode": 1, "min": 0, "max": 4}),
    }
    machines, wrong = fleet.of(groups, Eks(region="us-west-2").cluster_properties)
    assert not wrong
    return Prices(machines, PipelineSettings.model_validate({"stages": STAGES}).stages)


FIRST = workflow(
    {
        "clean": Ran(0, 60, summary={"parts": 3, "new": 3}, parts={n: Part(5, 55) for n in range(3)}, version="a1b2c3"),
        "count": Ran(60, 160, summary={"parts": 1, "new": 1}, parts={0: Part(65, 155)}, version="b2c3d4"),
        "embed": Ran(60, 360, summary={"parts": 4, "new": 4}, parts={n: Part(65, 350) for n in range(4)}, version="c3"),
        "report": Ran(360, 380, summary={"parts": 1, "new": 1}, parts={0: Part(365, 375)}, version="d4e5f6"),
    },
    name="texts-1111111111111111",
    begin=BEGIN - timedelta(hours=1),
    phase="Succeeded",
    end=380,
)
"""A run that has finished."""
SECOND = workflow(
    {
        "clean": Ran(
            0,
            70,
            summary={"parts": 5, "unchanged": 3, "new": 2},
            parts={3: Part(5, 40), 4: Part(5, 65, "Failed", tries=3)},
            version="e5f6a7",
        ),
        "count": Ran(70, None, summary={"parts": 1, "new": 1}, parts={0: Part(75, None, "Running")}),
        "embed": Ran(
            70,
            None,
            summary={"parts": 6, "unchanged": 2, "new": 4},
            parts={0: Part(75, 105), 1: Part(75, 115), 2: Part(105, None, "Running"), 5: Part(115, None, "Pending")},
        ),
    }
)
"""A run that goes on, 130 seconds after its begin: of `clean` a part has failed, `report` has not begun."""
