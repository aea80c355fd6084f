"""How a command ends: its exit code, what it prints of an error, and Ctrl-C.

The first Ctrl-C interrupts the work, the second one ends this process at once.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

from tensorplane.core import extras
from tensorplane.core.causes import cause
from tensorplane.core.errors import UserError
from tensorplane.driver import crash_reports

_LONGEST_WORD = re.compile(r"\S{1001,}")


def run(command: str, work: Callable[[], None]) -> int:
    """0 on success, 1 after problems (printed, a line each), 130 after Ctrl-C. `command`: as the user typed it."""
    listen_for_interrupt()
    try:
        work()
    except KeyboardInterrupt:
        print("Interrupted; run the same command again to continue.", file=sys.stderr, flush=True)
        exit_interrupted()
    except Exception as error:
        print(*error_lines(command, error), sep="\n", file=sys.stderr)
        return 1
    return 0


def error_lines(command: str, error: Exception) -> Sequence[str]:
    """What is said of an error: its lines, or one line with the path of the log."""
    if isinstance(error, UserError):
        return [*map(_legible, error.lines)]
    if isinstance(error, ModuleNotFoundError) and (line := extras.explain(error)):
        return [line]
    if isinstance(error, OSError):
        # An error of our own file access: errors of the programs that we start arrive as a UserError.
        if known := cause([str(error)]):
            return [known]
        if error.filename or error.errno == errno.EPIPE:
            return [_legible(f"{error.filename or 'this machine'}: {error.strerror or error}")]
    return [crash_reports.report(command, error)]


def _legible(line: str) -> str:
    """The line on one line of a terminal, which obeys no part of it: arguments, names and files may have anything."""
    shown = "".join(each if each.isprintable() else repr(each)[1:-1] for each in line)
    return _LONGEST_WORD.sub(lambda word: f"{word[0][:1000]}…", shown)


EXIT_CODE = 130
_SHOW_CURSOR = b"\x1b[?25h"


def listen_for_interrupt() -> None:
    """Starts counting. If SIGINT is ignored, as in a shell's background job, it stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def exit_interrupted() -> None:
    """Ends the process now. `sys.exit` would wait for pool threads, which may be waiting for a cluster."""
    if sys.stdout.isatty():
        os.write(sys.stdout.fileno(), _SHOW_CURSOR)  # the live table hid it
    os._exit(EXIT_CODE)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, _interrupt_again)
    raise KeyboardInterrupt


def _interrupt_again(number: int, frame: FrameType | None) -> None:
    # Not by an exception: Python drops one that is raised in a finalizer, and a lock that is being acquired turns it
    # into another error.
    exit_interrupted()
