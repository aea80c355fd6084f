"""SIGTERM as a stop request: all workers save at the same step and exit with a code of their own."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

EXIT_SAVED = 75
"""Exit code of a run that was asked to stop and can resume from its checkpoint: EX_TEMPFAIL of sysexits.h."""


class StopRequest:
    """Whether SIGTERM was received. While nothing is unsaved, SIGTERM ends the process at once.

    A thread waits for the signal, because a handler in Python would only run when the call into TensorFlow returns.
    If this is created before TensorFlow is imported, all threads block the signal. Otherwise Python's own part of the
    handler, which runs in any thread, wakes the waiting one; TensorFlow replaces it when workers connect, and
    `deferred` installs it again: enter it after the strategy was created, in the main thread.
    TensorFlow holds the interpreter while it waits for other workers; there, SIGTERM waits or SIGKILL comes first, and
    nothing is lost.
    """

    def __init__(self) -> None:
        self._came = threading.Event()
        self._unsaved = threading.Event()
        self._wakeup: int | None = None
        if "tensorflow" in sys.modules:
            self._wakeup, writes = os.pipe()
            os.set_blocking(writes, False)
            signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
            self._handle()
        else:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=self._wait, name="sigterm", daemon=True).start()

    @property
    def came(self) -> bool:
        return self._came.is_set()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """In this block, the caller checks `came` and saves."""
        self._handle()
        self._unsaved.set()
        try:
            yield
        finally:
            self._unsaved.clear()

    def _handle(self) -> None:
        """Have SIGTERM wake the waiting thread, instead of TensorFlow's handler."""
        if getattr(self, "_wakeup", None) is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda number, frame: None)

    def _wait(self) -> None:
        if self._wakeup is None:
            signal.sigwait({signal.SIGTERM})
        else:
            while signal.SIGTERM not in os.read(self._wakeup, 64):
                pass
        self._came.set()
        if not self._unsaved.is_set():
            os._exit(EXIT_SAVED)
