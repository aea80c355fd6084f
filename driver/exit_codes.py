"""Runs a command, prints its faults, and returns its exit code."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Callable, Sequence

from core.causes import cause
from core.errors import UserError
from driver import interruption, unforeseen

_LONGEST_WORD = re.compile(r"\S{1001,}")


def run(command: str, work: Callable[[], None]) -> int:
    """0 on success, 1 after faults (printed, a line each), 130 after Ctrl-C. `command`: as the user typed it."""
    interruption.listen_for_interrupt()
    try:
        work()
    except KeyboardInterrupt:
        print("Interrupted; run the same command again to continue.", file=sys.stderr, flush=True)
        interruption.exit_interrupted()
    except Exception as error:
        print(*error_lines(command, error), sep="\n", file=sys.stderr)
        return 1
    return 0


def error_lines(command: str, error: Exception) -> Sequence[str]:
    """What is said of an error: its faults, or one line with the place of the log."""
    if isinstance(error, UserError):
        return [*map(_legible, error.lines)]
    if isinstance(error, OSError):
        # An error of our own file access: errors of the programs that we start arrive as a UserError.
        if known := cause([str(error)]):
            return [known]
        if error.filename or error.errno == errno.EPIPE:
            return [_legible(f"{error.filename or 'this machine'}: {error.strerror or error}")]
    return [unforeseen.report(command, error)]


def _legible(line: str) -> str:
    """The line on one line of a terminal, which obeys no part of it: arguments, names and files may have anything."""
    shown = "".join(each if each.isprintable() else repr(each)[1:-1] for each in line)
    return _LONGEST_WORD.sub(lambda word: f"{word[0][:1000]}…", shown)
