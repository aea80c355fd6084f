"""The datasets of repos: their names, which spec writes them, and the branch that a reader gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tensorplane.cli.pachyderm import inputs
from tensorplane.cli.pachyderm.inputs import Leaf
from tensorplane.cli.pachyderm.names import labels, unused
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.spec import MASTER, CronInput, Input, PfsInput, Spec
from tensorplane.workloads.pipeline.settings import MAIN

Repo = tuple[str, str]
"""A project and the repo's name in it."""


class Repos:
    """All repos of some specs."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        self._writers: Mapping[Repo, Spec] = {(spec.project, spec.name): spec for spec in specs}
        known = list(self._writers)
        branches: set[str] = set()
        for spec in specs:
            leaves = [leaf for way in inputs.alternatives(spec.input or Input()) for leaf in way]
            known += [repo_of(spec, leaf) for leaf in leaves]
            branches |= {_branch(leaf) for leaf in leaves}
        self._main = unused(MAIN, {MAIN, *branches})
        """What a branch of this name becomes where another one is the default here."""
        distinct = list(dict.fromkeys(known))
        first = {name: project for project, name in reversed(distinct)}
        # Of several projects' repos with one name, the first one keeps it.
        plain = {(project, name): name for project, name in distinct if first[name] == project}
        for project, name in distinct:
            if first[name] != project:
                plain[project, name] = unused(f"{project}-{name}", plain.values())
        made = labels(plain.values())
        self._names = {repo: made[name] for repo, name in plain.items()}
        self._more: set[str] = set()

    def more(self, name: str) -> str:
        """One more dataset, of which no spec knows."""
        made = unused(name, {*self._names.values(), *self._more})
        self._more.add(made)
        return made

    def of_pipeline(self, spec: Spec) -> str:
        """The dataset that a pipeline writes, which is also the name of its stage."""
        return self._names[(spec.project, spec.name)]

    def read(self, spec: Spec, leaf: Leaf) -> dict[str, str]:
        """The dataset and branch of an input."""
        repo, branch = repo_of(spec, leaf), _branch(leaf)
        other = {"branch": self._main if branch == MAIN else branch} if branch != self._default(repo) else {}
        return {"dataset": self._names[repo], **other}

    def _default(self, repo: Repo) -> str:
        """The branch that becomes the default one."""
        writer = self._writers.get(repo)
        return writer.writes if writer else MASTER

    def notes(self, spec: Spec, leaf: Leaf) -> Iterator[Note]:
        """Notes of the branch of an input."""
        repo, read = repo_of(spec, leaf), _branch(leaf)
        if read == MAIN != (default := self._default(repo)):
            problem = f"{MAIN} is {self._main} here, because {MAIN} is what {default} becomes"
            yield Note(spec.name, f"{leaf.at}.branch", problem, f"commit to {self._main}")
        if isinstance(leaf.source, PfsInput) and leaf.source.branch not in (None, "", read):
            problem = f"left out: its trigger moves it to {read}, which the input reads"
            yield Note(spec.name, f"{leaf.at}.branch", problem, "if others read it, let them read the same")


def _branch(leaf: Leaf) -> str:
    """The branch whose commits an input gets: that of its trigger, if it has one with a branch."""
    source = leaf.source
    if isinstance(source, CronInput):
        return MASTER
    return (source.trigger.branch if source.trigger else None) or source.branch or MASTER


def repo_of(spec: Spec, leaf: Leaf) -> Repo:
    """The repo of an input. That of a clock has the names of pipeline and input."""
    source = leaf.source
    if isinstance(source, CronInput):
        return source.project or spec.project, source.repo or f"{spec.name}_{source.name}"
    return source.project or spec.project, source.repo
