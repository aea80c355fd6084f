"""Problems and notes about a stack's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tensorplane.cli.stack_config import encrypted, is_of_program, load
from tensorplane.components.base.problems import Note
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import ENVIRONMENT, read
from tensorplane.stack import ResolvedStack, checks


def run(file: Path, compare: Callable[[ResolvedStack], Iterable[Note]] | None = None) -> str:
    """Notes about a Pulumi.<stack>.yaml without problems; a UserError with a line for each problem.

    `compare`: compares valid settings with the stack's cluster, and has notes about it.
    """
    if is_of_program(file):
        return f"{file.name}: no settings of tensorplane; those that a program declares are checked when it runs"
    resolved = load(file)
    # An environment of Pulumi ESC may have settings that the file lacks.
    if "environment" not in read(file).others and (nothing := Settings.of_file(read(file)).declares_nothing()):
        raise UserError(nothing)
    found = compare(resolved) if compare else ()
    notes = [f"note: {note}" for note in (*checks.notes(resolved), *found)]
    if "environment" in read(file).others:
        notes.append(f"note: {file.name}: environment: {ENVIRONMENT}")
    unread = ", ".join(encrypted(file))
    left = f"; only Pulumi can check encrypted values: {unread}" if unread else ""
    return "\n".join([*notes, f"{file.name}: no mistakes found{left}"])
