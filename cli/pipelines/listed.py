"""Runs of pipelines from their Workflows: what state each stage is in, and how many of its parts are done."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from cli.api_values import Object, moment
from cli.pipelines.workflow import ENDS, Node, nodes, output, pipeline_of, said_by_argo, seconds, stages, state_of, word

_STARTING = ("", "ContainerCreating", "PodInitializing")
"""What Argo says of a pod that has a node and will run in a moment."""
_EXIT = re.compile(r"^[\w-]+: Error \(exit code \d+\): ")


@dataclass(frozen=True)
class StageRun:
    """A stage in a run."""

    stage: str
    state: str
    parts: int | None = None
    """None while they are not known yet."""
    done: int = 0
    running: int = 0
    pending: int = 0
    """Pods of parts that wait for their queue, their node or their image."""
    pending_why: str = ""
    """Why the first of them waits, in Kubernetes' words; empty if nobody says."""
    skipped: int = 0
    former: int = 0
    """Of those that are skipped, the ones that keep the result of a former form of the stage (`reprocess: new`)."""
    failed: int = 0
    began: datetime | None = None
    seconds: float | None = None
    working_seconds: float | None = None
    """Since its first part began, while it runs."""
    version: str = ""
    """The commit that it made."""
    why: str = ""
    """Why it failed, in Argo's words."""


@dataclass(frozen=True)
class Run:
    """A run of a pipeline."""

    name: str
    pipeline: str
    state: str
    created: datetime | None
    seconds: float | None
    stages: tuple[StageRun, ...]
    """Those that have begun."""
    why: str = ""


def runs(workflows: Iterable[Object], now: datetime) -> list[Run]:
    """The runs of these Workflows, the newest first."""
    found = [_run(one, now) for one in workflows]
    return sorted(found, key=lambda one: one.created or datetime.min.replace(tzinfo=UTC), reverse=True)


def all_stages(workflow: Object, run: Run) -> list[StageRun]:
    """The stages of a run, also those that have not begun: they wait, or are omitted."""
    begun = {one.stage: one for one in run.stages}
    # Argo skips a stage whose input was not made.
    skipped = {node["templateName"] for node in nodes(workflow).values() if node["type"] == "Skipped"}
    found = []
    for name in stages(workflow):
        is_over = run.state in ENDS or name in skipped
        found.append(begun.get(name) or StageRun(name, "omitted" if is_over else "waiting"))
    return found


def _run(workflow: Object, now: datetime) -> Run:
    about, status = workflow["metadata"], workflow.get("status") or {}
    return Run(
        name=about["name"],
        pipeline=pipeline_of(workflow),
        state=state_of(workflow),
        created=moment(about.get("creationTimestamp")),
        seconds=seconds(status, now),
        stages=tuple(_stages(workflow, now)),
        why=status.get("message", ""),
    )


def _stages(workflow: Object, now: datetime) -> Iterator[StageRun]:
    by_template: dict[str, list[Node]] = {}
    for node in nodes(workflow).values():
        by_template.setdefault(node.get("templateName", ""), []).append(node)
    for name in stages(workflow):
        if dag := next((node for node in by_template.get(name, ()) if node["type"] == "DAG"), None):
            yield _stage(dag, by_template, now)


def _stage(dag: Node, by_template: Mapping[str, list[Node]], now: datetime) -> StageRun:
    stage = dag["templateName"]
    planned = _summary(by_template.get(f"{stage}-plan", ()))
    # Of an item, the node that tries again, or that of a job with what keeps its result; its pods are nodes, too.
    of_parts = by_template.get(f"{stage}-work", ())
    items = [node for node in of_parts if node["type"] in ("Retry", "DAG")]
    work = Counter(node["phase"] for node in items)
    steps = [node for step in ("plan", "commit") for node in by_template.get(f"{stage}-{step}", ())]
    failed = [node for node in steps if node["phase"] in ("Failed", "Error")]
    # The node that tries again only says that it does not any more.
    messages = [node.get("message", "") for node in sorted(failed, key=lambda node: node["type"] != "Pod")]
    pending = [node for node in of_parts if node["type"] == "Pod" and node["phase"] == "Pending"]
    return StageRun(
        stage,
        word(dag["phase"]),
        parts=planned.get("parts"),
        done=work["Succeeded"],
        running=work["Running"],
        pending=len(pending),
        pending_why=next((why for node in pending if (why := node.get("message", "")) not in _STARTING), ""),
        skipped=planned.get("unchanged", 0) + planned.get("former", 0),
        former=planned.get("former", 0),
        failed=work["Failed"] + work["Error"],
        began=moment(dag.get("startedAt")),
        seconds=seconds(dag, now),
        working_seconds=_since_first(items, now) if dag["phase"] == "Running" else None,
        version=output(dag, "version"),
        why=next(filter(None, map(_words, messages)), ""),
    )


def _since_first(items: Iterable[Node], now: datetime) -> float | None:
    starts = [start for node in items if (start := moment(node.get("startedAt")))]
    return (now - min(starts)).total_seconds() if starts else None


def _words(message: str) -> str:
    """What a step said last, without what Argo puts around it."""
    lines = _EXIT.sub("", message).splitlines()
    return " ".join(line for line in lines if line and not said_by_argo(line))


def _summary(plans: Iterable[Node]) -> dict[str, int]:
    """What a plan says; empty as long as it has not."""
    texts = filter(None, (output(node, "summary") for node in plans))
    return dict(json.loads(next(texts, "{}")))
