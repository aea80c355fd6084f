"""The steps of a preview for each training job and its objects, from the engine's events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_JOB = "tensorplane:index:TrainingJob"
_JOB_SET = "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"
_SECRET = "kubernetes:core/v1:Secret"  # noqa: S105 (a type of resource)
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
# A replacement has three steps; this one has both states.
_OPERATIONS = frozenset({"same", "create", "update", "replace", "delete"})

STREAMED = {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "1"}
"""Variables that make `pulumi preview --json` print events instead of a summary without outputs."""

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """What the engine would do to one resource."""

    operation: str
    old: Mapping[str, Any] = field(default_factory=dict)
    """Its deployed state, with `inputs` and `outputs`; empty if it is new."""
    new: Mapping[str, Any] = field(default_factory=dict)
    """Its state after the update, as far as a preview knows it; empty if it is deleted."""
    paths: tuple[str, ...] = ()
    """Paths of the properties that differ, if the provider returned them."""

    @property
    def changes(self) -> bool:
        return self.operation != "same"


@dataclass(frozen=True)
class JobSteps:
    """The steps for one job. An object that the job does not have is a `same`."""

    name: str
    job: Step
    job_set: Step = Step("same")
    secret: Step = Step("same")
    """The Secret with its variables."""
    files: Step = Step("same")
    """The ConfigMap with its files."""


def list_job_steps(events: Iterable[Event]) -> list[JobSteps]:
    """The steps for each training job of the stack, by name."""
    found = dict(_steps(events))
    return [
        JobSteps(
            name,
            job,
            job_set=found.get((_JOB_SET, name), Step("same")),
            secret=found.get((_SECRET, f"{name}-env"), Step("same")),
            files=found.get((_CONFIG_MAP, f"{name}-files"), Step("same")),
        )
        for (token, name), job in sorted(found.items())
        if token == _JOB
    ]


def read_events(lines: str) -> list[Event]:
    """The events that `pulumi preview --json` streams, one a line; other output is skipped."""
    return [json.loads(line) for line in lines.splitlines() if line.startswith("{")]


def list_planned(events: Iterable[Event]) -> Iterator[Mapping[str, Any]]:
    """What the engine would do, resource by resource."""
    return (step["metadata"] for event in events if (step := event.get("resourcePreEvent")))


def _steps(events: Iterable[Event]) -> Iterator[tuple[tuple[str, str], Step]]:
    """By type and name. The last event of a resource counts: a component has outputs only in its second."""
    for event in events:
        metadata = (event.get("resourcePreEvent") or event.get("resOutputsEvent") or {}).get("metadata", {})
        urn = metadata.get("urn", "")
        if metadata.get("op") in _OPERATIONS and _JOB in urn:
            old, new = metadata.get("old") or {}, metadata.get("new") or {}
            paths = tuple(sorted(metadata.get("detailedDiff") or ()))
            yield (metadata["type"], urn.rpartition("::")[2]), Step(metadata["op"], old, new, paths)
