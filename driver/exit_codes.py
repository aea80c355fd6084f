"""Runs a command and turns what goes wrong into lines and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable

from driver import interruption
from embedded.causes import cause
from embedded.fault import Fault


def run(work: Callable[[], None]) -> int:
    """0 when it worked, 1 after faults (printed, a line each), 130 after Ctrl-C."""
    interruption.listen()
    try:
        work()
    except Fault as fault:
        print(*fault.lines, sep="\n", file=sys.stderr)
        return 1
    except OSError as error:
        # Our own files: what the programs that we start have to say comes as a Fault.
        print(cause([str(error)]) or f"{error.filename or 'this machine'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on from here.", file=sys.stderr, flush=True)
        interruption.leave()
    return 0
