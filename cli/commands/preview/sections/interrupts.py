"""What the update breaks, which gates it weakens, what it interrupts, which is always there, and what it replaces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tensorplane.cli.commands.preview import gates, mounts, occupants
from tensorplane.cli.commands.preview.head import Block
from tensorplane.cli.commands.preview.report import OURS, Change, Report
from tensorplane.cli.commands.preview.sections import effects, summary
from tensorplane.cli.output import aggregated
from tensorplane.components.base import outputs
from tensorplane.workloads.model_server.canary.controller_objects import NAME_SUFFIX


def terminal(report: Report, _: int) -> Iterator[str]:
    """Nothing: what restarts has lines of its own, at the end."""
    yield from ()


def head(report: Report) -> Iterator[Block]:
    """One sentence each; none for a preview that failed before the first change."""
    when = f", {report.when}" if report.when else ""
    if found := mounts.broken(report):
        yield Block("Breaks", aggregated.lines(found, report.names), when=when)
    if weakened := list(gates.weakened(report)):
        yield Block("Weakens", aggregated.lines(weakened, report.names), when=when)
    if report.changes or not report.failed:
        found = aggregated.lines(interrupted(report), report.names)
        # A comparison with the merge base does not know what runs.
        runs = ", if it runs" if report.compared_with and found else ""
        yield Block("Interrupts", found or ["nothing"], when=when or runs)
    if replaced := list(summary.replaced(report)):
        yield Block("Replaces", replaced, when=when)


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


def interrupted(report: Report) -> tuple[str, ...]:
    """A part of a sentence for each, the farthest-reaching first; empty if the update interrupts nothing.

    It reads the changes alone, not the cluster.
    """
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
