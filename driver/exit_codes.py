"""Runs a command, prints its faults, and returns its exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable

from driver import interruption
from embedded.causes import cause
from embedded.fault import Fault


def run(work: Callable[[], None]) -> int:
    """0 on success, 1 after faults (printed, a line each), 130 after Ctrl-C."""
    interruption.listen()
    try:
        work()
    except Fault as fault:
        print(*fault.lines, sep="\n", file=sys.stderr)
        return 1
    except OSError as error:
        # An error of our own file access: errors of the programs that we start arrive as a Fault.
        print(cause([str(error)]) or f"{error.filename or 'this machine'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; run the same command again to continue.", file=sys.stderr, flush=True)
        interruption.leave()
    return 0
