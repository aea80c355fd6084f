"""Runs of pipelines from their Workflows: what state each stage is in, and how many of its parts are done."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tensorplane.cli.api_values import Object, moment
from tensorplane.cli.pipelines.workflow import ENDS, Node, nodes, output, pipeline_of, seconds, stages, state_of
from tensorplane.components.base.plural import number_of

_STARTING = ("", "ContainerCreating", "PodInitializing")
"""What Argo says of a pod that has a node and will run in a moment."""
_STEPS = ("plan", "commit", "clean")
"""Those that a stage takes once, without a pod."""


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
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Parts of each split input that found no partner; empty if all have one."""
    began: datetime | None = None
    seconds: float | None = None
    working_seconds: float | None = None
    """Since its first part began, while it runs."""
    commit: str = ""
    """The one that it made."""
    why: str = ""
    """Why it failed, in Argo's words."""

    @property
    def alone(self) -> int:
        """How many parts found no partner."""
        return sum(self.left_out.values())

    @property
    def unjoined(self) -> str:
        """Which parts found no partner, in a sentence; empty if all have one."""
        if not self.alone:
            return ""
        found = " and ".join(f"{count} of {name}" for name, count in sorted(self.left_out.items()) if count)
        if self.parts:
            return f"left out {number_of(self.alone, 'part')} without a partner: {found}"
        return f"the join found nothing: {found} have no partner; compare their names"


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


def list_runs(workflows: Iterable[Object], now: datetime) -> list[Run]:
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
        is_over = run.state in ENDS or f"{name}-plan" in skipped
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
        if node["type"] != "Skipped":
            by_template.setdefault(node.get("templateName", ""), []).append(node)
    for name in stages(workflow):
        steps = {step: found[0] for step in _STEPS if (found := by_template.get(f"{name}-{step}"))}
        if steps:
            yield _stage(name, steps, by_template.get(f"{name}-work", ()), now)


def _stage(stage: str, steps: Mapping[str, Node], of_parts: Iterable[Node], now: datetime) -> StageRun:
    """A stage that has begun. `steps`: nodes of _STEPS. `of_parts`: those of items and of their pods."""
    planned, committed = (_summary(steps.get(step, {})) for step in ("plan", "commit"))
    failed = [node for node in steps.values() if node["phase"] in ("Failed", "Error")]
    last = failed[0] if failed else steps.get("commit", {})
    # Argo may still look after pods whose results are committed.
    at_work = [] if committed else list(of_parts)
    # Of an item, the node that tries again, or that of a job with what keeps its result; its pods are nodes, too.
    items = [node for node in at_work if node["type"] in ("Retry", "DAG")]
    work = Counter(node["phase"] for node in items)
    pending = [node for node in at_work if node["type"] == "Pod" and node["phase"] == "Pending"]
    return StageRun(
        stage,
        "failed" if failed else "finished" if committed else "running",
        parts=planned.get("parts"),
        done=committed.get("done", work["Succeeded"]),
        running=work["Running"],
        pending=len(pending),
        pending_why=next((why for node in pending if (why := node.get("message", "")) not in _STARTING), ""),
        skipped=planned.get("unchanged", 0) + planned.get("former", 0),
        former=planned.get("former", 0),
        failed=committed.get("failed", work["Failed"] + work["Error"]),
        left_out=planned.get("left_out", {}),
        began=moment(steps["plan"].get("startedAt")),
        seconds=seconds({**steps["plan"], "finishedAt": last.get("finishedAt")}, now),
        working_seconds=None if failed or committed else _since_first(items, now),
        commit=output(steps.get("commit", {}), "version"),
        why=" ".join(failed[0].get("message", "").split()) if failed else "",
    )


def _since_first(items: Iterable[Node], now: datetime) -> float | None:
    starts = [start for node in items if (start := moment(node.get("startedAt")))]
    return (now - min(starts)).total_seconds() if starts else None


def _summary(step: Node) -> dict[str, Any]:
    """What a step has counted; empty as long as it has not ended well."""
    return dict(json.loads(output(step, "summary") or "{}"))
