"""SIGTERM as a stop request: all workers save at the same step and exit with a code of their own."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

EXIT_SAVED = 75
"""Exit code of a run that was asked to stop and can resume from its checkpoint: EX_TEMPFAIL of sysexits.h."""


class StopRequest:
    """Whether SIGTERM was received. Create it before TensorFlow is imported, so that TensorFlow's threads block it.

    While nothing is unsaved, SIGTERM ends the process at once. A thread waits for the signal, because a handler would
    only run when the call into TensorFlow returns, and TensorFlow installs its own handler when workers connect.
    TensorFlow holds the interpreter while it waits for other workers; there, SIGTERM waits or SIGKILL comes first, and
    nothing is lost.
    """

    def __init__(self) -> None:
        self._came = threading.Event()
        self._unsaved = threading.Event()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=self._wait, name="sigterm", daemon=True).start()

    @property
    def came(self) -> bool:
        return self._came.is_set()

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """In this block, the caller checks `came` and saves."""
        self._unsaved.set()
        try:
            yield
        finally:
            self._unsaved.clear()

    def _wait(self) -> None:
        signal.sigwait({signal.SIGTERM})
        self._came.set()
        if not self._unsaved.is_set():
            os._exit(EXIT_SAVED)
