"""The version that a run of a stage makes: the results of all items, with what they were made from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from tensorplane.datasets import Commit, File, Note, Refused, requests, tree
from tensorplane.stages import plan
from tensorplane.stages.description import Stage
from tensorplane.stages.plan import Plan, Planned
from tensorplane.stages.results import Result, Results

_MOST_FAULTS = 3
_DERIVE = "derive names in /out from those in /in"
_LOOKED_BACK = 100
"""Commits in which a repeated step looks for its own."""


class Made(NamedTuple):
    """What a run of a stage has made."""

    commit: Commit
    counts: dict[str, int]
    """How many items this run was to make, and how many of them were worked on, skipped and failed."""


def commit(stage: Stage, run: str) -> Made:
    """Commits the results of a run, unless an earlier attempt has committed the same.

    Raises Refused if more items than the stage allows have no result, or two made different files of one name.
    """
    planned = Plan.read(plan.path_of(stage, run))
    results = Results(stage.output())
    found = {each.key: results.read(each.key) for each in planned.items}
    failed = [each for each in planned.items if found[each.key] is None]
    if len(failed) > stage.may_fail:
        raise Refused(_too_many(stage, failed, len(planned.items)))
    files = _files(planned, {key: one for key, one in found.items() if one is not None})
    provenance = _provenance(stage, run, planned, failed) | _machines(run, [one for one in found.values() if one])
    made = _former(stage, run, files, provenance) or _committed(stage, files, run, provenance)
    results.take({each.about: each.key for each in planned.items if found[each.key] and not each.is_taken})
    return Made(made, provenance["parts"])


def _committed(stage: Stage, files: Mapping[str, File], run: str, provenance: Mapping[str, Any]) -> Commit:
    dataset, asked = stage.output(), {**stage.rules, "dataset": stage.dataset, "others": stage.others}
    note = Note(f"{stage.pipeline}/{stage.name}", f"run {run}", provenance)
    check = requests.check_of(stage.rules.get("table"))
    made = dataset.put(dict(files), note=note, whole=True, check=check)
    requests.collect_if_due(dataset, asked)
    return made


def _former(stage: Stage, run: str, files: Mapping[str, File], provenance: Mapping[str, Any]) -> Commit | None:
    """The commit that an earlier attempt of this step made: what others committed since must not be undone. One that
    read other versions, or lacks parts that have results since, is none: the run was started again.
    """
    dataset = stage.output()
    if "main" not in dataset.branches():
        return None
    for made in islice(dataset.log(), _LOOKED_BACK):
        if (made.provenance.get("run"), made.provenance.get("stage")) == (run, stage.name):
            same = all(made.provenance.get(each) == provenance.get(each) for each in ("inputs", "failed"))
            return made if same and made.version == tree.update(dataset.store, None, files).id else None
    return None


def _files(planned: Plan, made: Mapping[str, Result]) -> dict[str, File]:
    """The files of all results. The same file of several is one."""
    files: dict[str, File] = {}
    writer: dict[str, str] = {}
    faults = []
    for item in planned.items:
        result = made.get(item.key)
        for path, file in result.files.items() if result else ():
            if files.setdefault(path, file) != file:
                other = f"parts {writer[path]!r} and {item.name!r} made different files of this name"
                faults.append(f"{path!r}: {other}; {_DERIVE}")
            writer.setdefault(path, item.name)
    faults += _files_and_folders(writer)
    if faults:
        more = [f"and {len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
        raise Refused("\n".join(faults[:_MOST_FAULTS] + more))
    return files


def _files_and_folders(writer: Mapping[str, str]) -> list[str]:
    """A fault for each file of one part that is a folder of another. `writer`: the part that made each path."""
    found: dict[str, str] = {}
    for path in writer:
        above = path
        while above := above.rpartition("/")[0]:
            if above in writer:
                found.setdefault(above, path)
    return [
        f"{above!r}: part {writer[above]!r} made a file and part {writer[path]!r} a folder of this name; {_DERIVE}"
        for above, path in sorted(found.items())
    ]


def _provenance(stage: Stage, run: str, planned: Plan, failed: list[Planned]) -> dict[str, Any]:
    lost = {each.key for each in failed}
    worked = Counter(each.why in (plan.NEW, plan.CHANGED) for each in planned.items if each.key not in lost)
    counts = {"parts": len(planned.items), "done": worked[True], "skipped": worked[False], "failed": len(failed)}
    if planned.left_out:
        counts["left_out"] = sum(planned.left_out.values())
    return {
        "pipeline": stage.pipeline,
        "stage": stage.name,
        "run": run,
        "inputs": list(planned.inputs),
        **stage.decisive,
        "parts": counts,
        **({"failed": [each.name for each in failed]} if failed else {}),
    }


def _machines(run: str, results: Iterable[Result]) -> dict[str, Any]:
    """When the first of these results was begun, and the machines on which they were made (`lineage.py`).

    Parts that an earlier run made have it as their `run`.
    """
    machines: dict[str, dict[str, Any]] = {}
    for result in results:
        if result.ran:
            facts = {key: value for key, value in result.ran.items() if key not in ("from", "to")}
            facts |= {"run": result.run} if result.run != run else {}
            entry = machines.setdefault(json.dumps(facts, sort_keys=True), {**facts, "parts": 0, **result.ran})
            entry["parts"] += 1
            entry["from"], entry["to"] = min(entry["from"], result.ran["from"]), max(entry["to"], result.ran["to"])
    found = sorted(machines.values(), key=lambda each: (each["from"], each.get("node", "")))
    return {"started": found[0]["from"], "machines": found} if found else {}


def _too_many(stage: Stage, failed: list[Planned], parts: int) -> str:
    names = ", ".join(repr(each.name) for each in failed[:_MOST_FAULTS])
    more = f" and {len(failed) - _MOST_FAULTS} more" if len(failed) > _MOST_FAULTS else ""
    problem = f"{len(failed)} of {parts} parts failed ({names}{more}), and mayFail is {stage.may_fail}"
    return f"{stage.name}: {problem}; read their logs, and start the run again: the others are not repeated"
