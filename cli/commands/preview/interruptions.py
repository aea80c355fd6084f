"""What an update stops that runs: pods, runs of training jobs, servers. It reads the changes alone, not the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cli.commands.preview import occupants
from cli.commands.preview.report import OURS, Change, Report
from cli.commands.preview.sections import effects
from components.base import outputs
from workloads.model_server.canary.controller_objects import NAME_SUFFIX

_RUNNING = {
    outputs.MODEL_SERVER: "model server",
    outputs.NOTEBOOK: "notebook",
    outputs.SCORER: "scorer",
    outputs.STREAM: "stream",
    outputs.SWEEP: "sweep",
    outputs.TENSORBOARD: "TensorBoard",
    outputs.TRAINING_JOB: "training job",
}
"""Components that run, and what people call them."""
_OF_PODS = (":DaemonSet", ":Deployment", ":StatefulSet")
_RELEASE = "helm.sh/v3:Release"
_TEMPLATE = "spec.template"


def of(report: Report) -> tuple[str, ...]:
    """A part of a sentence for each, the farthest-reaching first; empty if the update interrupts nothing."""
    gone = {
        token: [n for n, (old, new) in report.registered(_name(token)).items() if old and not new] for token in _RUNNING
    }
    deleted = (f"{_RUNNING[token]} {name} (deleted)" for token, names in gone.items() for name in sorted(names))
    gone_groups = [name for name, (old, new) in report.registered(_name(outputs.NODE_GROUP)).items() if old and not new]
    groups = (
        *map(effects.emptied_group, sorted(gone_groups)),
        *effects.emptied(report.changes, partial(_whose, report)),
    )
    changed = (text for change in report.changes for text in _of(change, gone[outputs.TRAINING_JOB]))
    return tuple(dict.fromkeys([*groups, *deleted, *changed]))


def _whose(report: Report, group: str) -> str:
    return f" ({occupants.whose(report, group)})"


def _name(token: str) -> str:
    return token.removeprefix(OURS)


def _of(change: Change, deleted_jobs: list[str]) -> Iterator[str]:
    if (
        change.type.endswith(":JobSet")
        and change.operation in ("replace", "delete")
        and change.name not in deleted_jobs
    ):
        # A run has the name of its JobSet.
        begins = any(each.path == "metadata.name" for each in change.properties)
        yield f"the run of {change.name}{' (a new run begins)' if begins else ''}"
    if change.type.endswith(_RELEASE) and change.operation in ("replace", "update"):
        yield f"the pods of Helm release {change.name}"
    if change.type.endswith(_OF_PODS) and _restarts(change):
        if change.name.endswith(NAME_SUFFIX):
            yield f"the controller of {change.name.removesuffix(NAME_SUFFIX)}'s rollouts, which serves no requests"
        else:
            yield f"the pods of {change.name}"


def _restarts(change: Change) -> bool:
    return change.operation == "replace" or (
        change.operation == "update" and any(each.path.startswith(_TEMPLATE) for each in change.properties)
    )
