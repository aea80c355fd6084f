"""Runs of a pipeline: their names, their Workflows, and the newest versions of the outputs that they made.

A run is the same Workflow that `tensorplane runs start` makes (`workloads/pipeline/run.py`). Its name has a hash of
what decides the stages' results and of the commits that it begins with, and one of the commits that it replaces.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .commits import Head, Log

API = "argoproj.io/v1alpha1"
PIPELINE = "tensorplane.dev/pipeline"
"""Annotation of a WorkflowTemplate: a digest of what decides the results of its stages."""
_HASH, _OF_WHAT = 16, 10
LOOKED_BACK = 100
"""The most versions of an output among which one that another program made is looked for."""


def beginning(template: Mapping[str, Any], commits: Mapping[str, str]) -> str:
    """What the names of all runs of a WorkflowTemplate on these commits begin with."""
    return f"{template['metadata']['name']}-{_digest([pipeline_of(template), dict(commits)], _OF_WHAT)}"


def begins(run: str, beginning: str) -> bool:
    """Whether a run's name begins so."""
    return run.startswith(beginning) and len(run) == len(beginning) + _HASH - _OF_WHAT


def are_of_one(run: str, other: str) -> bool:
    """Whether runs, or the beginnings of their names, are of one pipeline."""
    return run.rpartition("-")[0] == other.rpartition("-")[0]


def maker(commit: Mapping[str, Any]) -> str:
    """The run that made a version; empty if none did."""
    return str(commit["provenance"].get("run", ""))


def workflow(template: Mapping[str, Any], commits: Mapping[str, str], replaces: Mapping[str, str]) -> dict[str, Any]:
    """The run of a WorkflowTemplate on these commits, by the names of its parameters. `replaces`: the commit of each
    output that it replaces; empty for an output without one.
    """
    about = template["metadata"]
    return {
        "apiVersion": API,
        "kind": "Workflow",
        "metadata": {
            "name": f"{beginning(template, commits)}{_digest(dict(replaces), _HASH - _OF_WHAT)}",
            "namespace": about["namespace"],
            "labels": dict(about["labels"]),
        },
        "spec": {
            "workflowTemplateRef": {"name": about["name"]},
            "arguments": {"parameters": [{"name": name, "value": commits[name]} for name in sorted(commits)]},
        },
    }


def pipeline_of(template: Mapping[str, Any]) -> str:
    """The digest of what decides the results of a WorkflowTemplate's stages."""
    return str(template["metadata"]["annotations"][PIPELINE])


def parameters_of(template: Mapping[str, Any]) -> set[str]:
    """The names of its parameters."""
    return {one["name"] for one in template["spec"].get("arguments", {}).get("parameters", ())}


def _digest(value: Any, length: int) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:length]


@dataclass(frozen=True)
class NewestOutputs:
    """The newest versions of a pipeline's outputs, as runs of one name's beginning find them."""

    replaces: Mapping[str, str]
    """The newest commit of each output that none of these runs made; empty for an output without one."""
    made_by: str
    """One of these runs, if they have made the newest version of every output; else empty."""
    replaced: bool
    """Whether another run of the pipeline has made the newest version of an output."""


@dataclass(frozen=True)
class _Known:
    """What was found last in a log."""

    head: Head
    beginning: str
    replaced: str
    """The newest version that none of these runs made; empty for none."""
    maker: str
    """Which of these runs made the newest version; empty for none."""
    by_another: bool
    """Whether another run of the pipeline made it."""


@dataclass
class Outputs:
    """The logs of a pipeline's outputs. Each commit is read once for a program."""

    logs: Mapping[str, Log]
    _known: dict[str, _Known] = field(default_factory=dict)

    def observe(self, beginning: str) -> NewestOutputs:
        """The newest versions, for runs whose names begin so. Raises OSError if a volume does not answer."""
        found = {name: known for name, log in self.logs.items() if (known := self._found(name, log, beginning))}
        makers = [found[name].maker if name in found else "" for name in self.logs]
        return NewestOutputs(
            replaces={name: found[name].replaced if name in found else "" for name in self.logs},
            made_by=max(makers) if all(makers) else "",
            replaced=any(one.by_another for one in found.values()),
        )

    def _found(self, name: str, log: Log, beginning: str) -> _Known | None:
        """What the log says about runs of these names; None without a version."""
        known = self._known.get(name)
        head = log.head(known.head.number if known else 0)
        if head is None:
            return None
        if known is None or (known.head, known.beginning) != (head, beginning):
            known = self._known[name] = _read(log, head, beginning)
        return known


def _read(log: Log, head: Head, beginning: str) -> _Known:
    newest = ""
    for commit, made in log.back(head, LOOKED_BACK):
        run = maker(made)
        if not begins(run, beginning):
            return _Known(head, beginning, commit, newest, not newest and are_of_one(run, beginning))
        newest = newest or run
    return _Known(head, beginning, "", newest, False)
