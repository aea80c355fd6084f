"""The steps of a stage besides its program, each with what Argo's node of it puts out.

plan     `items`, those that need a pod, and `summary`, how many are skipped and why, and how many parts of each input
         found no partner, both in JSON
keep     nothing; the files in a folder are the result of an item
commit   `version`, the commit, and `summary`, how many items were done, skipped and failed
clean    nothing; what the run needed besides its results is removed
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorplane.datasets import Refused
from tensorplane.datasets.errors import Gone, permanent_errors_refused
from tensorplane.errors import UsageError
from tensorplane.stages.commit import commit
from tensorplane.stages.description import Stage
from tensorplane.stages.item_results import keep
from tensorplane.stages.plan import Plan, finish, path_of, plan


@dataclass(frozen=True)
class Taken:
    """A step that was taken."""

    said: str
    """Facts for people: `name=value`, with spaces between them."""
    outputs: Mapping[str, str] = field(default_factory=dict)


def take(step: str, stage: Stage, run: str, inputs: Mapping[str, str]) -> Taken:
    """Takes a step of a run, also one that was taken or begun before.

    `inputs`: parameters of Argo's node of the step; of a plan, the commits by the names of the stage's inputs.
    Raises Refused for what no further try changes, and OSError if a volume does not answer.
    """
    if step == "plan":
        roots = (stage.root, *(each.root for each in stage.inputs))
        with permanent_errors_refused(*roots, what=f"{stage.name}: the plan"):
            try:
                return _plan(stage, run, {each.name: inputs[each.name] for each in stage.inputs})
            except Gone as error:  # an input, and not contents that another try would keep again
                raise Refused(str(error)) from error
    if step == "keep":
        return keep_result(stage, run, inputs["item"], stage.on_volume(inputs["out"]))
    if step == "commit":
        with permanent_errors_refused(
            stage.root, what=f"{stage.name}: the version of {stage.dataset}", dataset=stage.dataset
        ):
            return _commit(stage, run)
    if step == "clean":
        finish(stage, run)
        return Taken("done")
    raise UsageError(f"{step!r} is no step")


def keep_result(stage: Stage, run: str, item: str, folder: Path, ran: Mapping[str, Any] | None = None) -> Taken:
    """Keeps the files of a folder as the result of an item. `ran`: where and when it was made, if that is known."""
    what = f"{stage.name}: the result of part {item} for {stage.dataset}"
    with permanent_errors_refused(stage.root, what=what, of=folder, dataset=stage.dataset):
        files = keep(stage, run, int(item), folder, ran)
        return Taken(words(item=item, result="unchanged") if files is None else words(item=item, files=files))


def words(**facts: Any) -> str:
    """Facts for people."""
    return " ".join(f"{name}={value}" for name, value in facts.items())


def _plan(stage: Stage, run: str, versions: Mapping[str, str]) -> Taken:
    todo = plan(stage, run, versions)
    found = Plan.read(path_of(stage, run))
    said = words(**found.summary, left_out=sum(found.left_out.values()))
    summary = {**found.summary, **({"left_out": found.left_out} if found.left_out else {})}
    return Taken(said, {"items": json.dumps(todo), "summary": json.dumps(summary)})


def _commit(stage: Stage, run: str) -> Taken:
    made, counts = commit(stage, run)
    said = words(committed=f"{stage.dataset}@{made.id[:12]}", **counts)
    return Taken(said, {"version": made.id, "summary": json.dumps(counts)})
