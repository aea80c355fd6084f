"""Which versions of datasets a training job reads: noted while it reads them, for the lineage of what it publishes.

A job with checkpoints keeps the notes in its run's folder, so that those of its other pods, of programs in other
languages and of the time before a restart count too. Pods outside training jobs note nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorplane.datasets.commit import Commit

_JOB = "TENSORPLANE_LINEAGE"
_RUN = "TENSORPLANE_RUN"
_VERSION = re.compile(r"(/[^\s:,;'\"]*?)/versions/([0-9a-f]{64})(?![0-9a-f])")
"""A version's folder in a text; a text may have several, such as PATH does."""

_noted: list[dict[str, str]] = []


def note(root: Path, reference: str, commit: Commit) -> None:
    """Note that the version of a commit is read, which the reader names by a reference."""
    _note({**_named(root), "version": commit.version, "commit": commit.id, "reference": reference})


def noted(words: Iterable[str] = ()) -> list[dict[str, str]]:
    """The inputs that were read so far; each version of a dataset once. `words`: texts, such as those of the command,
    in which folders of versions count as read.
    """
    for word in words:
        for root, version in _VERSION.findall(word):
            _note({**_named(Path(root)), "version": version})
    found: dict[tuple[str, str], dict[str, str]] = {}
    for each in [*_kept(), *_noted]:
        found.setdefault((each.get("path") or each["dataset"], each["version"]), each)
    return sorted(found.values(), key=lambda each: (each["dataset"], each["version"]))


def pinned(root: Path, reference: str, environment: Mapping[str, str] = os.environ) -> str:
    """The commit that the reference named when the model was made that this job makes again; else the reference."""
    if _JOB not in environment:
        return reference
    of, pins = _named(root), (_job(environment).get("reproduces") or {}).get("inputs") or ()
    for each in pins:
        if each.get("reference") == reference and all(each.get(key) == of.get(key) for key in ("dataset", "path")):
            return str(each.get("commit") or each["version"])
    return reference


def _note(one: dict[str, str]) -> None:
    if _JOB not in os.environ or one in _noted:
        return
    _noted.append(one)
    if _RUN in os.environ:
        # Without the note, the run goes on: its own process knows what it has read.
        with contextlib.suppress(OSError):
            file = _folder() / os.uname().nodename
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a") as lines:
                lines.write(json.dumps(one) + "\n")


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
