"""Labels: names of commits, which retention keeps while it is labeled. One with an end is a lease of a reader."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass

from tensorplane.datasets import durable
from tensorplane.datasets.commit import NAME
from tensorplane.datasets.errors import Refused
from tensorplane.datasets.store import Store, list_folder


@dataclass(frozen=True)
class Label:
    """A label."""

    commit: str
    until: float | None = None
    """Seconds since 1970 after which it no longer counts; None: never."""


def read(store: Store) -> dict[str, Label]:
    """All labels in force."""
    found = {}
    for path in list_folder(store.root / "labels"):
        with contextlib.suppress(FileNotFoundError):
            label = Label(**json.loads(path.read_text()))
            if label.until is None or label.until > time.time():
                found[path.name] = label
    return found


def write(store: Store, name: str, label: Label, *, move: bool = False) -> None:
    """Labels a commit. Raises Refused if another commit has the label, unless `move`.

    If this one has it for longer, that stays: somebody else may count on it.
    """
    if not NAME.fullmatch(name):
        raise Refused(f"{name!r}: is no name of a label; use letters, digits, '.', '_' and '-'")
    path = store.root / "labels" / name
    other = read(store).get(name)
    if other and other.commit == label.commit:
        ends = [each.until for each in (other, label) if each.until is not None]
        label = Label(label.commit, max(ends) if len(ends) == 2 else None)
    content = json.dumps({"commit": label.commit, "until": label.until}).encode()
    if move or (other and other.commit == label.commit) or (path.exists() and not other):
        durable.replace(path, content, store.parts)
        durable.sync(path.parent)
    elif not durable.create(path, content, store.parts):
        raise Refused(f"{name}: is the label of another commit; move it, or choose another name")


def delete(store: Store, name: str) -> None:
    """Removes a label. Raises Refused if there is none."""
    try:
        (store.root / "labels" / name).unlink()
    except FileNotFoundError:
        raise Refused(f"{name}: no such label") from None
