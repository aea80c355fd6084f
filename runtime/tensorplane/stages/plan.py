"""What a run of a stage has to do: items whose result is missing, each with its input as folders of plain files."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from tensorplane.datasets import Refused, checkout, commit, durable
from tensorplane.datasets.store import remove
from tensorplane.stages import joins, parts, split_suggestion
from tensorplane.stages.description import Input, Stage
from tensorplane.stages.parts import Item, Part
from tensorplane.stages.results import Results

MOST_ITEMS = 1000
"""Items of one run that can have a pod each: Argo keeps the state of all of them in one object."""
LEASE_SECONDS = 14 * 86400.0
"""How long the versions of a run that was abandoned are kept."""
_STARTED_AGAIN_SECONDS = 31 * 86400.0
"""How long what a failed run has left is kept for it: Argo deletes such runs after a month."""
_THREADS = 16
_HASH = 16
"""Characters of the hash that the name of a run ends with, after the pipeline's."""
_ID = 8
"""Characters of an item's `id`, which is a part of names."""
UNCHANGED, FORMER, NEW, CHANGED = "unchanged", "former", "new", "changed"
"""Why an item is or is not worked on: it has a result; it has one of a former form of the stage, which is to stay; its
input is new; the stage changed.
"""
TO_DO = (NEW, CHANGED)
"""Those that get a pod."""


@dataclass(frozen=True)
class Planned:
    """One item of a run."""

    name: str
    key: str
    """Of its result, which may be one of a former form of the stage."""
    about: str
    """Digest of its input."""
    why: str
    is_taken: bool = False
    """Whether it is the result of this input that the newest version with one has."""


@dataclass(frozen=True)
class Plan:
    """All items of a run, and the versions that it reads."""

    items: tuple[Planned, ...]
    inputs: tuple[Mapping[str, str], ...]
    """`{name, dataset, version, commit}` of each input."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Parts of each split input without a partner; empty if all have one."""

    @property
    def summary(self) -> dict[str, int]:
        """How many items are worked on or skipped, and why."""
        counts = Counter(item.why for item in self.items)
        return {"parts": len(self.items), **{why: counts[why] for why in (UNCHANGED, FORMER, NEW, CHANGED)}}

    def write(self, path: Path, parts_folder: Path) -> None:
        """Keeps it for the steps that follow."""
        durable.replace(path, json.dumps(asdict(self)).encode(), parts_folder)

    @classmethod
    def read(cls, path: Path) -> Plan:
        """The plan in a file."""
        found = json.loads(path.read_text())
        items = tuple(Planned(**each) for each in found["items"])
        # Of a run that an update of the agent found going on, the plan has a number.
        left_out = found["left_out"] if isinstance(found["left_out"], dict) else {}
        return cls(items, tuple(found["inputs"]), left_out)


class Due(NamedTuple):
    """What the pod of an item needs to know of it."""

    key: str
    """Of its result."""
    about: str
    """Digest of its input, for pods with the library of an older tensorplane, whose run an update found going on."""


def path_of(stage: Stage, run: str) -> Path:
    """Where the plan of a run is."""
    return stage.root / _of_run(stage, run, "json")


def kept_of(stage: Stage, run: str) -> Path:
    """The file with the numbers of the items whose results are there (`kept.py`)."""
    return stage.root / _of_run(stage, run, "kept")


def due(stage: Stage, run: str) -> dict[int, Due]:
    """The items that get a pod, by their numbers in the plan: at most MOST_ITEMS, however many parts the plan has.

    Raises OSError if the run has no plan.
    """
    try:
        found = json.loads(_due_of(stage, run).read_text())
    except FileNotFoundError:  # planned by an older tensorplane, whose agent was updated during the run
        items = Plan.read(path_of(stage, run)).items
        return {number: Due(each.key, each.about) for number, each in enumerate(items) if each.why in TO_DO}
    return {int(number): Due(*each) for number, each in found.items()}


def _due_of(stage: Stage, run: str) -> Path:
    return stage.root / _of_run(stage, run, "due")


def _of_run(stage: Stage, run: str, what: str) -> str:
    """A file or folder that a run of the stage needs, below a dataset's. Stages have no dot in their names: what is of
    `split` must not be taken for what is of `split-words`, which may run at the same time.
    """
    return f"runs/{run}-{stage.name}.{what}"


def _of_older(stage: Stage, run: str) -> list[str]:
    """Patterns of folders that an older tensorplane made, whose agent was updated during the run. `out` is not one of
    `split-words`, either: what is of that has its input's name in addition.
    """
    folders = [f"{each.name}-{'[0-9a-f]' * _ID}" for each in stage.inputs if not each.is_whole]
    return [f"runs/{run}-{stage.name}-{folder}" for folder in (*folders, "out")]


def plan(stage: Stage, run: str, versions: Mapping[str, str]) -> list[dict[str, str]]:
    """Plans a run. `versions`: commits by the input's name.

    Returns the items that need a pod: `item`, its number in the plan; `id`, which no other item has; and by the name of
    each input the folder with its files, from the root of the volume; with `shared_out`, `out`, that for its results.
    Raises Refused if there are more than MOST_ITEMS, and where it is not clear which parts belong together.
    """
    stage.output().store.create()
    commits = {each.name: each.open().resolve(versions[each.name]) for each in stage.inputs}
    for each in stage.inputs:
        each.open().label(lease(stage, run, each), commits[each.name].id, seconds=LEASE_SECONDS, move=True)
    found = {each.name: _parts(each, commits[each.name]) for each in stage.inputs}
    items = joins.items(stage, found)
    left_out = joins.left_out(stage, found, items)
    planned = list(_planned(stage, run, items))
    about = tuple(
        {"name": each.name, "dataset": each.dataset, "version": one.version, "commit": one.id}
        for each in stage.inputs
        for one in [commits[each.name]]
    )
    (stage.root / "runs").mkdir(exist_ok=True)
    _forget(stage, run)
    todo = {number: items[number] for number, each in enumerate(planned) if each.why in TO_DO}
    if len(todo) > MOST_ITEMS:
        grows = stage.cache and all(planned[number].why == NEW for number in todo)
        remedy = split_suggestion.remedy(stage, found, MOST_ITEMS, grows=grows)
        raise Refused(f"{stage.name}: {len(todo):,} parts, more than {MOST_ITEMS:,}; {remedy}")
    ids = {number: parts.digest_of([run, stage.name, planned[number].key])[:_ID] for number in todo}
    # Before the plan of a former try is replaced, which has the numbers of its folders.
    outs = _outs(stage, run, ids, planned) if stage.shared_out else {}
    store = stage.output().store
    Plan(tuple(planned), about, left_out).write(path_of(stage, run), store.parts)
    pods = {number: Due(planned[number].key, planned[number].about) for number in todo}
    durable.replace(_due_of(stage, run), json.dumps(pods).encode(), store.parts)
    if stage.publish:
        durable.replace(_last_of(stage), run.encode(), store.parts)
    # What a former try of the run has noted: its results may be gone, and its numbers those of other items.
    kept_of(stage, run).write_bytes(b"")
    folders = {each.name: _folders(each, run, stage, todo, commits[each.name]) for each in stage.inputs}
    return [
        {
            "item": str(number),
            "id": ids[number],
            **{f"in-{name}": folders[name][number] for name in sorted(folders)},
            **({"out": outs[number]} if outs else {}),
        }
        for number in todo
    ]


def is_last(stage: Stage, run: str) -> bool:
    """Whether a run of a stage that publishes goes on, and no other one has begun since."""
    try:
        return _last_of(stage).read_text() == run and path_of(stage, run).exists()
    except FileNotFoundError:  # planned by an older tensorplane, whose agent was updated during the run
        return True


def _last_of(stage: Stage) -> Path:
    """The file with the run that was planned last."""
    return stage.root / f"runs/{stage.pipeline}-{stage.name}.last"


def lease(stage: Stage, run: str, source: Input) -> str:
    """The label that keeps a version while a run reads it."""
    return f"{run}.{parts.digest_of([stage.name, source.name])[:16]}"


def finish(stage: Stage, run: str) -> None:
    """Removes what a run of the stage needed: folders of files, leases, the plan."""
    for root in {stage.root, *(each.root for each in stage.inputs)}:
        for pattern in (_of_run(stage, run, "*"), *_of_older(stage, run)):
            for path in root.glob(pattern):
                remove(path)
    for each in stage.inputs:
        try:
            each.open().unlabel(lease(stage, run, each))
        except Refused:
            continue  # removed by an attempt that was killed


def _forget(stage: Stage, run: str) -> None:
    """Removes what other runs of the stage have left that failed or were cancelled: what a job that does not resume has
    written, which may be large, and what is too old for its run to be started again. None of them goes on: Argo has one
    run of a pipeline at a time.
    """
    named = _of_run(stage, f"{stage.pipeline}-{'[0-9a-f]' * _HASH}", "*")
    for path in (path for root in {stage.root, *(each.root for each in stage.inputs)} for path in root.glob(named)):
        what = path.name.removeprefix(f"{run}-{stage.name}.")
        with suppress(OSError):  # of the volume, or of pods that are ending: the next run tries again
            is_old = path.stat().st_mtime < time.time() - _STARTED_AGAIN_SECONDS
            if what == path.name and (is_old or (not stage.resumes and ".out-" in what)):
                remove(path)


def _parts(source: Input, made: commit.Commit) -> list[Part]:
    """The parts of an input's commit."""
    if source.is_whole:
        return parts.whole(made.version)
    return parts.split(source.open().files(made.id), by=source.by, batch=source.batch)


def _planned(stage: Stage, run: str, items: list[Item]) -> Iterator[Planned]:
    results = Results(stage.output())
    # Listed and not looked for: an NFS client would tell the commit for a while, too, that there is none.
    there = results.keys()
    # Without a cache, no other run has these results.
    salt = {} if stage.cache else {"run": run}
    for item in items:
        inputs = item.digests
        about = parts.digest_of({"pipeline": stage.pipeline, "stage": stage.name, "inputs": inputs})
        own = parts.digest_of({**stage.decisive, **salt, "inputs": inputs})
        former = results.of_input(about)
        if own in there and results.read(own) is not None:
            yield Planned(item.name, own, about, UNCHANGED, is_taken=former == own)
        elif former and stage.reprocess == "new" and stage.cache and results.read(former) is not None:
            yield Planned(item.name, former, about, FORMER, is_taken=True)
        else:
            yield Planned(item.name, own, about, CHANGED if former else NEW)


def _outs(stage: Stage, run: str, ids: Mapping[int, str], planned: Sequence[Planned]) -> dict[int, str]:
    """Folders for results, from the volume's root: empty ones, unless the job resumes, for which a former try of the
    same item may have written files.
    """
    if stage.resumes:
        made = {number: _of_run(stage, run, f"out-{ids[number]}") for number in ids}
        _rename_older(stage, run, {planned[number].key: stage.root / path for number, path in made.items()})
    else:
        # The pods of a former try are gone, and what they wrote may be large.
        for former in stage.root.glob(_of_run(stage, run, "out*")):
            with suppress(OSError):
                remove(former)
        made = {number: _of_run(stage, run, f"out-{ids[number]}-{secrets.token_hex(4)}") for number in ids}
    for path in made.values():
        (stage.root / path).mkdir(parents=True, exist_ok=True)
    return {number: f"{stage.folder}/{path}" for number, path in made.items()}


def _rename_older(stage: Stage, run: str, outs: Mapping[str, Path]) -> None:
    """Gives folders for results, by the keys of their items, the files of a try by an older tensorplane, whose folders
    have the numbers in its plan.
    """
    try:
        former = due(stage, run)
    except FileNotFoundError:
        return
    for number, item in former.items():
        older = stage.root / _of_run(stage, run, "out") / str(number)
        if item.key in outs and not outs[item.key].exists() and older.exists():
            older.rename(outs[item.key])


def _folders(source: Input, run: str, stage: Stage, todo: Mapping[int, Item], made: commit.Commit) -> dict[int, str]:
    """Folders with the input of each item, from the volume's root. Each attempt of a plan makes its own: a pod of an
    attempt that was given up may still read the other.
    """
    dataset = source.open()
    if source.is_whole:
        if todo:
            dataset.open(made.id)
        return dict.fromkeys(todo, f"{source.folder}/versions/{made.version}")
    attempt = _of_run(stage, run, f"in-{source.name}-{secrets.token_hex(4)}")

    def make(number: int) -> None:
        chosen = checkout.selected(dataset.store, made.version, todo[number].parts[source.name].paths)
        checkout.write(dataset.store, source.root / attempt / str(number), chosen)

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(make, todo))
    return {number: f"{source.folder}/{attempt}/{number}" for number in todo}
