"""Moves Pulumi's state out of the cluster's home, where earlier versions kept it beside what `make purge` deletes."""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from embedded import locks
from embedded.fault import Fault
from embedded.paths import Instance


def carry_over(instance: Instance) -> None:
    """Afterwards state, passphrase and settings are in the folder of the stacks; a link is where the state was.

    Each step is done or not done, so what a kill cuts off, the next call finishes. The link is for shells that were
    activated before. Nothing is deleted.
    """
    before, now = instance.home / "pulumi", instance.stacks / "pulumi"
    if before.is_symlink():
        return
    if before.is_dir():
        locks.break_stale(before, "*")
        _copy_new(instance.home / "passphrase", instance.stacks / "passphrase")
        for settings in (instance.home / "settings").glob("Pulumi*.yaml"):
            _copy_new(settings, instance.stacks / "settings" / settings.name)
        _refuse_two(instance)
        _move(before, now)
    elif not (instance.home / "passphrase").exists():
        return  # nothing was ever kept here
    with suppress(FileExistsError):
        before.symlink_to(now)


def stack_files(backend: Path) -> list[Path]:
    """The states of the stacks in a folder of Pulumi's."""
    return sorted((backend / ".pulumi" / "stacks").glob("*/*.json"))


def _copy_new(source: Path, target: Path) -> None:
    """Copies whole, and only where there is nothing yet."""
    if target.exists() or not source.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=".carried-", dir=target.parent)
    os.close(descriptor)
    shutil.copy2(source, draft)
    with suppress(FileExistsError):
        target.hardlink_to(draft)
    Path(draft).unlink()


def _refuse_two(instance: Instance) -> None:
    """Stacks in both places, or under another passphrase, can only come of a return to an earlier version."""
    before, now = instance.home / "pulumi", instance.stacks / "pulumi"
    theirs = stack_files(before)
    known = {path.relative_to(now): path for path in stack_files(now)}
    same = all((path := known.get(one.relative_to(before))) and filecmp.cmp(one, path, shallow=False) for one in theirs)
    keys = [one for home in (instance.home, instance.stacks) if (one := home / "passphrase").exists()]
    one_key = len({key.read_bytes() for key in keys}) < 2
    if theirs and not (one_key and (same or not known)):
        names = ", ".join(path.stem for path in theirs)
        raise Fault(
            f"Pulumi's state: {before} has {names}, made by an earlier version, beside {now}; "
            "move the one that is out of date to another folder, then run the command again"
        )


def _move(before: Path, now: Path) -> None:
    now.parent.mkdir(parents=True, exist_ok=True)
    if stack_files(now):
        # A copy onto another disk was cut off after it was whole, or nothing is in the old place.
        before.rename(tempfile.mkdtemp(prefix="pulumi-copied-", dir=before.parent))
        return
    if now.exists():
        now.rename(tempfile.mkdtemp(prefix="pulumi-empty-", dir=now.parent))
    try:
        before.rename(now)
    except FileNotFoundError:
        return  # another command moved it
    except OSError:
        # The cluster's home may be a link onto another disk.
        draft = Path(tempfile.mkdtemp(prefix="pulumi-draft-", dir=now.parent))
        shutil.copytree(before, draft, dirs_exist_ok=True)
        draft.rename(now)
        before.rename(tempfile.mkdtemp(prefix="pulumi-copied-", dir=before.parent))
