"""References to commits: what they name, and that new names do not change it."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable, Iterator

from tensorplane.datasets import commit, labels
from tensorplane.datasets.commit import Commit
from tensorplane.datasets.errors import Refused
from tensorplane.datasets.store import Store

MAIN = "main"
"""The branch of who names none."""
_ID = re.compile(r"[0-9a-f]{6,64}")
_DIGITS = 64
"""Of a whole id."""
_BACK = re.compile(r"(.+)~(\d+)")


def resolve(store: Store, reference: str) -> Commit:
    """The commit that a reference names now. Raises Refused if there is none, or several."""
    if back := _BACK.fullmatch(reference):
        found = list(itertools.islice(commit.log(store, resolve(store, back[1]).id), int(back[2]) + 1))
        if len(found) <= int(back[2]):
            raise Refused(f"{reference}: {back[1]} has only {len(found)} commits")
        return found[-1]
    if commit.NAME.fullmatch(reference):
        if now := commit.head(store, reference):
            return now
        if label := labels.read(store).get(reference):
            return commit.read(store, label.commit)
    if _ID.fullmatch(reference) and (named := _with_id(store, reference)):
        if len(named) > 1:
            raise Refused(f"{reference}: several commits or versions begin with it; write more digits")
        return named[0]
    names = sorted({*commit.heads(store), *labels.read(store)})
    remedy = f"choose one of {', '.join(names)}" if names else "commit a version first"
    raise Refused(f"{reference}: is no branch, label, commit or version; {remedy}")


def allow_branch(store: Store, name: str) -> None:
    """Raises Refused for a new branch whose name means something else. Those that exist keep their meaning."""
    if commit.last(store, name):
        return
    if name in labels.read(store):
        raise Refused(f"{name}: is a label; choose another name for the branch, or remove the label first")
    _allow_digits(store, name)


def allow_label(store: Store, name: str) -> None:
    """The same for a label."""
    if name in labels.read(store):
        return
    if name == MAIN or commit.last(store, name):
        raise Refused(f"{name}: is a branch; choose another name for the label")
    _allow_digits(store, name)


def _allow_digits(store: Store, name: str) -> None:
    if not _ID.fullmatch(name):
        return
    if any(made.id.startswith(name) or made.version.startswith(name) for made in commit.every(store)):
        raise Refused(f"{name}: is the beginning of a commit's or version's id; choose another name")


def _with_id(store: Store, prefix: str) -> list[Commit]:
    """The commits whose ids begin so; if there is none, one for each version that does."""
    if len(prefix) == _DIGITS:
        with contextlib.suppress(Refused):  # it is a version's
            return [commit.read(store, prefix)]
    elif commits := {name for name in store.names("commits") if name.startswith(prefix)}:
        return [commit.read(store, name) for name in sorted(commits)]
    # Of branches that were deleted, too: what was made from such a version keeps it.
    return _of_version(prefix, _reachable(store)) or _of_version(prefix, commit.every(store))


def _reachable(store: Store) -> Iterator[Commit]:
    """The history of all branches and labels."""
    for start in {*commit.heads(store).values(), *(one.commit for one in labels.read(store).values())}:
        with contextlib.suppress(Refused):  # of a branch that was deleted, the older commits may be gone
            yield from commit.log(store, start)


def _of_version(prefix: str, commits: Iterable[Commit]) -> list[Commit]:
    """A commit of each version that begins so."""
    return list({made.version: made for made in commits if made.version.startswith(prefix)}.values())
