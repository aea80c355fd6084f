"""Specs as pipelines: those that feed each other become stages of one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorplane.cli.pachyderm import stage, triggers
from tensorplane.cli.pachyderm.inputs import Leaf
from tensorplane.cli.pachyderm.names import unused
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.repos import Repos
from tensorplane.cli.pachyderm.spec import Spec
from tensorplane.cli.pachyderm.stage import Choice, Converted
from tensorplane.cli.pachyderm.triggers import Source
from tensorplane.core.errors import UserError


@dataclass(frozen=True)
class Imported:
    """Settings made of specs."""

    datasets: list[str]
    workloads: dict[str, dict[str, Any]]
    """Pipelines by name, in the spelling of settings."""
    about: Mapping[str, str]
    """What the specs say about stages, by the stage's name."""
    notes: list[Note]
    """Fields that have no equal, in the order of the specs."""


def convert(specs: Sequence[Spec], choice: Choice, *, name: str | None = None, taken: Collection[str] = ()) -> Imported:
    """Pipelines of specs. `name`: the pipeline's, by default that of its last stage; `taken`: names that it must not
    have. A UserError if there are several pipelines, and a name is given.
    """
    repos = Repos(specs)
    found = {repos.of_pipeline(spec): (spec, stage.convert(spec, repos, choice)) for spec in specs}
    groups = list(_connected({key: (one.stages, spec) for key, (spec, one) in found.items()}))
    if name and len(groups) > 1:
        names = ", ".join(members[-1] for members in groups)
        raise UserError(
            f"--name: the specs are {len(groups)} pipelines that do not feed each other ({names}); remove it"
        )
    notes = [note for _, one in found.values() for note in one.notes]
    workloads: dict[str, dict[str, Any]] = {}
    for members in groups:
        own = {key: found[key] for key in members}
        stages = {key: value for _, one in own.values() for key, value in one.stages.items()}
        starts = triggers.convert(_sources(own, repos, stages, notes), notes)
        called = unused(name or _last(stages), {*taken, *workloads})
        workloads[called] = {"kind": "pipeline", **({"triggers": starts} if starts else {}), "stages": stages}
    used = [key for key, (_, one) in found.items() if not one.stages]
    for workload in workloads.values():
        for made in workload["stages"].values():
            used += [one["dataset"] for one in made["inputs"].values()]
        used += list(workload["stages"])
    about = {key: spec.description for key, (spec, _) in found.items() if spec.description}
    return Imported(list(dict.fromkeys(used)), workloads, about, notes)


def _reads(made: Mapping[str, Any]) -> set[str]:
    """The datasets whose newest version of `main` a stage reads."""
    return {one["dataset"] for one in made["inputs"].values() if "branch" not in one}


def _connected(found: Mapping[str, tuple[Mapping[str, Any], Spec]]) -> Iterator[list[str]]:
    """Groups of specs with stages, of which each reads what another one makes."""
    makers = {output: key for key, (stages, _) in found.items() for output in stages}
    group = {key: key for key in makers.values()}
    for key, (stages, _) in found.items():
        for made in stages.values():
            for other in {makers[name] for name in _reads(made) if name in makers}:
                old, new = group[key], group[other]
                group = {each: new if at == old else at for each, at in group.items()}
    for one in dict.fromkeys(group.values()):
        yield [key for key in found if group.get(key) == one]


def _last(stages: Mapping[str, Any]) -> str:
    """The first stage whose output no other one reads."""
    read = {name for made in stages.values() for name in _reads(made)}
    return next((name for name in stages if name not in read), next(iter(stages)))


def _sources(
    own: Mapping[str, tuple[Spec, Converted]], repos: Repos, stages: Mapping[str, Any], notes: list[Note]
) -> list[Source]:
    """The inputs that no stage of the pipeline makes."""
    found = []
    for spec, one in own.values():
        made_here: list[Leaf] = []
        for leaf in one.leaves:
            read = repos.read(spec, leaf)
            if read["dataset"] in stages and "branch" not in read:
                made_here.append(leaf)
            else:
                branch = read.get("branch", "")
                found.append(Source(spec.name, leaf, read["dataset"] + (f"@{branch}" if branch else "")))
        notes += triggers.inside(spec.name, made_here)
    return found
