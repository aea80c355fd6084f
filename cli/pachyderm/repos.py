"""The datasets of repos: their names, which spec writes them, and the branch that a reader gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from cli.pachyderm import inputs
from cli.pachyderm.inputs import Leaf
from cli.pachyderm.names import labels, unused
from cli.pachyderm.spec import MASTER, CronInput, Spec

Repo = tuple[str, str]
"""A project and the repo's name in it."""


class Repos:
    """All repos of some specs."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        self._writers: Mapping[Repo, Spec] = {(spec.project, spec.name): spec for spec in specs}
        known = list(self._writers)
        for spec in specs:
            if spec.input is not None:
                known += [repo_of(spec, leaf) for way in inputs.alternatives(spec.input) for leaf in way]
        distinct = list(dict.fromkeys(known))
        counts = Counter(name for _, name in distinct)
        first = {name: project for project, name in reversed(distinct)}
        # Of several projects' repos with one name, the first one keeps it.
        plain = {
            (project, name): name if counts[name] == 1 or first[name] == project else f"{project}-{name}"
            for project, name in distinct
        }
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
        repo = repo_of(spec, leaf)
        branch = MASTER if isinstance(leaf.source, CronInput) else leaf.source.branch or MASTER
        writer = self._writers.get(repo)
        main = branch == (writer.writes if writer else MASTER)
        return {"dataset": self._names[repo], **({} if main else {"branch": branch})}


def repo_of(spec: Spec, leaf: Leaf) -> Repo:
    """The repo of an input. That of a clock has the names of pipeline and input."""
    source = leaf.source
    if isinstance(source, CronInput):
        return source.project or spec.project, source.repo or f"{spec.name}_{source.name}"
    return source.project or spec.project, source.repo
