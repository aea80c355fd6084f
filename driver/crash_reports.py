"""An exception that nobody foresaw: one line for the user, and its traceback in a log."""

from __future__ import annotations

import os
import platform
import re
import threading
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tensorplane.core.paths import PACKAGE, cache

TRACEBACK = "Traceback (most recent call last):"
_ERROR = re.compile(r"(?:error: )?(?:\w+\.)*([A-Z]\w+(?:: .*)?)")
_HEADING = "Program failed with an unhandled exception:"


def report(command: str, error: BaseException) -> str:
    """What the user reads. `command`: as the user typed it, without values, which may be secret."""
    text = "".join(traceback.format_exception(error))
    return f"{command}: stopped by an unforeseen {type(error).__name__}; {save(command, text)}"


def save(command: str, text: str) -> str:
    """The remedy, once the text is in the command's log, which replaces that of the last time."""
    log = cache() / "logs" / f"fault-{re.sub(r'[^a-z0-9]+', '-', command.lower()).strip('-')}.log"
    about = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC, {command}, Python {platform.python_version()}"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        # The message of an exception may show a secret value.
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", errors="backslashreplace") as file:
            file.write(f"{about}\n{text.rstrip()}\n")
    except OSError as error:
        return f"report it with its place, {_location(text)}: its log, {log}, cannot be written ({error.strerror})"
    return f"report it with its log, {log}"


def fold_traceback(lines: Sequence[str], remedy: str) -> list[str]:
    """What the engine says of a stack's program, in which it hides secrets, with one line for a traceback."""
    at = next((number for number, each in enumerate(lines) if TRACEBACK in each), None)
    if at is None:
        return list(lines)
    depth = _depth(lines[at])
    end = next((number for number in range(at, len(lines)) if _depth(lines[number]) < depth), len(lines))
    before = [each for each in lines[:at] if not each.endswith(_HEADING)]
    name = _class_name([each for each in lines[at:end] if _depth(each) == depth])
    line = f"{' ' * depth}the stack's program was stopped by an unforeseen {name}; {remedy}"
    return [*before, line, *fold_traceback(lines[end:], remedy)]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _class_name(outer: Sequence[str]) -> str:
    """The exception that a traceback ends with, which stands as far left as the traceback's first line."""
    found = [match[1] for each in outer if (match := _ERROR.fullmatch(each.strip()))]
    return found[-1] if found else "error"


def _location(text: str) -> str:
    """The last place of a traceback that is in this project."""
    found: list[tuple[str, str]] = re.findall(r'File "([^"]+)", line (\d+)', text)
    own = [(Path(file), number) for file, number in found if Path(file).is_relative_to(PACKAGE)]
    return ":".join((str(own[-1][0].relative_to(PACKAGE)), own[-1][1])) if own else "unknown"


def report_threads(command: str) -> None:
    """From now on, an exception that ends a thread is one line, too."""

    def print_report(ended: threading.ExceptHookArgs) -> None:
        if ended.exc_value and not isinstance(ended.exc_value, SystemExit):
            os.write(2, f"{report(command, ended.exc_value)}\n".encode())

    threading.excepthook = print_report
