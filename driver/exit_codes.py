"""Runs a command, prints its faults, and returns its exit code."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Sequence

from driver import interruption, unforeseen
from embedded.causes import cause
from embedded.fault import Fault


def run(command: str, work: Callable[[], None]) -> int:
    """0 on success, 1 after faults (printed, a line each), 130 after Ctrl-C. `command`: as the user typed it."""
    interruption.listen()
    try:
        work()
    except KeyboardInterrupt:
        print("Interrupted; run the same command again to continue.", file=sys.stderr, flush=True)
        interruption.leave()
    except Exception as error:
        print(*lines(command, error), sep="\n", file=sys.stderr)
        return 1
    return 0


def lines(command: str, error: Exception) -> Sequence[str]:
    """What is said of an error: its faults, or one line with the place of the log."""
    if isinstance(error, Fault):
        return error.lines
    if isinstance(error, OSError):
        # An error of our own file access: errors of the programs that we start arrive as a Fault.
        if known := cause([str(error)]):
            return [known]
        if error.filename or error.errno == errno.EPIPE:
            return [f"{error.filename or 'this machine'}: {error.strerror or error}"]
    return [unforeseen.line(command, error)]
