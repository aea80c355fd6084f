"""Which versions a dataset keeps: the newest of each branch, labeled ones, inputs of others, and by rule.

History is never deleted: commits of deleted versions remain, with their provenance.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from dataclasses import dataclass

from tensorplane.datasets import commit, labels, tree
from tensorplane.datasets.commit import Commit
from tensorplane.datasets.refused import Refused
from tensorplane.datasets.store import Store, blob_name, remove, used_since

GRACE_SECONDS = 24 * 3600.0
"""What was written or used for the last time less than this ago stays. A commit must not take longer."""


@dataclass(frozen=True)
class Rule:
    """What is kept besides. A rule without either keeps everything."""

    last: int | None = None
    """So many of the newest commits of each branch."""
    days: float | None = None
    """Commits that are not older."""

    def keeps(self, place: int, made: Commit, now: float) -> bool:
        """Whether it keeps the commit at this place of a branch; 0 is the newest."""
        if self.last is None and self.days is None:
            return True
        by_count = self.last is not None and place < self.last
        return place == 0 or by_count or (self.days is not None and now - made.time <= self.days * 86400)


def kept(store: Store, rule: Rule, *, used: Iterable[str] = ()) -> dict[str, list[Commit]]:
    """The commits of each kept version. `used`: versions that something else needs, such as inputs of models."""
    wanted, now = set(used), time.time()
    labeled = {one.commit for one in labels.read(store).values()}
    found: dict[str, list[Commit]] = {}
    seen: set[str] = set()
    starts = [*((one, True) for one in commit.heads(store).values()), *((one, False) for one in sorted(labeled))]
    for start, of_branch in starts:
        for place, made in enumerate(commit.log(store, start)):
            by_rule = of_branch and rule.keeps(place, made, now)
            if by_rule or made.id in labeled or made.version in wanted:
                found.setdefault(made.version, [])
                if made.id not in seen:
                    seen.add(made.id)
                    found[made.version].append(made)
    return found


def used_by(others: Iterable[Store], dataset: str) -> set[str]:
    """Versions of a dataset that commits of others, whose own files are kept, were made from: the `inputs` of their
    provenance, a list of `{dataset, version}`.
    """
    return {
        str(each["version"])
        for store in others
        for start in commit.heads(store).values()
        for made in commit.log(store, start)
        if store.path("trees", made.version).exists()
        for each in made.provenance.get("inputs", ())
        if each.get("dataset") == dataset
    }


def collect(
    store: Store, rule: Rule, *, used: Iterable[str] = (), grace_seconds: float = GRACE_SECONDS
) -> dict[str, int]:
    """Delete what no kept version has; how much of each kind. Commits may go on meanwhile: they mark what they use.

    `used`: as in `kept`.
    """
    store.create()
    is_used = used_since(grace_seconds)
    marked = _marked(store, kept(store, rule, used=used))
    deleted = {}
    for kind, needed in marked.items():
        _restore(store, kind, needed)
        unmarked = [name for name in store.names(kind) if name not in needed]
        old = (name for name in unmarked if not is_used(store.path(kind, name)))
        deleted[kind] = sum(store.discard(kind, name, is_used) for name in old)
    for folder in (store.parts, store.trash):
        for path in folder.iterdir():
            if not is_used(path):
                remove(path)
    return deleted


def _marked(store: Store, versions: Iterable[str]) -> dict[str, set[str]]:
    """The objects that stay, by kind."""
    nodes: set[str] = set()
    objects: set[str] = set()
    for version in versions:
        with contextlib.suppress(Refused):  # deleted before the rule kept it
            for _, files in tree.node_ids(store, version, nodes):
                objects.update(map(blob_name, files))
    starts = {*commit.heads(store).values(), *(one.commit for one in labels.read(store).values())}
    commits = {made.id for start in starts for made in commit.log(store, start)}
    return {"objects": objects, "trees": nodes, "commits": commits, "versions": set(versions)}


def _restore(store: Store, kind: str, needed: set[str]) -> None:
    """Put back what a killed `collect` has left in the trash although somebody used it."""
    for path in list(store.trash.glob(f"{kind}-*")):
        name = path.name[len(kind) + 1 :]
        if name in needed and not store.path(kind, name).exists():
            with contextlib.suppress(OSError):
                path.rename(store.path(kind, name))
