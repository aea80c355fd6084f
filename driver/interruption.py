"""Ctrl-C: the first one interrupts the work, the second one ends this process at once."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

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
