"""Which versions of datasets a training job reads: noted while it reads them, for the lineage of what it publishes.

A job with checkpoints keeps the notes in its run's folder, so that those of its other pods, of programs in other
languages and of the time before a restart count too. Pods outside training jobs note nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorplane.datasets.errors import Refused

if TYPE_CHECKING:
    from tensorplane.datasets.commit import Commit

_JOB = "TENSORPLANE_LINEAGE"
_RUN = "TENSORPLANE_RUN"
_VERSION = re.compile(r"(/[^\s:,;'\"]*?)/versions/([0-9a-f]{64})(?![0-9a-f])")
"""A version's folder in a text; a text may have several, such as PATH does."""

_noted: list[dict[str, str]] = []
_resolved: dict[tuple[Path, str], set[str]] = {}
"""References that the program has resolved, by dataset and commit: it may read the version by the commit's id."""


def resolved(root: Path, reference: str, commit: Commit) -> None:
    """Notes what a reference names, which makes it no input yet."""
    if _JOB in os.environ:
        _resolved.setdefault((root, commit.id), set()).add(reference)


def note(root: Path, reference: str, commit: Commit) -> None:
    """Notes that the version of a commit is read, which the reader names by a reference. A job that makes a model again
    says so if that one was not made from this version; another job, if its run has read another one by the reference.
    """
    about = {**_named(root), "version": commit.version, "commit": commit.id}
    new = [
        each
        for each in (reference, *sorted(_resolved.get((root, commit.id), ())))
        if _note({**about, "reference": each})
    ]
    pins = _pins(root, os.environ)
    if pins is None:
        _tell_of_others(root, new, commit)
    elif reference in new and all(each["version"] != commit.version for each in pins):
        line = "the model that this job reproduces did not read it, so the new one may differ"
        print(f"{root.name}@{reference}: version {commit.version[:12]}: {line}", file=sys.stderr, flush=True)


def _tell_of_others(root: Path, references: Iterable[str], commit: Commit) -> None:
    """Says so if the run has read another version by one of these references: before a restart, or in another pod."""
    of, kept = _named(root), list[dict[str, str]]()
    for reference in references:
        with contextlib.suppress(OSError):
            kept = kept or list(_kept())
        found = [each for each in kept if {**of, "reference": reference}.items() <= each.items()]
        if others := sorted({each["version"][:12] for each in found} - {commit.version[:12]}):
            problem = f"is version {commit.version[:12]} now, and was {', '.join(others)} earlier in this run"
            line = f"{root.name}@{reference}: {problem}; to train on one version, open it by its id"
            print(line, file=sys.stderr, flush=True)


def noted(words: Iterable[str] = ()) -> list[dict[str, str]]:
    """The inputs that were read so far; each version of a dataset once for each reference by which it was read.

    `words`: texts, such as those of the command, in which folders of versions count as read.
    """
    for word in words:
        for root, version in _VERSION.findall(word):
            _note({**_named(Path(root)), "version": version})
    found: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for each in [*_kept(), *_noted]:
        of_version = found.setdefault((each.get("path") or each["dataset"], each["version"]), {})
        of_version.setdefault(each.get("reference", ""), each)
    for of_version in found.values():
        if len(of_version) > 1:
            of_version.pop("", None)
    every = [each for of_version in found.values() for each in of_version.values()]
    return sorted(every, key=lambda each: (each["dataset"], each["version"], each.get("reference", "")))


def pinned(root: Path, reference: str, environment: Mapping[str, str] = os.environ) -> str:
    """The commit that the reference named when the model was made that this job makes again; else the reference.

    Raises Refused if it named several then, one after the other.
    """
    found = {
        str(each["version"]): str(each.get("commit") or each["version"])
        for each in _pins(root, environment) or ()
        if each.get("reference") == reference
    }
    if len(found) > 1:
        versions = ", ".join(sorted(each[:12] for each in found))
        raise Refused(
            f"{root.name}@{reference}: was read as {len(found)} versions ({versions}); let the program name one"
        )
    return next(iter(found.values()), reference)


def _pins(root: Path, environment: Mapping[str, str]) -> list[dict[str, str]] | None:
    """What the model was made from that this job makes again, of one dataset; None if it makes none again."""
    again = _job(environment).get("reproduces")
    if not again:
        return None
    of = _named(root)
    return [
        each for each in again.get("inputs") or () if all(each.get(key) == of.get(key) for key in ("dataset", "path"))
    ]


def _note(one: dict[str, str]) -> bool:
    """Notes it; whether that is new."""
    if _JOB not in os.environ or one in _noted:
        return False
    _noted.append(one)
    if _RUN in os.environ:
        # Without the note, the run goes on: its own process knows what it has read.
        with contextlib.suppress(OSError):
            file = _folder() / os.uname().nodename
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as lines:
                lines.write(json.dumps(one) + "\n")
    return True


def _kept() -> Iterator[dict[str, str]]:
    """The notes of all pods, those of processes that were killed while they wrote left out."""
    if _RUN not in os.environ:
        return
    for file in sorted(_folder().glob("*")):
        for line in file.read_text().splitlines():
            with contextlib.suppress(ValueError):
                yield json.loads(line)


def _folder() -> Path:
    """The notes of the run. Not in the folder of its checkpoints, which is its writer's."""
    run = Path(os.environ[_RUN])
    return run.with_name(f".{run.name}.reads")


def _named(root: Path) -> dict[str, str]:
    """A dataset, as inputs name it: with its volume and its folder there, if the job mounts it."""
    root = root.absolute()
    for volume, mount in ((_job(os.environ).get("data") or {}).get("volumes") or {}).items():
        if root.is_relative_to(mount):
            return {"dataset": root.name, "volume": volume, "path": root.relative_to(mount).as_posix()}
    return {"dataset": root.name}


def _job(environment: Mapping[str, str]) -> dict[str, Any]:
    return dict(json.loads(environment.get(_JOB) or "{}"))
