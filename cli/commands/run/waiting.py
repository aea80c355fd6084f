"""Tells why a submitted job waits, until its pods may start."""

from __future__ import annotations

import time

from rich.console import Console

from cli.access import Access
from cli.api_values import Object
from cli.commands.why import command as why_command

_LOOK_SECONDS = 1.0


def until_admitted(access: Access, job_set: Object, console: Console) -> None:
    """Prints why it waits, whenever that changes and has not passed a moment later."""
    told = before = ""
    while True:
        found = why_command.explained(access, job_set)
        if found.state not in ("waiting", "stuck"):
            return
        now = "\n".join([*found.lines, *found.after])
        if now == before and now != told:
            why_command.show(found, console)
            told = now
        before = now
        time.sleep(_LOOK_SECONDS)
