"""Runs of pipelines from their Workflows: what state each stage is in, and how many of its parts are done."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cli.api_values import Object, moment
from cli.commands.logs.source import said_by_argo
from cli.pipelines.workflow import nodes, output, pipeline_of, seconds, state_of, word

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
    skipped: int = 0
    failed: int = 0
    seconds: float | None = None
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
    why: str = ""


def runs(workflows: Iterable[Object], now: datetime) -> list[Run]:
    """The runs of these Workflows, the newest first."""
    found = [_run(one, now) for one in workflows]
    return sorted(found, key=lambda one: one.created or datetime.min.replace(tzinfo=UTC), reverse=True)


def _run(workflow: Object, now: datetime) -> Run:
    about, status = workflow["metadata"], workflow.get("status") or {}
    there = list(nodes(workflow).values())
    return Run(
        name=about["name"],
        pipeline=pipeline_of(workflow),
        state=state_of(workflow),
        created=moment(about.get("creationTimestamp")),
        seconds=seconds(status, now),
        stages=tuple(_stages(there, now)),
        why=status.get("message", ""),
    )


def _stages(nodes: list[Mapping[str, Any]], now: datetime) -> Iterator[StageRun]:
    by_template: dict[str, list[Mapping[str, Any]]] = {}
    for node in nodes:
        by_template.setdefault(node.get("templateName", ""), []).append(node)
    plans = {name.removesuffix("-plan") for name in by_template if name.endswith("-plan")}
    dags = [node for node in nodes if node["type"] == "DAG" and node.get("templateName") in plans]
    for dag in sorted(dags, key=lambda node: (node.get("startedAt") or "", node["name"])):
        yield _stage(dag, by_template, now)


def _stage(dag: Mapping[str, Any], by_template: Mapping[str, list[Mapping[str, Any]]], now: datetime) -> StageRun:
    stage = dag["templateName"]
    planned = _summary(by_template.get(f"{stage}-plan", ()))
    # Of an item, the node that tries again, or that of a job with what keeps its result; its pods are nodes, too.
    work = Counter(node["phase"] for node in by_template.get(f"{stage}-work", ()) if node["type"] in ("Retry", "DAG"))
    failed = work["Failed"] + work["Error"]
    steps = [node for step in ("plan", "commit") for node in by_template.get(f"{stage}-{step}", ())]
    messages = [node.get("message", "") for node in steps if node["phase"] in ("Failed", "Error")]
    return StageRun(
        stage,
        word(dag["phase"]),
        parts=planned.get("parts"),
        done=work["Succeeded"],
        running=work["Running"],
        skipped=planned.get("unchanged", 0) + planned.get("former", 0),
        failed=failed,
        seconds=seconds(dag, now),
        version=output(dag, "version"),
        why=next(filter(None, map(_words, messages)), ""),
    )


def _words(message: str) -> str:
    """What a step said last, without what Argo puts around it."""
    lines = _EXIT.sub("", message).splitlines()
    return " ".join(line for line in lines if line and not said_by_argo(line))


def _summary(nodes: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """What a plan says; empty as long as it has not."""
    texts = filter(None, (output(node, "summary") for node in nodes))
    return dict(json.loads(next(texts, "{}")))
